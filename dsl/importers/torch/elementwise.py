"""Rows for elementwise operators of one tensor, including activations."""

from __future__ import annotations

from math import inf, log, pi
from typing import Any

from ....ir import relax
from ....ir.api.relax import op
from ....ir.building.values import const
from ....ir.dtype import int_range
from ..formulas import expm1, log1p
from ..values import dtype_of, is_floating, rank_of
from .converter import Convert, Converter


def _plain(name: str) -> Convert:
    """Return the row of the operator `name`, for any dtype."""
    return lambda c, a: _named(name)(a.self)


def _floating(name: str) -> Convert:
    """Return the row of the operator `name`, for floats; integers are converted first."""
    return lambda c, a: _named(name)(c.floating(a.self))


def _named(name: str) -> Any:
    found: Any = op
    for part in name.split("."):
        found = getattr(found, part)
    return found


def _only_for_floats(name: str) -> Convert:
    """Return the row of the operator `name`, which does not change integers."""
    return lambda c, a: _named(name)(a.self) if is_floating(dtype_of(a.self)) else a.self


def number(value: Any, like: relax.Expr) -> relax.Expr:
    """Return a number as a constant of the dtype of a tensor; one that a tensor holds, converted to the dtype."""
    return op.astype(value, dtype_of(like)) if isinstance(value, relax.Expr) else const(value, dtype_of(like))


def _log_of(base: float) -> Convert:
    return lambda c, a: op.divide(op.log(c.floating(a.self)), number(log(base), c.floating(a.self)))


def _expm1(c: Converter, a: Any) -> relax.Expr:
    return expm1(c.floating(a.self))


def _log1p(c: Converter, a: Any) -> relax.Expr:
    return log1p(c.floating(a.self))


def _reciprocal(c: Converter, a: Any) -> relax.Expr:
    x = c.floating(a.self)
    return op.divide(number(1, x), x)


def _sign(c: Converter, a: Any) -> relax.Expr:
    if dtype_of(a.self) == "bool":
        return a.self
    return (
        op.where(op.isnan(a.self), number(0, a.self), op.sign(a.self))
        if is_floating(dtype_of(a.self))
        else op.sign(a.self)
    )


def _isinf(c: Converter, a: Any) -> relax.Expr:
    return op.isinf(a.self) if is_floating(dtype_of(a.self)) else op.full_like(a.self, const(False, "bool"), "bool")


def _isnan(c: Converter, a: Any) -> relax.Expr:
    return op.isnan(a.self) if is_floating(dtype_of(a.self)) else op.full_like(a.self, const(False, "bool"), "bool")


def _isfinite(c: Converter, a: Any) -> relax.Expr:
    return op.isfinite(a.self) if is_floating(dtype_of(a.self)) else op.full_like(a.self, const(True, "bool"), "bool")


def _logical_not(c: Converter, a: Any) -> relax.Expr:
    return op.logical_not(c.cast(a.self, "bool"))


def _bitwise_not(c: Converter, a: Any) -> relax.Expr:
    return op.logical_not(a.self) if dtype_of(a.self) == "bool" else op.bitwise_not(a.self)


def clamped(c: Converter, x: relax.Expr, low: Any, high: Any) -> relax.Expr:
    """Clamp `x` between two bounds, each a number, a tensor or None; NaN stays NaN."""
    for bound, combine, passes in ((low, op.maximum, op.less), (high, op.minimum, op.greater)):
        if bound is None:
            continue
        if isinstance(bound, float) and not is_floating(dtype_of(x)) and abs(bound) == inf:
            bound = int_range(dtype_of(x))[bound > 0]
        left, right = c.promoted(x, bound)
        nan_stays = isinstance(bound, relax.Expr)
        x = combine(left, right) if nan_stays else op.where(passes(left, right), right, left)
    return x


def _clamp(c: Converter, a: Any) -> relax.Expr:
    return clamped(c, c.tensor(a.self, c.dtype), getattr(a, "min", None), getattr(a, "max", None))


def _hardtanh(c: Converter, a: Any) -> relax.Expr:
    low, high = a.min_val, a.max_val
    return op.clip(a.self, float(low), float(high)) if is_floating(dtype_of(a.self)) else op.clip(a.self, low, high)


