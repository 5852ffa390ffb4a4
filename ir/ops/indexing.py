"""Operators that read parts of tensors by index (TVM: `relax/op/index.py` and the gathers of `manipulate.py`)."""

from __future__ import annotations

from typing import Any

from .. import relax, te, tir
from ..base import StructInfo
from ..dtype import is_int
from ..relax import PrimStructInfo, TensorStructInfo, TupleStructInfo
from ..te import topi
from . import dims as d
from .inference import Inference, common_vdevice, describe, dims_of, tensor_info
from .registry import Param, RelaxOp, register


def index_tensor_info(a: Inference, name: str) -> TensorStructInfo:
    """Return the struct info of indices `name`, a tensor of integers or a scalar (E0324)."""
    info = a.info(name)
    result = tensor_info((), info.dtype, 0) if isinstance(info, PrimStructInfo) else a.tensor(name)
    if result.dtype != "void" and not is_int(result.dtype):
        raise a.fail(
            "E0324",
            f"needs integers as '{name}', but it is {result.dtype}",
            "convert it with R.astype",
            a.argument(name),
        )
    return result


def _numbers(a: Inference, name: str) -> d.Dims | None:
    """Return the values of a tuple of scalars, or None unless all are known."""
    argument = a.argument(name)
    if isinstance(argument, relax.Tuple):
        values = tuple(field.value for field in argument.fields if isinstance(field, relax.PrimValue))
        if len(values) == len(argument.fields):
            return values
    info = a.info(name)
    if isinstance(info, TensorStructInfo):
        help = "pass a tuple of integers, or call R.dynamic_strided_slice with tensors"
        raise a.fail("E0322", f"needs a tuple as '{name}', but it is {describe(info)}", help, argument)
    if not isinstance(info, TupleStructInfo):
        return None
    known = tuple(f.value for f in info.fields if isinstance(f, PrimStructInfo) and f.value is not None)
    return known if len(known) == len(info.fields) else None


def slice_length(
    begin: tir.PrimExpr, end: tir.PrimExpr, stride: int, length: tir.PrimExpr, assume_inbound: bool
) -> tir.PrimExpr:
    """Return the number of elements in a slice of an axis of `length` (TVM: `topi::GetLength`)."""
    if not assume_inbound:
        begin, end = _inside(begin, stride, length), _inside(end, stride, length)
    if stride < 0:
        return d.floordiv(d.add(d.subtract(begin, end), -stride - 1), -stride)
    count = d.floordiv(d.add(d.subtract(end, begin), stride - 1), stride)
    return count if assume_inbound else d.maximum(count, 0)


def _inside(index: tir.PrimExpr, stride: int, length: tir.PrimExpr) -> tir.PrimExpr:
    """Return `index` counted from the front and clamped to the axis."""
    low, high = (d.dim(0), length) if stride > 0 else (d.dim(-1), d.subtract(length, 1))
    number = d.value_of(index)
    if number is None:
        return index
    if number == 9223372036854775807:
        return high
    index = d.add(index, length) if number < 0 else index
    if d.value_of(length) is None and number >= 0:
        return d.minimum(index, high)
    return d.minimum(d.maximum(index, low), high)


def _infer_strided_slice(a: Inference) -> StructInfo:
    info = a.tensor("x")
    names = ("axes", "begin", "end", *(("strides",) if a.has("strides") else ()))
    parts = [_numbers(a, name) for name in names]
    dims = dims_of(info)
    known = [part for part in parts if part is not None]
    for name, part in zip(names, parts, strict=True):
        if part is not None and len(part) != len(known[0]):
            raise a.fail(
                "E0105",
                f"gets {len(known[0])} {names[0]}, but {len(part)} values of '{name}'",
                "give one for each axis",
            )
    if dims is None and known and not any(known):
        return info  # nothing is cut off, so that a shape held by a variable stays that variable
    if dims is None or len(known) < len(parts):
        return tensor_info(None, info.dtype, info.ndim, info.vdevice)
    strides = [d.value_of(stride) for stride in known[3]] if a.has("strides") else [1] * len(known[0])
    axes = a.axes([d.value_of(axis) or 0 for axis in known[0]], info.ndim)
    result = list(dims)
    for axis, begin, end, stride in zip(axes, known[1], known[2], strides, strict=True):
        if stride == 0:
            raise a.fail("E0321", "cannot step by 0")
        if stride is None:
            return tensor_info(None, info.dtype, info.ndim, info.vdevice)
        result[axis] = slice_length(begin, end, stride, dims[axis], a.attr("assume_inbound"))
    return tensor_info(result, info.dtype, info.ndim, info.vdevice)


