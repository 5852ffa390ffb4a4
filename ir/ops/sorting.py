"""Sorting (TVM: `relax/op/sorting.py`) and sampling (`sampling.py`)."""

from __future__ import annotations

from typing import Any

from ..base import StructInfo
from ..relax import TupleStructInfo
from . import dims as d
from .inference import Inference, dims_of, like, tensor_info
from .registry import Param, RelaxOp, register

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
    """The stable order: of equal elements, the first comes first either way."""
    if not descending:
        return np.argsort(data, axis, kind="stable")
    size = data.shape[axis]
    return size - 1 - np.flip(np.argsort(np.flip(data, axis), axis, kind="stable"), axis)


register(
    RelaxOp(
        "relax.sort",
        (Param("x"), _AXIS, _DESCENDING),
        _infer_sort,
        "Return `x` sorted along `axis`.",
        lambda np, a: np.take_along_axis(a.x, _order(np, a.x, a.axis, a.descending), a.axis),
    )
)
register(
    RelaxOp(
        "relax.argsort",
        (Param("data"), _AXIS, _DESCENDING, Param("dtype", "dtype", "int32")),
        _infer_argsort,
        "Return the indices that sort `data` along `axis`.",
        lambda np, a: _order(np, a.data, a.axis, a.descending).astype(a.result_dtype),
    )
)


def _infer_topk(a: Inference) -> StructInfo:
    info, k, ret_type = a.tensor("data"), a.attr("k"), a.attr("ret_type")
    dtype = "int32" if a.attr("dtype") == "void" else a.attr("dtype")
    dims = dims_of(info)
    if info.ndim != -1:
        axis = a.axis(a.attr("axis"), info.ndim)
        if dims is not None and k >= 1:
            dims = (*dims[:axis], d.dim(k), *dims[axis + 1 :])
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
    order = np.take(_order(np, a.data, a.axis, a.largest), range(a.k if a.k >= 1 else size), a.axis)
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
        "Return the `k` greatest elements along `axis` and where they are.",
        _numpy_topk,
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


register(
    RelaxOp(
        "relax.multinomial_from_uniform",
        (Param("prob"), Param("uniform_sample"), Param("sample_indices"), Param("dtype", "dtype", "int64")),
        _infer_multinomial,
        "Return for each uniform sample the index that it picks from its row of `prob`.",
        _numpy_multinomial,
    )
)
