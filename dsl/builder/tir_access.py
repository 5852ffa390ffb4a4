"""Accesses `A[i, j]`: a load, a region or, for a slice with a step, a vector load; and stores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...ir import make, tir
from ...ir.base import Span
from ...ir.diagnostics import TvmsError, error
from ...ir.dtype import is_int, is_vector, same_lanes
from ...ir.signature import describe
from .. import syntax
from .context import Context, Failed
from .convert import Mismatch, constant, expression, is_tuple
from .tir_difference import difference

_AXES = ("i", "j", "k", "l", "m", "n")
"""Names of indices in remedies."""


def access(context: Context, buffer: tir.Buffer, node: syntax.Subscript, indices: Sequence[Any]) -> Any:
    """Return `buffer[indices]` as a value: a BufferRegion if there are slices and none has a step, else a BufferLoad.

    Raise E0235 if the number of indices differs from the rank of the buffer.
    """
    if context.has_tiles and 0 < len(indices) < len(buffer.shape):  # the other axes as a whole
        indices = [*indices, *[slice(None)] * (len(buffer.shape) - len(indices))]
    check_rank(context, buffer, len(indices), node)
    has_slice = slice in map(type, indices)
    span = Span(context.source, node.start, node.end)
    if has_slice and all(type(index) is not slice or index.step is None for index in indices):
        return tir.BufferRegion(buffer, region(context, buffer, node, indices), span=span)
    values = element_indices(context, buffer, node, indices)
    try:
        return make.buffer_load(buffer, values, span=span)
    except TvmsError as refused:
        raise context.report(refused, node) from None


def no_buffer(context: Context, value: Any, node: syntax.Expr) -> Failed:
    """Record that `value`, which is indexed, is not a buffer; return the exception to raise."""
    help = "only buffers have elements"
    if isinstance(value, tir.BufferLoad):
        help = "give all indices in one pair of brackets, as in A[0, 0]"
    elif isinstance(value, tir.Var) and value.dtype == "handle":
        help = f'match it first: A = T.match_buffer({value.name}, (16,), "float32")'
    elif isinstance(node, syntax.Name) and (is_tuple(value) or isinstance(value, tir.Var)):
        help = f'only buffers have elements: {node.id} = T.alloc_buffer((1,), "float32")'
    if isinstance(node, syntax.Name) and context.tir is not None:
        if node.id in context.tir.no_buffers:
            return Failed()  # reported once
        context.tir.no_buffers.add(node.id)
    return context.error("E0202", f"expected a buffer, got {describe(value)}", node, help)


def check_rank(context: Context, buffer: tir.Buffer, count: int, node: syntax.Syntax) -> None:
    """Raise E0235 if `count` differs from the rank of `buffer`."""
    rank = len(buffer.shape)
    if count != rank:
        message = f"buffer '{buffer.name}' has {rank} dimension{'s' * (rank != 1)}, but {count} {_indices(count)} given"
        help = f"write {buffer.name}[()]" if rank == 0 else None
        if count == 1 and 1 < rank <= len(_AXES):
            help = (
                f"write one index for each dimension, in one pair of brackets: {buffer.name}[{', '.join(_AXES[:rank])}]"
            )
        raise context.error("E0235", message, node, help)


def region(
    context: Context, buffer: tir.Buffer, node: syntax.Subscript, indices: Sequence[Any]
) -> tuple[tir.Range, ...]:
    """Return the range of each axis of a region; a plain index is a range of extent 1."""
    ranges: list[tir.Range] = []
    for axis, (index, place) in enumerate(zip(indices, _places(node, indices), strict=True)):
        if type(index) is slice:
            start, stop = _bounds(context, buffer, axis, index, place)
            ranges.append(tir.Range(start, difference(stop, start)))
        else:
            value = _index(context, index, place)
            ranges.append(tir.Range(value, make.const(1, value.dtype)))
    return tuple(ranges)


def element_indices(
    context: Context, buffer: tir.Buffer, node: syntax.Subscript, indices: Sequence[Any]
) -> list[tir.PrimExpr]:
    """Return the index of each axis of a load or store; a slice is a ramp, or its start if it has one element."""
    return [
        _ramp(context, buffer, axis, index, place) if type(index) is slice else _index(context, index, place)
        for axis, (index, place) in enumerate(zip(indices, _places(node, indices), strict=True))
    ]


def _ramp(context: Context, buffer: tir.Buffer, axis: int, index: slice, place: syntax.Expr) -> tir.PrimExpr:
    start, stop = _bounds(context, buffer, axis, index, place)
    step = make.const(1, start.dtype) if index.step is None else _index(context, index.step, place, start.dtype)
    extent = difference(stop, start)
    lanes = extent
    if not (isinstance(step, tir.IntImm) and step.value == 1):
        sign = -1 if isinstance(step, tir.IntImm) and step.value < 0 else 1
        lanes = make.floordiv(make.sub(make.add(extent, step), make.const(sign, extent.dtype)), step)
    if isinstance(lanes, tir.IntImm) and lanes.value == 1:
        return start
    return make.ramp(start, step, lanes)


def _bounds(
    context: Context, buffer: tir.Buffer, axis: int, index: slice, place: syntax.Expr
) -> tuple[tir.PrimExpr, tir.PrimExpr]:
    extent = buffer.shape[axis]
    stop = extent if index.stop is None else _index(context, index.stop, place)
    start = make.const(0, stop.dtype) if index.start is None else _index(context, index.start, place)
    return start, stop


def _index(context: Context, value: Any, place: syntax.Expr, hint: str | None = None) -> tir.PrimExpr:
    if type(value) is int:
        return constant(value, Span(context.source, place.start, place.end), hint)
    if isinstance(value, tir.PrimExpr) and value.dtype in ("int32", "int64"):
        return value
    try:
        index = expression(value, Span(context.source, place.start, place.end))
    except Mismatch:
        help = "bind a name to each loop, as in `for i, j in T.grid(16, 16):`" if is_tuple(value) else None
        raise context.error("E0205", f"expected an index, got {describe(value)}", place, help) from None
    if not is_int(index.dtype) and not (index.dtype == "bool" and not is_vector(index.dtype)):
        raise context.error("E0233", f"expected an integer index, got {index.dtype}", place)
    return index


def _places(node: syntax.Subscript, indices: Sequence[Any]) -> Sequence[syntax.Expr]:
    return node.indices if len(node.indices) == len(indices) else [node] * len(indices)


def _indices(count: int) -> str:
    return "index is" if count == 1 else "indices are"


def store(
    buffer: tir.Buffer,
    value: tir.PrimExpr,
    indices: Sequence[tir.PrimExpr],
    predicate: tir.PrimExpr | None,
    span: Span,
) -> tir.BufferStore:
    """Return the store of `value`, cast to the dtype at `indices`; raise E0230 if their lanes differ."""
    checked = make.check_indices(buffer, indices, span)
    dtype = make.access_dtype(buffer, checked)
    if value.dtype != dtype:
        if not same_lanes(value.dtype, dtype):
            message = f"cannot store {value.dtype} to elements of buffer '{buffer.name}' of dtype {dtype}"
            is_wider = not is_vector(dtype)
            help = "store one element: give each index as a number, not as a slice or a vector" if is_wider else None
            raise error("E0230", message, span, help)
        value = make.cast(value, dtype, span)
    return tir.BufferStore(buffer, value, checked, predicate, span=span)