def _strided_slice(a: Any) -> te.Tensor:
    axes = [axis % a.x.ndim for axis in a.axes]
    strides = a.strides or (1,) * len(axes)
    starts = {
        axis: _inside(te.operand(begin, "int64"), stride, a.x.dims[axis])
        for axis, begin, stride in zip(axes, a.begin, strides, strict=True)
    }
    step = dict(zip(axes, strides, strict=True))

    def value(*ax: tir.PrimExpr) -> tir.PrimExpr:
        index = (i * step[axis] + starts[axis] if axis in starts else i for axis, i in enumerate(ax))
        return a.x(*index)

    return te.compute(a.result.dims, value, "T_strided_slice_with_axes")


def _numpy_strided_slice(np: Any, a: Any) -> Any:
    index = [slice(None)] * a.x.ndim
    for number, axis in enumerate(a.axes):
        stride = a.strides[number] if a.strides else 1
        length = a.x.shape[axis]
        end = a.end[number] + length if a.end[number] < 0 else a.end[number]
        first = None if stride < 0 else 0  # NumPy counts a negative end from the end once more
        index[axis] = slice(a.begin[number], first if end < 0 else end, stride)
    return a.x[tuple(index)]


register(
    RelaxOp(
        "relax.strided_slice",
        (
            Param("x"),
            Param("axes", "tuple"),
            Param("begin", "tuple"),
            Param("end", "tuple"),
            Param("strides", "opt_tuple", None),
            Param("assume_inbound", "bool", False),
        ),
        _infer_strided_slice,
        "Return the slice of `x` from `begin` up to but not including `end` along `axes`, in steps of `strides`.",
        _numpy_strided_slice,
        _strided_slice,
    )
)


def _infer_dynamic_slice(a: Inference) -> StructInfo:
    info = a.tensor("x")
    for name in ("begin", "end", "strides"):
        dims = dims_of(index_tensor_info(a, name))
        a.rank(name, 1)
        if dims is not None and info.ndim != -1:
            a.check_equal(
                dims[0], d.dim(info.ndim), f"needs {info.ndim} values in '{name}', one for each dimension of 'x'"
            )
    return tensor_info(None, info.dtype, info.ndim, info.vdevice)


register(
    RelaxOp(
        "relax.dynamic_strided_slice",
        (Param("x"), Param("begin"), Param("end"), Param("strides")),
        _infer_dynamic_slice,
        "Return the slice of `x` between bounds that are known only at run time.",
        lambda np, a: np.ascontiguousarray(
            a.x[tuple(slice(*bounds) for bounds in zip(a.begin, a.end, a.strides, strict=True))]
        ),
        at_run_time=True,
    )
)


def _infer_gather_elements(a: Inference) -> StructInfo:
    info, indices = a.tensor("data"), index_tensor_info(a, "indices")
    if -1 in (info.ndim, indices.ndim):
        return tensor_info(None, info.dtype, -1, info.vdevice)
    a.axis(a.attr("axis"), info.ndim)
    if info.ndim != indices.ndim:
        raise a.fail(
            "E0323", f"needs 'data' and 'indices' of one rank, but they have {info.ndim} and {indices.ndim} dimensions"
        )
    return tensor_info(dims_of(indices), info.dtype, indices.ndim, info.vdevice)


def _gather(a: Any) -> te.Tensor:
    axis = a.axis % a.data.ndim
    return te.compute(a.result.dims, lambda *ax: a.data(*ax[:axis], a.indices(*ax), *ax[axis + 1 :]), "T_gather")


register(
    RelaxOp(
        "relax.gather_elements",
        (Param("data"), Param("indices"), Param("axis", "int", 0)),
        _infer_gather_elements,
        "Return the elements of `data` at `indices` along `axis`, and at the position in `indices` along the other axes.",
        lambda np, a: np.take_along_axis(a.data, a.indices, a.axis),
        _gather,
        prim_func="gather",
    )
)


def _infer_gather_nd(a: Inference) -> StructInfo:
    info, indices, batch = a.tensor("data"), index_tensor_info(a, "indices"), a.attr("batch_dims")
    if -1 in (info.ndim, indices.ndim):
        return tensor_info(None, info.dtype, -1, info.vdevice)
    if not 0 <= batch <= min(info.ndim, indices.ndim - 1):
        raise a.fail(
            "E0325", f"cannot treat {batch} dimensions as a batch", "they must be dimensions of 'data' and of 'indices'"
        )
    dims, places = dims_of(info), dims_of(indices)
    depth = d.value_of(places[-1]) if places else None
    if places is None or depth is None:
        return tensor_info(None, info.dtype, -1, info.vdevice)
    if depth > info.ndim - batch:
        raise a.fail("E0326", f"indexes {depth} dimensions, but 'data' has {info.ndim - batch} to index")
    ndim = indices.ndim - 1 + info.ndim - depth - batch
    shape = None if dims is None else [*places[:-1], *dims[batch + depth :]]
    return tensor_info(shape, info.dtype, ndim, info.vdevice)


def _gather_nd(a: Any) -> te.Tensor:
    depth = d.value_of(a.indices.dims[-1]) or 0
    width = a.indices.ndim - 1

    def value(*ax: tir.PrimExpr) -> tir.PrimExpr:
        index = (a.indices(*ax[:width], number) for number in range(depth))
        return a.data(*ax[: a.batch_dims], *index, *ax[width:])

    return te.compute(a.result.dims, value, "T_gather_nd")


