"""Gradients of operators: from the gradient of the result to those of the arguments.

TVM: `relax/op/_op_gradient.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from .. import relax
from ..building.values import apply, const
from ..diagnostics import error
from ..infer import infer_struct_info
from ..ops import dims as d
from ..ops.inference import dims_of

Rule: TypeAlias = Callable[[relax.Call, relax.Var, relax.Expr], Sequence[Any]]
"""Function from a call, its result and the gradient of the result to those of its arguments; None if one has none."""


def info_of(value: relax.Expr) -> relax.TensorStructInfo:
    """Return the struct info of a tensor."""
    info = infer_struct_info(value)
    assert isinstance(info, relax.TensorStructInfo)
    return info


def shape_of(value: relax.Expr) -> relax.ShapeExpr:
    """Return the shape of a tensor. Raises E0908 if it is unknown."""
    info = info_of(value)
    if not isinstance(info.shape, relax.ShapeExpr):
        raise error("E0908", f"the gradient needs the shape of {info}, which is unknown")
    return info.shape


def fitted(gradient: relax.Expr, value: relax.Expr) -> relax.Expr:
    """Return a gradient summed over the axes along which `value` was broadcast."""
    own, shape = shape_of(gradient).values, shape_of(value)
    is_same = len(own) == len(shape.values) and all(d.is_equal(a, b) for a, b in zip(own, shape.values, strict=True))
    return gradient if is_same else apply("collapse_sum_to", gradient, shape)


def number(value: float, like: relax.Expr) -> relax.Expr:
    """Return a constant scalar of the dtype of `like`."""
    return const(value, info_of(like).dtype)


Local: TypeAlias = Callable[[Any, Any], Any]
Partial: TypeAlias = Callable[[Any, Any, Any, Any], Any]


def _unary(derivative: Local) -> Rule:
    """Define the gradient of an elementwise operator; `derivative` gets its operand and its result."""
    return lambda call, y, g: [g * derivative(call.args[0], y)]


def _binary(first: Partial, second: Partial) -> Rule:
    """Define the gradient of a broadcasting operator; each rule gets the gradient, both operands and the result."""

    def rule(call: relax.Call, y: relax.Var, g: relax.Expr) -> Sequence[Any]:
        a, b = call.args
        return [fitted(first(g, a, b, y), a), fitted(second(g, a, b, y), b)]

    return rule


def _kept(condition: relax.Expr, g: relax.Expr) -> relax.Expr:
    return apply("where", condition, g, number(0, g))


def _axes(call: relax.Call) -> list[int]:
    rank, axes = info_of(call.args[0]).ndim, call.attrs["axis"]
    return list(range(rank)) if axes is None else sorted(axis % rank for axis in axes)


def _broadcast_back(call: relax.Call, g: relax.Expr) -> relax.Expr:
    """Return the gradient of a reduction, broadcast to the shape of the reduced tensor."""
    axes = _axes(call)
    if not call.attrs["keepdims"] and info_of(g).ndim:
        g = apply("expand_dims", g, axis=axes)
    return apply("broadcast_to", g, shape_of(call.args[0]))


def _count(call: relax.Call) -> float:
    """Return the number of elements that a reduction combines. Raises E0908 if it is unknown."""
    sizes = [d.value_of(shape_of(call.args[0]).values[axis]) for axis in _axes(call)]
    if any(size is None for size in sizes):
        raise error("E0908", "the gradient of a mean over a symbolic dimension is not supported")
    return float(math.prod([size for size in sizes if size is not None]))


def _mean(call: relax.Call, y: relax.Var, g: relax.Expr) -> Sequence[Any]:
    return [_broadcast_back(call, g / number(_count(call), g))]


def _variance(call: relax.Call, y: relax.Var, g: relax.Expr) -> Sequence[Any]:
    x = call.args[0]
    centred = x - apply("mean", x, axis=_axes(call), keepdims=True)
    return [_broadcast_back(call, g) * centred * number(2 / _count(call), x)]


def _extremum(call: relax.Call, y: relax.Var, g: relax.Expr) -> Sequence[Any]:
    """Return the gradient of a maximum or minimum, divided equally among equal elements."""
    x = call.args[0]
    hits = apply("equal", x, _broadcast_back(call, y)).astype(info_of(x).dtype)
    shares = hits / apply("sum", hits, axis=_axes(call), keepdims=True)
    return [_broadcast_back(call, g) * shares]


def _matmul(call: relax.Call, y: relax.Var, g: relax.Expr) -> Sequence[Any]:
    """Return the gradients of a product. A vector is a matrix of one row on the left, of one column on the right."""
    a, b = call.args
    is_row, is_column = info_of(a).ndim == 1, info_of(b).ndim == 1
    if is_column:
        g = apply("expand_dims", g, axis=[-1])
    if is_row:
        g = apply("expand_dims", g, axis=[-2])
    rows = apply("expand_dims", a, axis=[0]) if is_row else a
    columns = apply("expand_dims", b, axis=[1]) if is_column else b
    of_a = apply("matmul", g, _transposed(columns))
    of_b = apply("matmul", _transposed(rows), g)
    return [fitted(of_a, a), fitted(apply("squeeze", of_b, axis=[-1]) if is_column else of_b, b)]


def _transposed(x: relax.Expr) -> relax.Expr:
    rank = info_of(x).ndim
    return apply("permute_dims", x, axes=[*range(rank - 2), rank - 1, rank - 2])


def _permute_dims(call: relax.Call, y: relax.Var, g: relax.Expr) -> Sequence[Any]:
    axes, rank = call.attrs["axes"], info_of(g).ndim
    order = list(reversed(range(rank))) if axes is None else [axis % rank for axis in axes]
    return [apply("permute_dims", g, axes=[order.index(axis) for axis in range(rank)])]


def _reshape(call: relax.Call, y: relax.Var, g: relax.Expr) -> Sequence[Any]:
    return [apply("reshape", g, shape_of(call.args[0]))]


def _concat(call: relax.Call, y: relax.Var, g: relax.Expr) -> Sequence[Any]:
    info = infer_struct_info(call.args[0])
    assert isinstance(info, relax.TupleStructInfo)
    axis, places, place = call.attrs["axis"] or 0, list[int](), 0
    for field in info.fields:
        dims = dims_of(field) if isinstance(field, relax.TensorStructInfo) else None
        size = d.value_of(dims[axis]) if dims is not None else None
        if size is None:
            raise error("E0908", "the gradient of R.concat along a symbolic dimension is not supported")
        place += size
        places.append(place)
    if len(places) == 1:
        return [[g]]
    return [apply("split", g, places[:-1], axis=axis)]


def _split(call: relax.Call, y: relax.Var, g: relax.Expr) -> Sequence[Any]:
    return [apply("concat", g, axis=call.attrs["axis"])]


def _where(call: relax.Call, y: relax.Var, g: relax.Expr) -> Sequence[Any]:
    condition, a, b = call.args
    zero = number(0, g)
    return [None, fitted(apply("where", condition, g, zero), a), fitted(apply("where", condition, zero, g), b)]


def _take(call: relax.Call, y: relax.Var, g: relax.Expr) -> Sequence[Any]:
    x, indices = call.args
    if call.attrs.get("mode", "fast") != "fast":
        raise error("E0908", f'R.take has no gradient in mode "{call.attrs["mode"]}"')
    return [apply("grad.take_backward", g, x, indices, axis=call.attrs["axis"]), None]


def _cumsum(call: relax.Call, y: relax.Var, g: relax.Expr) -> Sequence[Any]:
    """Return the gradient of a cumulative sum: the sum of all gradients from the element on."""
    x, axis = call.args[0], call.attrs["axis"]
    flat = g if axis is not None else apply("reshape", g, shape_of(g))
    along = 0 if axis is None else axis
    backwards = apply(
        "flip",
        apply("cumsum", apply("flip", flat, axis=along), axis=along, exclusive=call.attrs["exclusive"]),
        axis=along,
    )
    return [backwards if axis is not None else apply("reshape", backwards, shape_of(x))]


def _passed_on(call: relax.Call, y: relax.Var, g: relax.Expr) -> Sequence[Any]:
    return [g]


def _nothing(call: relax.Call, y: relax.Var, g: relax.Expr) -> Sequence[Any]:
    return []


_WITHOUT = (
    "equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "grad.no_grad", "zeros", "ones", "full", "zeros_like", "ones_like", "full_like", "arange", "floor", "ceil", "round",
    "sign",
)  # fmt: skip
"""Operators without gradients, as their results are constant or piecewise constant."""
RULES: Mapping[str, Rule] = {
    "add": _binary(lambda g, a, b, y: g, lambda g, a, b, y: g),
    "subtract": _binary(lambda g, a, b, y: g, lambda g, a, b, y: -g),
    "multiply": _binary(lambda g, a, b, y: g * b, lambda g, a, b, y: g * a),
    "divide": _binary(lambda g, a, b, y: g / b, lambda g, a, b, y: -g * y / b),
    "power": _binary(lambda g, a, b, y: g * b * a ** (b - number(1, b)), lambda g, a, b, y: g * y * apply("log", a)),
    "maximum": _binary(lambda g, a, b, y: _kept(a >= b, g), lambda g, a, b, y: _kept(a < b, g)),
    "minimum": _binary(lambda g, a, b, y: _kept(a < b, g), lambda g, a, b, y: _kept(a >= b, g)),
    "negative": lambda call, y, g: [-g],
    "abs": lambda call, y, g: [g * apply("sign", call.args[0])],
    "exp": _unary(lambda x, y: y),
    "log": lambda call, y, g: [g / call.args[0]],
    "sqrt": lambda call, y, g: [g * number(0.5, g) / y],
    "rsqrt": _unary(lambda x, y: number(-0.5, x) * y * y * y),
    "square": _unary(lambda x, y: number(2, x) * x),
    "sin": _unary(lambda x, y: apply("cos", x)),
    "cos": _unary(lambda x, y: -apply("sin", x)),
    "tan": _unary(lambda x, y: number(1, x) + y * y),
    "sinh": _unary(lambda x, y: apply("cosh", x)),
    "cosh": _unary(lambda x, y: apply("sinh", x)),
    "tanh": _unary(lambda x, y: number(1, x) - y * y),
    "atan": lambda call, y, g: [g / (number(1, g) + call.args[0] * call.args[0])],
    "sigmoid": _unary(lambda x, y: y * (number(1, y) - y)),
    "erf": _unary(lambda x, y: number(2 / math.sqrt(math.pi), x) * apply("exp", -(x * x))),
    "sum": lambda call, y, g: [_broadcast_back(call, g)],
    "mean": _mean,
    "variance": _variance,
    "max": _extremum,
    "min": _extremum,
    "matmul": _matmul,
    "permute_dims": _permute_dims,
    **dict.fromkeys(("reshape", "flatten", "expand_dims", "squeeze"), _reshape),
    "broadcast_to": lambda call, y, g: [fitted(g, call.args[0]), None],
    "collapse_sum_to": lambda call, y, g: [apply("broadcast_to", g, shape_of(call.args[0])), None],
    "concat": _concat,
    "split": _split,
    "where": _where,
    "take": _take,
    "cumsum": _cumsum,
    "tril": lambda call, y, g: [apply("tril", g, *call.args[1:])],
    "triu": lambda call, y, g: [apply("triu", g, *call.args[1:])],
    "astype": lambda call, y, g: [apply("astype", g, dtype=info_of(call.args[0]).dtype)],
    **dict.fromkeys(("grad.start_checkpoint", "grad.end_checkpoint"), _passed_on),
    **dict.fromkeys(_WITHOUT, _nothing),
}
