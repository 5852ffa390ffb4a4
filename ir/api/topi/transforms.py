"""Functions on shapes and positions that have no operator at the graph level (TVM: `tvm.topi.transform`)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

from ... import make, te, tir
from ...idioms import is_one
from ...te.topi import normal_axes
from .table import function


def _length(x: te.Tensor) -> int:
    """Return the known length of a vector."""
    length = x.dims[0]
    if not isinstance(length, tir.IntImm):
        raise ValueError(f"expected a vector of known length, got '{x.name}' of {length} elements")
    return int(length)


def _items(values: te.Tensor | Sequence[Any], dtype: str) -> list[tir.PrimExpr]:
    """Return the elements of a vector of known length, or of a list, in `dtype`."""
    items = [values(n) for n in range(_length(values))] if isinstance(values, te.Tensor) else values
    return [te.operand(item, dtype).astype(dtype) for item in items]


def expand_like(a: te.Tensor, shape_like: te.Tensor, axis: int | Sequence[int]) -> te.Tensor:
    """Return `a` repeated to the shape of `shape_like`; `axis` names the dimensions of `shape_like` that `a` lacks.

    ValueError if the numbers of dimensions do not agree.
    """
    axes = normal_axes(axis, shape_like.ndim)
    whole = a.ndim == 1 and is_one(a.dims[0]) and len(axes) == shape_like.ndim
    if not whole and a.ndim + len(axes) != shape_like.ndim:
        raise ValueError(
            f"topi.expand_like: {a.ndim} dimensions and {len(axes)} new ones are not the {shape_like.ndim} of shape_like"
        )

    def element(*i: tir.PrimExpr) -> tir.PrimExpr:
        return a(0) if whole else a(*(item for n, item in enumerate(i) if n not in axes))

    return te.compute(shape_like.dims, element, "T_expand_like")


def reverse_sequence(a: te.Tensor, seq_lengths: te.Tensor, seq_axis: int = 1, batch_axis: int = 0) -> te.Tensor:
    """Return `a` with the first `seq_lengths[b]` elements along `seq_axis` of each batch b reversed."""
    along, batch = seq_axis % a.ndim, batch_axis % a.ndim

    def element(*i: tir.PrimExpr) -> tir.PrimExpr:
        place, length = i[along], seq_lengths(i[batch]).astype(i[along].dtype)
        source = te.if_then_else(place < length, length - 1 - place, place)
        return a(*i[:along], source, *i[along + 1 :])

    return te.compute(a.dims, element, "T_reverse_sequence")


def dynamic_strided_slice(
    a: te.Tensor, begin: te.Tensor, end: te.Tensor, strides: te.Tensor, output_shape: Sequence[Any]
) -> te.Tensor:
    """Return the slice of `a` of shape `output_shape` that starts at the vector `begin`, with steps `strides`.

    `output_shape` follows from `end`, which is not read. A beginning past the last element is the last element.
    """
    del end

    def element(*i: tir.PrimExpr) -> tir.PrimExpr:
        places: list[Any] = list(i)
        for n, (first, step) in enumerate(zip(_items(begin, i[0].dtype), _items(strides, i[0].dtype), strict=True)):
            places[n] = te.minimum(first, a.dims[n].astype(i[n].dtype) - 1) + i[n] * step
        return a(*places)

    return te.compute(output_shape, element, "T_dynamic_strided_slice")


def strided_set(
    a: te.Tensor,
    v: te.Tensor,
    begin: te.Tensor | Sequence[int],
    end: te.Tensor | Sequence[int],
    strides: te.Tensor | Sequence[int] | None = None,
) -> te.Tensor:
    """Return `a` with the slice from `begin` to `end`, in steps of `strides`, replaced by `v`.

    Beginnings and ends below 0 count from the end, and are limited to the tensor, as in Python.
    """
    count = _length(begin) if isinstance(begin, te.Tensor) else len(begin)

    def element(*i: tir.PrimExpr) -> tir.PrimExpr:
        dtype = i[0].dtype
        firsts, lasts = _items(begin, dtype), _items(end, dtype)
        steps = _items([1] * count if strides is None else strides, dtype)
        inside: list[tir.PrimExpr] = []
        source: list[tir.PrimExpr] = list(i)
        for n, (first, last, step) in enumerate(zip(firsts, lasts, steps, strict=True)):
            place, size = i[n], a.dims[n].astype(dtype)
            low = te.select(step > 0, te.const(0, dtype), te.const(-1, dtype))
            high = te.select(step > 0, size, size - 1)
            start, stop = (
                te.maximum(te.minimum(te.select(edge < 0, edge + size, edge), high), low) for edge in (first, last)
            )
            gone, stride = te.select(step > 0, place - start, start - place), te.abs(step)
            inside += [gone >= 0, te.select(step > 0, place < stop, place > stop), te.equal(gone % stride, 0)]
            source[n] = gone // stride
        return te.if_then_else(te.all(*inside), v(*source), a(*i))

    return te.compute(a.dims, element, "T_strided_set")


def tensordot(a: te.Tensor, b: te.Tensor, axes: int | Sequence[Any]) -> te.Tensor:
    """Return the product of `a` and `b`, summed over `axes`: the number of last and first axes, or one list for each of them."""
    if isinstance(axes, int):
        lefts, rights = list(range(a.ndim - axes, a.ndim)), list(range(axes))
    else:
        lefts, rights = ([item] if isinstance(item, int) else list(item) for item in axes)
    lefts, rights = [n % a.ndim for n in lefts], [n % b.ndim for n in rights]
    if len(lefts) != len(rights):
        raise ValueError(f"topi.tensordot: {len(lefts)} axes of a, and {len(rights)} of b")
    inner = [te.reduce_axis((0, a.dims[n]), f"k{n}") for n in lefts]
    kept_a = [n for n in range(a.ndim) if n not in lefts]
    kept_b = [n for n in range(b.ndim) if n not in rights]

    def element(*i: tir.PrimExpr) -> Any:
        of_a = {**dict(zip(lefts, inner, strict=True)), **dict(zip(kept_a, i, strict=False))}
        of_b = {**dict(zip(rights, inner, strict=True)), **dict(zip(kept_b, i[len(kept_a) :], strict=False))}
        product = a(*(of_a[n] for n in range(a.ndim))) * b(*(of_b[n] for n in range(b.ndim)))
        return te.sum(product, axis=inner) if inner else product

    return te.compute([a.dims[n] for n in kept_a] + [b.dims[n] for n in kept_b], element, "T_tensordot")


def shape(array: te.Tensor, dtype: str = "int32") -> te.Tensor:
    """Return the sizes of `array` as a vector."""

    def size(i: tir.PrimExpr) -> tir.PrimExpr:
        sizes = [dim.astype(dtype) for dim in array.dims]
        return reduce(lambda rest, n: te.if_then_else(te.equal(i, n), sizes[n], rest), range(len(sizes) - 1), sizes[-1])

    return te.compute((array.ndim,), size, "T_shape")


def ndarray_size(array: te.Tensor, dtype: str = "int32") -> te.Tensor:
    """Return the number of elements of `array`, as a scalar tensor."""
    total = reduce(lambda p, q: p * q, array.dims, te.const(1, "int64"))
    return te.compute((), lambda: total.astype(dtype), "ndarray_size")


def sequence_mask(data: te.Tensor, valid_length: te.Tensor, mask_value: float = 0, axis: int = 0) -> te.Tensor:
    """Return `data` with `mask_value` from `valid_length[b]` on along `axis`; b is the other one of the first two axes.

    ValueError if `axis` is not 0 or 1.
    """
    if axis not in (0, 1):
        raise ValueError(f"topi.sequence_mask: expected axis 0 or 1, got {axis}")

    def element(*i: tir.PrimExpr) -> tir.PrimExpr:
        length = valid_length(i[1 - axis])
        return te.if_then_else(i[axis].astype(length.dtype) >= length, te.const(mask_value, data.dtype), data(*i))

    return te.compute(data.dims, element, "T_sequence_mask")


def unravel_index(indices: te.Tensor, shape: te.Tensor | Sequence[Any]) -> te.Tensor:
    """Return the index in a tensor of `shape` of each row-major position in `indices`: one row for each dimension."""
    dtype = indices.dtype
    sizes = _items(shape, dtype)

    def element(dim: tir.PrimExpr, *i: tir.PrimExpr) -> tir.PrimExpr:
        rest: tir.PrimExpr = indices(*i)
        found: list[tir.PrimExpr] = []
        for size in reversed(sizes):
            found.append(make.floormod(rest, size))
            rest = make.floordiv(rest, size)
        parts = found[::-1]
        return reduce(
            lambda other, n: te.if_then_else(te.equal(dim, n), parts[n], other), range(len(parts) - 1), parts[-1]
        )

    return te.compute((len(sizes), *indices.dims), element, "T_unravel_index")


def sparse_to_dense(
    sparse_indices: te.Tensor, output_shape: Sequence[Any], sparse_values: te.Tensor, default_value: Any = 0
) -> te.Tensor:
    """Return a tensor of `output_shape` with `sparse_values` at `sparse_indices`, and `default_value` elsewhere.

    The indices are a scalar, a vector of places in a vector, or a matrix with a row for each index; their number is known. The
    last of equal indices counts.
    """
    count = 1 if sparse_indices.ndim == 0 else _length(sparse_indices)

    def element(*i: tir.PrimExpr) -> tir.PrimExpr:
        value = (
            default_value() if isinstance(default_value, te.Tensor) else te.const(default_value, sparse_values.dtype)
        )
        for row in range(count):
            at = [sparse_indices(*(row, n)[: sparse_indices.ndim]) for n in range(len(i))]
            same = [te.equal(place.astype(item.dtype), item) for place, item in zip(at, i, strict=True)]
            value = te.if_then_else(te.all(*same), sparse_values(*((row,) if sparse_values.ndim else ())), value)
        return value

    return te.compute(output_shape, element, "T_sparse_to_dense")


def sparse_reshape(
    sparse_indices: te.Tensor,
    prev_shape: te.Tensor,
    new_shape: te.Tensor,
    new_sparse_indices_shape: Sequence[Any],
    new_shape_shape: Sequence[Any],
) -> tuple[te.Tensor, te.Tensor]:
    """Return the rows `sparse_indices` of indices into a tensor of shape `prev_shape` as indices into one of `new_shape`, and that shape.

    One size of `new_shape` may be -1: it follows from the others.
    """
    dtype = new_shape.dtype
    old, new = _items(prev_shape, dtype), _items(new_shape, dtype)
    one = te.const(1, dtype)
    total = reduce(lambda p, q: p * q, old, one)
    known = reduce(lambda p, q: p * q, (te.select(size < 0, one, size) for size in new), one)
    sizes = [te.select(size < 0, make.floordiv(total, known), size) for size in new]

    def size_of(i: tir.PrimExpr) -> tir.PrimExpr:
        return reduce(lambda rest, n: te.if_then_else(te.equal(i, n), sizes[n], rest), range(len(sizes) - 1), sizes[-1])

    shape = te.compute(new_shape_shape, size_of, "T_sparse_reshape_shape")

    def element(row: tir.PrimExpr, dim: tir.PrimExpr) -> tir.PrimExpr:
        place: tir.PrimExpr = te.const(0, dtype)
        for n, size in enumerate(old):
            place = place * size + sparse_indices(row, n).astype(dtype)
        found: list[tir.PrimExpr] = []
        for size in reversed(sizes):
            found.append(make.floormod(place, size))
            place = make.floordiv(place, size)
        parts = found[::-1]
        chosen = reduce(
            lambda rest, n: te.if_then_else(te.equal(dim, n), parts[n], rest), range(len(parts) - 1), parts[-1]
        )
        return chosen.astype(sparse_indices.dtype)

    return te.compute(new_sparse_indices_shape, element, "T_sparse_reshape"), shape


def matrix_set_diag(
    data: te.Tensor, diagonal: te.Tensor, k: int | tuple[int, int] = 0, align: str = "RIGHT_LEFT"
) -> te.Tensor:
    """Return matrices with their diagonals `k`, or those from k[0] to k[1], replaced by `diagonal`, as in TensorFlow.

    Several diagonals are rows of `diagonal`, the uppermost first; shorter ones are aligned by `align`: on the side before the "_"
    above the main diagonal, on the other side below it.
    """
    low, high = (k, k) if isinstance(k, int) else k
    above, below = align.split("_")
    rows, columns = data.dims[-2], data.dims[-1]

    def element(*i: tir.PrimExpr) -> tir.PrimExpr:
        row, column = i[-2], i[-1]
        offset = column - row
        place = te.minimum(row, column)
        if low == high:
            value = diagonal(*i[:-2], place)
        else:
            zero = te.const(0, row.dtype)
            length = te.minimum(rows + te.minimum(offset, zero), columns - te.maximum(offset, zero))
            missing = diagonal.dims[-1] - length
            at_left = [offset >= 0] * (above == "LEFT") + [offset <= 0] * (below == "LEFT")
            shift = te.if_then_else(te.any(*at_left), zero, missing) if at_left else missing
            value = diagonal(*i[:-2], high - offset, place + shift)
        return te.if_then_else(te.all(offset >= low, offset <= high), value, data(*i))

    return te.compute(data.dims, element, "T_matrix_set_diag")


def sliding_window(data: te.Tensor, axis: int, window_shape: Sequence[int], strides: Sequence[int]) -> te.Tensor:
    """Return the windows of `data` along the axes from `axis` on: the axes before, the numbers of windows, the window."""
    first = axis % data.ndim
    if len(window_shape) != data.ndim - first or len(strides) != len(window_shape):
        raise ValueError(
            f"topi.sliding_window: expected {data.ndim - first} sizes and strides, got {len(window_shape)} and {len(strides)}"
        )
    moved = zip(data.dims[first:], window_shape, strides, strict=True)
    counts = [make.floordiv(dim - size, te.const(step, dim.dtype)) + 1 for dim, size, step in moved]

    def element(*i: tir.PrimExpr) -> tir.PrimExpr:
        starts, inner = i[first : data.ndim], i[data.ndim :]
        return data(*i[:first], *(s * step + w for s, step, w in zip(starts, strides, inner, strict=True)))

    return te.compute([*data.dims[:first], *counts, *window_shape], element, "T_sliding_window")


def trilu(data: te.Tensor, k: int | tir.PrimExpr, upper: bool) -> te.Tensor:
    """Return matrices with 0 below their diagonal `k` if `upper`, else above it."""

    def element(*i: tir.PrimExpr) -> tir.PrimExpr:
        place = i[-2] + te.operand(k, i[-2].dtype).astype(i[-2].dtype)
        return te.select(place <= i[-1] if upper else place >= i[-1], data(*i), te.const(0, data.dtype))

    return te.compute(data.dims, element, "trilu")


def squeeze(a: te.Tensor, axis: int | Sequence[int] | None = None) -> te.Tensor:
    """Return `a` without the dimensions `axis`, or without all that are known to be 1: symbolic ones are kept."""
    if axis is None:
        axis = [number for number, dim in enumerate(a.dims) if is_one(dim)]
    return function("squeeze")(a, [axis] if isinstance(axis, int) else axis)
