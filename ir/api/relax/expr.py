"""Constructors of graph-level values (TVM: `relax/expr.py`)."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, cast

from ... import relax, tir
from ...base import Attrs, GlobalVar, Op, StructInfo
from ...building.call_te import call_te
from ...building.values import apply, dimension, graph_value, inferred, plain_nodes
from ...diagnostics import ArgumentValueError, Diagnostic, TvmsError
from ...infer import infer_struct_info
from ...ops.inference import describe
from ...passes.rewriter import refined_result
from ...spelling import newer_names
from ..constructor import constructor, node_constructor, plain_node
from .struct_info import TensorStructInfo, as_struct_info

Binding = relax.VarBinding | relax.MatchCast
"""Both kinds of bindings, for `isinstance`."""


@constructor(relax.Var)
@newer_names(name="name_hint")
def Var(name_hint: str, struct_info: StructInfo | None = None, ty: StructInfo | None = None) -> relax.Var:
    """A graph-level variable."""
    return relax.Var(name_hint, struct_info=_known(struct_info, ty))


@constructor(relax.DataflowVar)
@newer_names(name="name_hint")
def DataflowVar(
    name_hint: str, struct_info: StructInfo | None = None, ty: StructInfo | None = None
) -> relax.DataflowVar:
    """A variable that is visible only inside its dataflow block."""
    return relax.DataflowVar(name_hint, struct_info=_known(struct_info, ty))


def _known(info: object, ty: object) -> StructInfo | None:
    """Return the struct info of a variable, which is `ty` in TVM 0.27; TvmsError E0315 if the argument is not struct info."""
    given = ty if info is None else info
    return None if given is None else as_struct_info(given)


@constructor(relax.Tuple)
def Tuple(fields: Sequence[Any]) -> relax.Tuple:
    """A tuple of values."""
    return cast("relax.Tuple", graph_value(tuple(fields)))


@constructor(relax.TupleGetItem)
def TupleGetItem(tuple_value: relax.Expr, index: int) -> relax.TupleGetItem:
    """Field `index` of a tuple."""
    return cast("relax.TupleGetItem", inferred(relax.TupleGetItem(tuple_value, index)))


@constructor(relax.ShapeExpr)
def ShapeExpr(values: Sequence[Any]) -> relax.ShapeExpr:
    """A shape."""
    return cast("relax.ShapeExpr", inferred(relax.ShapeExpr(tuple(dimension(value) for value in values))))


@constructor(relax.PrimValue)
def PrimValue(value: Any) -> relax.PrimValue:
    """A loop-level scalar: an int becomes int64, a float float64."""
    return cast("relax.PrimValue", graph_value(value))


def prim_value(value: Any, dtype: str | None = None) -> tir.PrimExpr:
    """Return a number, also of NumPy, or an expression as a scalar, which is an expression of the loop level in TVM 0.27.

    `dtype` is that of a number: int64 or float64 if none is given. Raises TypeError for other values.
    """
    if isinstance(value, tir.PrimExpr):
        return value
    if isinstance(value, relax.PrimValue):
        return value.value
    if isinstance(value, bool):
        return plain_node(value)
    if isinstance(value, Real):
        is_whole = isinstance(value, Integral)
        number = int(value) if is_whole else float(value)
        return plain_node(number, dtype or ("int64" if is_whole else "float64"))
    raise TypeError(
        f"Cannot convert {type(value).__name__} to a scalar: give a number or an expression of the loop level"
    )


@constructor(relax.StringImm)
def StringImm(value: str) -> relax.StringImm:
    """A string."""
    return relax.StringImm(value, struct_info=relax.ObjectStructInfo())


@constructor(relax.DataTypeImm)
def DataTypeImm(value: str) -> relax.DataTypeImm:
    """A dtype."""
    return relax.DataTypeImm(value, struct_info=relax.ObjectStructInfo())


@constructor(relax.ExternFunc)
@newer_names(ty="struct_info")
def ExternFunc(global_symbol: str, struct_info: StructInfo | None = None) -> relax.ExternFunc:
    """A function that is registered under `global_symbol` at run time; it accepts any arguments unless `struct_info` says more."""
    return cast("relax.ExternFunc", inferred(relax.ExternFunc(global_symbol, struct_info=_known(struct_info, None))))


@constructor(relax.Call)
def Call(
    op: Op | relax.Expr | None,
    args: Sequence[Any],
    attrs: Attrs | None = None,
    sinfo_args: StructInfo | Sequence[StructInfo] = (),
    ty_args: StructInfo | Sequence[StructInfo] = (),
) -> relax.Call:
    """A call of an operator or a function. `ty_args` is `sinfo_args` in TVM 0.27.

    A call with arguments of the wrong types has no struct info. Builders and passes report it when they normalize it.
    Raise TvmsError E0322, also a ValueError, if `op` is None or not a function.
    """
    if op is None:
        raise ArgumentValueError(Diagnostic("E0322", "a call needs a defined operator or a function, not None"))
    kind = None if isinstance(op, Op) else op.struct_info
    if not isinstance(kind, relax.FuncStructInfo | relax.ObjectStructInfo | None):
        problem = f"only a function can be called, not {describe(kind)}"
        raise ArgumentValueError(Diagnostic("E0322", problem, op.span))
    given = sinfo_args or ty_args
    given = (given,) if isinstance(given, StructInfo) else given
    values = tuple(graph_value(arg) for arg in args)
    call = relax.Call(op, values, plain_nodes(attrs or {}), tuple(map(as_struct_info, given)))
    try:
        return cast("relax.Call", inferred(call))
    except TvmsError:
        return call


BindingBlock = node_constructor(relax.BindingBlock)
DataflowBlock = node_constructor(relax.DataflowBlock)
MatchCast = constructor(relax.MatchCast)(newer_names(ty="struct_info")(node_constructor(relax.MatchCast).make))
SeqExpr = node_constructor(relax.SeqExpr)
VarBinding = node_constructor(relax.VarBinding)


@constructor(relax.If)
def If(cond: relax.Expr, true_branch: relax.Expr, false_branch: relax.Expr) -> relax.If:
    """`true_branch` if `cond` holds, else `false_branch`."""
    branches = (
        expr if isinstance(expr, relax.SeqExpr) else relax.SeqExpr((), expr) for expr in (true_branch, false_branch)
    )
    return cast("relax.If", inferred(relax.If(cond, *branches)))


@constructor(relax.Function)
def Function(
    params: Sequence[relax.Var],
    body: relax.Expr,
    ret_struct_info: StructInfo | None = None,
    is_pure: bool = True,
    attrs: Attrs | None = None,
    ret_ty: StructInfo | None = None,
) -> relax.Function:
    """A function; the struct info of its result is that of `body`, unless another or a more precise one is given.

    `ret_ty` is `ret_struct_info` in TVM 0.27.
    """
    sequence = body if isinstance(body, relax.SeqExpr) else relax.SeqExpr((), body)
    given = ret_struct_info or ret_ty
    returned = infer_struct_info(sequence) if given is None else as_struct_info(given)
    return refined_result(relax.Function(tuple(params), sequence, returned, is_pure, attrs=plain_nodes(attrs or {})))


def te_tensor(value: relax.Expr, name: str = "rxplaceholder") -> Any:
    """Return an input tensor of `te` with the shape and dtype of `value`."""
    found: list[Any] = []
    variable = relax.Var(name, struct_info=value.struct_info)

    def keep(tensor: Any) -> Any:
        found.append(tensor)
        return tensor

    call_te(keep, (variable,), {})
    return found[0]


def get_shape_of(expr: relax.Expr) -> relax.Expr:
    """Return the shape of a tensor: the known shape, or a call that computes it."""
    info = expr.struct_info
    if isinstance(info, relax.TensorStructInfo) and info.shape is not None:
        return inferred(info.shape)
    return apply("shape_of", expr)


def make_shape(shape: Sequence[Any]) -> relax.ShapeExpr:
    """Return the shape with the sizes in a list or tuple. Raise TypeError if `shape` is neither."""
    if not isinstance(shape, list | tuple):
        raise TypeError(f"make_shape expects a list or tuple of sizes, but received type {type(shape).__name__}")
    return ShapeExpr(shape)


@newer_names(ty="struct_info")
def extern(name: str, struct_info: StructInfo | None = None) -> relax.ExternFunc:
    """The function that is registered as `name` at run time."""
    return ExternFunc(name, struct_info)


Constant, Expr = relax.Constant, relax.Expr

__all__ = [
    "BindingBlock", "Call", "Constant", "DataTypeImm", "DataflowBlock", "DataflowVar", "Expr", "ExternFunc", "Function",
    "GlobalVar", "If", "MatchCast", "PrimValue", "SeqExpr", "ShapeExpr", "StringImm", "TensorStructInfo", "Tuple",
    "TupleGetItem", "Var", "VarBinding", "extern", "get_shape_of", "make_shape", "prim_value", "te_tensor",
]  # fmt: skip
