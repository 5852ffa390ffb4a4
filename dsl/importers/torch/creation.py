"""Rows for operators that create tensors, or convert dtypes."""

from __future__ import annotations

from typing import Any

from ....ir import relax
from ....ir.api.relax import op
from ....ir.building.values import const
from .converter import Convert, Converter, dims_of, dtype_of, is_floating


def _filled(value: float | None) -> Convert:
    """Return a row that fills a tensor of the result's shape and dtype with one number; None means the argument `fill_value`."""

    def convert(c: Converter, a: Any) -> relax.Expr:
        given = a.fill_value if value is None else value
        source = getattr(a, "self", None)
        if source is not None and dims_of(source) == c.shape and dtype_of(source) == c.dtype and value is not None:
            return op.zeros_like(source) if value == 0 else op.ones_like(source)
        if value == 0:
            return op.zeros(c.shape, c.dtype)
        if value == 1:
            return op.ones(c.shape, c.dtype)
        return op.full(c.shape, c.tensor(given, c.dtype), c.dtype)

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
    if isinstance(a.start, int | float) and isinstance(a.end, int | float):
        import numpy as np

        return const(np.linspace(a.start, a.end, a.steps), c.dtype)
    raise c.unsupported("makes a range between bounds that are not known", "give numbers as its bounds")


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
    return op.broadcast_to(c.cast(a.src, dtype_of(a.self)), dims_of(a.self))


_NOTHING: Convert = lambda c, a: None  # noqa: E731  # a row is a value

_ZEROS = ("zeros.default", "zeros_like.default", "new_zeros.default", "empty.memory_format", "empty_like.default",
          "new_empty.default", "empty_strided.default", "new_empty_strided.default", "empty_permuted.default")  # fmt: skip
_CASTS = ("_to_copy.default", "to.dtype", "to.dtype_layout", "to.device", "to.other", "type_as.default")
_CHECKS = ("_assert_tensor_metadata.default", "_assert_async.msg", "_assert_scalar.default", "sym_constrain_range_for_size.default",
           "sym_constrain_range.default")  # fmt: skip

ROWS: dict[str, Convert] = {
    **dict.fromkeys(_ZEROS, _filled(0)),
    **dict.fromkeys(("ones.default", "ones_like.default", "new_ones.default"), _filled(1)),
    **dict.fromkeys(("full.default", "full_like.default", "new_full.default"), _filled(None)),
    **dict.fromkeys(("fill.Scalar", "fill.Tensor"), _fill),
    **dict.fromkeys(("arange.default", "arange.start", "arange.start_step"), _arange),
    "linspace.default": _linspace,
    "scalar_tensor.default": _scalar_tensor,
    "eye.default": _eye,
    "eye.m": _eye,
    "tril.default": _triangle("tril"),
    "triu.default": _triangle("triu"),
    **dict.fromkeys(_CASTS, _cast),
    "copy.default": _copy,
    **dict.fromkeys(_CHECKS, _NOTHING),
}
