"""Operators by name: `T.Add(a, b)` and the like build plain nodes; `T.min(a, b)` and the like also fold constants."""

from __future__ import annotations

from typing import Any

from ...ir import make, tir
from ...ir.base import Span
from ...ir.dtype import with_lanes, with_lanes_of
from ...ir.signature import describe, wrong_kind
from .convert import Condition, DTypeName, Exprs, Mismatch, PrimExpr, constant, expression, is_tuple
from .forms import Closure, Form, FormUse, form, register, signature_of
from .operators import compare
from .tir_loops import range_of

_NODES: dict[str, type[tir.BinaryOp]] = {
    "Add": tir.Add, "Sub": tir.Sub, "Mul": tir.Mul, "Div": tir.Div, "Mod": tir.Mod, "FloorDiv": tir.FloorDiv,
    "FloorMod": tir.FloorMod, "Min": tir.Min, "Max": tir.Max, "And": tir.And, "Or": tir.Or,
}  # fmt: skip
_COMPARISONS: dict[str, type[tir.CmpOp]] = {
    "EQ": tir.EQ, "NE": tir.NE, "LT": tir.LT, "LE": tir.LE, "GT": tir.GT, "GE": tir.GE,
}  # fmt: skip
_FUNCTIONS = {
    "add": make.add, "subtract": make.sub, "multiply": make.mul, "div": make.div, "min": make.minimum, "max": make.maximum,
    "floordiv": make.floordiv, "floormod": make.floormod, "truncdiv": make.truncdiv, "truncmod": make.truncmod,
    "ceildiv": make.ceildiv, "shift_left": make.left_shift, "shift_right": make.right_shift,
    "bitwise_and": make.bitwise_and, "bitwise_or": make.bitwise_or, "bitwise_xor": make.bitwise_xor,
}  # fmt: skip


def _register_binary(name: str, combine: Any, doc: str | None) -> None:
    def build(site: FormUse, a: Any, b: Any, *, dtype: Any = None) -> tir.PrimExpr:
        return combine(*_pair(site, a, b), site.span)

    build.__doc__ = doc
    register(f"T.{name}", Form(f"T.{name}", build, signature_of(build)))


def _pair(site: FormUse, a: Any, b: Any) -> tuple[tir.PrimExpr, tir.PrimExpr]:
    """Return both operands as expressions; a plain number becomes a constant."""
    values: list[tir.PrimExpr | float] = []
    for index, (value, name) in enumerate(((a, "a"), (b, "b"))):
        try:
            is_number = isinstance(value, bool | int | float)
            values.append(value if is_number else expression(value, site.span))
        except Mismatch as mismatch:
            message = wrong_kind(site.name, index + 1, name, mismatch.expected, describe(value))
            raise site.error("E0202", message, mismatch.help, site.argument(name, index)) from None
    left, right = (value if isinstance(value, tir.PrimExpr) else constant(value, site.span) for value in values)
    return left, right


def _node(kind: type[tir.BinaryOp]) -> Any:
    def build(a: tir.PrimExpr, b: tir.PrimExpr, span: Span) -> tir.PrimExpr:
        a, b = make.match_types(a, b, span)
        dtype = with_lanes_of("bool", a.dtype) if kind in (tir.And, tir.Or) else a.dtype
        return kind(dtype, a, b, span=span)

    return build


for _name, _kind in _NODES.items():
    _register_binary(_name, _node(_kind), f"The plain node `{_name}`: operands are promoted, nothing is folded.")
for _name, _comparison in _COMPARISONS.items():
    _register_binary(
        _name,
        lambda a, b, span, kind=_comparison: compare(kind, a, b, span),  # type: ignore[reportUnknownLambdaType]
        f"The plain node `{_name}`: operands are promoted, nothing is folded.",
    )
for _name, _function in _FUNCTIONS.items():
    _register_binary(_name, _function, _function.__doc__)


@form("T.Not")
def logical_not(site: FormUse, a: Condition) -> tir.PrimExpr:
    """`T.Not(a)`: the same as `not a`."""
    return tir.Not(with_lanes_of("bool", a.dtype), a, span=site.span)


@form("T.Cast")
def cast_node(site: FormUse, dtype: DTypeName, value: PrimExpr) -> tir.PrimExpr:
    """`T.Cast("float16", x)`: the plain node; a constant is not folded."""
    return tir.Cast(dtype, value, span=site.span)