def _numpy_gather_nd(np: Any, a: Any) -> Any:
    if a.batch_dims == 0:
        return a.data[tuple(np.moveaxis(a.indices, -1, 0))]
    from types import SimpleNamespace

    parts = [
        _numpy_gather_nd(np, SimpleNamespace(data=data, indices=indices, batch_dims=a.batch_dims - 1))
        for data, indices in zip(a.data, a.indices, strict=True)
    ]
    return np.stack(parts)


register(
    RelaxOp(
        "relax.gather_nd",
        (Param("data"), Param("indices"), Param("batch_dims", "int", 0)),
        _infer_gather_nd,
        "Return the slices of `data` at the indices in the last dimension of `indices`.",
        _numpy_gather_nd,
        _gather_nd,
    )
)


def _infer_index_tensor(a: Inference) -> StructInfo:
    info, indices = a.tensor("data"), a.tensors("indices")
    if not indices:
        raise a.fail("E0322", "needs at least one index tensor")
    for number, index in enumerate(indices):
        if index.dtype != "void" and not is_int(index.dtype):
            raise a.fail("E0324", f"needs integers as indices, but number {number} is {index.dtype}")
    if info.ndim != -1 and len(indices) > info.ndim:
        raise a.fail("E0323", f"gets {len(indices)} index tensors, but 'data' has {info.ndim} dimensions")
    shape: d.Dims | None = ()
    for index in indices:
        other = dims_of(index)
        shape = a.broadcast(shape, other) if shape is not None and other is not None else None
    dims = dims_of(info)
    if shape is None or dims is None:
        unknown = info.ndim == -1 or any(index.ndim == -1 for index in indices)
        ndim = -1 if unknown else max(index.ndim for index in indices) + info.ndim - len(indices)
        return tensor_info(None, info.dtype, ndim, common_vdevice(info))
    return tensor_info([*shape, *dims[len(indices) :]], info.dtype, -1, info.vdevice)


def _index_tensor(a: Any) -> te.Tensor:
    shape = topi.shape_of(*a.indices)
    width = len(shape)

    def value(*ax: tir.PrimExpr) -> tir.PrimExpr:
        return a.data(*(topi.element(index, ax[:width], shape) for index in a.indices), *ax[width:])

    return te.compute(a.result.dims, value, "advanced_index")


register(
    RelaxOp(
        "relax.index_tensor",
        (Param("data"), Param("indices", "tuple")),
        _infer_index_tensor,
        "Return the slices of `data` at `indices`, one tensor per leading dimension; these are broadcast.",
        lambda np, a: a.data[tuple(a.indices)],
        _index_tensor,
    )
)


def _infer_meshgrid(a: Inference) -> StructInfo:
    infos = a.tensors("tensors")
    if not infos:
        raise a.fail("E0322", "needs at least one tensor")
    for number, info in enumerate(infos):
        if info.ndim not in (1, -1):
            raise a.fail("E0323", f"needs vectors, but tensor {number} has {info.ndim} dimensions")
    dtype = a.common_dtype([(f"tensors[{number}]", info.dtype) for number, info in enumerate(infos)])
    if a.attr("indexing") not in (None, *_GRIDS):
        raise a.fail("E0321", f'has no indexing "{a.attr("indexing")}"', 'choose "ij" or "xy"')
    shapes = [dims_of(info) for info in infos]
    dims = None if None in shapes else [shape[0] for shape in shapes if shape is not None]
    if dims is not None:
        dims = [dims[number] for number in _grid_order(a.attr("indexing"), len(infos))]
    return TupleStructInfo((tensor_info(dims, dtype, len(infos), common_vdevice(*infos)),) * len(infos))


_GRIDS = ("ij", "xy")


def _grid_order(indexing: str | None, count: int) -> list[int]:
    """Return the vector along each dimension of a grid; "xy" swaps the first two."""
    order = list(range(count))
    return [1, 0, *order[2:]] if indexing == "xy" and count > 1 else order


def _meshgrid(a: Any) -> tuple[te.Tensor, ...]:
    order = _grid_order(a.indexing, len(a.tensors))
    shape = [a.tensors[number].dims[0] for number in order]

    def grid(number: int, tensor: te.Tensor) -> te.Tensor:
        return te.compute(shape, lambda *ax: tensor(ax[order.index(number)]), "T_meshgrid")

    return tuple(grid(number, tensor) for number, tensor in enumerate(a.tensors))


register(
    RelaxOp(
        "relax.meshgrid",
        (Param("tensors", "tuple"), Param("indexing", "opt_str", "ij")),
        _infer_meshgrid,
        "Return the coordinates of the grid that the vectors span, one tensor per vector.",
        lambda np, a: tuple(np.meshgrid(*a.tensors, indexing=a.indexing or "ij")),
        _meshgrid,
    )
)
