"""Sorting (TVM: `relax/op/sorting.py`) and sampling (`sampling.py`)."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from .. import te, tir
from ..base import StructInfo
from ..dtype import is_float
from ..relax import TensorStructInfo, TupleStructInfo
from ..te import topi
from . import dims as d
from .inference import Inference, dims_of, like, tensor_info
from .registry import Param, RelaxOp, register
from .statistical import reduced

_AXIS = Param("axis", "int", -1)
_DESCENDING = Param("descending", "bool", False)


def _infer_sort(a: Inference) -> StructInfo:
    info = a.tensor(a.op.arguments[0].name)
    if info.ndim not in (0, -1):
        a.axis(a.attr("axis"), info.ndim)
    return info


def _infer_argsort(a: Inference) -> StructInfo:
    _infer_sort(a)
    dtype = a.attr("dtype")
    return like(a.tensor("data"), "int32" if dtype == "void" else dtype)


def _order(np: Any, data: Any, axis: int, descending: bool) -> Any:
    """Return the stable order: equal elements keep their order in both directions."""
    if not descending:
        return np.argsort(data, axis, kind="stable")
    size = data.shape[axis]
    return size - 1 - np.flip(np.argsort(np.flip(data, axis), axis, kind="stable"), axis)


def _order_tensor(x: te.Tensor, axis: int, descending: bool, length: tir.PrimExpr) -> te.Tensor:
    """Return the first `length` indices of the stable order along `axis`, as int64."""
    places = _places(x, axis, descending)
    return _at_places(places, axis, length, lambda i: i[axis])


def _places(x: te.Tensor, axis: int, descending: bool) -> te.Tensor:
    """Return the position of every element in the stable order along `axis`, as int64.

    It is the number of elements before it, which needs no sequential steps: quadratic, but parallel over all elements. As in
    NumPy, NaN is greater than every number.
    """
    k = te.reduce_axis((te.const(0, "int64"), x.dims[axis]), "k")

    def less(p: tir.PrimExpr, q: tir.PrimExpr) -> tir.PrimExpr:
        return te.any(p < q, te.all(te.isnan(q), te.logical_not(te.isnan(p)))) if is_float(x.dtype) else p < q

    def place(*i: tir.PrimExpr) -> Any:
        own, other = x(*i), x(*i[:axis], k, *i[axis + 1 :])
        first, second = (own, other) if descending else (other, own)
        tied = te.all(te.logical_not(less(second, first)), k < i[axis])
        return te.sum(te.cast(te.any(less(first, second), tied), "int64"), axis=k)

    return te.compute(x.dims, place, "T_sort_place")


def _at_places(
    places: te.Tensor, axis: int, length: tir.PrimExpr, wanted: Callable[[tuple[tir.PrimExpr, ...]], tir.PrimExpr]
) -> te.Tensor:
    """Return the indices along `axis` of the elements at `length` positions of the order; `wanted` returns the position."""
    j = te.reduce_axis((te.const(0, "int64"), places.dims[axis]), "j")

    def index(*i: tir.PrimExpr) -> Any:
        is_there = te.equal(places(*i[:axis], j, *i[axis + 1 :]), wanted(i))
        return te.sum(te.select(is_there, j, te.const(0, "int64")), axis=j)

    return te.compute((*places.dims[:axis], length, *places.dims[axis + 1 :]), index, "T_sort_index")


def _taken(x: te.Tensor, axis: int, order: te.Tensor, name: str) -> te.Tensor:
    return te.compute(order.dims, lambda *i: x(*i[:axis], order(*i), *i[axis + 1 :]), name)


def _sort(a: Any) -> te.Tensor:
    axis = a.axis % a.x.ndim
    return _taken(a.x, axis, _order_tensor(a.x, axis, a.descending, a.x.dims[axis]), "T_sort")


def _argsort(a: Any) -> te.Tensor:
    axis = a.axis % a.data.ndim
    return topi.cast(_order_tensor(a.data, axis, a.descending, a.data.dims[axis]), a.result.dtype)


def _best(k: int, length: tir.PrimExpr) -> tir.PrimExpr:
    """Return the minimum of `k` and `length`; an unknown length is assumed to be at least `k`."""
    known = d.value_of(length)
    return d.dim(k if known is None else min(k, known))


def _topk(a: Any) -> tuple[te.Tensor, ...]:
    axis = a.axis % a.data.ndim
    length = _best(a.k, a.data.dims[axis]) if a.k >= 1 else a.data.dims[axis]
    order = _order_tensor(a.data, axis, a.largest, length)
    values = _taken(a.data, axis, order, "T_topk")
    indices = topi.cast(order, "int32" if a.dtype == "void" else a.dtype)
    return {"both": (values, indices), "values": (values,), "indices": (indices,)}[a.ret_type]


register(
    RelaxOp(
        "relax.sort",
        (Param("x"), _AXIS, _DESCENDING),
        _infer_sort,
        "Return `x` sorted along `axis`.",
        lambda np, a: np.take_along_axis(a.x, _order(np, a.x, a.axis, a.descending), a.axis),
        _sort,
    )
)
register(
    RelaxOp(
        "relax.argsort",
        (Param("data"), _AXIS, _DESCENDING, Param("dtype", "dtype", "int32")),
        _infer_argsort,
        "Return the indices that sort `data` along `axis`.",
        lambda np, a: _order(np, a.data, a.axis, a.descending).astype(a.result_dtype),
        _argsort,
    )
)


def _infer_topk(a: Inference) -> StructInfo:
    info, k, ret_type = a.tensor("data"), a.attr("k"), a.attr("ret_type")
    dtype = "int32" if a.attr("dtype") == "void" else a.attr("dtype")
    dims = dims_of(info)
    if info.ndim != -1:
        axis = a.axis(a.attr("axis"), info.ndim)
        if dims is not None and k >= 1:
            best = _best(k, dims[axis])
            a.check_equal(d.minimum(dims[axis], best), best, f"selects {k} of {d.show_one(dims[axis])} elements")
            dims = (*dims[:axis], best, *dims[axis + 1 :])
    values = tensor_info(dims, info.dtype, info.ndim, info.vdevice)
    indices = tensor_info(dims, dtype, info.ndim, info.vdevice)
    match ret_type:
        case "both":
            return TupleStructInfo((values, indices))
        case "values":
            return values
        case "indices":
            return indices
        case _:
            raise a.fail("E0321", f'cannot return "{ret_type}"', 'ret_type is one of "both", "values", "indices"')


def _numpy_topk(np: Any, a: Any) -> Any:
    size = a.data.shape[a.axis]
    order = np.take(_order(np, a.data, a.axis, a.largest), range(min(a.k, size) if a.k >= 1 else size), a.axis)
    values = np.take_along_axis(a.data, order, a.axis)
    indices = order.astype("int32" if a.dtype == "void" else a.dtype)
    return {"both": (values, indices), "values": values, "indices": indices}[a.ret_type]


register(
    RelaxOp(
        "relax.topk",
        (
            Param("data"),
            Param("k", "int", 1),
            _AXIS,
            Param("ret_type", "str", "both"),
            Param("largest", "bool", True),
            Param("dtype", "dtype", "int32"),
        ),
        _infer_topk,
        "Return the `k` greatest elements along `axis` and their indices.",
        _numpy_topk,
        _topk,
    )
)


def _infer_median(a: Inference) -> StructInfo:
    values = reduced(a)
    assert isinstance(values, TensorStructInfo)
    dims, axis = dims_of(a.tensor("x")), a.attr("axis")
    for number, dim in enumerate(dims or ()):
        is_taken = axis is None or number in a.axes(axis, len(dims or ()))
        if is_taken and d.value_of(dim) == 0:
            raise a.fail("E0326", f"cannot take the median of dimension {number}, which is 0")
    return TupleStructInfo((values, like(values, "int64"))) if axis is not None and len(axis) == 1 else values


def _numpy_median(np: Any, a: Any) -> Any:
    x, gone = a.x, sorted(axis % a.x.ndim for axis in (range(a.x.ndim) if a.axis is None else a.axis))
    kept = [axis for axis in range(x.ndim) if axis not in gone]
    rows = x.transpose(*kept, *gone).reshape(*(x.shape[axis] for axis in kept), prod(x.shape[axis] for axis in gone))
    order, missing = np.argsort(rows, -1, kind="stable"), (rows != rows).sum(-1, keepdims=True)
    middle = np.where(missing > 0, rows.shape[-1] - missing, (rows.shape[-1] - 1) // 2)
    index = np.take_along_axis(order, middle, -1)
    shape = [1 if axis in gone else size for axis, size in enumerate(x.shape) if a.keepdims or axis not in gone]
    values = np.take_along_axis(rows, index, -1).reshape(shape)
    return (values, index.reshape(shape)) if a.axis is not None and len(gone) == 1 else values


def _median(a: Any) -> te.Tensor | tuple[te.Tensor, te.Tensor]:
    """Return the element at the middle of the order of each row, or the first NaN if there is one."""
    gone = topi.normal_axes(a.axis, a.x.ndim)
    kept = [axis for axis in range(a.x.ndim) if axis not in gone]
    rows = a.x if kept + gone == list(range(a.x.ndim)) else topi.transpose(a.x, [*kept, *gone])
    if len(gone) != 1:
        rows = topi.reshape(rows, [*(a.x.dims[axis] for axis in kept), d.product([a.x.dims[axis] for axis in gone])])
    last, one = rows.ndim - 1, d.dim(1)
    k = te.reduce_axis((te.const(0, "int64"), rows.dims[last]), "k")
    middle = d.floordiv(d.subtract(rows.dims[last], 1), 2)

    def missing(*i: tir.PrimExpr) -> Any:
        return te.sum(te.cast(te.isnan(rows(*i, k)), "int64"), axis=k)

    counts = te.compute(rows.dims[:last], missing, "T_median_missing") if is_float(a.x.dtype) else None

    def wanted(i: tuple[tir.PrimExpr, ...]) -> tir.PrimExpr:
        if counts is None:
            return middle
        count = counts(*i[:last])
        return te.select(te.equal(count, 0), middle, rows.dims[last] - count)

    index = _at_places(_places(rows, last, False), last, one, wanted)
    values = _taken(rows, last, index, "T_median")
    shape = topi.reduced_shape(a.x, gone, a.keepdims)
    result = topi.reshape(values, shape)
    return (result, topi.reshape(index, shape)) if a.axis is not None and len(gone) == 1 else result


register(
    RelaxOp(
        "relax.median",
        (Param("x"), Param("axis", "opt_ints", None), Param("keepdims", "bool", False)),
        _infer_median,
        "Return the median along `axis`, by default of all elements: of two middle elements the lower one, and NaN if there is "
        "one. Along one axis, return the median and its index.",
        _numpy_median,
        _median,
    )
)


def _infer_multinomial(a: Inference) -> StructInfo:
    a.rank("prob", 2)
    a.float_tensor("prob")
    a.float_tensor("uniform_sample")
    sample = a.rank("uniform_sample", 2)
    a.rank("sample_indices", 2)
    dims = dims_of(sample)
    return tensor_info(dims and [dims[0], d.dim(1)], a.attr("dtype"), 2, sample.vdevice)


def _numpy_multinomial(np: Any, a: Any) -> Any:
    totals = np.cumsum(a.prob, 1)[a.sample_indices[:, 0]]
    return np.minimum((totals <= a.uniform_sample).sum(1, keepdims=True), a.prob.shape[1] - 1).astype(a.result_dtype)


def _multinomial(a: Any) -> te.Tensor:
    """Return, for each sample, the number of classes whose cumulative probability does not exceed it."""
    last = a.prob.dims[1] - 1
    k = te.reduce_axis((te.const(0, "int64"), a.prob.dims[1]), "k")
    j = te.reduce_axis((te.const(0, "int64"), a.prob.dims[1]), "j")

    def upto(i: tir.PrimExpr, c: tir.PrimExpr) -> Any:
        return te.sum(te.if_then_else(k <= c, a.prob(i, k), te.const(0, a.prob.dtype)), axis=k)

    totals = te.compute(a.prob.dims, upto, "T_multinomial_total")

    def below(i: tir.PrimExpr, c: tir.PrimExpr) -> Any:
        return te.sum(te.cast(totals(a.sample_indices(i, c), j) <= a.uniform_sample(i, c), "int64"), axis=j)

    count = te.compute(a.result.dims, below, "T_multinomial_count")
    return te.compute(count.dims, lambda *i: te.cast(te.minimum(count(*i), last), a.result.dtype), "T_multinomial")


register(
    RelaxOp(
        "relax.multinomial_from_uniform",
        (Param("prob"), Param("uniform_sample"), Param("sample_indices"), Param("dtype", "dtype", "int64")),
        _infer_multinomial,
        "Return, for each uniform sample, the class that it selects from its row of `prob`.",
        _numpy_multinomial,
        _multinomial,
    )
)