@form("T.cast")
def cast(site: FormUse, value: PrimExpr, dtype: DTypeName) -> tir.PrimExpr:
    """`T.cast(x, "float16")`: the value as another dtype; a constant is folded."""
    return make.cast(value, dtype, site.span)


@form("T.Select")
def select(site: FormUse, condition: Condition, true_value: PrimExpr, false_value: PrimExpr) -> tir.PrimExpr:
    """`T.Select(condition, a, b)`: evaluates both sides."""
    true_value, false_value = make.match_types(true_value, false_value, site.span)
    return tir.Select(true_value.dtype, condition, true_value, false_value, span=site.span)


@form("T.Ramp", "T.ramp")
def ramp(site: FormUse, base: PrimExpr, stride: PrimExpr, lanes: PrimExpr) -> tir.PrimExpr:
    """`T.Ramp(base, stride, lanes)`: base, base + stride, …"""
    return make.ramp(base, stride, lanes, site.span)


@form("T.Broadcast", "T.broadcast")
def broadcast(site: FormUse, value: PrimExpr, lanes: PrimExpr) -> tir.PrimExpr:
    """`T.Broadcast(value, lanes)`: a vector whose lanes are copies of a scalar."""
    return make.broadcast(value, lanes, site.span)


@form("T.Shuffle")
def shuffle(site: FormUse, vectors: Exprs, indices: Exprs) -> tir.PrimExpr:
    """`T.Shuffle([a, b], [0, 5])`: elements of the concatenated vectors."""
    if not vectors or not indices:
        raise site.error("E0202", "T.Shuffle needs at least one vector and one index")
    dtype = with_lanes(vectors[0].dtype, len(indices))
    return tir.Shuffle(dtype, vectors, indices, span=site.span)


@form("T.Range", "I.Range")
def range_node(site: FormUse, begin: PrimExpr, end: PrimExpr) -> tir.Range:
    """`T.Range(begin, end)`: the integers from `begin` up to, but not including, `end`."""
    return range_of(begin, end)


@form("T.comm_reducer")
def comm_reducer(site: FormUse, combiner: Any, identity: Exprs) -> tir.CommReducer:
    """`T.comm_reducer(lambda x, y: x + y, [T.float32(0)])`: how threads combine values, and the identity element."""
    if not isinstance(combiner, Closure):
        message = f"argument 1, 'combiner' to T.comm_reducer: expected a lambda, got {describe(combiner)}"
        raise site.error("E0202", message, node=site.argument("combiner", 0))
    names, count = [param.name for param in combiner.node.params], len(identity)
    if len(names) != 2 * count:
        message = f"expected a combiner of {2 * count} arguments for {count} identit{'y' if count == 1 else 'ies'}"
        raise site.error("E0202", f"{message}, got {len(names)}", node=combiner.node)
    variables = tuple(
        tir.Var(value.dtype, name, span=site.span) for name, value in zip(names, identity + identity, strict=True)
    )
    result = combiner.call(variables)
    values = result if is_tuple(result) else (result,)
    results = tuple([expression(value, site.span) for value in values])
    return tir.CommReducer(variables[:count], variables[count:], results, identity, span=site.span)


@form("T.index_map")
def index_map(
    site: FormUse, mapping: Any, *, inverse_index_map: Any = None, index_dtype: DTypeName = "int64"
) -> tir.IndexMap:
    """`T.index_map(lambda i, j: (i // 16, j, i % 16))`: the position of each element in a new layout."""
    inverse = None if inverse_index_map is None else _index_map(site, inverse_index_map, index_dtype)
    made = _index_map(site, mapping, index_dtype)
    return tir.IndexMap(made.initial_indices, made.final_indices, inverse, span=site.span)


def _index_map(site: FormUse, mapping: Any, dtype: str) -> tir.IndexMap:
    if not isinstance(mapping, Closure):
        raise site.error("E0202", f"{site.name}: expected a lambda, got {describe(mapping)}")
    variables = tuple(tir.Var(dtype, param.name, span=site.span) for param in mapping.node.params)
    result = mapping.call(variables)
    values = result if is_tuple(result) else (result,)
    finals = [make.const(value) if type(value) is int else expression(value, site.span) for value in values]
    return tir.IndexMap(variables, tuple(finals), span=site.span)
