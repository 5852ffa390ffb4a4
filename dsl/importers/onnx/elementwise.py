"""Rows for elementwise functions and activations of one tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....ir import relax
from ....ir.api.relax import op
from ....ir.building.values import const
from ..formulas import expm1, softplus
from ..values import dims_of, dtype_of, is_floating, rank_of
from .converter import Converter
from .rows import Convert, Family

ROWS = Family()

_FLOATS = {
    "Exp": op.exp, "Log": op.log, "Sqrt": op.sqrt, "Sigmoid": op.sigmoid, "Tanh": op.tanh, "Sin": op.sin, "Cos": op.cos,
    "Tan": op.tan, "Asin": op.asin, "Acos": op.acos, "Atan": op.atan, "Sinh": op.sinh, "Cosh": op.cosh, "Asinh": op.asinh,
    "Acosh": op.acosh, "Atanh": op.atanh, "Erf": op.erf, "Softplus": softplus,
}  # fmt: skip
_ANY: dict[str, Callable[[relax.Expr], relax.Expr]] = {
    "Abs": op.abs, "Neg": op.negative, "Ceil": op.ceil, "Floor": op.floor, "Round": op.round, "Sign": op.sign,
    "Relu": op.nn.relu, "Not": op.logical_not, "BitwiseNot": op.bitwise_not, "IsNaN": op.isnan,
}  # fmt: skip


def _of_floats(function: Callable[[relax.Expr], relax.Expr]) -> Convert:
    """Return the row of a function of floats; integers are computed as float32."""

    def convert(c: Converter, a: Any) -> relax.Expr:
        (x,) = c.inputs
        assert x is not None
        return function(x) if is_floating(dtype_of(x)) else c.cast(function(c.cast(x, "float32")), dtype_of(x))

    return convert


def _plain(function: Callable[[relax.Expr], relax.Expr]) -> Convert:
    return lambda c, a: function(c.inputs[0])


ROWS.add({name: _of_floats(function) for name, function in _FLOATS.items()})
ROWS.add({name: _plain(function) for name, function in _ANY.items()})


def number(value: float, like: relax.Expr) -> relax.Expr:
    """Return a number as a constant of the dtype of a tensor."""
    return const(value, dtype_of(like))


@ROWS.row("IsInf")
def _isinf(c: Converter, a: Any) -> relax.Expr:
    tests: list[relax.Expr] = []
    if a.detect_positive:
        tests.append(op.equal(a.X, number(float("inf"), a.X)))
    if a.detect_negative:
        tests.append(op.equal(a.X, number(float("-inf"), a.X)))
    if len(tests) == 2:
        return op.isinf(a.X)
    return tests[0] if tests else op.full_like(a.X, const(False, "bool"), "bool")


@ROWS.row("Reciprocal")
def _reciprocal(c: Converter, a: Any) -> relax.Expr:
    return op.divide(number(1, a.X), a.X)


def _wide(c: Converter, function: Callable[[relax.Expr], relax.Expr], x: relax.Expr) -> relax.Expr:
    """Compute a function of float16 or bfloat16 as float32."""
    is_narrow = dtype_of(x) in ("float16", "bfloat16")
    return c.cast(function(c.cast(x, "float32")), dtype_of(x)) if is_narrow else function(x)


@ROWS.row("Elu", "Selu", "Celu")
def _elu(c: Converter, a: Any) -> relax.Expr:
    """Return x where it is positive, and alpha * (exp(x / scale) - 1) elsewhere."""

    def elu(x: relax.Expr) -> relax.Expr:
        inner = op.divide(x, number(a.alpha, x)) if c.node.op_type == "Celu" else x
        negative = op.multiply(expm1(inner), number(a.alpha, x))
        found = op.where(op.greater(x, number(0, x)), x, negative)
        return op.multiply(found, number(a.gamma, x)) if c.node.op_type == "Selu" else found

    return _wide(c, elu, a.X)


@ROWS.row("LeakyRelu")
def _leaky_relu(c: Converter, a: Any) -> relax.Expr:
    return op.nn.leakyrelu(a.X, a.alpha)


@ROWS.row("ThresholdedRelu")
def _thresholded_relu(c: Converter, a: Any) -> relax.Expr:
    return op.where(op.greater(a.X, number(a.alpha, a.X)), a.X, number(0, a.X))


@ROWS.row("PRelu", since=7)
def _prelu(c: Converter, a: Any) -> relax.Expr:
    return op.where(op.less(a.X, number(0, a.X)), op.multiply(a.slope, a.X), a.X)


@ROWS.row("PRelu")
def _prelu_of_channels(c: Converter, a: Any) -> relax.Expr:
    """Before version 7, a slope with more than one element belongs to the channels."""
    if rank_of(a.slope) == 1 and rank_of(a.X) > 2:
        a.slope = op.reshape(a.slope, c.shape((*dims_of(a.slope), *[1] * (rank_of(a.X) - 2))))
    return _prelu(c, a)


@ROWS.row("HardSigmoid")
def _hard_sigmoid(c: Converter, a: Any) -> relax.Expr:
    line = op.add(op.multiply(a.X, number(a.alpha, a.X)), number(a.beta, a.X))
    return op.maximum(op.minimum(line, number(1, a.X)), number(0, a.X))


@ROWS.row("HardSwish")
def _hard_swish(c: Converter, a: Any) -> relax.Expr:
    a.alpha, a.beta = 1 / 6, 0.5
    return op.multiply(a.X, _hard_sigmoid(c, a))


@ROWS.row("Softsign")
def _softsign(c: Converter, a: Any) -> relax.Expr:
    return op.divide(a.input, op.add(op.abs(a.input), number(1, a.input)))


@ROWS.row("Swish")
def _swish(c: Converter, a: Any) -> relax.Expr:
    if a.alpha == 1:
        return op.nn.silu(a.X)
    return op.multiply(a.X, op.sigmoid(op.multiply(a.X, number(a.alpha, a.X))))


@ROWS.row("Mish")
def _mish(c: Converter, a: Any) -> relax.Expr:
    return op.multiply(a.X, op.tanh(softplus(a.X)))


@ROWS.row("Gelu")
def _gelu(c: Converter, a: Any) -> relax.Expr:
    return op.nn.gelu_tanh(a.X) if a.approximate == "tanh" else op.nn.gelu(a.X)


@ROWS.row("Shrink")
def _shrink(c: Converter, a: Any) -> relax.Expr:
    x, bias = a.input, number(a.bias, a.input)
    above = op.where(op.greater(x, number(a.lambd, x)), op.subtract(x, bias), number(0, x))
    return op.where(op.less(x, number(-a.lambd, x)), op.add(x, bias), above)


@ROWS.row("Clip", since=11)
def _clip(c: Converter, a: Any) -> relax.Expr:
    """Clamp to two scalars, each of which may be omitted; if `min` exceeds `max`, the result is `max`."""
    x = a.input
    if a.min is not None:
        x = op.maximum(x, _scalar(c, a.min))
    return x if a.max is None else op.minimum(x, _scalar(c, a.max))


def _scalar(c: Converter, x: relax.Expr) -> relax.Expr:
    return op.reshape(x, c.shape(())) if rank_of(x) else x


@ROWS.row("Clip")
def _clip_to_numbers(c: Converter, a: Any) -> relax.Expr:
    """Before version 11, the bounds are attributes."""
    bounds = (None if bound is None else number(bound, a.input) for bound in (a.min, a.max))
    a.min, a.max = bounds
    return _clip(c, a)


@ROWS.row("Dropout", since=7)
def _dropout(c: Converter, a: Any) -> Any:
    """Return the data and a mask of ones: a model that is executed for inference drops nothing."""
    training = getattr(a, "training_mode", None)
    if training is not None and c.array(training, "the training mode").any():
        ratio = 0.5 if a.ratio is None else float(c.array(a.ratio, "the ratio"))
        if ratio:
            raise c.unsupported("it drops elements at random", "export the model for inference")
    return a.data, op.full_like(a.data, const(True, "bool"), "bool")


@ROWS.row("Dropout")
def _dropout_before(c: Converter, a: Any) -> Any:
    if not getattr(a, "is_test", 1) and a.ratio:
        raise c.unsupported("it drops elements at random", "export the model for inference")
    return a.data, op.full_like(a.data, number(1, a.data))
