"""Rows for normalizations and softmax."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from ....ir import relax
from ....ir.api.relax import op
from ....ir.building.values import const
from ....ir.ops import dims as d
from ..values import axis_of, dims_of, dtype_of, rank_of
from .converter import Converter
from .rows import Convert, Family

ROWS = Family()


def _hardmax(x: relax.Expr, axis: int) -> relax.Expr:
    """Return 1 at the first maximum along the axis, and 0 elsewhere."""
    rank = rank_of(x)
    places = op.reshape(op.arange(0, dims_of(x)[axis], 1, "int64"), [-1, *[1] * (rank - axis - 1)])
    return op.astype(op.equal(places, op.argmax(x, axis, True)), dtype_of(x))


Along: TypeAlias = Callable[[relax.Expr, int], relax.Expr]
"""A function of a tensor and an axis."""


def in_float32(function: Along) -> Along:
    """Return `function` computed as float32 for floats of 16 bits."""

    def wide(x: relax.Expr, axis: int) -> relax.Expr:
        dtype = dtype_of(x)
        if dtype not in ("float16", "bfloat16"):
            return function(x, axis)
        return op.astype(function(op.astype(x, "float32"), axis), dtype)

    return wide


_ALONG: dict[str, Along] = {
    "Softmax": in_float32(op.nn.softmax), "LogSoftmax": in_float32(op.nn.log_softmax), "Hardmax": _hardmax,
}  # fmt: skip


def _along(function: Along) -> Convert:
    def convert(c: Converter, a: Any) -> relax.Expr:
        if not rank_of(a.input):
            return op.reshape(function(op.reshape(a.input, c.shape((1,))), 0), c.shape(()))
        return function(a.input, axis_of(a.axis, rank_of(a.input)))

    return convert


def _of_matrix(function: Along) -> Convert:
    """Return the row for versions before 13, in which the dimensions from `axis` on are one."""

    def convert(c: Converter, a: Any) -> relax.Expr:
        dims = dims_of(a.input)
        axis = a.axis + len(dims) if a.axis < 0 else a.axis
        flat = op.reshape(a.input, c.shape((d.product(dims[:axis]), d.product(dims[axis:]))))
        return op.reshape(function(flat, 1), c.shape(dims))

    return convert


ROWS.add({name: _along(function) for name, function in _ALONG.items()}, since=13)
ROWS.add({name: _of_matrix(function) for name, function in _ALONG.items()})


def _of_channels(c: Converter, value: relax.Expr, x: relax.Expr) -> relax.Expr:
    """Return one value for each channel in the dtype of `x`, aligned to its second dimension."""
    return op.reshape(c.cast(value, dtype_of(x)), c.shape((1, -1, *[1] * (rank_of(x) - 2))))


@ROWS.row("BatchNormalization")
def _batch_norm(c: Converter, a: Any) -> Any:
    """Normalize by given moments or, in training, by those of the batch, and return the new running moments."""
    names = ("input_mean", "input_var") if hasattr(a, "input_mean") else ("mean", "var")
    mean, variance = (getattr(a, name) for name in names)
    x, dtype = a.X, dtype_of(a.X)
    if not getattr(a, "training_mode", 0):
        weights = (c.cast(value, dtype) for value in (a.scale, a.B, mean, variance))
        made = op.nn.batch_norm(x, *weights, axis=1, epsilon=a.epsilon, training=False)
        return relax.TupleGetItem(c.emit(made, "_all"), 0)
    axes = [axis for axis in range(rank_of(x)) if axis != 1]
    batch_mean = c.emit(op.mean(x, axes, True), "_mean")
    centered = c.emit(op.subtract(x, batch_mean), "_centered")
    batch_variance = c.emit(op.mean(op.square(centered), axes, True), "_variance")
    scaled = op.divide(centered, op.sqrt(op.add(batch_variance, const(a.epsilon, dtype))))
    made = op.add(op.multiply(scaled, _of_channels(c, a.scale, x)), _of_channels(c, a.B, x))

    def running(old: relax.Expr, new: relax.Expr) -> relax.Expr:
        new = c.cast(op.reshape(new, c.shape((-1,))), dtype_of(old))
        kept = op.multiply(old, const(a.momentum, dtype_of(old)))
        return op.add(kept, op.multiply(new, const(1 - a.momentum, dtype_of(old))))

    return made, running(mean, batch_mean), running(variance, batch_variance)


@ROWS.row("InstanceNormalization")
def _instance_norm(c: Converter, a: Any) -> relax.Expr:
    axes = list(range(2, rank_of(a.input)))
    return op.nn.instance_norm(a.input, a.scale, a.B, channel_axis=1, axes=axes, epsilon=a.epsilon)


@ROWS.row("LRN")
def _local_response(c: Converter, a: Any) -> relax.Expr:
    """Divide by a power of the sum of squares over neighboring channels."""
    x, dims, dtype = a.X, dims_of(a.X), dtype_of(a.X)
    rows = op.reshape(op.square(x), c.shape((dims[0], 1, dims[1], d.product(dims[2:]))))
    before = (a.size - 1) // 2
    mean = op.nn.avg_pool2d(rows, [a.size, 1], [1, 1], [before, 0, a.size - 1 - before, 0], count_include_pad=True)
    scale = op.add(op.multiply(op.reshape(mean, c.shape(dims)), const(a.alpha, dtype)), const(a.bias, dtype))
    return op.divide(x, op.power(scale, const(a.beta, dtype)))


@ROWS.row("LpNormalization")
def _lp_norm(c: Converter, a: Any) -> relax.Expr:
    """Divide by the norm along the axis; zeros stay zeros."""
    x, dtype = a.input, dtype_of(a.input)
    axis = axis_of(a.axis, rank_of(x))
    norm = op.sum(op.abs(x), [axis], True) if a.p == 1 else op.sqrt(op.sum(op.square(x), [axis], True))
    return op.divide(x, op.where(op.equal(norm, const(0, dtype)), const(1, dtype), norm))


@ROWS.row("MeanVarianceNormalization")
def _mean_variance(c: Converter, a: Any) -> relax.Expr:
    axes = [axis_of(axis, rank_of(a.X)) for axis in getattr(a, "axes", None) or [0, 2, 3]]
    centered = c.emit(op.subtract(a.X, op.mean(a.X, axes, True)), "_centered")
    deviation = op.sqrt(op.mean(op.square(centered), axes, True))
    return op.divide(centered, op.add(deviation, const(1e-9, dtype_of(a.X))))
