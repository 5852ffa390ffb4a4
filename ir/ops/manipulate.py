"""Operators that change the shape of tensors (TVM: `relax/op/manipulate.py`)."""

from __future__ import annotations

from typing import Any

from .. import te, tir
from ..base import StructInfo
from ..relax import ShapeExpr, TensorStructInfo, TupleStructInfo
from ..te import topi
from . import dims as d
from .inference import Inference, common_vdevice, dims_of, tensor_info
from .registry import Param, RelaxOp, register


def _infer_permute(a: Inference) -> StructInfo:
    info, axes = a.tensor("x"), a.attr("axes")
    if info.ndim == -1:
        return tensor_info(None, info.dtype, -1 if axes is None else len(axes), info.vdevice)
    order = tuple(reversed(range(info.ndim))) if axes is None else a.axes(axes, info.ndim)
    if len(order) != info.ndim:
        raise a.fail("E0323", f"lists {len(order)} axes, but 'x' has {info.ndim} dimensions", "list every axis once")
    dims = dims_of(info)
    return tensor_info(dims and [dims[axis] for axis in order], info.dtype, info.ndim, info.vdevice)


def _order(a: Any) -> list[int]:
    return list(reversed(range(a.x.ndim))) if a.axes is None else [axis % a.x.ndim for axis in a.axes]


register(
    RelaxOp(
        "relax.permute_dims",
        (Param("x"), Param("axes", "opt_ints", None)),
        _infer_permute,
        "Return `x` with its dimensions in the order `axes`; without it, reversed.",
        lambda np, a: np.transpose(a.x, a.axes),
        lambda a: topi.transpose(a.x, _order(a)),
        prim_func="transpose",
    )
)


def _complete_reshape(values: dict[str, Any]) -> None:
    """Replace 0 by the dimension that `x` has there, and -1 by what is left (TVM: `ConvertNewShapeToExpr`)."""
    shape, info = values["shape"], values["x"].struct_info
    if not isinstance(shape, ShapeExpr) or not any(d.value_of(dim) in (0, -1) for dim in shape.values):
        return
    old = dims_of(info) if isinstance(info, TensorStructInfo) else None
    if old is None:
        return
    new = [old[axis] if d.value_of(dim) == 0 and axis < len(old) else dim for axis, dim in enumerate(shape.values)]
    known = d.product([dim for dim in new if d.value_of(dim) != -1])
    if d.value_of(known) != 0:
        rest = d.floordiv(d.product(old), known)
        new = [rest if d.value_of(dim) == -1 else dim for dim in new]
    values["shape"] = ShapeExpr(tuple(new), span=shape.span)


def _infer_reshape(a: Inference) -> StructInfo:
    info, shape = a.tensor("x"), a.shape("shape")
    old, new = dims_of(info), shape.values
    if new is not None and any((d.value_of(dim) or 0) < 0 for dim in new):
        raise a.fail("E0326", f"cannot tell what -1 stands for in {d.show(new)}", "give the shape of 'x', or every dimension")
    if old is not None and new is not None:
        message = f"cannot turn shape {d.show(old)} into {d.show(new)}: they hold different numbers of elements"
        a.check_equal(d.product(old), d.product(new), message, "keep the product of the dimensions, or write -1 for one")
    argument = a.argument("shape")
    if new is not None:
        return tensor_info(new, info.dtype, len(new), info.vdevice)
    return TensorStructInfo(argument, info.dtype, shape.ndim, info.vdevice)


register(
    RelaxOp(
        "relax.reshape",
        (Param("x"), Param("shape", "shape")),
        _infer_reshape,
        "Return the elements of `x` in another shape; one dimension may be -1, and 0 keeps a dimension.",
        lambda np, a: np.reshape(a.x, a.shape),
        lambda a: topi.reshape(a.x, a.result.shape),
        complete=_complete_reshape,
    )
)


def _infer_flatten(a: Inference) -> StructInfo:
    info = a.tensor("x")
    dims = dims_of(info)
    return tensor_info(dims and [d.product(dims)] if dims != () else [d.dim(1)], info.dtype, 1, info.vdevice)


