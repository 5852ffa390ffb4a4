"""Building blocks of the tables of intrinsics."""

from __future__ import annotations

from collections.abc import Callable

from ...ir import tir
from .api import Value
from .expressions import ExpressionEmitter
from .operators import intrinsic

Intrinsic = Callable[[ExpressionEmitter, tir.Call], Value]
"""The emitter of a call."""
Table = dict[str, Intrinsic]


def named(names: str, make: Callable[[str], Intrinsic]) -> Table:
    """Return a row `tir.<name>` for each of `names`, separated by spaces."""
    return {f"tir.{name}": make(name) for name in names.split()}


def llvm_function(name: str) -> Intrinsic:
    """Return an emitter that calls an LLVM intrinsic on whole vectors."""
    return lambda emitter, call: intrinsic(emitter.builder, name, *emitter.operands(call))


def instruction(method: str) -> Intrinsic:
    """Return an emitter of an LLVM instruction, named by the method of the builder."""
    return lambda emitter, call: getattr(emitter.builder, method)(*emitter.operands(call))
