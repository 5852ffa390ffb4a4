"""Loads from buffers, and their indices."""

from __future__ import annotations

from collections.abc import Sequence

from .. import tir
from ..base import Span
from ..diagnostics import error
from ..dtype import MAX_LANES, is_vector, parse_dtype
from ..promote import Operand, const, ramp, to_expr
from .operators import integer

_PLAIN = {"int32", "int64"}


def buffer_load(
    buffer: tir.Buffer, indices: Sequence[Operand], predicate: tir.PrimExpr | None = None, span: Span | None = None
) -> tir.BufferLoad:
    """Return a load of the element, or vector, of `buffer` at `indices`; the last index may be a vector.

    E0235 if the number of indices differs from the rank, E0233 if an index is not an integer.
    """
    checked = check_indices(buffer, indices, span)
    return tir.BufferLoad(access_dtype(buffer, checked), buffer, checked, predicate, span=span)


def check_indices(buffer: tir.Buffer, indices: Sequence[Operand], span: Span | None = None) -> tuple[tir.PrimExpr, ...]:
    """Return `indices` as expressions; errors as in `buffer_load`."""
    if len(indices) != len(buffer.shape):
        message = f"buffer '{buffer.name}' has {len(buffer.shape)} dimensions but is indexed by {len(indices)}"
        raise error("E0235", message, span, "give one index for every dimension")
    plain = tuple([index for index in indices if isinstance(index, tir.PrimExpr) and index.dtype in _PLAIN])
    if len(plain) == len(indices):
        return plain
    checked = tuple([integer(index, "an index", span) for index in indices])
    for index in checked[:-1]:
        if is_vector(index.dtype):
            raise error("E0233", "only the last index may be a vector", index.span or span)
    lanes = parse_dtype(buffer.dtype).lanes * (parse_dtype(checked[-1].dtype).lanes if checked else 1)
    if lanes > MAX_LANES:
        raise error("E0231", f"a vector of {lanes} lanes", span, f"a vector has up to {MAX_LANES}")
    return checked


def access_dtype(buffer: tir.Buffer, indices: Sequence[tir.PrimExpr]) -> str:
    """Return the dtype of the element or vector of `buffer` at `indices`."""
    if not indices or indices[-1].dtype in ("int32", "int64"):
        return buffer.dtype
    element, index = parse_dtype(buffer.dtype), parse_dtype(indices[-1].dtype)
    lanes = element.lanes * index.lanes
    if element.scalable or index.scalable:
        return f"{element.name}xvscalex{lanes}"
    return element.name if lanes == 1 else f"{element.name}x{lanes}"


def vector_indices(begin: Sequence[Operand], lanes: int) -> tuple[tir.PrimExpr, ...]:
    """Return the indices of `lanes` consecutive elements from `begin` on; a last index that is a vector is kept."""
    if not begin:
        return ()
    *outer, last = (to_expr(index) for index in begin)
    if lanes == 1 or last.dtype != parse_dtype(last.dtype).name:
        return (*outer, last)
    return (*outer, ramp(last, const(1, last.dtype), const(lanes)))