register(
    RelaxOp(
        "relax.flatten",
        (Param("x"),),
        _infer_flatten,
        "Return the elements of `x` in one dimension.",
        lambda np, a: np.reshape(a.x, (-1,)),
        lambda a: topi.reshape(a.x, a.result.shape),
        prim_func="reshape",
    )
)


def _infer_broadcast_to(a: Inference) -> StructInfo:
    info, shape = a.tensor("x"), a.shape("shape")
    old, new = dims_of(info), shape.values
    ndim = shape.ndim if new is None else len(new)
    if info.ndim > ndim != -1:
        raise a.fail("E0323", f"cannot broadcast {info.ndim} dimensions to {ndim}")
    if old is not None and new is not None:
        for axis, (x, y) in enumerate(zip(old, new[len(new) - len(old) :], strict=True)):
            if not d.is_one(x):
                a.check_equal(x, y, f"cannot broadcast shape {d.show(old)} to {d.show(new)}: axis {axis} is not 1")
    if new is not None:
        return tensor_info(new, info.dtype, ndim, info.vdevice)
    return TensorStructInfo(a.argument("shape"), info.dtype, ndim, info.vdevice)


register(
    RelaxOp(
        "relax.broadcast_to",
        (Param("x"), Param("shape", "shape")),
        _infer_broadcast_to,
        "Return `x` repeated along the dimensions where it has 1, to `shape`.",
        lambda np, a: np.broadcast_to(a.x, a.shape),
        lambda a: te.compute(a.result.shape, lambda *ax: topi.element(a.x, ax), "T_broadcast_to"),
    )
)


def _infer_expand_dims(a: Inference) -> StructInfo:
    info, axes = a.tensor("x"), a.attr("axis")
    if info.ndim == -1:
        return tensor_info(None, info.dtype, -1, info.vdevice)
    ndim = info.ndim + len(axes)
    places = a.axes(axes, ndim)
    dims = dims_of(info)
    if dims is None:
        return tensor_info(None, info.dtype, ndim, info.vdevice)
    rest = iter(dims)
    return tensor_info([d.dim(1) if axis in places else next(rest) for axis in range(ndim)], info.dtype, ndim, info.vdevice)


def _expand_dims(a: Any) -> te.Tensor:
    ndim = a.x.ndim + len(a.axis)
    places = {axis % ndim for axis in a.axis}
    kept = [axis for axis in range(ndim) if axis not in places]
    return te.compute(a.result.shape, lambda *i: a.x(*(i[axis] for axis in kept)), "expand_dims")


register(
    RelaxOp(
        "relax.expand_dims",
        (Param("x"), Param("axis", "ints")),
        _infer_expand_dims,
        "Return `x` with dimensions of 1 put in at `axis`.",
        lambda np, a: np.expand_dims(a.x, a.axis),
        _expand_dims,
    )
)


def _infer_squeeze(a: Inference) -> StructInfo:
    info, axis = a.tensor("x"), a.attr("axis")
    if info.ndim == -1:
        return tensor_info(None, info.dtype, -1, info.vdevice)
    dims = dims_of(info)
    if axis is None:
        if dims is None or any(d.value_of(dim) is None for dim in dims):
            return tensor_info(None, info.dtype, -1, info.vdevice)
        return tensor_info([dim for dim in dims if not d.is_one(dim)], info.dtype, -1, info.vdevice)
    gone = a.axes(axis, info.ndim)
    for number in gone:
        if dims is not None and d.value_of(dims[number]) not in (None, 1):
            raise a.fail(
                "E0326", f"cannot remove axis {number} of shape {d.show(dims)}: it is not 1", "remove dimensions of 1 only"
            )
    left = dims and [dim for number, dim in enumerate(dims) if number not in gone]
    return tensor_info(left, info.dtype, info.ndim - len(gone), info.vdevice)


def _squeeze(a: Any) -> te.Tensor:
    one = [number for number, dim in enumerate(a.x.shape) if d.is_one(dim)]
    gone = one if a.axis is None else [axis % a.x.ndim for axis in a.axis]

    def value(*ax: te.Expr) -> te.Expr:
        rest = iter(ax)
        return a.x(*(0 if number in gone else next(rest) for number in range(a.x.ndim)))

    return te.compute(a.result.shape, value, "T_squeeze")


