"""Operators that join, split and repeat tensors (TVM: `relax/op/manipulate.py`)."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from .. import te, tir
from ..base import StructInfo
from ..relax import TensorStructInfo, TupleStructInfo
from ..te import topi
from . import dims as d
from .inference import Inference, common_vdevice, dims_of, tensor_info, written_dims
from .registry import Param, RelaxOp, register


def _common(a: Inference, infos: tuple[TensorStructInfo, ...]) -> tuple[str, int]:
    """Return the dtype and the rank of joined tensors."""
    if not infos:
        raise a.fail("E0322", "needs at least one tensor")
    dtype = a.common_dtype([(f"tensors[{number}]", info.dtype) for number, info in enumerate(infos)])
    ranks = sorted({info.ndim for info in infos} - {-1})
    if len(ranks) > 1:
        raise a.fail("E0323", f"needs tensors of one rank, but they have {' and '.join(map(str, ranks))} dimensions")
    return dtype, ranks[0] if ranks else -1


def _infer_concat(a: Inference) -> StructInfo:
    infos = a.tensors("tensors")
    dtype, ndim = _common(a, infos)
    device = common_vdevice(*infos)
    if ndim == -1:
        return infos[0] if len(infos) == 1 else tensor_info(None, dtype, -1, device)
    if a.attr("axis") is None and ndim != 1:
        raise a.fail("E0323", f"needs an axis, since its tensors have {ndim} dimensions", "give axis=0")
    axis = a.axis(a.attr("axis") if a.attr("axis") is not None else 0, ndim)
    if len(infos) == 1:
        return infos[0]
    shapes = [shape for shape in map(dims_of, infos) if shape is not None]
    for number in range(ndim):
        for shape in shapes[1:]:
            if number != axis:
                reason = f"cannot join shapes {d.show(shapes[0])} and {d.show(shape)} along axis {axis}: axis {number} differs"
                a.check_equal(shapes[0][number], shape[number], reason)
    shapes = [shape for shape in map(written_dims, infos) if shape is not None]
    if len(shapes) < len(infos):
        return tensor_info(None, dtype, ndim, device)
    total = shapes[0][axis]
    for shape in shapes[1:]:
        total = d.written_sum(total, shape[axis])
    return tensor_info([*shapes[0][:axis], total, *shapes[0][axis + 1 :]], dtype, ndim, device)


def _concat(a: Any) -> te.Tensor:
    tensors: tuple[te.Tensor, ...] = a.tensors
    axis = (a.axis or 0) % tensors[0].ndim

    def value(*ax: tir.PrimExpr) -> tir.PrimExpr:
        start, place = d.dim(0), ax[axis]
        result = tensors[0](*ax)
        for before, tensor in pairwise(tensors):
            start, place = start + before.dims[axis], place - before.dims[axis]
            if d.value_of(start) is None:
                is_here = d.dim(0) <= place
            else:
                is_here, place = start <= ax[axis], ax[axis] - start
            result = te.if_then_else(is_here, tensor(*ax[:axis], place, *ax[axis + 1 :]), result)
        return result

    return te.compute(a.result.dims, value, "T_concat")


register(
    RelaxOp(
        "relax.concat",
        (Param("tensors", "tuple"), Param("axis", "opt_int", 0)),
        _infer_concat,
        "Concatenate `tensors` along `axis`.",
        lambda np, a: np.concatenate(a.tensors, a.axis or 0),
        _concat,
        prim_func="concatenate",
    )
)


def _infer_stack(a: Inference) -> StructInfo:
    infos = a.tensors("tensors")
    dtype, ndim = _common(a, infos)
    device = common_vdevice(*infos)
    if ndim == -1:
        return tensor_info(None, dtype, -1, device)
    axis = a.axis(a.attr("axis") if a.attr("axis") is not None else 0, ndim + 1)
    shapes = [shape for shape in map(dims_of, infos) if shape is not None]
    for shape in shapes[1:]:
        for x, y in zip(shapes[0], shape, strict=True):
            a.check_equal(x, y, f"needs tensors of one shape, but they are {d.show(shapes[0])} and {d.show(shape)}")
    if len(shapes) < len(infos):
        return tensor_info(None, dtype, ndim + 1, device)
    return tensor_info([*shapes[0][:axis], d.dim(len(infos)), *shapes[0][axis:]], dtype, ndim + 1, device)


def _stack(a: Any) -> te.Tensor:
    tensors: tuple[te.Tensor, ...] = a.tensors
    axis = (a.axis or 0) % (tensors[0].ndim + 1)

    def value(*ax: tir.PrimExpr) -> tir.PrimExpr:
        here = [*ax[:axis], *ax[axis + 1 :]]
        result = tensors[0](*here)
        for number, tensor in enumerate(tensors[1:], start=1):
            result = te.if_then_else(te.equal(ax[axis], number), tensor(*here), result)
        return result

    return te.compute(a.result.dims, value, "T_stack")


register(
    RelaxOp(
        "relax.stack",
        (Param("tensors", "tuple"), Param("axis", "opt_int", 0)),
        _infer_stack,
        "Stack `tensors` of equal shape along a new dimension `axis`.",
        lambda np, a: np.stack(a.tensors, a.axis or 0),
        _stack,
    )
)


def _infer_split(a: Inference) -> StructInfo:
    info, parts = a.tensor("x"), a.attr("indices_or_sections")
    count = parts if isinstance(parts, int) else len(parts) + 1
    if count < 1:
        raise a.fail("E0321", f"cannot split into {count} parts", "give a positive number, or a list of indices")
    axis = a.axis(a.attr("axis"), info.ndim) if info.ndim != -1 else 0
    if count == 1:
        return info
    dims = written_dims(info)
    if dims is None:
        return TupleStructInfo((tensor_info(None, info.dtype, info.ndim, info.vdevice),) * count)
    shapes = [[*dims[:axis], size, *dims[axis + 1 :]] for _, size in _pieces(dims[axis], parts)]
    return TupleStructInfo(tuple(tensor_info(shape, info.dtype, info.ndim, info.vdevice) for shape in shapes))


def _pieces(length: tir.PrimExpr, parts: int | tuple[int, ...]) -> list[tuple[tir.PrimExpr, tir.PrimExpr]]:
    """Return the start and length of each part of an axis of `length`."""
    if isinstance(parts, int):
        size = d.ceildiv(length, parts)
        if (known := d.value_of(length)) is not None:
            ends = [min(number * -(-known // parts), known) for number in range(parts + 1)]
            return [(d.dim(start), d.dim(end - start)) for start, end in pairwise(ends)]
        starts = [d.multiply(size, number) for number in range(parts)]
        return [(start, size) for start in starts[:-1]] + [(starts[-1], d.subtract(length, starts[-1]))]
    begins = [0, *[max(index, 0) for index in parts]]
    ends = [*[_at_most(index, length) for index in begins[1:]], length]
    return [(_at_most(begin, length), d.size(d.subtract(end, begin))) for begin, end in zip(begins, ends, strict=True)]


def _at_most(index: int, length: tir.PrimExpr) -> tir.PrimExpr:
    """Return `min(index, length)`, which is `index` where the length is at least that."""
    shortest = d.least(length)
    return d.dim(index) if shortest is not None and index <= shortest else d.minimum(d.dim(index), length)


def _split(a: Any) -> tuple[te.Tensor, ...]:
    axis = a.axis % a.x.ndim
    name = "T_split_sections" if isinstance(a.indices_or_sections, int) else "T_split"

    def piece(start: tir.PrimExpr, size: tir.PrimExpr) -> te.Tensor:
        shape = [*a.x.dims[:axis], size, *a.x.dims[axis + 1 :]]
        return te.compute(shape, lambda *ax: a.x(*ax[:axis], ax[axis] + start, *ax[axis + 1 :]), name)

    return tuple(piece(*part) for part in _pieces(a.x.dims[axis], a.indices_or_sections))


def _numpy_split(np: Any, a: Any) -> Any:
    if a.indices_or_sections in (1, ()):
        return a.x
    if isinstance(a.indices_or_sections, int):
        size = -(-a.x.shape[a.axis] // a.indices_or_sections)
        return tuple(np.split(a.x, [size * n for n in range(1, a.indices_or_sections)], a.axis))
    return tuple(np.split(a.x, list(a.indices_or_sections), a.axis))


register(
    RelaxOp(
        "relax.split",
        (Param("x"), Param("indices_or_sections", "sections"), Param("axis", "int", 0)),
        _infer_split,
        "Split `x` along `axis` into a number of equal parts, or at the given indices.",
        _numpy_split,
        _split,
    )
)


def _infer_repeat(a: Inference) -> StructInfo:
    info, repeats, axis = a.tensor("data"), a.attr("repeats"), a.attr("axis")
    if repeats < 0:
        raise a.fail("E0321", f"cannot repeat elements {repeats} times", "give a number of at least 0")
    dims = dims_of(info)
    if axis is None:
        return tensor_info(dims and [d.multiply(d.product(dims), repeats)], info.dtype, 1, info.vdevice)
    axis = a.axis(axis, info.ndim) if info.ndim != -1 else axis
    if dims is None:
        return tensor_info(None, info.dtype, info.ndim, info.vdevice)
    return tensor_info([*dims[:axis], d.multiply(dims[axis], repeats), *dims[axis + 1 :]], info.dtype, -1, info.vdevice)


def _repeat(a: Any) -> te.Tensor:
    flat = a.axis is None
    x = topi.reshape(a.data, [d.product(a.data.dims)]) if flat else a.data
    axis = 0 if flat else a.axis % x.ndim
    return te.compute(
        a.result.dims, lambda *ax: x(*ax[:axis], ax[axis] // max(a.repeats, 1), *ax[axis + 1 :]), "T_repeat"
    )


register(
    RelaxOp(
        "relax.repeat",
        (Param("data"), Param("repeats", "int"), Param("axis", "opt_int", None)),
        _infer_repeat,
        "Repeat every element of `data` along `axis`, or of the flattened `data`.",
        lambda np, a: np.repeat(a.data, a.repeats, a.axis),
        _repeat,
    )
)


def _infer_tile(a: Inference) -> StructInfo:
    info, repeats = a.tensor("data"), a.attr("repeats")
    if not all(isinstance(number, int) and number >= 0 for number in repeats):
        raise a.fail("E0321", f"cannot repeat dimensions {list(repeats)} times", "give numbers of at least 0")
    if info.ndim == -1:
        return tensor_info(None, info.dtype, -1, info.vdevice)
    ndim = max(info.ndim, len(repeats))
    dims = dims_of(info)
    if dims is None:
        return tensor_info(None, info.dtype, ndim, info.vdevice)
    long = (*(d.dim(1) for _ in range(ndim - len(dims))), *dims)
    times = (*(1 for _ in range(ndim - len(repeats))), *repeats)
    return tensor_info([d.multiply(x, y) for x, y in zip(long, times, strict=True)], info.dtype, ndim, info.vdevice)


def _tile(a: Any) -> te.Tensor:
    def value(*ax: tir.PrimExpr) -> tir.PrimExpr:
        own = ax[len(ax) - a.data.ndim :]
        return a.data(*(0 if d.value_of(dim) in (0, 1) else i % dim for i, dim in zip(own, a.data.dims, strict=True)))

    return te.compute(a.result.dims, value, "T_tile")


register(
    RelaxOp(
        "relax.tile",
        (Param("data"), Param("repeats", "ints")),
        _infer_tile,
        "Repeat the whole of `data` `repeats` times along each dimension.",
        lambda np, a: np.tile(a.data, a.repeats),
        _tile,
    )
)


def _infer_flip(a: Inference) -> StructInfo:
    info = a.tensor("data")
    if info.ndim != -1:
        a.axis(a.attr("axis"), info.ndim)
    return info


def _flip(a: Any) -> te.Tensor:
    axis = a.axis % a.data.ndim
    size: tir.PrimExpr = a.data.dims[axis]

    def value(*ax: tir.PrimExpr) -> tir.PrimExpr:
        last = d.subtract(size, 1)
        is_known = d.value_of(size) is not None
        return a.data(*ax[:axis], last - ax[axis] if is_known else size - ax[axis] - 1, *ax[axis + 1 :])

    return te.compute(a.data.dims, value, "T_reverse_sequence")


register(
    RelaxOp(
        "relax.flip",
        (Param("data"), Param("axis", "int")),
        _infer_flip,
        "Reverse the elements of `data` along `axis`.",
        lambda np, a: np.flip(a.data, a.axis),
        _flip,
    )
)
