"""The rules for processors: which composite step suits a nest, with the knobs that suit the machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...ir import tir
from ..machine import Machine
from .argument import choose_argument
from .convolution import choose_convolution
from .gemv import choose_gemv
from .matmul import choose_matmul
from .nest import Nest
from .rows import choose_rows
from .rules import Choice, Rules
from .transpose import choose_transpose


def rules_for_nests(machine: Machine) -> Rules:
    """Return the rules for nests, without bands of them."""

    def rule(name: str, step: str, choose: Callable[[Nest, Machine], dict[str, Any]]) -> Callable[[Nest], Choice]:
        return lambda nest: Choice(name, step, choose(nest, machine))

    def rows(group: Sequence[Nest], shared: int) -> Choice:
        return Choice("rows", "vector_rows", choose_rows(group, shared, machine))

    def argument(part: tir.Stmt) -> Choice:
        return Choice("argument", "argument_rows", choose_argument(part, machine))

    single = {
        "matmul": rule("matmul", "gemm_tiles", choose_matmul),
        "gemv": rule("gemv", "gemv_rows", choose_gemv),
        "convolution": rule("convolution", "im2col", choose_convolution),
        "transpose": rule("transpose", "transpose_squares", choose_transpose),
    }
    return Rules(single, ("matmul", "convolution"), (rows,), argument)
