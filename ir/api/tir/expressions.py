"""Constructors of expressions (TVM: `tvm.tir.expr`). They do not fold constants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ... import make, te, tir
from ...base import GlobalVar, Op
from ...building.values import plain_nodes
from ...diagnostics import error
from ...dtype import is_bool, is_dtype, is_float, is_int
from ..constructor import Constructor, constructor, plain_node


@constructor(tir.Var)
def Var(name: str, dtype: str | tir.Type = "int32", ty: str | tir.Type | None = None) -> tir.Var:
    """A variable of a dtype or a type, such as that of a pointer; a symbolic dimension of the graph level is an int64.

    `ty` is `dtype` in TVM 0.27.
    """
    match dtype if ty is None else ty:
        case str(key) | tir.PrimType(dtype=key):
            return te.var(name, key)
        case pointer:
            return tir.Var("handle", name, pointer)


@constructor(tir.SizeVar)
def SizeVar(name: str, dtype: str = "int32", ty: str | None = None) -> tir.SizeVar:
    """A variable that is never negative. `ty` is `dtype` in TVM 0.27."""
    return te.size_var(name, ty or dtype)


@constructor(tir.IntImm)
def IntImm(dtype: str, value: int) -> tir.PrimExpr:
    """An integer constant; TvmsError E0233 for another dtype."""
    if not (is_dtype(dtype) and (is_int(dtype) or is_bool(dtype))):
        raise error("E0233", f"an IntImm has an integer dtype or bool, not {dtype}", help="use FloatImm for floats")
    return make.const(int(value), dtype)


@constructor(tir.FloatImm)
def FloatImm(dtype: str, value: float) -> tir.PrimExpr:
    """A floating-point constant; TvmsError E0233 for another dtype."""
    if not (is_dtype(dtype) and is_float(dtype)):
        raise error(
            "E0233", f"a FloatImm has a floating-point dtype, not {dtype}", help="use IntImm for integers and bool"
        )
    return make.const(float(value), dtype)


@constructor(tir.StringImm)
def StringImm(value: str) -> tir.PrimExpr:
    """A string argument of a call."""
    return tir.StringImm("handle", value)


@constructor(tir.Cast)
def Cast(dtype: str, value: te.Value) -> tir.PrimExpr:
    """`value` converted to `dtype`."""
    return te.cast(value, dtype)


@constructor(tir.Not)
def Not(a: te.Value) -> tir.PrimExpr:
    """The negation of `a`."""
    return tir.Not("bool", te.operand(a, "bool"))


def _binary(kind: type[tir.BinaryOp], dtype: str | None = None) -> Constructor[..., tir.PrimExpr]:
    def make(a: te.Value, b: te.Value) -> tir.PrimExpr:
        left, right = te.operands(a, b)
        return kind(dtype or left.dtype, left, right)

    make.__doc__ = f"The node `{kind.__name__}` of two operands, without folding."
    return Constructor(make, kind)


Add, Sub, Mul, Div, Mod = map(_binary, (tir.Add, tir.Sub, tir.Mul, tir.Div, tir.Mod))
FloorDiv, FloorMod, Min, Max = map(_binary, (tir.FloorDiv, tir.FloorMod, tir.Min, tir.Max))
EQ, NE, LT, LE, GT, GE, And, Or = (
    _binary(kind, "bool") for kind in (tir.EQ, tir.NE, tir.LT, tir.LE, tir.GT, tir.GE, tir.And, tir.Or)
)
PrimExpr = Expr = tir.PrimExpr


@constructor(tir.Select)
def Select(condition: te.Value, true_value: te.Value, false_value: te.Value) -> tir.PrimExpr:
    """`true_value` if `condition` holds, else `false_value`; both are evaluated."""
    return te.select(condition, true_value, false_value)


@constructor(tir.Let)
def Let(var: tir.PrimExpr, value: te.Value, body: te.Value) -> tir.PrimExpr:
    """`body`, in which `var` has the value `value`; TvmsError E0407 if their dtypes differ."""
    inner = te.operand(body)
    return tir.Let(inner.dtype, *binding(var, value), inner)


def binding(var: tir.PrimExpr, value: te.Value) -> tuple[tir.Var, tir.PrimExpr]:
    """Return a variable and its value as nodes; TvmsError E0407 if their dtypes differ."""
    name: tir.Var = plain_node(var)
    bound = te.operand(value, name.dtype)
    if bound.dtype != name.dtype:
        message, help = (
            f"'{name.name}' is {name.dtype}, but its value is {bound.dtype}",
            f'convert it, as in value.astype("{name.dtype}")',
        )
        raise error("E0407", message, help=help)
    return name, bound


@constructor(tir.Ramp)
def Ramp(base: te.Value, stride: te.Value, lanes: te.Value) -> tir.PrimExpr:
    """The vector `base, base + stride, …` of `lanes` elements."""
    return make.ramp(*map(plain_node, (base, stride, lanes)))


@constructor(tir.Broadcast)
def Broadcast(value: te.Value, lanes: te.Value) -> tir.PrimExpr:
    """The vector of `lanes` copies of `value`."""
    return make.broadcast(*map(plain_node, (value, lanes)))


@constructor(tir.Shuffle)
def Shuffle(vectors: Sequence[te.Value], indices: Sequence[te.Value]) -> tir.PrimExpr:
    """Elements of the concatenated `vectors` at `indices`."""
    parts, places = plain_node(vectors), plain_node(indices)
    scalar = parts[0].dtype.partition("x")[0]
    return tir.Shuffle(scalar if len(places) == 1 else f"{scalar}x{len(places)}", parts, places)


@constructor(tir.BufferLoad)
def BufferLoad(buffer: tir.Buffer, indices: Sequence[te.Value], predicate: te.Value | None = None) -> tir.PrimExpr:
    """A load of an element of a buffer, or of a vector if an index is a vector."""
    node = None if predicate is None else te.operand(predicate)
    return make.buffer_load(buffer, plain_node(indices), node)


@constructor(tir.ProducerLoad)
def ProducerLoad(producer: te.Tensor, indices: Sequence[te.Value]) -> tir.PrimExpr:
    """An element of a tensor of `te`."""
    return producer(*indices)


@constructor(tir.Call)
def Call(
    dtype: str, op: str | Op | GlobalVar, args: Sequence[Any], annotations: Mapping[str, Any] | None = None
) -> tir.PrimExpr:
    """A call of a function, or of an intrinsic, which may be given by name."""
    callee = Op(op) if isinstance(op, str) else op
    return tir.Call(dtype, callee, plain_node(args), plain_nodes(dict(annotations or {})))


@constructor(tir.CommReducer)
def CommReducer(
    lhs: Sequence[tir.PrimExpr],
    rhs: Sequence[tir.PrimExpr],
    result: Sequence[te.Value],
    identity_element: Sequence[te.Value],
) -> tir.CommReducer:
    """A commutative reducer: `result` combines the variables `lhs` and `rhs`."""
    return tir.CommReducer(*map(plain_node, (lhs, rhs, result, identity_element)))


@constructor(tir.Reduce)
def Reduce(
    combiner: tir.CommReducer,
    src: Sequence[te.Value],
    rdom: Sequence[Any],
    condition: te.Value,
    value_index: int,
    init: Sequence[te.Value] = (),
) -> tir.PrimExpr:
    """A reduction of `src` over the axes `rdom`."""
    source = plain_node(src)
    axes = tuple(rdom)
    holds = te.operand(condition, "bool")
    return tir.Reduce(source[value_index].dtype, combiner, source, axes, holds, value_index, plain_node(init or ()))


_ITERATORS = (
    ("DataPar", tir.IterVarType.DATA_PAR),
    ("ThreadIndex", tir.IterVarType.THREAD_INDEX),
    ("CommReduce", tir.IterVarType.COMM_REDUCE),
    ("Ordered", tir.IterVarType.ORDERED),
    ("Opaque", tir.IterVarType.OPAQUE),
    ("Unrolled", tir.IterVarType.UNROLLED),
    ("Vectorized", tir.IterVarType.VECTORIZED),
    ("Parallelized", tir.IterVarType.PARALLELIZED),
    ("Tensorized", tir.IterVarType.TENSORIZED),
)
"""The kinds of iterators by TVM's names, in the order of TVM's numbers."""


def range_of(domain: Any) -> tir.Range:
    """Return a range, or a pair of its begin and end, as a range."""
    if isinstance(domain, tir.Range):
        return domain
    begin, end = (plain_node(item) for item in domain)
    return tir.Range(begin, make.sub(end, begin))


@constructor(tir.IterVar, **dict(_ITERATORS))
def IterVar(dom: Any, var: Any, iter_type: tir.IterVarType | int, thread_tag: str = "") -> tir.IterVar:
    """An iterator over `dom`, a range or a pair of its begin and end; `var` may be a name."""
    kind = _ITERATORS[iter_type][1] if isinstance(iter_type, int) else iter_type
    name = tir.Var("int32", var) if isinstance(var, str) else plain_node(var)
    return tir.IterVar(None if dom is None else range_of(dom), name, kind, thread_tag)


def add(lhs: te.Value, rhs: te.Value) -> tir.PrimExpr:
    """Return the sum of two expressions."""
    return make.add(*te.operands(lhs, rhs))


def subtract(lhs: te.Value, rhs: te.Value) -> tir.PrimExpr:
    """Return the difference of two expressions."""
    return make.sub(*te.operands(lhs, rhs))


def multiply(lhs: te.Value, rhs: te.Value) -> tir.PrimExpr:
    """Return the product of two expressions."""
    return make.mul(*te.operands(lhs, rhs))
