"""Rows for pooling."""

from __future__ import annotations

from typing import Any, cast

from ....ir import relax
from ....ir.api.relax import op
from ....ir.ops import dims as d
from ..maxima import maximum_places
from ..slicing import sliced
from ..values import dims_of, rank_of
from .converter import Convert, Converter
from .convolution import in_batch, repeated
from .elementwise import number


def _windows(a: Any, spatial: int) -> dict[str, Any]:
    """Return the attributes of a pooling; the default stride is the window size."""
    kernel = repeated(a.kernel_size, spatial)
    padding = repeated(a.padding, spatial)
    return {
        "pool_size": kernel,
        "strides": repeated(a.stride, spatial) if a.stride not in ([], None) else kernel,
        "padding": padding * 2,
        "dilation": repeated(getattr(a, "dilation", 1), spatial),
        "ceil_mode": bool(a.ceil_mode),
    }


def _trimmed(c: Converter, x: relax.Expr, shape: tuple[Any, ...]) -> relax.Expr:
    """Drop the windows that torch drops: those that start in the padding after the data."""
    for axis, (size, wanted) in enumerate(zip(dims_of(x), shape, strict=True)):
        if d.value_of(size) != d.value_of(wanted):
            x = sliced(x, axis, 0, wanted)
    return x


def _shape(c: Converter) -> tuple[Any, ...]:
    value: Any = c.node.meta["val"]
    several = cast("tuple[Any, ...]", value) if isinstance(value, tuple | list) else (value,)
    return c.symbols.dims(several[0].shape)


def _pooled(c: Converter, a: Any, name: str, spatial: int, **more: Any) -> relax.Expr:
    x, is_single = in_batch(a.self, spatial)
    pool: Any = getattr(op.nn, f"{name}{spatial}d")
    result = pool(x, **_windows(a, spatial), **more)
    result = op.squeeze(result, [0]) if is_single else result
    return _trimmed(c, result, _shape(c))


def _max(spatial: int) -> Convert:
    return lambda c, a: _pooled(c, a, "max_pool", spatial)


def _max_with_indices(spatial: int) -> Convert:
    return lambda c, a: (lambda: _pooled(c, a, "max_pool", spatial), lambda: _max_indices(c, a, spatial))


def _max_indices(c: Converter, a: Any, spatial: int) -> relax.Expr:
    """Return the index of the maximum of each window, in the flattened data of a channel."""
    x, is_single = in_batch(a.self, spatial)
    windows = _windows(a, spatial)
    sizes = [d.value_of(dim) for dim in dims_of(x)[2:]]
    counts = [d.value_of(dim) for dim in _shape(c)[-spatial:]]
    if None in sizes:
        raise c.unsupported("returns indices into data of unknown size", "make the size static")
    parts = tuple(windows[name] for name in ("pool_size", "strides", "dilation", "padding"))
    found = maximum_places(x, cast("list[int]", sizes), cast("list[int]", counts), cast("Any", parts))
    return op.squeeze(found, [0]) if is_single else found


def _average(spatial: int) -> Convert:
    def convert(c: Converter, a: Any) -> relax.Expr:
        divisor = getattr(a, "divisor_override", None)
        counted = True if divisor else bool(a.count_include_pad)
        result = _pooled(c, a, "avg_pool", spatial, count_include_pad=counted)
        if not divisor:
            return result
        count = 1
        for length in repeated(a.kernel_size, spatial):
            count *= length
        return op.multiply(result, number(count / divisor, result))

    return convert


def _adaptive_average(spatial: int) -> Convert:
    def convert(c: Converter, a: Any) -> relax.Expr:
        x, is_single = in_batch(a.self, spatial)
        pool: Any = getattr(op.nn, f"adaptive_avg_pool{spatial}d")
        result = pool(x, output_size=[d.value_of(dim) or dim for dim in c.shape[-spatial:]])
        return op.squeeze(result, [0]) if is_single else result

    return convert


def _adaptive_max(spatial: int) -> Convert:
    """Return the maxima of the windows of adaptive pooling, one dimension after the other."""

    def convert(c: Converter, a: Any) -> Any:
        def values() -> relax.Expr:
            x = a.self
            for axis in range(rank_of(x) - spatial, rank_of(x)):
                x = _adaptive_max_along(c, x, axis, _shape(c)[axis])
            return x

        def places() -> relax.Expr:
            raise c.unsupported("returns the indices of adaptive maxima", "use their values only")

        return values, places

    return convert


def _adaptive_max_along(c: Converter, x: relax.Expr, axis: int, wanted: Any) -> relax.Expr:
    size, count = d.value_of(dims_of(x)[axis]), d.value_of(wanted)
    if size is None or count is None:
        raise c.unsupported("cuts data of unknown size", "make the size static")
    parts = [
        op.max(
            sliced(x, axis, place * size // count, -(-(place + 1) * size // count) - place * size // count),
            [axis],
            True,
        )
        for place in range(count)
    ]
    return parts[0] if count == 1 else op.concat(parts, axis)


ROWS: dict[str, Convert] = {
    **{f"max_pool{n}d.default": _max(n) for n in (1, 2, 3)},
    **{f"max_pool{n}d_with_indices.default": _max_with_indices(n) for n in (1, 2, 3)},
    **{f"avg_pool{n}d.default": _average(n) for n in (1, 2, 3)},
    **{f"adaptive_avg_pool{n}d.default": _adaptive_average(n) for n in (1, 2, 3)},
    **{f"_adaptive_avg_pool{n}d.default": _adaptive_average(n) for n in (2, 3)},
    **{f"adaptive_max_pool{n}d.default": _adaptive_max(n) for n in (1, 2, 3)},
}
