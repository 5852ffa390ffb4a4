"""Rows for operators that create tensors."""

from __future__ import annotations

from math import pi
from typing import Any

from ....ir import relax
from ....ir.api.relax import op
from ....ir.building.values import const
from ....ir.ops import dims as d
from ..values import dims_of, dtype_of, is_floating, rank_of
from .converter import Converter
from .rows import Convert, Family
from .tensors import dtype_name

ROWS = Family()


@ROWS.row("ConstantOfShape")
def _constant_of_shape(c: Converter, a: Any) -> relax.Expr:
    value = const(0.0, "float32") if a.value is None else op.reshape(a.value, c.shape(()))
    return op.full(c.shape(c.sizes(a.input)), value, dtype_of(value))


@ROWS.row("Range")
def _range(c: Converter, a: Any) -> relax.Expr:
    """Return numbers from `start` up to `limit` in steps of `delta`; their count is computed as the standard says."""
    dtype = dtype_of(a.start)
    bounds = [c.elements(part) for part in (a.start, a.limit, a.delta)]
    if dtype in ("int64", "int32") and all(part is not None for part in bounds):
        start, limit, delta = (c.sizes(part)[0] for part in (a.start, a.limit, a.delta))
        if isinstance(delta, int):
            return c.cast(op.arange(start, limit, delta, "int64"), dtype)
    start, limit, delta = (op.reshape(x, c.shape(())) if rank_of(x) else x for x in (a.start, a.limit, a.delta))
    wide = "float64" if is_floating(dtype) else "int64"
    span = op.subtract(*(c.cast(part, wide) for part in (limit, start)))
    step = c.cast(delta, wide)
    steps = (
        op.ceil(op.divide(span, step)) if wide == "float64" else op.negative(op.floor_divide(op.negative(span), step))
    )
    (count,) = c.sizes(c.emit(op.maximum(op.astype(steps, "int64"), const(0, "int64")), "_count"))
    places = op.arange(0, d.as_dim(count), 1, "int64")
    return op.add(op.multiply(c.cast(places, dtype), delta), start)


@ROWS.row("EyeLike")
def _eye_like(c: Converter, a: Any) -> relax.Expr:
    rows, columns = dims_of(a.input)
    dtype = dtype_of(a.input) if a.dtype is None else dtype_name(a.dtype)
    made = op.eye(rows, columns, a.k, "int8" if dtype == "bool" else dtype)
    return c.cast(made, dtype)


def _window(*weights: float) -> Convert:
    """Return the row of a window that is a sum of cosines with `weights`, of which every second is subtracted."""

    def convert(c: Converter, a: Any) -> relax.Expr:
        import numpy as np

        dtype = dtype_name(a.output_datatype)
        (size,) = c.sizes(a.size)
        length = size if a.periodic or size == 1 else d.subtract(d.as_dim(size), 1)
        angle = op.multiply(
            op.astype(op.arange(0, d.as_dim(size), 1, "int64"), "float64"), const(np.array(2 * pi), "float64")
        )
        angle = op.divide(angle, c.full(d.as_dim(length), "float64"))
        total: relax.Expr = const(weights[0], "float64")
        for harmonic, weight in enumerate(weights[1:], 1):
            term = op.multiply(const(weight, "float64"), op.cos(op.multiply(angle, const(harmonic, "float64"))))
            total = (op.subtract if harmonic % 2 else op.add)(total, term)
        return c.cast(total, dtype)

    return convert


ROWS.add({
    "HannWindow": _window(0.5, 0.5),
    "HammingWindow": _window(25 / 46, 21 / 46),
    "BlackmanWindow": _window(0.42, 0.5, 0.08),
})  # fmt: skip


@ROWS.row("MelWeightMatrix")
def _mel_weights(c: Converter, a: Any) -> relax.Expr:
    """Return the weights (bins of the spectrum, mel bins) of triangular filters, which are evenly spaced in mel."""
    import numpy

    np: Any = numpy
    bands, length, rate, low, high = (c.array(value, "each argument").reshape(-1)[0].item() for value in c.inputs)
    bins = length // 2 + 1

    def mel(frequency: float) -> float:
        return 2595 * np.log10(1 + frequency / 700)

    if not 0 < bands * bins <= 2**24:
        raise ValueError(f"{bands} bands of {bins} frequencies are not between 1 and {2**24} weights")
    points = mel(low) + np.arange(bands + 2) * ((mel(high) - mel(low)) / (bands + 2))
    edges = np.floor((length + 1) * 700 * (np.power(10, points / 2595) - 1) / rate).astype("int64")
    weights = np.zeros((bins, bands))
    for band in range(bands):
        left, center, right = edges[band : band + 3]
        if left == center:
            weights[center, band] = 1
        else:
            weights[left : center + 1, band] = np.arange(center - left + 1) / (center - left)
        if right > center:
            weights[center:right, band] = (right - np.arange(center, right)) / (right - center)
    return const(weights, dtype_name(a.output_datatype))


@ROWS.row("Bernoulli", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial")
def _random(c: Converter, a: Any) -> relax.Expr:
    raise c.unsupported("it draws random numbers", "make the random tensor an input of the model")
