"""Rows for reductions and scans: sums, extrema, moments, norms, running sums."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

from ....ir import relax, tir
from ....ir.api.relax import op
from ....ir.building.values import const
from ....ir.ops import dims as d
from ..values import axis_of, dims_of, dtype_of, is_floating, rank_of
from .converter import Convert, Converter
from .elementwise import number

Reduce = Callable[[relax.Expr, Any, bool], relax.Expr]


def axes_in(a: Any) -> list[int] | None:
    """Return the axes that the argument `dim` names, or None for all, which torch writes as None or []."""
    axes: Any = getattr(a, "dim", None)
    return [axes] if isinstance(axes, int) else list(axes or ()) or None


def reduced(reduce: Reduce, x: relax.Expr, a: Any) -> relax.Expr:
    """Reduce `x` over the axes of `dim`, with `keepdim`; a scalar tensor is treated as having one element."""
    keepdim = getattr(a, "keepdim", False)
    if not rank_of(x):
        return op.reshape(reduce(op.reshape(x, [1]), [0], False), ())
    return reduce(x, axes_in(a), keepdim)


def _sum(c: Converter, a: Any) -> relax.Expr:
    return reduced(lambda x, axes, keep: op.sum(x, axes, keep), c.tensor(a.self, c.dtype), a)


def _prod(c: Converter, a: Any) -> relax.Expr:
    return reduced(lambda x, axes, keep: op.prod(x, axes, keep), c.tensor(a.self, c.dtype), a)


def _mean(c: Converter, a: Any) -> relax.Expr:
    return reduced(lambda x, axes, keep: op.mean(x, axes, keep), c.tensor(a.self, c.dtype), a)


def _extremum(reduce: Reduce) -> Convert:
    def convert(c: Converter, a: Any) -> relax.Expr:
        x = c.cast(a.self, "int8") if dtype_of(a.self) == "bool" else a.self
        return c.cast(reduced(reduce, x, a), dtype_of(a.self))

    return convert


_max = _extremum(lambda x, axes, keep: op.max(x, axes, keep))
_min = _extremum(lambda x, axes, keep: op.min(x, axes, keep))


def _any(c: Converter, a: Any) -> relax.Expr:
    x = c.cast(c.cast(a.self, "bool"), "int8")
    return c.cast(reduced(lambda x, axes, keep: op.max(x, axes, keep), x, a), "bool")


def _all(c: Converter, a: Any) -> relax.Expr:
    x = c.cast(c.cast(a.self, "bool"), "int8")
    return c.cast(reduced(lambda x, axes, keep: op.min(x, axes, keep), x, a), "bool")


def _index_of(find: Callable[[relax.Expr, int | None, bool], relax.Expr]) -> Convert:
    """Return the index of an extremum; without `dim`, the index in the flattened tensor."""

    def convert(c: Converter, a: Any) -> relax.Expr:
        x, keepdim = ordered(c, a.self), getattr(a, "keepdim", False)
        if getattr(a, "dim", None) is None or not rank_of(x):
            return (
                op.reshape(find(op.reshape(x, [-1]), 0, False), c.shape) if not rank_of(x) else find(x, None, keepdim)
            )
        return find(x, a.dim, keepdim)

    return convert


def ordered(c: Converter, x: relax.Expr) -> relax.Expr:
    return c.cast(x, "int8") if dtype_of(x) == "bool" else x


_argmax = _index_of(lambda x, axis, keep: op.argmax(x, axis, keep))
_argmin = _index_of(lambda x, axis, keep: op.argmin(x, axis, keep))


def _with_index(value: Convert, index: Convert) -> Convert:
    """Return the extremum along `dim`, and its index, which is computed only if the model uses it."""
    return lambda c, a: (lambda: value(c, a), lambda: index(c, a))


def _amin_and_amax(c: Converter, a: Any) -> Any:
    return (lambda: _min(c, a), lambda: _max(c, a))


def _count(x: relax.Expr, axes: list[int] | None) -> tir.PrimExpr:
    dims = dims_of(x)
    return d.product([dims[axis] for axis in (range(len(dims)) if axes is None else axes)])


def _variance(c: Converter, x: relax.Expr, a: Any) -> relax.Expr:
    """Return the sum of squared deviations divided by the number of elements minus the correction."""
    correction = getattr(a, "correction", None)
    if correction is None:
        correction = 1 if getattr(a, "unbiased", True) else 0
    axes, keepdim = axes_in(a), getattr(a, "keepdim", False)
    if not rank_of(x):
        x, axes = op.reshape(x, [1]), [0]
    centred = op.subtract(x, op.mean(x, axes, True))
    squares = op.sum(op.multiply(centred, centred), axes, keepdim)
    count = _count(x, axes)
    size = d.value_of(count)
    if size is not None:
        return op.divide(squares, number(max(size - correction, 0), x))
    return op.divide(squares, op.subtract(c.tensor(count, dtype_of(x)), number(correction, x)))


def _var(c: Converter, a: Any) -> relax.Expr:
    return _variance(c, a.self, a)


def _std(c: Converter, a: Any) -> relax.Expr:
    return op.sqrt(_variance(c, a.self, a))


def _var_mean(c: Converter, a: Any) -> Any:
    return (lambda: _var(c, a), lambda: reduced(lambda x, axes, keep: op.mean(x, axes, keep), a.self, a))


def _std_mean(c: Converter, a: Any) -> Any:
    return (lambda: _std(c, a), lambda: reduced(lambda x, axes, keep: op.mean(x, axes, keep), a.self, a))


def _logsumexp(c: Converter, a: Any) -> relax.Expr:
    """Return the logarithm of the sum of exponentials; subtracting the maximum first avoids overflow."""
    x = c.floating(a.self)
    if not rank_of(x):
        return x
    axes = axes_in(a)
    top = op.max(x, axes, True)
    shift = op.where(op.isinf(top), number(0, x), top)
    total = op.log(op.sum(op.exp(op.subtract(x, shift)), axes, True))
    result = op.add(total, shift)
    return result if a.keepdim else op.reshape(result, c.shape)


def _norm(c: Converter, a: Any) -> relax.Expr:
    x = c.tensor(a.self, c.dtype)
    order = getattr(a, "ord", getattr(a, "p", 2))
    order = 2 if order is None else order
    size = op.abs(x)
    if order == inf:
        return reduced(lambda x, axes, keep: op.max(x, axes, keep), size, a)
    if order == -inf:
        return reduced(lambda x, axes, keep: op.min(x, axes, keep), size, a)
    if order == 0:
        counted = c.cast(op.not_equal(x, number(0, x)), c.dtype)
        return reduced(lambda x, axes, keep: op.sum(x, axes, keep), counted, a)
    powers = op.power(size, number(order, x))
    return op.power(reduced(lambda x, axes, keep: op.sum(x, axes, keep), powers, a), number(1 / order, x))


def _count_nonzero(c: Converter, a: Any) -> relax.Expr:
    counted = c.cast(op.not_equal(a.self, number(0, a.self)), "int64")
    return reduced(lambda x, axes, keep: op.sum(x, axes, keep), counted, a)


def _scan(name: str) -> Convert:
    def convert(c: Converter, a: Any) -> relax.Expr:
        if not rank_of(a.self):
            return c.cast(a.self, c.dtype)
        scan: Any = getattr(op, name)
        return scan(a.self, a.dim, None if dtype_of(a.self) == c.dtype else c.dtype)

    return convert


def _running_extremum(is_maximum: bool) -> Convert:
    """Return the running extremum and its last index, by comparing every pair of elements along `dim`."""

    def convert(c: Converter, a: Any) -> Any:
        x = a.self
        axis, rank = axis_of(a.dim, rank_of(x)), rank_of(x)
        if not rank:
            return x, lambda: op.zeros((), "int64")
        length = dims_of(x)[axis]
        column = op.expand_dims(x, axis)
        place = op.reshape(op.arange(0, length, 1, "int64"), [-1, *[1] * (rank - axis)])
        source = op.reshape(op.arange(0, length, 1, "int64"), [1, -1, *[1] * (rank - axis - 1)])
        limit = -inf if is_maximum else inf
        hidden = const(limit if is_floating(dtype_of(x)) else _integer_limit(dtype_of(x), is_maximum), dtype_of(x))
        shown = op.where(op.less_equal(source, place), column, hidden)
        values = c.emit(op.max(shown, axis + 1) if is_maximum else op.min(shown, axis + 1), "_values")

        def indices() -> relax.Expr:
            same = op.logical_and(op.equal(column, op.expand_dims(values, axis + 1)), op.less_equal(source, place))
            return op.max(op.where(same, source, const(-1, "int64")), axis + 1)

        return values, indices

    return convert


def _integer_limit(dtype: str, is_maximum: bool) -> int:
    from ....ir.dtype import int_range

    return int_range(dtype)[0 if is_maximum else 1]


_DIMS = ("dim", "dims", "default")

ROWS: dict[str, Convert] = {
    **{f"sum.{overload}": _sum for overload in ("default", "dim_IntList")},
    **{f"prod.{overload}": _prod for overload in ("default", "dim_int")},
    **{f"mean.{overload}": _mean for overload in ("default", "dim")},
    "amax.default": _max,
    "amin.default": _min,
    "aminmax.default": _amin_and_amax,
    "max.default": _max,
    "min.default": _min,
    "max.dim": _with_index(_max, _argmax),
    "min.dim": _with_index(_min, _argmin),
    "argmax.default": _argmax,
    "argmin.default": _argmin,
    **{f"any.{overload}": _any for overload in _DIMS},
    **{f"all.{overload}": _all for overload in _DIMS},
    **{f"var.{overload}": _var for overload in ("default", "dim", "correction")},
    **{f"std.{overload}": _std for overload in ("default", "dim", "correction")},
    **{f"var_mean.{overload}": _var_mean for overload in ("default", "dim", "correction")},
    **{f"std_mean.{overload}": _std_mean for overload in ("default", "dim", "correction")},
    "logsumexp.default": _logsumexp,
    "linalg_vector_norm.default": _norm,
    "norm.Scalar": _norm,
    "norm.ScalarOpt_dim": _norm,
    "count_nonzero.default": _count_nonzero,
    "count_nonzero.dim_IntList": _count_nonzero,
    "cumsum.default": _scan("cumsum"),
    "cumprod.default": _scan("cumprod"),
    "cummax.default": _running_extremum(True),
    "cummin.default": _running_extremum(False),
}
