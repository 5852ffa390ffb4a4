"""Rows for Fourier transforms, as products with matrices of cosines and sines."""

from __future__ import annotations

from math import pi
from typing import Any

from ....ir import relax, tir
from ....ir.api.relax import op
from ....ir.building.values import const
from ....ir.ops import dims as d
from ..values import axis_of, dims_of, dtype_of, rank_of, static
from .converter import Converter
from .cutting import padded
from .rows import Family

ROWS = Family()


def transformed(
    c: Converter, x: relax.Expr, length: tir.PrimExpr, is_inverse: bool = False, is_onesided: bool = False
) -> relax.Expr:
    """Return the discrete Fourier transform over the second to last dimension, of `length`; the last one holds the real part
    and, if it is 2, the imaginary part. A one-sided transform has only the frequencies up to the middle.
    """
    dtype, last = dtype_of(x), rank_of(x) - 1
    targets = d.add(d.floordiv(length, 2), 1) if is_onesided else length
    cosines, sines = (c.emit(c.cast(part, dtype)) for part in _waves(c, length, targets))

    def products(place: int) -> tuple[relax.Expr, relax.Expr]:
        part = c.emit(op.squeeze(op.strided_slice(x, [last], [place], [place + 1]), [last]))
        return op.matmul(part, cosines), op.matmul(part, sines)

    real, turned = products(0)
    imaginary = turned if is_inverse else op.negative(turned)
    if not d.is_one(dims_of(x)[last]):
        other, other_turned = products(1)
        real = op.subtract(real, other_turned) if is_inverse else op.add(real, other_turned)
        imaginary = op.add(imaginary, other)
    made = op.stack([real, imaginary], last)
    return op.divide(made, c.full(length, dtype)) if is_inverse else made


def _waves(c: Converter, length: tir.PrimExpr, targets: tir.PrimExpr) -> tuple[relax.Expr, relax.Expr]:
    """Return cos and sin of 2π·i·k / length for i below `length` and k below `targets` as float64; products are reduced exactly."""
    places = [op.arange(0, count, 1, "int64") for count in (length, targets)]
    products = op.multiply(op.expand_dims(places[0], [1]), op.expand_dims(places[1], [0]))
    turns = op.astype(op.floor_mod(products, c.full(length, "int64")), "float64")
    angles = c.emit(op.divide(op.multiply(turns, const(2 * pi, "float64")), c.full(length, "float64")), "_angles")
    return op.cos(angles), op.sin(angles)


def _fitted(c: Converter, x: relax.Expr, axis: int, length: Any) -> relax.Expr:
    """Crop a dimension, or pad it with zeros, to a length."""
    size = dims_of(x)[axis]
    if d.is_equal(size, d.as_dim(length)):
        return x
    if static(length) is None or d.value_of(size) is None:
        raise c.unsupported("its length depends on a size that is not known", "make the sizes known")
    widths: list[tuple[Any, Any]] = [(0, 0)] * rank_of(x)
    widths[axis] = 0, static(length) - (d.value_of(size) or 0)  # type: ignore[operator]
    return padded(c, x, widths, "constant")


def _mirrored(c: Converter, x: relax.Expr, length: tir.PrimExpr) -> relax.Expr:
    """Return all frequencies of the transform of real numbers: the conjugates of the given ones follow in reverse."""
    rank = rank_of(x)
    half = d.floordiv(d.subtract(length, 1), 2)
    tail = op.flip(op.strided_slice(x, [rank - 2], [1], [d.add(half, 1)], [1], assume_inbound=True), rank - 2)
    return op.concat([x, op.multiply(tail, const([1.0, -1.0], dtype_of(x)))], rank - 2)


@ROWS.row("DFT", since=20)
def _dft(c: Converter, a: Any) -> relax.Expr:
    (axis,) = [-2] if a.axis is None else c.ints(a.axis, "the axis")
    return _along(c, a, axis)


@ROWS.row("DFT")
def _dft_by_attribute(c: Converter, a: Any) -> relax.Expr:
    """Before version 20, the axis is an attribute."""
    return _along(c, a, a.axis)


def _along(c: Converter, a: Any, axis: int) -> relax.Expr:
    rank = rank_of(a.input)
    axis = axis_of(axis, rank)
    if d.value_of(dims_of(a.input)[-1]) not in (1, 2):
        raise c.unsupported("its last dimension is not known to be 1 or 2", "make the size known")
    if axis == rank - 1:
        raise ValueError("the axis is that of the real and imaginary parts")
    order = [*(place for place in range(rank - 1) if place != axis), axis, rank - 1]
    x = op.permute_dims(a.input, order)
    is_half = bool(a.inverse and a.onesided)
    given = d.as_dim(c.ints(a.dft_length, "the length")[0]) if a.dft_length is not None else None
    size = dims_of(x)[-2]
    length = given if given is not None else d.multiply(d.subtract(size, 1), 2) if is_half else size
    x = _fitted(c, x, rank - 2, d.add(d.floordiv(length, 2), 1) if is_half else length)
    made = _mirrored(c, x, length) if is_half else x
    found = transformed(c, made, length, bool(a.inverse), bool(a.onesided) and not a.inverse)
    if is_half:
        found = op.strided_slice(found, [rank - 1], [0], [1])
    return op.permute_dims(found, [order.index(place) for place in range(rank)])


@ROWS.row("STFT")
def _stft(c: Converter, a: Any) -> relax.Expr:
    """Return the transforms of windows of the signal, one for every `frame_step` elements."""
    (step,) = c.ints(a.frame_step, "the step")
    if a.frame_length is not None:
        length = d.as_dim(c.ints(a.frame_length, "the length of a frame")[0])
    elif a.window is not None:
        length = dims_of(a.window)[0]
    else:
        raise ValueError("it has neither a window nor the length of a frame")
    if step < 1:
        raise ValueError(f"the step is {step}")
    x = a.signal if rank_of(a.signal) == 3 else op.expand_dims(a.signal, [-1])
    count = d.add(d.floordiv(d.subtract(dims_of(x)[1], length), step), 1)
    starts = op.multiply(op.arange(0, count, 1, "int64"), const(step, "int64"))
    places = op.add(op.expand_dims(starts, [1]), op.expand_dims(op.arange(0, length, 1, "int64"), [0]))
    frames = op.take(x, places, 1)
    if a.window is not None:
        frames = op.multiply(frames, op.reshape(a.window, c.shape((1, 1, -1, 1))))
    return transformed(c, frames, length, False, bool(a.onesided))