def _gelu(c: Converter, a: Any) -> relax.Expr:
    return op.nn.gelu_tanh(a.self) if a.approximate == "tanh" else op.nn.gelu(a.self)


def _elu(c: Converter, a: Any) -> relax.Expr:
    x = a.self
    negative = op.multiply(expm1(op.multiply(x, number(a.input_scale, x))), number(a.alpha, x))
    scaled = op.where(op.greater(x, number(0, x)), x, negative)
    return scaled if a.scale == 1 else op.multiply(scaled, number(a.scale, x))


def _celu(c: Converter, a: Any) -> relax.Expr:
    x = a.self
    negative = op.multiply(expm1(op.divide(x, number(a.alpha, x))), number(a.alpha, x))
    return op.where(op.greater(x, number(0, x)), x, negative)


def _leaky_relu(c: Converter, a: Any) -> relax.Expr:
    return op.nn.leakyrelu(a.self, float(a.negative_slope))


def _prelu(c: Converter, a: Any) -> relax.Expr:
    x, slope = a.self, a.weight
    if rank_of(slope) == 1 and rank_of(x):
        return op.nn.prelu(x, slope, min(rank_of(x) - 1, 1))
    return op.where(op.greater(x, number(0, x)), x, op.multiply(slope, x))


def _relu6(c: Converter, a: Any) -> relax.Expr:
    return op.nn.relu6(a.self)


def _hardsigmoid(c: Converter, a: Any) -> relax.Expr:
    shifted = clamped(c, op.add(a.self, number(3, a.self)), 0, 6)
    return op.divide(shifted, number(6, a.self))


def _hardswish(c: Converter, a: Any) -> relax.Expr:
    return op.multiply(a.self, _hardsigmoid(c, a))


def _softplus(c: Converter, a: Any) -> relax.Expr:
    return op.nn.softplus(a.self, float(a.beta), float(a.threshold))


def _mish(c: Converter, a: Any) -> relax.Expr:
    x = a.self
    soft = op.where(op.greater(x, number(20, x)), x, log1p(op.exp(x)))
    return op.multiply(x, op.tanh(soft))


def _log_sigmoid(c: Converter, a: Any) -> relax.Expr:
    x = a.self
    return op.subtract(op.minimum(x, number(0, x)), log1p(op.exp(op.negative(op.abs(x)))))


def _threshold(c: Converter, a: Any) -> relax.Expr:
    return op.where(op.less_equal(a.self, number(a.threshold, a.self)), number(a.value, a.self), a.self)


def _hardshrink(c: Converter, a: Any) -> relax.Expr:
    inside = op.less_equal(op.abs(a.self), number(a.lambd, a.self))
    return op.where(inside, number(0, a.self), a.self)


def _softshrink(c: Converter, a: Any) -> relax.Expr:
    x, bound = a.self, number(a.lambd, a.self)
    above = op.where(op.greater(x, bound), op.subtract(x, bound), op.multiply(x, number(0, x)))
    return op.where(op.less(x, op.negative(bound)), op.add(x, bound), above)


def _glu(c: Converter, a: Any) -> relax.Expr:
    halves = op.split(a.self, 2, a.dim)
    return op.multiply(halves[0], op.sigmoid(halves[1]))


def _logit(c: Converter, a: Any) -> relax.Expr:
    x = c.floating(a.self)
    if a.eps is not None:
        x = clamped(c, x, a.eps, 1 - a.eps)
    return op.log(op.divide(x, op.subtract(number(1, x), x)))


def _frac(c: Converter, a: Any) -> relax.Expr:
    return op.subtract(a.self, op.trunc(a.self))


def _round_decimals(c: Converter, a: Any) -> relax.Expr:
    scale = number(10.0**a.decimals, a.self)
    return op.divide(op.round(op.multiply(a.self, scale)), scale)