register(
    RelaxOp(
        "relax.squeeze",
        (Param("x"), Param("axis", "opt_ints", None)),
        _infer_squeeze,
        "Return `x` without the dimensions `axis`, which are 1; without it, without all that are 1.",
        lambda np, a: np.squeeze(a.x, a.axis),
        _squeeze,
    )
)


def _common(a: Inference, infos: tuple[TensorStructInfo, ...]) -> tuple[str, int]:
    """The dtype and the rank of tensors that are joined."""
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
        return tensor_info(None, dtype, -1, device)
    axis = a.axis(a.attr("axis") if a.attr("axis") is not None else 0, ndim)
    shapes = [shape for shape in map(dims_of, infos) if shape is not None]
    for number in range(ndim):
        for shape in shapes[1:]:
            if number != axis:
                reason = f"cannot join shapes {d.show(shapes[0])} and {d.show(shape)} along axis {axis}: axis {number} differs"
                a.check_equal(shapes[0][number], shape[number], reason)
    if len(shapes) < len(infos):
        return tensor_info(None, dtype, ndim, device)
    total = shapes[0][axis]
    for shape in shapes[1:]:
        total = d.add(total, shape[axis])
    return tensor_info([*shapes[0][:axis], total, *shapes[0][axis + 1 :]], dtype, ndim, device)


def _concat(a: Any) -> te.Tensor:
    tensors: tuple[te.Tensor, ...] = a.tensors
    axis = (a.axis or 0) % tensors[0].ndim

    def value(*ax: te.Expr) -> te.Expr:
        start = te.Expr(d.dim(0))
        result = tensors[0](*ax)
        for before, tensor in zip(tensors, tensors[1:], strict=False):
            start = start + te.Expr(before.shape[axis])
            here = [*ax[:axis], ax[axis] - start, *ax[axis + 1 :]]
            result = te.if_then_else(start <= ax[axis], tensor(*here), result)
        return result

    return te.compute(a.result.shape, value, "T_concat")


