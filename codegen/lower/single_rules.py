"""Passes of a single rule each, which are not part of a pipeline."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from ...ir import tir
from ...ir.base import Op
from ...ir.idioms import NOTHING
from ...ir.intern import has_effects
from ...ir.visit import rewrite, walk
from .rewriter import Rewriter


def convert_loops_to_serial(func: tir.PrimFunc) -> tir.PrimFunc:
    """Return `func` with its parallel loops made sequential (TVM: `ConvertForLoopsToSerial`)."""

    def in_order(node: object) -> tir.For | None:
        if isinstance(node, tir.For) and node.kind is tir.ForKind.PARALLEL:
            return replace(node, kind=tir.ForKind.SERIAL)
        return None

    return rewrite(func, in_order)


def skip_asserts(func: tir.PrimFunc) -> tir.PrimFunc:
    """Return `func` without assertions (TVM: `SkipAssert`)."""
    return rewrite(func, lambda node: node.body if isinstance(node, tir.AssertStmt) else None)


def remove_assumptions(func: tir.PrimFunc) -> tir.PrimFunc:
    """Return `func` without assumptions `T.assume(…)` (TVM: `RemoveAssume`)."""

    def evaluated(stmt: tir.Evaluate) -> tir.Stmt:
        return NOTHING if _is_call(stmt.value, "tir.assume") else stmt

    return replace(func, body=Rewriter({tir.Evaluate: evaluated}).rewrite(func.body))


def remove_undefined_stores(func: tir.PrimFunc) -> tir.PrimFunc:
    """Return `func` without stores of `T.undef()`, which allow any value (TVM: `RemoveStoreUndef`)."""

    def store(stmt: tir.BufferStore) -> tir.Stmt:
        return NOTHING if _is_call(stmt.value, "tir.undef") else stmt

    return replace(func, body=Rewriter({tir.BufferStore: store}).rewrite(func.body))


def rewrite_unsafe_selects(func: tir.PrimFunc) -> tir.PrimFunc:
    """Return `func` with `T.if_then_else`, which evaluates one side only, for each `T.Select` with a side that
    reads memory or has effects (TVM: `RewriteUnsafeSelect`).
    """

    def safe(node: object) -> tir.Call | None:
        if not isinstance(node, tir.Select) or not any(map(_is_unsafe, (node.true_value, node.false_value))):
            return None
        return tir.Call(node.dtype, Op("tir.if_then_else"), (node.condition, node.true_value, node.false_value))

    return rewrite(func, safe)


def _is_unsafe(value: tir.PrimExpr) -> bool:
    return has_effects(value) or any(isinstance(node, tir.BufferLoad) for node in walk(value))


def _is_call(value: tir.PrimExpr, name: str) -> bool:
    return isinstance(value, tir.Call) and value.op == Op(name)


SINGLE_RULES: dict[str, Callable[[tir.PrimFunc], tir.PrimFunc]] = {
    "ConvertForLoopsToSerial": convert_loops_to_serial,
    "SkipAssert": skip_asserts,
    "RemoveAssume": remove_assumptions,
    "RemoveStoreUndef": remove_undefined_stores,
    "RewriteUnsafeSelect": rewrite_unsafe_selects,
}
"""The steps by pass name."""
