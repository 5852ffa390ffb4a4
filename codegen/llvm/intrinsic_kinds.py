"""What a table of intrinsics is made of."""

from __future__ import annotations

from collections.abc import Callable

from ...ir import tir
from .api import Value
from .expressions import ExpressionEmitter
from .operators import intrinsic

Intrinsic = Callable[[ExpressionEmitter, tir.Call], Value]
"""How a call is emitted."""
Table = dict[str, Intrinsic]


def named(names: str, make: Callable[[str], Intrinsic]) -> Table:
    """Return a row for each of `names`, which stand without their prefix."""
    return {f"tir.{name}": make(name) for name in names.split()}


def llvm_function(name: str) -> Intrinsic:
    """An intrinsic of LLVM that works on all lanes at once."""
    return lambda emitter, call: intrinsic(emitter.builder, name, *emitter.operands(call))


def instruction(method: str) -> Intrinsic:
    """An instruction of LLVM, by the method of the builder that makes it."""
    return lambda emitter, call: getattr(emitter.builder, method)(*emitter.operands(call))