register(
    RelaxOp(
        "relax.concat",
        (Param("tensors", "tuple"), Param("axis", "opt_int", 0)),
        _infer_concat,
        "Return `tensors` joined along `axis`.",
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

    def value(*ax: te.Expr) -> te.Expr:
        here = [*ax[:axis], *ax[axis + 1 :]]
        result = tensors[0](*here)
        for number, tensor in enumerate(tensors[1:], start=1):
            result = te.if_then_else(te.equal(ax[axis], number), tensor(*here), result)
        return result

    return te.compute(a.result.shape, value, "T_stack")


register(
    RelaxOp(
        "relax.stack",
        (Param("tensors", "tuple"), Param("axis", "opt_int", 0)),
        _infer_stack,
        "Return `tensors`, all of one shape, joined along a new dimension `axis`.",
        lambda np, a: np.stack(a.tensors, a.axis or 0),
        _stack,
    )
)


def _infer_split(a: Inference) -> StructInfo:
    info, parts = a.tensor("x"), a.attr("indices_or_sections")
    count = parts if isinstance(parts, int) else len(parts) + 1
    if count < 1:
        raise a.fail("E0321", f"cannot split into {count} parts", "give a positive number, or a list of indices")
    if count == 1:
        return info
    dims = dims_of(info)
    if dims is None or info.ndim == -1:
        return TupleStructInfo((tensor_info(None, info.dtype, info.ndim, info.vdevice),) * count)
    axis = a.axis(a.attr("axis"), info.ndim)
    shapes = [[*dims[:axis], size, *dims[axis + 1 :]] for _, size in _pieces(dims[axis], parts)]
    return TupleStructInfo(tuple(tensor_info(shape, info.dtype, info.ndim, info.vdevice) for shape in shapes))


def _pieces(length: tir.PrimExpr, parts: int | tuple[int, ...]) -> list[tuple[tir.PrimExpr, tir.PrimExpr]]:
    """Where each part of `length` starts, and how long it is."""
    if isinstance(parts, int):
        size = d.ceildiv(length, parts)
        starts = [d.multiply(size, number) for number in range(parts)]
        return [(start, size) for start in starts[:-1]] + [(starts[-1], d.subtract(length, starts[-1]))]
    ends = [d.minimum(d.dim(max(index, 0)), length) for index in parts]
    begins = [d.dim(0), *ends]
    return [
        (begin, d.maximum(d.subtract(end, begin), 0)) for begin, end in zip(begins, [*ends, length], strict=True)
    ]


def _split(a: Any) -> tuple[te.Tensor, ...]:
    axis = a.axis % a.x.ndim
    name = "T_split_sections" if isinstance(a.indices_or_sections, int) else "T_split"

    def piece(start: tir.PrimExpr, size: tir.PrimExpr) -> te.Tensor:
        shape = [*a.x.shape[:axis], size, *a.x.shape[axis + 1 :]]
        return te.compute(shape, lambda *ax: a.x(*ax[:axis], ax[axis] + te.Expr(start), *ax[axis + 1 :]), name)

    return tuple(piece(*part) for part in _pieces(a.x.shape[axis], a.indices_or_sections))


def _numpy_split(np: Any, a: Any) -> Any:
    if isinstance(a.indices_or_sections, int):
        size = -(-a.x.shape[a.axis] // a.indices_or_sections)
        return tuple(np.split(a.x, [size * n for n in range(1, a.indices_or_sections)], a.axis))
    return tuple(np.split(a.x, list(a.indices_or_sections), a.axis))


register(
    RelaxOp(
        "relax.split",
        (Param("x"), Param("indices_or_sections", "sections"), Param("axis", "int", 0)),
        _infer_split,
        "Return `x` cut along `axis` into that many parts, or at those indices.",
        _numpy_split,
        _split,
    )
)


def _infer_repeat(a: Inference) -> StructInfo:
    info, repeats, axis = a.tensor("data"), a.attr("repeats"), a.attr("axis")
    dims = dims_of(info)
    if axis is None:
        return tensor_info(dims and [d.multiply(d.product(dims), repeats)], info.dtype, 1, info.vdevice)
    if dims is None:
        return tensor_info(None, info.dtype, info.ndim, info.vdevice)
    axis = a.axis(axis, info.ndim)
    return tensor_info([*dims[:axis], d.multiply(dims[axis], repeats), *dims[axis + 1 :]], info.dtype, -1, info.vdevice)


def _repeat(a: Any) -> te.Tensor:
    flat = a.axis is None
    x = topi.reshape(a.data, [d.product(a.data.shape)]) if flat else a.data
    axis = 0 if flat else a.axis % x.ndim
    return te.compute(
        a.result.shape, lambda *ax: x(*ax[:axis], ax[axis] // a.repeats, *ax[axis + 1 :]), "T_repeat"
    )


register(
    RelaxOp(
        "relax.repeat",
        (Param("data"), Param("repeats", "int"), Param("axis", "opt_int", None)),
        _infer_repeat,
        "Return `data` with every element repeated along `axis`; without it, of its elements in one dimension.",
        lambda np, a: np.repeat(a.data, a.repeats, a.axis),
        _repeat,
    )
)


def _infer_tile(a: Inference) -> StructInfo:
    info, repeats = a.tensor("data"), a.attr("repeats")
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
    def value(*ax: te.Expr) -> te.Expr:
        own = ax[len(ax) - a.data.ndim :]
        return a.data(*(0 if d.is_one(dim) else i % te.Expr(dim) for i, dim in zip(own, a.data.shape, strict=True)))

    return te.compute(a.result.shape, value, "T_tile")


register(
    RelaxOp(
        "relax.tile",
        (Param("data"), Param("repeats", "ints")),
        _infer_tile,
        "Return `data` repeated as a whole `repeats` times along each dimension.",
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
    last = te.Expr(d.subtract(a.data.shape[axis], 1))
    return te.compute(
        a.data.shape, lambda *ax: a.data(*ax[:axis], last - ax[axis], *ax[axis + 1 :]), "T_reverse_sequence"
    )


register(
    RelaxOp(
        "relax.flip",
        (Param("data"), Param("axis", "int")),
        _infer_flip,
        "Return `data` with its elements in reverse order along `axis`.",
        lambda np, a: np.flip(a.data, a.axis),
        _flip,
    )
)

