"""Expressions: a syntax expression becomes a value."""

from __future__ import annotations

from typing import Any

from ...ir import tir
from .. import syntax
from .context import Context


def evaluate(context: Context, node: syntax.Expr) -> Any:
    """Return the value of `node`: a plain Python value, an IR node, or an object of `forms`."""
    raise context.error("E0101", "no expression is understood", node)


def build_expr(context: Context, node: syntax.Expr, dtype_hint: str | None = None) -> tir.PrimExpr:
    """Return `node` as a scalar expression; plain numbers get `dtype_hint`, or TVM's own default (int32, float32, bool)."""
    return to_expr(context, evaluate(context, node), node, dtype_hint)


def to_expr(context: Context, value: Any, node: syntax.Expr, dtype_hint: str | None = None) -> tir.PrimExpr:
    """Return an evaluated `value` as a scalar expression; an error at `node` where it is none."""
    raise context.error("E0101", "no value is understood", node)
