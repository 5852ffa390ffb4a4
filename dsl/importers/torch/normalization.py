"""Rows for normalizations and softmax."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....ir import relax
from ....ir.api.relax import op
from ....ir.building.values import const
from ....ir.ops import dims as d
from ..values import dims_of, dtype_of, rank_of
from .converter import Convert, Converter
from .elementwise import number


def _filled(c: Converter, given: relax.Expr | None, dims: Sequence[Any], value: int, dtype: str) -> relax.Expr:
    """Return a weight, or a constant of `value` if the model has none."""
    if given is not None:
        return c.cast(given, dtype)
    import numpy as np

    sizes = [d.value_of(d.as_dim(dim)) for dim in dims]
    if None in sizes:
        return op.full(dims, const(value, dtype), dtype)
    return const(np.full(sizes, value), dtype)  # type: ignore[reportArgumentType]


def _batch_norm_by_statistics(c: Converter, a: Any) -> relax.Expr:
    x = a.input
    channels = [dims_of(x)[1]]
    weights = (_filled(c, given, channels, value, dtype_of(x)) for given, value in ((a.weight, 1), (a.bias, 0)))
    moments = (c.cast(value, dtype_of(x)) for value in (a.running_mean, a.running_var))
    return op.nn.batch_norm(x, *weights, *moments, axis=1, epsilon=a.eps, momentum=a.momentum, training=False)[0]


def _of_batch(c: Converter, x: relax.Expr, axes: list[int], eps: float) -> relax.Expr:
    """Normalize `x` to mean 0 and variance 1 over `axes`."""
    centred = op.subtract(x, op.mean(x, axes, True))
    variance = op.mean(op.multiply(centred, centred), axes, True)
    return op.multiply(centred, op.rsqrt(op.add(variance, number(eps, x))))


def _with_channel_weights(c: Converter, x: relax.Expr, weight: Any, bias: Any) -> relax.Expr:
    ones = [1] * (rank_of(x) - 2)
    for given, combine in ((weight, op.multiply), (bias, op.add)):
        if given is not None:
            x = combine(x, op.reshape(c.cast(given, dtype_of(x)), [1, dims_of(given)[0], *ones]))
    return x


def _batch_norm_of_batch(c: Converter, a: Any) -> relax.Expr:
    axes = [axis for axis in range(rank_of(a.input)) if axis != 1]
    return _with_channel_weights(c, _of_batch(c, a.input, axes, a.eps), a.weight, a.bias)


def _batch_norm(c: Converter, a: Any) -> relax.Expr:
    return _batch_norm_of_batch(c, a) if a.training else _batch_norm_by_statistics(c, a)


def _with_moments(convert: Convert) -> Convert:
    """Return the normalized tensor; the mean and the deviation are results that only gradients use."""

    return lambda c, a: (lambda: convert(c, a), c.only_for_gradients, c.only_for_gradients)


def _batch_norm_no_training(c: Converter, a: Any) -> Any:
    return (lambda: _batch_norm_by_statistics(c, a), lambda: op.zeros([0], "float32"), lambda: op.zeros([0], "float32"))


def _batch_norm_functional(c: Converter, a: Any) -> Any:
    """Normalize over the batch; in training, also return the moments of the batch and the new running moments."""
    x = a.input
    axes = [axis for axis in range(rank_of(x)) if axis != 1]
    mean = c.emit(op.mean(x, axes), "_mean")
    centred = op.subtract(x, op.mean(x, axes, True))
    variance = c.emit(op.mean(op.multiply(centred, centred), axes), "_var")
    deviation = op.rsqrt(op.add(variance, number(a.eps, x)))
    if not hasattr(a, "running_mean"):
        return (lambda: _batch_norm(c, a), lambda: mean, lambda: deviation)
    count = d.product([dims_of(x)[axis] for axis in axes])
    corrected = op.multiply(
        variance, op.divide(c.tensor(count, dtype_of(x)), c.tensor(d.subtract(count, 1), dtype_of(x)))
    )

    def moved(old: relax.Expr, new: relax.Expr) -> relax.Expr:
        return op.add(op.multiply(old, number(1 - a.momentum, old)), op.multiply(new, number(a.momentum, old)))

    return (
        lambda: _batch_norm(c, a),
        lambda: mean,
        lambda: deviation,
        lambda: moved(a.running_mean, mean),
        lambda: moved(a.running_var, corrected),
    )


def _layer_norm(c: Converter, a: Any) -> relax.Expr:
    x, shape = a.input, list(a.normalized_shape)
    weights = (_filled(c, given, shape, value, dtype_of(x)) for given, value in ((a.weight, 1), (a.bias, 0)))
    return op.nn.layer_norm(x, *weights, axes=list(range(-len(shape), 0)), epsilon=a.eps)


def _rms_norm(c: Converter, a: Any) -> relax.Expr:
    x, shape = a.input, list(a.normalized_shape)
    eps = a.eps
    if eps is None:
        eps = {"float64": 2.0**-52, "float16": 2.0**-10, "bfloat16": 2.0**-7}.get(dtype_of(x), 2.0**-23)
    weight = _filled(c, a.weight, shape, 1, dtype_of(x))
    return op.nn.rms_norm(x, weight, axes=list(range(-len(shape), 0)), epsilon=eps)


def _group_norm(c: Converter, a: Any) -> relax.Expr:
    x = a.input
    channels = [dims_of(x)[1]]
    weights = (_filled(c, given, channels, value, dtype_of(x)) for given, value in ((a.weight, 1), (a.bias, 0)))
    groups = a.num_groups if hasattr(a, "num_groups") else a.group
    axes = list(range(2, rank_of(x)))
    return op.nn.group_norm(x, *weights, num_groups=groups, channel_axis=1, axes=axes, epsilon=a.eps)


def _instance_norm(c: Converter, a: Any) -> relax.Expr:
    if not a.use_input_stats:
        return _batch_norm_by_statistics(c, a)
    x = a.input
    channels = [dims_of(x)[1]]
    weights = (_filled(c, given, channels, value, dtype_of(x)) for given, value in ((a.weight, 1), (a.bias, 0)))
    return op.nn.instance_norm(x, *weights, channel_axis=1, axes=list(range(2, rank_of(x))), epsilon=a.eps)


def _softmax(name: str) -> Convert:
    def convert(c: Converter, a: Any) -> relax.Expr:
        x = c.tensor(a.self, c.dtype)
        softmax: Any = getattr(op.nn, name)
        if not rank_of(x):
            return op.reshape(softmax(op.reshape(x, [1]), 0), ())
        return softmax(x, a.dim)

    return convert


def _safe_softmax(c: Converter, a: Any) -> relax.Expr:
    """Return the softmax, with 0 for rows in which every element is -inf."""
    from math import inf

    x = c.tensor(a.self, c.dtype)
    is_hidden = op.equal(op.max(x, [a.dim], True), number(-inf, x))
    return op.where(is_hidden, number(0, x), op.nn.softmax(x, a.dim))


ROWS: dict[str, Convert] = {
    "batch_norm.default": _batch_norm,
    "_native_batch_norm_legit_no_training.default": _batch_norm_no_training,
    "_native_batch_norm_legit.default": _with_moments(_batch_norm),
    "_native_batch_norm_legit.no_stats": _batch_norm_functional,
    "_native_batch_norm_legit_functional.default": _batch_norm_functional,
    "instance_norm.default": _instance_norm,
    "layer_norm.default": _layer_norm,
    "native_layer_norm.default": _with_moments(_layer_norm),
    "rms_norm.default": _rms_norm,
    "group_norm.default": _group_norm,
    "native_group_norm.default": _with_moments(_group_norm),
    "softmax.int": _softmax("softmax"),
    "_softmax.default": _softmax("softmax"),
    "log_softmax.int": _softmax("log_softmax"),
    "_log_softmax.default": _softmax("log_softmax"),
    "_safe_softmax.default": _safe_softmax,
}
