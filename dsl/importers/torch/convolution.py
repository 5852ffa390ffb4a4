"""Rows for convolutions and transposed convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....ir import relax
from ....ir.api.relax import op
from ....ir.ops import dims as d
from ..values import dims_of, rank_of
from .converter import Convert, Converter


def repeated(value: int | Sequence[int], count: int) -> list[int]:
    """Return one value per spatial dimension; a single value is repeated."""
    items = [value] if isinstance(value, int) else list(value)
    return items * count if len(items) == 1 else items


def with_bias(value: relax.Expr, bias: relax.Expr | None) -> relax.Expr:
    """Add a bias to the channels, which are the second dimension."""
    if bias is None:
        return value
    return op.add(value, op.reshape(bias, [1, dims_of(bias)[0], *[1] * (rank_of(value) - 2)]))


def in_batch(x: relax.Expr, spatial: int) -> tuple[relax.Expr, bool]:
    """Return data with a batch dimension, and whether it was added."""
    is_single = rank_of(x) == spatial + 1
    return (op.expand_dims(x, 0) if is_single else x), is_single


def _reach(c: Converter, kernel: Sequence[Any], dilation: Sequence[int]) -> list[int]:
    """Return the distance from the first to the last element of a window, for each dimension."""
    sizes = [d.value_of(size) for size in kernel]
    if None in sizes:
        raise c.unsupported("slides a kernel of unknown size", "make the size static")
    return [step * (size - 1) for size, step in zip(sizes, dilation, strict=True) if size is not None]


def _padding(c: Converter, a: Any, kernel: Sequence[Any], dilation: Sequence[int]) -> list[int]:
    """Return the padding at the start, then at the end of all dimensions; for "same", an odd element is at the end."""
    spatial = len(kernel)
    if a.padding == "valid":
        return [0] * 2 * spatial
    if a.padding == "same":
        whole = _reach(c, kernel, dilation)
        return [total // 2 for total in whole] + [total - total // 2 for total in whole]
    return repeated(a.padding, spatial) * 2


def _convolved(c: Converter, a: Any) -> relax.Expr:
    spatial = rank_of(a.weight) - 2
    x, is_single = in_batch(a.input, spatial)
    stride, dilation = repeated(a.stride, spatial), repeated(a.dilation, spatial)
    windows = {"strides": stride, "padding": _padding(c, a, dims_of(a.weight)[2:], dilation), "dilation": dilation}
    convolve: Any = getattr(op.nn, f"conv{spatial}d")
    result = with_bias(convolve(x, a.weight, **windows, groups=a.groups, out_dtype=c.dtype), a.bias)
    return op.squeeze(result, [0]) if is_single else result


def _transposed(c: Converter, a: Any) -> relax.Expr:
    spatial = rank_of(a.weight) - 2
    x, is_single = in_batch(a.input, spatial)
    windows = {
        "strides": repeated(a.stride, spatial),
        "padding": repeated(a.padding, spatial),
        "output_padding": repeated(a.output_padding, spatial),
        "dilation": repeated(a.dilation, spatial),
    }
    convolve: Any = getattr(op.nn, f"conv{spatial}d_transpose")
    result = with_bias(convolve(x, a.weight, **windows, groups=a.groups, out_dtype=c.dtype), a.bias)
    return op.squeeze(result, [0]) if is_single else result


def _convolution(c: Converter, a: Any) -> relax.Expr:
    return _transposed(c, a) if a.transposed else _convolved(c, a)


ROWS: dict[str, Convert] = {
    **{f"conv{n}d.default": _convolved for n in (1, 2, 3)},
    **{f"conv{n}d.padding": _convolved for n in (1, 2, 3)},
    "convolution.default": _convolution,
    "_convolution.default": _convolution,
    "conv_transpose1d.default": _transposed,
    "conv_transpose2d.input": _transposed,
    "conv_transpose3d.input": _transposed,
}
