"""Operators that take slices at computed positions: `take` and `reverse_sequence`."""

from __future__ import annotations

from typing import Any

from .. import make, te, tir
from ..base import StructInfo
from ..diagnostics import error
from ..signature import describe
from . import dims as d
from .indexing import index_tensor_info
from .inference import Inference, dims_of, tensor_info, written_dims
from .registry import Param, RelaxOp, register


def infer_take(a: Inference) -> StructInfo:
    info, indices, axis = a.tensor("x"), index_tensor_info(a, "indices"), a.attr("axis")
    if axis is None and info.ndim != 1:
        raise a.fail("E0323", f"needs an axis, since 'x' has {info.ndim} dimensions", "give axis=0")
    if -1 in (info.ndim, indices.ndim):
        return tensor_info(None, info.dtype, -1, info.vdevice)
    axis = a.axis(axis or 0, info.ndim)
    dims, taken = written_dims(info), written_dims(indices)
    if dims is None or taken is None:
        return tensor_info(None, info.dtype, info.ndim + indices.ndim - 1, info.vdevice)
    return tensor_info([*dims[:axis], *taken, *dims[axis + 1 :]], info.dtype, -1, info.vdevice)


_MODES = ("fast", "clip", "wrap", "nan")
"""What indices outside of the axis mean: nothing (they are not checked), the nearest one, the remainder, or NaN."""


def _check_mode(values: dict[str, Any]) -> None:
    if values["mode"] not in _MODES:
        message = f"R.take has no mode {describe(values['mode'])}"
        raise error("E0321", message, help=f"write one of {', '.join(_MODES)}")


def _take(a: Any) -> te.Tensor:
    axis = (a.axis or 0) % a.x.ndim
    width = a.indices.ndim if isinstance(a.indices, te.Tensor) else 0
    size = a.x.dims[axis]

    def value(*ax: tir.PrimExpr) -> tir.PrimExpr:
        index = a.indices(*ax[axis : axis + width]) if isinstance(a.indices, te.Tensor) else a.indices
        if a.mode == "fast":
            return a.x(*ax[:axis], index, *ax[axis + width :])
        given, zero = make.cast(index, size.dtype), make.const(0, size.dtype)
        inside = make.maximum(make.minimum(given, make.sub(size, 1)), zero)
        if a.mode == "wrap":
            inside = make.floormod(given, size)
        taken = a.x(*ax[:axis], inside, *ax[axis + width :])
        if a.mode != "nan":
            return taken
        is_outside = make.logical_or(make.less(given, zero), make.greater_equal(given, size))
        return make.if_then_else(is_outside, make.const(float("nan"), a.x.dtype), taken)

    return te.compute(a.result.dims, value, "T_take")


def _numpy_take(np: Any, a: Any) -> Any:
    axis = 0 if a.axis is None else a.axis
    if a.mode == "fast":
        return np.take(a.x, a.indices, axis)
    taken = np.take(a.x, a.indices, axis, mode="wrap" if a.mode == "wrap" else "clip")
    if a.mode != "nan":
        return taken
    indices, axis = np.asarray(a.indices), axis % a.x.ndim
    is_outside = (indices < 0) | (indices >= a.x.shape[axis])
    return np.where(is_outside.reshape(is_outside.shape + (1,) * (a.x.ndim - axis - 1)), np.nan, taken).astype(
        a.x.dtype
    )


register(
    RelaxOp(
        "relax.take",
        (Param("x"), Param("indices"), Param("axis", "opt_int", None), Param("mode", "str", "fast")),
        infer_take,
        "Return the slices of `x` at `indices` along `axis`. `mode` says what an index outside of the axis takes: nothing that is "
        'known ("fast"), the nearest slice ("clip"), that of the remainder ("wrap"), or NaN ("nan").',
        _numpy_take,
        _take,
        complete=_check_mode,
        scalars=("indices",),
    )
)


def _infer_reverse_sequence(a: Inference) -> StructInfo:
    info, lengths = a.tensor("data"), index_tensor_info(a, "seq_lengths")
    if lengths.ndim not in (-1, 1):
        raise a.fail("E0323", f"needs 'seq_lengths' of one dimension, but it has {lengths.ndim}")
    if info.ndim != -1:
        a.axis(a.attr("seq_axis"), info.ndim)
        batch = a.axis(a.attr("batch_axis"), info.ndim)
        dims, given = dims_of(info), dims_of(lengths)
        if dims is not None and given is not None:
            both = f"{d.show_one(given[0])} lengths, but dimension {batch} of 'data' is {d.show_one(dims[batch])}"
            a.check_equal(given[0], dims[batch], f"has {both}")
    return info


def _reverse_sequence(a: Any) -> te.Tensor:
    along: int = a.seq_axis % a.data.ndim
    batch: int = a.batch_axis % a.data.ndim

    def value(*ax: tir.PrimExpr) -> tir.PrimExpr:
        length: tir.PrimExpr = make.cast(a.seq_lengths(ax[batch]), ax[along].dtype)
        mirrored = make.sub(make.sub(length, 1), ax[along])
        index = make.if_then_else(make.less(ax[along], length), mirrored, ax[along])
        return a.data(*ax[:along], index, *ax[along + 1 :])

    return te.compute(a.result.dims, value, "T_reverse_sequence")


def _numpy_reverse_sequence(np: Any, a: Any) -> Any:
    along, batch = a.seq_axis % a.data.ndim, a.batch_axis % a.data.ndim
    shape = [1] * a.data.ndim
    shape[along] = -1
    places = np.arange(a.data.shape[along]).reshape(shape)
    shape = [1] * a.data.ndim
    shape[batch] = -1
    lengths = np.asarray(a.seq_lengths).reshape(shape)
    order = np.broadcast_to(np.where(places < lengths, lengths - 1 - places, places), a.data.shape)
    return np.take_along_axis(a.data, order.astype("int64"), along)


register(
    RelaxOp(
        "relax.reverse_sequence",
        (Param("data"), Param("seq_lengths"), Param("seq_axis", "int", 1), Param("batch_axis", "int", 0)),
        _infer_reverse_sequence,
        "Reverse the first `seq_lengths[i]` elements of the i-th slice of `data` along `batch_axis`, in the order of `seq_axis`.",
        _numpy_reverse_sequence,
        _reverse_sequence,
    )
)