def _nan_to_num(c: Converter, a: Any) -> relax.Expr:
    x = a.self
    if not is_floating(dtype_of(x)):
        return x
    import ml_dtypes

    library: Any = ml_dtypes
    largest = float(library.finfo(dtype_of(x)).max)
    posinf: float = largest if a.posinf is None else a.posinf
    neginf: float = -largest if a.neginf is None else a.neginf
    x = op.where(op.isnan(x), number(a.nan or 0.0, x), x)
    finite = op.where(op.equal(x, number(inf, x)), number(posinf, x), x)
    return op.where(op.equal(finite, number(-inf, x)), number(neginf, x), finite)


def _erfc(c: Converter, a: Any) -> relax.Expr:
    x = c.floating(a.self)
    return op.subtract(number(1, x), op.erf(x))


def _scaled(factor: float) -> Convert:
    return lambda c, a: op.multiply(c.floating(a.self), number(factor, c.floating(a.self)))


def _exp2(c: Converter, a: Any) -> relax.Expr:
    x = c.floating(a.self)
    return op.exp(op.multiply(x, number(log(2), x)))


def _same(c: Converter, a: Any) -> relax.Expr:
    return a.self


def _dropout(c: Converter, a: Any) -> relax.Expr:
    if a.train and a.p:
        raise c.unsupported("drops elements at random: the model was exported for training", "call model.eval() first")
    return a.input


def _native_dropout(c: Converter, a: Any) -> tuple[relax.Expr, relax.Expr]:
    return _dropout(c, a), op.full_like(a.input, const(True, "bool"), "bool")


_FLOATING = (
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "erf", "exp", "log", "rsqrt", "sigmoid", "sin",
    "sinh", "sqrt", "tan", "tanh",
)  # fmt: skip

ROWS: dict[str, Convert] = {
    **{f"{name}.default": _floating(name) for name in _FLOATING},
    **{f"{name}.default": _only_for_floats(name) for name in ("ceil", "floor", "round", "trunc")},
    "abs.default": _plain("abs"),
    "neg.default": _plain("negative"),
    "square.default": _plain("square"),
    "relu.default": _plain("nn.relu"),
    "silu.default": _plain("nn.silu"),
    "isinf.default": _isinf,
    "isnan.default": _isnan,
    "isfinite.default": _isfinite,
    "logical_not.default": _logical_not,
    "bitwise_not.default": _bitwise_not,
    "sign.default": _sign,
    "sgn.default": _sign,
    "log2.default": _log_of(2),
    "log10.default": _log_of(10),
    "log1p.default": _log1p,
    "expm1.default": _expm1,
    "special_expm1.default": _expm1,
    "special_log1p.default": _log1p,
    "exp2.default": _exp2,
    "erfc.default": _erfc,
    "reciprocal.default": _reciprocal,
    "deg2rad.default": _scaled(pi / 180),
    "rad2deg.default": _scaled(180 / pi),
    "frac.default": _frac,
    "round.decimals": _round_decimals,
    "nan_to_num.default": _nan_to_num,
    "clamp.default": _clamp,
    "clamp.Tensor": _clamp,
    "clamp_min.default": _clamp,
    "clamp_min.Tensor": _clamp,
    "clamp_max.default": _clamp,
    "clamp_max.Tensor": _clamp,
    "hardtanh.default": _hardtanh,
    "relu6.default": _relu6,
    "gelu.default": _gelu,
    "elu.default": _elu,
    "celu.default": _celu,
    "selu.default": _plain("nn.selu"),
    "leaky_relu.default": _leaky_relu,
    "prelu.default": _prelu,
    "_prelu_kernel.default": _prelu,
    "hardsigmoid.default": _hardsigmoid,
    "hardswish.default": _hardswish,
    "softplus.default": _softplus,
    "mish.default": _mish,
    "log_sigmoid.default": _log_sigmoid,
    "threshold.default": _threshold,
    "hardshrink.default": _hardshrink,
    "softshrink.default": _softshrink,
    "glu.default": _glu,
    "logit.default": _logit,
    "dropout.default": _dropout,
    "feature_dropout.default": _dropout,
    "alpha_dropout.default": _dropout,
    "native_dropout.default": _native_dropout,
    "alias.default": _same,
    "clone.default": _same,
    "contiguous.default": _same,
    "detach.default": _same,
    "detach_.default": _same,
    "lift_fresh_copy.default": _same,
    "positive.default": _same,
}
