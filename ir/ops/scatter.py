"""Operators that write into copies of tensors by index (TVM: `relax/op/manipulate.py`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import te, tir
from ..base import StructInfo
from ..relax import PrimStructInfo, TensorStructInfo
from ..te import topi
from . import dims as d
from .indexing import index_tensor_info, slice_length
from .inference import Inference, dims_of, tensor_info
from .registry import Param, RelaxOp, register
from .writing import Element, Writes, from_front

_REDUCTIONS = {"add": "add", "mul": "multiply", "max": "maximum", "min": "minimum"}
"""Return the NumPy function that combines several values for one element."""
_CHOICES = ("update", *_REDUCTIONS, "mean")


def _checked(a: Inference, values: str) -> TensorStructInfo:
    info = a.tensor("data")
    a.same_dtype("data", values)
    if "reduction" in a.call.attrs and a.attr("reduction") not in _CHOICES:
        choices = ", ".join(f'"{name}"' for name in _CHOICES)
        raise a.fail("E0321", f'has no reduction "{a.attr("reduction")}"', f"choose one of {choices}")
    return info


def _infer_elements(a: Inference) -> StructInfo:
    info, indices, updates = _checked(a, "updates"), index_tensor_info(a, "indices"), a.tensor("updates")
    ranks = {info.ndim, indices.ndim, updates.ndim} - {-1}
    if len(ranks) > 1:
        raise a.fail(
            "E0323", f"needs 'data', 'indices' and 'updates' of one rank, but they have {sorted(ranks)} dimensions"
        )
    if info.ndim != -1:
        a.axis(a.attr("axis"), info.ndim)
    places, new = dims_of(indices), dims_of(updates)
    for x, y in zip(places or (), new or (), strict=False):
        a.check_equal(
            x, y, f"needs an update for each index, but their shapes are {d.show(places or ())} and {d.show(new or ())}"
        )
    return info


def _combine(np: Any, result: Any, index: Any, updates: Any, reduction: str) -> Any:
    if reduction == "update":
        result[index] = updates
    elif reduction == "mean":
        count = np.ones(result.shape)
        np.add.at(result, index, updates)
        np.add.at(count, index, 1)
        result = (result / count).astype(result.dtype)
    else:
        getattr(np, _REDUCTIONS[reduction]).at(result, index, updates)
    return result


def _elements(a: Any) -> te.Tensor:
    axis: int = a.axis % a.data.ndim
    others = [n for n in range(a.data.ndim) if n != axis]
    cut = [n for n in others if not d.is_equal(a.indices.dims[n], a.data.dims[n])]

    def place(i: Element, k: Sequence[tir.Var]) -> Element:
        return (*i[:axis], k[0], *i[axis + 1 :])

    def meets(i: Element, k: Sequence[tir.Var]) -> tir.PrimExpr:
        hits = te.equal(from_front(a.indices(*place(i, k)), a.data.shape[axis]), i[axis])
        inside = [i[n] < a.indices.shape[n] for n in cut]
        return te.if_then_else(te.all(*inside), hits, te.const(0, "bool")) if inside else hits

    writes = Writes(a.data, [a.indices.dims[axis]], meets, lambda i, k: a.updates(*place(i, k)))
    return writes.combined(a.reduction, "T_scatter_elements")


def _nd(a: Any) -> te.Tensor | None:
    depth = d.value_of(a.indices.dims[-1])
    if depth is None:
        return None

    def meets(i: Element, k: Sequence[tir.Var]) -> tir.PrimExpr:
        return te.all(*(te.equal(from_front(a.indices(*k, n), a.data.shape[n]), i[n]) for n in range(depth)))

    writes = Writes(a.data, a.indices.dims[:-1], meets, lambda i, k: a.updates(*k, *i[depth:]))
    return writes.combined(a.reduction, "T_scatter_nd")


def _put(a: Any) -> te.Tensor:
    indices: tuple[te.Tensor, ...] = a.indices
    shape, width = topi.shape_of(*indices), len(indices)

    def meets(i: Element, k: Sequence[tir.Var]) -> tir.PrimExpr:
        places = (topi.element(index, k, shape) for index in indices)
        parts = zip(places, a.data.shape, i, strict=False)
        return te.all(*(te.equal(from_front(place, length), own) for place, length, own in parts))

    def value(i: Element, k: Sequence[tir.Var]) -> tir.PrimExpr:
        return topi.element(a.values, (*k, *i[width:]), (*shape, *a.data.dims[width:]))

    return Writes(a.data, shape, meets, value).combined("add" if a.accumulate else "update", "T_index_put")


def _numpy_elements(np: Any, a: Any) -> Any:
    index = list(np.indices(a.indices.shape))
    index[a.axis] = a.indices
    return _combine(np, a.data.copy(), tuple(index), a.updates, a.reduction)


register(
    RelaxOp(
        "relax.scatter_elements",
        (
            Param("data"),
            Param("indices"),
            Param("updates"),
            Param("axis", "int", 0),
            Param("reduction", "str", "update"),
        ),
        _infer_elements,
        "Return `data` with `updates` written at `indices` along `axis`.",
        _numpy_elements,
        _elements,
    )
)


def _infer_nd(a: Inference) -> StructInfo:
    info, indices, updates = _checked(a, "updates"), index_tensor_info(a, "indices"), a.tensor("updates")
    places = dims_of(indices)
    depth = d.value_of(places[-1]) if places else None
    if depth is None or -1 in (info.ndim, updates.ndim):
        return info
    if depth > info.ndim:
        raise a.fail("E0326", f"indexes {depth} dimensions, but 'data' has {info.ndim}")
    expected = info.ndim + indices.ndim - depth - 1
    if updates.ndim != expected:
        raise a.fail(
            "E0323",
            f"needs 'updates' to have {expected} dimensions, but it has {updates.ndim}",
            None,
            a.argument("updates"),
        )
    return info


register(
    RelaxOp(
        "relax.scatter_nd",
        (Param("data"), Param("indices"), Param("updates"), Param("reduction", "str", "update")),
        _infer_nd,
        "Return `data` with `updates` written at the indices in the last dimension of `indices`.",
        lambda np, a: _combine(np, a.data.copy(), tuple(np.moveaxis(a.indices, -1, 0)), a.updates, a.reduction),
        _nd,
    )
)


def _infer_put(a: Inference) -> StructInfo:
    info, indices, values = _checked(a, "values"), a.tensors("indices"), a.tensor("values")
    ranks = [index.ndim for index in indices]
    if -1 in (*ranks, info.ndim, values.ndim):
        return info
    if len(indices) > info.ndim:
        raise a.fail("E0323", f"has {len(indices)} indices for {info.ndim} dimensions", None, a.argument("indices"))
    most = max(ranks, default=0) + info.ndim - len(indices)
    if values.ndim > most:
        reason = f"needs 'values' to have at most {most} dimensions, but it has {values.ndim}"
        raise a.fail("E0323", reason, None, a.argument("values"))
    return info


register(
    RelaxOp(
        "relax.index_put",
        (Param("data"), Param("indices"), Param("values"), Param("accumulate", "bool", False)),
        _infer_put,
        "Return `data` with `values` written or added at `indices`, one vector per dimension.",
        lambda np, a: _combine(
            np,
            a.data.copy(),
            a.indices,
            a.values,
            "add" if a.accumulate else "update",
        ),
        _put,
    )
)


def _infer_slice_scatter(a: Inference) -> StructInfo:
    info, source = a.tensor("input_tensor"), a.tensor("src")
    a.same_dtype("input_tensor", "src")
    if -1 in (info.ndim, source.ndim):
        return info
    if info.ndim != source.ndim:
        raise a.fail(
            "E0323", f"needs 'src' to have {info.ndim} dimensions, but it has {source.ndim}", None, a.argument("src")
        )
    axis = a.axis(a.attr("axis"), info.ndim)
    start, end, step = (a.number(name) for name in ("start", "end", "step"))
    dims, given = dims_of(info), dims_of(source)
    stride = d.value_of(step) if step is not None else None
    if stride is not None and stride < 1:
        raise a.fail("E0321", f"needs a step of at least 1, not {stride}")
    if dims is None or given is None or start is None or end is None or stride is None:
        return info
    expected = [*dims[:axis], slice_length(start, end, stride, dims[axis], False), *dims[axis + 1 :]]
    for x, y in zip(expected, given, strict=True):
        a.check_equal(x, y, f"needs 'src' of shape {d.show(tuple(expected))}, but it is {d.show(given)}")
    return info


def _slice_scatter(a: Any) -> te.Tensor:
    axis: int = a.axis % a.input_tensor.ndim

    def value(*i: tir.PrimExpr) -> tir.PrimExpr:
        offset = i[axis] - a.start
        inside = te.all(a.start <= i[axis], i[axis] < a.end, te.equal(offset % a.step, 0))
        return te.if_then_else(inside, a.src(*i[:axis], offset // a.step, *i[axis + 1 :]), a.input_tensor(*i))

    return te.compute(a.input_tensor.dims, value, "slice_scatter")


def _numpy_slice_scatter(np: Any, a: Any) -> Any:
    result = a.input_tensor.copy()
    axis = a.axis % result.ndim
    result[(*[slice(None)] * axis, slice(int(a.start), int(a.end), int(a.step)))] = a.src
    return result


register(
    RelaxOp(
        "relax.slice_scatter",
        (
            Param("input_tensor"),
            Param("src"),
            Param("start", "prim"),
            Param("end", "prim"),
            Param("step", "prim"),
            Param("axis", "int", 0),
        ),
        _infer_slice_scatter,
        "Return `input_tensor` with its slice along `axis` replaced by `src`.",
        _numpy_slice_scatter,
        _slice_scatter,
    )
)


def _infer_one_hot(a: Inference) -> StructInfo:
    indices, on, off = index_tensor_info(a, "indices"), a.info("on_value"), a.info("off_value")
    if not isinstance(on, PrimStructInfo) or not isinstance(off, PrimStructInfo):
        raise a.fail("E0322", "needs scalars as 'on_value' and 'off_value'", "write R.prim_value(…)")
    if on.dtype != off.dtype:
        raise a.fail("E0324", f"needs values of one dtype, but they are {on.dtype} and {off.dtype}")
    if isinstance(a.attr("depth"), int) and a.attr("depth") < 0:
        raise a.fail("E0321", f"needs a 'depth' of 0 or more, but it is {a.attr('depth')}")
    dims = dims_of(indices)
    if dims is None:
        return tensor_info(None, on.dtype, -1 if indices.ndim == -1 else indices.ndim + 1, indices.vdevice)
    axis = a.axis(a.attr("axis"), len(dims) + 1)
    return tensor_info([*dims[:axis], d.dim(a.attr("depth")), *dims[axis:]], on.dtype, -1, indices.vdevice)


def _one_hot(a: Any) -> te.Tensor:
    axis: int = a.axis % (a.indices.ndim + 1)

    def value(*ax: tir.PrimExpr) -> tir.PrimExpr:
        index = a.indices(*ax[:axis], *ax[axis + 1 :])
        return te.select(te.equal(index, te.cast(ax[axis], index.dtype)), a.on_value, a.off_value)

    return te.compute(a.result.dims, value, "T_one_hot")


def _numpy_one_hot(np: Any, a: Any) -> Any:
    hot = np.expand_dims(a.indices, a.axis) == np.arange(a.depth).reshape(
        [-1 if n == a.axis % (a.indices.ndim + 1) else 1 for n in range(a.indices.ndim + 1)]
    )
    return np.where(hot, a.on_value, a.off_value).astype(a.result_dtype)


register(
    RelaxOp(
        "relax.one_hot",
        (
            Param("indices"),
            Param("on_value", "prim"),
            Param("off_value", "prim"),
            Param("depth", "int"),
            Param("axis", "int", -1),
        ),
        _infer_one_hot,
        "Return a one-hot encoding along a new `axis`: `on_value` at the index, `off_value` elsewhere.",
        _numpy_one_hot,
        _one_hot,
    )
)
