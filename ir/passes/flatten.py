"""Normal form of expressions: every call is bound to a variable, and operands of calls are variables or constants."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from .. import relax
from ..base import Op
from ..infer import infer_struct_info

Bind = Callable[[relax.Expr], relax.Var]
"""Function that normalizes a value and binds it to a new variable before the current expression."""


def flatten(expr: relax.Expr, bind: Bind) -> relax.Expr:
    """Return `expr` with flat operands, and with struct info inferred if it has none."""
    match expr:
        case relax.Call():
            args = tuple([_operand(arg, bind) for arg in expr.args])
            op = expr.op if isinstance(expr.op, Op) else _operand(expr.op, bind)
            flat = _changed(expr, op=op, args=args)
        case relax.Tuple():
            flat = _changed(expr, fields=tuple([_operand(field, bind) for field in expr.fields]))
        case relax.TupleGetItem(tuple_value=relax.Tuple(fields=fields), index=index):
            return flatten(fields[index], bind)
        case relax.TupleGetItem():
            flat = _changed(expr, tuple_value=_operand(expr.tuple_value, bind))
        case relax.If():
            flat = _changed(expr, cond=_operand(expr.cond, bind))
        case _:
            return expr
    return flat if flat.struct_info is not None else replace(flat, struct_info=infer_struct_info(flat))


def _operand(expr: relax.Expr, bind: Bind) -> relax.Expr:
    """Return the operand for `expr`: itself, or the variable that it is bound to."""
    is_bound = isinstance(expr, relax.Call | relax.TupleGetItem | relax.If | relax.Function)
    return bind(expr) if is_bound else flatten(expr, bind)


def _changed(expr: relax.Expr, **fields: object) -> relax.Expr:
    """Return `expr` with these fields, the same object if they are unchanged."""
    for name, value in fields.items():
        old = getattr(expr, name)
        is_same = value is old or (
            isinstance(value, tuple) and all(a is b for a, b in zip(value, old, strict=True))  # type: ignore[reportUnknownVariableType,reportUnknownArgumentType]
        )
        if not is_same:
            return replace(expr, struct_info=None, **fields)
    return expr
