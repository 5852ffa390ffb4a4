"""Rows for operators that create tensors, or convert dtypes."""

from __future__ import annotations

from typing import Any

from ....ir import make, relax
from ....ir.api.relax import op
from ....ir.building.values import const
from ....ir.ops import dims as d
from ..values import dims_of, dtype_of, is_floating, static
from .converter import Convert, Converter


def _filled(value: float | None) -> Convert:
    """Return a row that fills a tensor of the result's shape and dtype with one number; None means the argument `fill_value`."""

    def convert(c: Converter, a: Any) -> relax.Expr:
        given = a.fill_value if value is None else value
        return op.full(c.shape, c.tensor(given, c.dtype), c.dtype)

    return convert


def _zeros(c: Converter, a: Any) -> relax.Expr:
    return op.zeros(c.shape, c.dtype)


def _like(value: int) -> Convert:
    """Return a row that fills a tensor of the shape of `self` with 0 or 1."""

    def convert(c: Converter, a: Any) -> relax.Expr:
        fill = op.zeros_like if value == 0 else op.ones_like
        return fill(a.self, None if dtype_of(a.self) == c.dtype else c.dtype)

    return convert


def _fill(c: Converter, a: Any) -> relax.Expr:
    return op.full(c.shape, c.tensor(a.value, c.dtype), c.dtype)


def _arange(c: Converter, a: Any) -> relax.Expr:
    """Return the numbers from `start` up to `end`; the count is computed as in torch."""
    start, step = getattr(a, "start", 0), getattr(a, "step", 1)
    if is_floating(c.dtype):
        places = op.arange(0, c.shape[0], 1, "int64")
        steps = op.multiply(c.cast(places, c.dtype), c.tensor(step, c.dtype))
        return op.add(steps, c.tensor(start, c.dtype))
    whole = [int(value) if isinstance(value, float) else value for value in (start, a.end, step)]
    return op.arange(*whole, dtype=c.dtype)


def _linspace(c: Converter, a: Any) -> relax.Expr:
    """Return evenly spaced numbers; half a step beyond the last one makes their count independent of rounding."""
    if isinstance(a.start, int | float) and isinstance(a.end, int | float):
        import numpy as np

        step = (a.end - a.start) / (a.steps - 1) if a.steps > 1 else 0
        if not step or not is_floating(c.dtype):
            return const(np.linspace(a.start, a.end, a.steps), c.dtype)
        return op.arange(a.start, a.end + step / 2, step, c.dtype)
    raise c.unsupported("makes a range with unknown bounds", "give numbers as its bounds")


def _scalar_tensor(c: Converter, a: Any) -> relax.Expr:
    return c.tensor(a.s, c.dtype)


def _eye(c: Converter, a: Any) -> relax.Expr:
    return op.eye(a.n, getattr(a, "m", None), 0, c.dtype)


def _triangle(name: str) -> Convert:
    def convert(c: Converter, a: Any) -> relax.Expr:
        part: Any = getattr(op, name)
        x = c.cast(a.self, "int8") if dtype_of(a.self) == "bool" else a.self
        return c.cast(part(x, a.diagonal), dtype_of(a.self))

    return convert


def _cast(c: Converter, a: Any) -> relax.Expr:
    return c.cast(a.self, c.dtype)


def _copy(c: Converter, a: Any) -> relax.Expr:
    source = c.cast(a.src, dtype_of(a.self))
    if len(dims_of(source)) == len(c.shape) and all(map(d.is_equal, dims_of(source), c.shape)):
        return source
    return op.broadcast_to(source, c.shape)


def _hamming_window(c: Converter, a: Any) -> relax.Expr:
    """Return the window; torch's window of size 1 is 1."""
    size, periodic = static(a.window_length), bool(getattr(a, "periodic", True))
    if size is None:
        raise c.unsupported("makes a window of unknown size", "make the size static")
    if size < 2:
        return op.ones([size], c.dtype)
    weights = (relax.PrimValue(make.const(getattr(a, name, value), _weight_dtype(c))) for name, value in _HAMMING)
    return op.hamming_window(size, int(periodic), *weights, c.dtype)


_HAMMING = (("alpha", 0.54), ("beta", 0.46))


def _weight_dtype(c: Converter) -> str:
    return "float64" if c.dtype == "float64" else "float32"


_NOTHING: Convert = lambda c, a: None  # noqa: E731  # a row is a value

_ZEROS = ("zeros.default", "empty.memory_format", "new_empty.default", "empty_strided.default", "new_empty_strided.default",
          "empty_permuted.default")  # fmt: skip
_CASTS = ("_to_copy.default", "to.dtype", "to.dtype_layout", "to.device", "to.other", "type_as.default")
_CHECKS = ("_assert_tensor_metadata.default", "_assert_async.msg", "_assert_scalar.default", "sym_constrain_range_for_size.default",
           "sym_constrain_range.default")  # fmt: skip

ROWS: dict[str, Convert] = {
    **dict.fromkeys(_ZEROS, _zeros),
    **dict.fromkeys(("zeros_like.default", "empty_like.default", "zero.default"), _like(0)),
    "ones_like.default": _like(1),
    "new_zeros.default": _filled(0),
    **dict.fromkeys(("ones.default", "new_ones.default"), _filled(1)),
    **dict.fromkeys(("full.default", "full_like.default", "new_full.default"), _filled(None)),
    **dict.fromkeys(("fill.Scalar", "fill.Tensor"), _fill),
    **dict.fromkeys(("arange.default", "arange.start", "arange.start_step"), _arange),
    "linspace.default": _linspace,
    "scalar_tensor.default": _scalar_tensor,
    **{
        f"hamming_window.{overload}": _hamming_window
        for overload in ("default", "periodic", "periodic_alpha", "periodic_alpha_beta")
    },
    "eye.default": _eye,
    "eye.m": _eye,
    "tril.default": _triangle("tril"),
    "triu.default": _triangle("triu"),
    **dict.fromkeys(_CASTS, _cast),
    "copy.default": _copy,
    **dict.fromkeys(_CHECKS, _NOTHING),
}
