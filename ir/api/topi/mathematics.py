"""Functions of elements, reductions and transforms that have no operator at the graph level (TVM: `tvm.topi.math`, `.signal`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from math import pi
from typing import Any

from ... import te, tir
from ...te import topi
from ..tir.intrinsics import intrinsic
from .table import function


def identity(x: te.Tensor) -> te.Tensor:
    """Return a copy of `x`."""
    return topi.elementwise(x, lambda value: value, "T_identity")


def elemwise_sum(xs: Sequence[te.Tensor]) -> te.Tensor:
    """Return the sum of tensors of the same shape."""
    return te.compute(xs[0].dims, lambda *i: reduce(lambda p, q: p + q, (x(*i) for x in xs)), "T_elemwise_sum")


def log2(x: te.Tensor) -> te.Tensor:
    """Return the logarithm to base 2 of every element."""
    return topi.elementwise(x, intrinsic("log2"), "T_log2")


def log10(x: te.Tensor) -> te.Tensor:
    """Return the logarithm to base 10 of every element."""
    return topi.elementwise(x, intrinsic("log10"), "T_log10")


def ceil_log2(x: te.Tensor | tir.PrimExpr) -> Any:
    """Return the logarithm to base 2, rounded up, of positive integers; of floats, in their dtype."""

    def value(item: tir.PrimExpr) -> tir.PrimExpr:
        if item.dtype.startswith("float"):
            return te.ceil(intrinsic("log2")(item))
        bits = int(item.dtype.lstrip("uint"))
        return (bits - intrinsic("clz")(item - 1)).astype(item.dtype)

    return value(x) if isinstance(x, tir.PrimExpr) else topi.elementwise(x, value, "T_ceil_log2")


def reinterpret(x: te.Tensor, dtype: str) -> te.Tensor:
    """Return the bits of every element as a value of another dtype of the same width."""
    return topi.elementwise(x, lambda value: intrinsic("reinterpret")(dtype, value), "T_reinterpret")


def _as(name: str) -> Callable[[te.Tensor], te.Tensor]:
    def fast(x: te.Tensor) -> te.Tensor:
        return function(name)(x)

    fast.__name__ = fast.__qualname__ = f"fast_{name}"
    fast.__doc__ = (
        f"Return what `topi.{name}` returns: its code is vectorized, so that no coarser approximation is needed."
    )
    return fast


fast_exp, fast_tanh, fast_erf = _as("exp"), _as("tanh"), _as("erf")


def fixed_point_multiply(x: te.Tensor, multiplier: int, shift: int) -> te.Tensor:
    """Return `x * multiplier * 2 ** (shift - 31)` for int32 `x`, rounded half up."""
    parts = (te.const(value, "int32") for value in (multiplier, 31, shift))
    y, q, s = parts
    return topi.elementwise(x, lambda value: intrinsic("q_multiply_shift")(value, y, q, s), "T_fixed_point_multiply")


def fixed_point_multiply_per_axis(
    x: te.Tensor,
    y: te.Tensor,
    lshift: te.Tensor,
    rshift: te.Tensor,
    is_lshift_required: int,
    is_rshift_required: int,
    axes: Sequence[int],
) -> te.Tensor:
    """Return `x * y * 2 ** (lshift - rshift - 31)`, rounded, with multipliers and shifts for each index along `axes`."""
    flags = [te.const(bool(flag), "bool") for flag in (is_lshift_required, is_rshift_required)]

    def element(*i: tir.PrimExpr) -> tir.PrimExpr:
        at = [i[axis] for axis in axes]
        fraction = te.const(31, "int32")
        return intrinsic("q_multiply_shift_per_axis")(x(*i), y(*at), lshift(*at), rshift(*at), fraction, *flags)

    return te.compute(x.dims, element, "T_fixed_point_multiply_per_axis")


def _of_bools(name: str, combine: Any, start: bool) -> Callable[..., te.Tensor]:
    def reduction(data: te.Tensor, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> te.Tensor:
        axes = topi.normal_axes(axis, data.ndim)
        inner = topi.reduce_axes(data, axes)
        reducer = te.comm_reducer(combine, partial(te.const, start), name)
        shape = topi.reduced_shape(data, axes, keepdims)

        def element(*i: tir.PrimExpr) -> Any:
            return reducer(data(*topi.source_index(i, axes, inner, data.ndim, keepdims)), axis=inner)

        return te.compute(shape, element, f"{name}_red") if axes else identity(data)

    reduction.__name__ = reduction.__qualname__ = name
    reduction.__doc__ = f"Return whether {name} of the bools of `data` along `axis` are true; without it, of all."
    return reduction


all = _of_bools("all", te.all, True)
any = _of_bools("any", te.any, False)


def searchsorted(
    sorted_sequence: te.Tensor, values: te.Tensor, right: bool = False, out_dtype: str = "int64"
) -> te.Tensor:
    """Return where each of `values` belongs in `sorted_sequence`, as `numpy.searchsorted`; after equal elements if `right`.

    A sequence with more than one dimension holds one sorted row for each row of `values`.
    """
    k = te.reduce_axis((0, sorted_sequence.dims[-1]), "k")

    def count(*i: tir.PrimExpr) -> Any:
        item = sorted_sequence(*(i[:-1] if sorted_sequence.ndim > 1 else ()), k)
        return te.sum(te.cast(item <= values(*i) if right else item < values(*i), out_dtype), axis=k)

    return te.compute(values.dims, count, "searchsorted")


def dft(re_data: te.Tensor, im_data: te.Tensor, inverse: bool | int | tir.IntImm) -> list[te.Tensor]:
    """Return the real and the imaginary part of the discrete Fourier transform along the last axis, or of its inverse."""
    length = re_data.dims[-1]
    sign, dtype = (1 if int(inverse) else -1), re_data.dtype

    def part(name: str, combine: Callable[[tir.PrimExpr, tir.PrimExpr, tir.PrimExpr, tir.PrimExpr], Any]) -> te.Tensor:
        k = te.reduce_axis((0, length), "k")

        def element(*i: tir.PrimExpr) -> Any:
            turn = (i[-1] * k.var % length).astype(dtype) / length.astype(dtype)
            angle = te.const(sign * 2 * pi, dtype) * turn
            return te.sum(combine(re_data(*i[:-1], k), im_data(*i[:-1], k), te.cos(angle), te.sin(angle)), axis=k)

        sums = te.compute(re_data.dims, element, name)
        if not int(inverse):
            return sums
        return te.compute(re_data.dims, lambda *i: sums(*i) / length.astype(dtype), f"{name}_mean")

    return [
        part("dft_re", lambda x, y, cos, sin: x * cos - y * sin),
        part("dft_im", lambda x, y, cos, sin: x * sin + y * cos),
    ]


def stft(
    data: te.Tensor,
    n_fft: int,
    hop_length: int,
    win_length: int,
    window: te.Tensor,
    normalized: bool,
    onesided: bool,
    output_shape: Sequence[Any],
) -> te.Tensor:
    """Return the Fourier transforms of windows of the rows of `data`, `hop_length` elements apart, of shape `output_shape`: batch,
    frequency, window, and the real and the imaginary part.

    `normalized` divides by the square root of `n_fft`. Whether one side is computed (`onesided`) follows from `output_shape`.
    """
    del onesided
    dtype = data.dtype
    k = te.reduce_axis((0, win_length), "wlen")
    scale = te.const(n_fft**-0.5 if normalized else 1, dtype)

    def element(batch: tir.PrimExpr, row: tir.PrimExpr, column: tir.PrimExpr, part: tir.PrimExpr) -> Any:
        turn = (row * k.var % win_length).astype(dtype) * te.const(2 * pi / win_length, dtype)
        wave = te.select(te.equal(part, 0), te.cos(turn), -te.sin(turn))
        return te.sum(window(k) * data(batch, column * hop_length + k.var) * wave * scale, axis=k)

    return te.compute(output_shape, element, "stft")


def scanop(
    data: te.Tensor,
    binop: Callable[[tir.PrimExpr, tir.PrimExpr], tir.PrimExpr],
    identity_value: Any,
    op_name: str,
    axis: int | None = None,
    dtype: str | None = None,
    exclusive: bool | None = None,
) -> te.Tensor:
    """Return the results of `binop` over the elements up to each one along `axis`, or of `data` flattened without it.

    `exclusive` leaves out the element itself. `binop` is associative, and `identity_value` its neutral element.
    """
    kind = dtype or data.dtype
    if axis is None:
        data, axis = function("reshape")(data, (reduce(lambda p, q: p * q, data.dims),)), 0
    along = axis % data.ndim

    def neutral(dtype: str) -> tir.PrimExpr:
        return te.operand(identity_value, dtype).astype(dtype)

    reducer = te.comm_reducer(binop, neutral, op_name)
    k = te.reduce_axis((0, data.dims[along]), "k")
    source = data

    def element(*i: tir.PrimExpr) -> Any:
        counted = k.var < i[along] if exclusive else k.var <= i[along]
        item = source(*i[:along], k, *i[along + 1 :]).astype(kind)
        return reducer(te.if_then_else(counted, item, neutral(kind)), axis=k)

    return te.compute(data.dims, element, op_name)
