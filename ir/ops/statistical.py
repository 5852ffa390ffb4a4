"""Reductions and scans (TVM: `relax/op/statistical.py`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from .. import te, tir
from ..base import StructInfo
from ..dtype import is_float, parse_dtype, sum_dtype
from ..numpy_dtype import converted
from ..te import topi
from . import dims as d
from .inference import Inference, dims_of, like, tensor_info
from .registry import Oracle, Param, RelaxOp, register

_PARAMS = (Param("x"), Param("axis", "opt_ints", None), Param("keepdims", "bool", False))


def reduced(a: Inference, dtype: str | None = None) -> StructInfo:
    """Return the struct info of `x` reduced over `axis`."""
    info, axis, keepdims = a.tensor("x"), a.attr("axis"), a.attr("keepdims")
    dtype = dtype or info.dtype
    axis = (axis,) if isinstance(axis, int) else axis
    if info.ndim == -1:
        return tensor_info([] if axis is None and not keepdims else None, dtype, -1, info.vdevice)
    gone = tuple(range(info.ndim)) if axis is None else a.axes(axis, info.ndim)
    ndim = info.ndim if keepdims else info.ndim - len(gone)
    dims = dims_of(info)
    if dims is None:
        all_ones = keepdims and len(gone) == info.ndim
        kept = [d.dim(1)] * info.ndim if all_ones else [] if ndim == 0 else None
        return tensor_info(kept, dtype, ndim, info.vdevice)
    if keepdims:
        kept = [d.dim(1) if number in gone else dim for number, dim in enumerate(dims)]
    else:
        kept = [dim for number, dim in enumerate(dims) if number not in gone]
    return tensor_info(kept, dtype, ndim, info.vdevice)


def _axis(a: Any) -> Any:
    return None if a.axis is None else tuple(a.axis)


def _oracle(name: str) -> Oracle:
    return lambda np, a: np.asarray(getattr(np, name)(a.x, axis=_axis(a), keepdims=a.keepdims)).astype(a.result_dtype)


def _moment(name: str) -> Oracle:
    """Return the oracle by NumPy, in float32 for floats of fewer bits."""

    def oracle(np: Any, a: Any) -> Any:
        x = a.x.astype("float32") if _is_narrow(str(a.x.dtype)) else a.x
        return np.asarray(getattr(np, name)(x, axis=_axis(a), keepdims=a.keepdims)).astype(a.result_dtype)

    return oracle


def _extreme(name: str, limit: Callable[[str], tir.PrimExpr]) -> Oracle:
    """Return the oracle by NumPy; the result for no elements is the identity of the reduction."""

    def oracle(np: Any, a: Any) -> Any:
        start = {} if a.x.size else {"initial": cast("tir.FloatImm", limit(str(a.x.dtype))).value}
        return np.asarray(getattr(np, name)(a.x, axis=_axis(a), keepdims=a.keepdims, **start)).astype(a.result_dtype)

    return oracle


def _reduction(
    name: str, meaning: Callable[[te.Tensor, Any, bool], te.Tensor], oracle: Oracle, doc: str, of_none: str = ""
) -> None:
    register(
        RelaxOp(
            f"relax.{name}",
            _PARAMS,
            reduced,
            f"Return {doc} along `axis`, by default of all elements.{of_none}",
            oracle,
            lambda a: meaning(a.x, a.axis, a.keepdims),
        )
    )


def _in_dtype(x: te.Tensor, dtype: str) -> te.Tensor:
    return x if x.dtype == dtype else topi.elementwise(x, lambda item: te.cast(item, dtype))


def _is_narrow(dtype: str) -> bool:
    return is_float(dtype) and parse_dtype(dtype).bits < 32


def mean(x: te.Tensor, axis: Any, keepdims: bool) -> te.Tensor:
    """Return the mean over `axis`; that of integers is rounded towards 0. Elements of fewer than 32 bits are added in float32."""
    wide = _in_dtype(x, "float32" if _is_narrow(x.dtype) else sum_dtype(x.dtype))
    total = topi.reduce(wide, axis, keepdims, te.sum)
    return _in_dtype(topi.divide(total, te.cast(topi.count(x, axis), wide.dtype)), x.dtype)


def _variance(x: te.Tensor, axis: Any, keepdims: bool) -> te.Tensor:
    deviation = topi.subtract(x, mean(x, axis, True))
    return mean(topi.multiply(deviation, deviation), axis, keepdims)


def _in_floats(meaning: Callable[[te.Tensor, Any, bool], te.Tensor]) -> Callable[[te.Tensor, Any, bool], te.Tensor]:
    """Return `meaning`, computed in float64 for integers and rounded towards 0, and in float32 for floats of fewer bits."""

    def computed(x: te.Tensor, axis: Any, keepdims: bool) -> te.Tensor:
        if is_float(x.dtype) and not _is_narrow(x.dtype):
            return meaning(x, axis, keepdims)
        wide = "float32" if is_float(x.dtype) else "float64"
        return _in_dtype(meaning(_in_dtype(x, wide), axis, keepdims), x.dtype)

    return computed


def _plain(reducer: Callable[..., Any]) -> Callable[[te.Tensor, Any, bool], te.Tensor]:
    return lambda x, axis, keepdims: topi.reduce(x, axis, keepdims, reducer)


_reduction("sum", _plain(te.sum), _oracle("sum"), "the sum")
_reduction("prod", _plain(te.prod), _oracle("prod"), "the product")
_reduction(
    "max", _plain(te.max), _extreme("max", te.least), "the maximum", " For no elements it is the minimum of the dtype."
)
_reduction(
    "min",
    _plain(te.min),
    _extreme("min", te.greatest),
    "the minimum",
    " For no elements it is the maximum of the dtype.",
)
_reduction("mean", mean, _moment("mean"), "the mean")
_reduction("variance", _in_floats(_variance), _moment("var"), "the variance")
_reduction(
    "std",
    _in_floats(lambda x, axis, keepdims: topi.elementwise(_variance(x, axis, keepdims), te.sqrt)),
    _moment("std"),
    "the standard deviation",
)


def _infer_scan(a: Inference) -> StructInfo:
    info, axis, dtype = a.tensor("data"), a.attr("axis"), a.attr("dtype")
    result = like(info, info.dtype if dtype == "void" else dtype)
    if axis is None:
        dims = dims_of(info)
        return tensor_info(dims and [d.product(dims)], result.dtype, 1, info.vdevice)
    if info.ndim != -1:
        a.axis(axis, info.ndim)
    return result


_PART = 64
"""Length of the parts of a scan."""


def _scan(reducer: Callable[..., Any]) -> Callable[[Any], te.Tensor]:
    """Reduce the elements up to each result: those of its part, and the parts before it. No step depends on another, and each result takes
    few steps.
    """

    def meaning(a: Any) -> te.Tensor:
        data = topi.reshape(a.data, [d.product(a.data.dims)]) if a.axis is None else a.data
        axis = 0 if a.axis is None else a.axis % data.ndim
        data = data if data.dtype == a.result.dtype else topi.cast(data, a.result.dtype)
        return _scanned(data, axis, reducer, a.exclusive)

    return meaning


def _scanned(
    data: te.Tensor, axis: int, reducer: Callable[..., Any], is_exclusive: bool, are_totals: bool = False
) -> te.Tensor:
    """Return the scan of a tensor along an axis. A long one is divided into parts, whose totals are scanned in the same way; a symbolic one
    is divided once.
    """
    size, identity = data.dims[axis], te.const(int(reducer is te.prod), data.dtype)
    if size.value <= 2 * _PART if isinstance(size, tir.IntImm) else are_totals:
        k = te.reduce_axis((te.const(0, "int64"), size), "k")

        def short(*ax: tir.PrimExpr) -> Any:
            included = k < ax[axis] if is_exclusive else k <= ax[axis]
            return reducer(te.if_then_else(included, data(*ax[:axis], k, *ax[axis + 1 :]), identity), axis=k)

        return te.compute(data.dims, short, "T_scan")
    before, after = data.dims[:axis], data.dims[axis + 1 :]
    part, count = te.const(_PART, "int64"), d.ceildiv(size, _PART)
    k = te.reduce_axis((te.const(0, "int64"), part), "k")

    def within(*ax: tir.PrimExpr) -> Any:
        *outer, number, place = *ax[:axis], ax[axis], ax[axis + 1]
        included = te.all(k <= place, number * part + k < size)
        return reducer(te.if_then_else(included, data(*outer, number * part + k, *ax[axis + 2 :]), identity), axis=k)

    scans = te.compute((*before, count, part, *after), within, "T_part")
    totals = te.compute(
        (*before, count, *after), lambda *ax: scans(*ax[: axis + 1], part - 1, *ax[axis + 1 :]), "T_total"
    )
    starts = _scanned(totals, axis, reducer, True, are_totals=True)

    def joined(*ax: tir.PrimExpr) -> Any:
        number, place, rest = ax[axis] // part, ax[axis] % part, ax[axis + 1 :]
        start = starts(*ax[:axis], number, *rest)
        if is_exclusive:
            own = te.if_then_else(place > 0, scans(*ax[:axis], number, te.max(place - 1, 0), *rest), identity)
        else:
            own = scans(*ax[:axis], number, place, *rest)
        return start * own if reducer is te.prod else start + own

    return te.compute(data.dims, joined, "T_scan")


def _numpy_scan(name: str, identity: int) -> Oracle:
    def oracle(np: Any, a: Any) -> Any:
        data = a.data.reshape(-1) if a.axis is None else a.data
        axis = a.axis or 0
        result = getattr(np, name)(converted(data, a.result_dtype), axis, dtype=a.result_dtype)
        if not a.exclusive:
            return result
        shifted = np.roll(result, 1, axis)
        shifted[(*[slice(None)] * (axis % data.ndim), 0)] = identity
        return shifted

    return oracle


for _name, _reducer, _identity in (("cumsum", te.sum, 0), ("cumprod", te.prod, 1)):
    register(
        RelaxOp(
            f"relax.{_name}",
            (
                Param("data"),
                Param("axis", "opt_int", None),
                Param("dtype", "dtype", None),
                Param("exclusive", "opt_bool", False),
            ),
            _infer_scan,
            f"Return the cumulative {'sum' if _identity == 0 else 'product'} along `axis`, by default of the "
            "flattened tensor.",
            _numpy_scan(_name, _identity),
            _scan(_reducer),
        )
    )
