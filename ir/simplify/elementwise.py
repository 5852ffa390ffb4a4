"""Vectors, floats and casts: applies the rules of `vectors` and `floats` to operands in normal form."""

from __future__ import annotations

from msgspec.structs import replace

from .. import fold, tir
from ..dtype import is_float, parse_dtype
from ..visit import children, field_names
from . import floats, vectors
from .core import Simplifier, simplifies
from .patterns import rewrite


def elementwise(s: Simplifier, expr: tir.PrimExpr) -> tir.PrimExpr:
    """Return the normal form of an operation on vectors or floats."""
    new = s.rebuild(expr)
    operands = [child for child in children(new) if isinstance(child, tir.PrimExpr)]
    parsed = parse_dtype(operands[0].dtype)
    if parsed.is_vector:
        if all(isinstance(operand, tir.Broadcast) for operand in operands):
            return _of_broadcasts(s, new, operands)
        return rewrite(s, new, vectors.ROWS.get(type(new), ()))
    if isinstance(new, tir.BinaryOp) and is_float(parsed.name):
        folded = fold.fold(type(new), new.a, new.b, None) if floats.may_fold(new) else None
        return rewrite(s, new, floats.ROWS.get(type(new), ())) if folded is None else s.intern(folded)
    return new


def _of_broadcasts(s: Simplifier, expr: tir.PrimExpr, operands: list[tir.PrimExpr]) -> tir.PrimExpr:
    """Return the broadcast of the scalar operation, for an operation on broadcasts."""
    scalars = {name: operand.value for name, operand in zip(_operand_names(expr), operands, strict=True)}  # type: ignore[reportAttributeAccessIssue]
    scalar = replace(expr, dtype=parse_dtype(expr.dtype).name, **scalars)
    assert isinstance(operands[0], tir.Broadcast)
    return s.visit(tir.Broadcast(expr.dtype, scalar, operands[0].lanes))


def _operand_names(expr: tir.PrimExpr) -> list[str]:
    return [name for name in field_names(type(expr)) if name != "dtype"]


@simplifies(tir.Ramp, tir.Broadcast)
def vector(s: Simplifier, expr: tir.PrimExpr) -> tir.PrimExpr:
    """Return the normal form of a ramp or broadcast; a ramp of stride 0 is a broadcast."""
    return rewrite(s, s.rebuild(expr), vectors.ROWS.get(type(expr), ()))


@simplifies(tir.Cast)
def cast(s: Simplifier, expr: tir.Cast) -> tir.PrimExpr:
    """Fold casts of constants and merge nested casts where the inner one keeps the value."""
    value = s.visit(expr.value)
    if value.dtype == expr.dtype:
        return value
    if isinstance(value, tir.IntImm | tir.FloatImm):
        folded = floats.cast_constant(value, expr.dtype)
        return s.rebuild(expr) if folded is None else s.intern(folded)
    if isinstance(value, tir.Cast) and floats.keeps_value(value.value.dtype, value.dtype, expr.dtype):
        return s.visit(tir.Cast(expr.dtype, value.value))
    if isinstance(value, tir.Broadcast):
        return s.visit(tir.Broadcast(expr.dtype, tir.Cast(parse_dtype(expr.dtype).name, value.value), value.lanes))
    return s.rebuild(expr)
