"""Rows for sequences and optional values: tuples where the length is known, else values of `R.Object`."""

from __future__ import annotations

from typing import Any

from ....ir import relax, tir
from ....ir.api.relax import op
from ....ir.building.values import apply, const
from ....ir.diagnostics import error
from ....ir.ops import dims as d
from ..values import axis_of, dims_of, rank_of
from .converter import Converter
from .kinds import Kind, OptionalKind, SequenceKind, TensorKind, described, joined, kind_of_type
from .rows import Family

ROWS = Family()


@ROWS.row("Identity", takes_objects=True)
def _identity(c: Converter, a: Any) -> relax.Expr:
    return a.input


# --- Sequences ------------------------------------------------------------------------------------------------


def elements_of(value: relax.Expr) -> tuple[relax.Expr, ...] | None:
    """Return the elements of a sequence of known length, or None."""
    return value.fields if isinstance(value, relax.Tuple) else None


def element_kind(c: Converter, sequence: relax.Expr) -> Kind | None:
    """Return the kind of the elements of a sequence; E1006 if the value is not a sequence."""
    kind = c.kind(sequence)
    if not isinstance(kind, SequenceKind):
        raise error("E1006", f"its input is {described(kind)}, but the operator takes a sequence")
    return kind.element


def _position(c: Converter, position: relax.Expr | None, length: int, last: int) -> int | None:
    """Return a constant position counted from the front; None if it is not constant, E1006 if it is not in 0 to `last`."""
    known = c.elements(position)
    if known is None:
        return None
    place = int(known.reshape(-1)[0])
    if not -length <= place <= last:
        raise error("E1006", f"position {place} is outside a sequence of {length}")
    return place + length if place < 0 else place


def _scalar(position: relax.Expr) -> relax.Expr:
    return position if rank_of(position) == 0 else op.reshape(position, ())


@ROWS.row("SequenceConstruct", takes_objects=True)
def _construct(c: Converter, a: Any) -> relax.Expr:
    joined([c.kind(value) for value in a.inputs])
    return relax.Tuple(tuple(a.inputs))


@ROWS.row("SequenceEmpty")
def _empty(c: Converter, a: Any) -> relax.Expr:
    return relax.Tuple(())


@ROWS.row("SequenceInsert", takes_objects=True)
def _insert(c: Converter, a: Any) -> relax.Expr:
    kind = SequenceKind(joined([element_kind(c, a.input_sequence), c.kind(a.tensor)]))
    fields = elements_of(a.input_sequence)
    if fields is not None:
        place = len(fields) if a.position is None else _position(c, a.position, len(fields), len(fields))
        if place is not None:
            return relax.Tuple((*fields[:place], a.tensor, *fields[place:]))
    end = apply("sequence_length", a.input_sequence)
    position = end if a.position is None else _scalar(a.position)
    return c.with_kind(apply("sequence_insert", a.input_sequence, a.tensor, position), kind)


@ROWS.row("SequenceErase", takes_objects=True)
def _erase(c: Converter, a: Any) -> relax.Expr:
    kind = SequenceKind(element_kind(c, a.input_sequence))
    fields = elements_of(a.input_sequence)
    if fields is not None:
        place = len(fields) - 1 if a.position is None else _position(c, a.position, len(fields), len(fields) - 1)
        if place is not None:
            return relax.Tuple((*fields[:place], *fields[place + 1 :]))
    position = const(-1, "int64") if a.position is None else _scalar(a.position)
    return c.with_kind(apply("sequence_erase", a.input_sequence, position), kind)


@ROWS.row("SequenceAt", takes_objects=True)
def _at(c: Converter, a: Any) -> relax.Expr:
    kind, fields = element_kind(c, a.input_sequence), elements_of(a.input_sequence)
    if fields is not None:
        place = _position(c, a.position, len(fields), len(fields) - 1)
        if place is not None:
            return fields[place]
    return c.declared(apply("sequence_at", a.input_sequence, _scalar(a.position)), kind)


@ROWS.row("SequenceLength", takes_objects=True)
def _length(c: Converter, a: Any) -> relax.Expr:
    element_kind(c, a.input_sequence)
    fields = elements_of(a.input_sequence)
    return apply("sequence_length", a.input_sequence) if fields is None else const(len(fields), "int64")


@ROWS.row("ConcatFromSequence", takes_objects=True)
def _concat(c: Converter, a: Any) -> relax.Expr:
    kind, fields = element_kind(c, a.input_sequence), elements_of(a.input_sequence)
    if fields:
        return op.stack(list(fields), a.axis) if a.new_axis else op.concat(list(fields), a.axis)
    return joined_elements(c, a.input_sequence, kind, a.axis, bool(a.new_axis))


def joined_elements(
    c: Converter,
    sequence: relax.Expr,
    kind: Kind | None,
    axis: int,
    is_new_axis: bool,
    count: tir.PrimExpr | None = None,
) -> relax.Expr:
    """Return the elements of a sequence joined along an axis of `count` elements, if that is known."""
    if not isinstance(kind, TensorKind) or kind.sizes is None:
        raise c.unsupported("the rank of the elements is unknown", "declare the shape of the elements in the model")
    rank = len(kind.sizes) + is_new_axis
    place = axis_of(axis, rank)
    rest = kind.sizes[:place], kind.sizes[place + (not is_new_axis) :]
    joined_kind = TensorKind(kind.dtype, (*rest[0], count, *rest[1]))
    return c.declared(apply("sequence_concat", sequence, place, new_axis=is_new_axis), joined_kind)


@ROWS.row("SplitToSequence")
def _split(c: Converter, a: Any) -> relax.Expr:
    dims = dims_of(a.input)
    axis = axis_of(a.axis, len(dims))
    length = d.value_of(dims[axis])
    is_squeezed = a.split is None and not a.keepdims
    sizes = c.elements(const(1, "int64") if a.split is None else a.split)
    if length is None or sizes is None or (is_squeezed and length > _MOST_PARTS):
        return _split_at_run_time(c, a, axis, is_squeezed)
    if sizes.ndim == 0:
        size = int(sizes)
        if size <= 0:
            raise error("E1006", f"it splits into parts of size {size}", None, "give a positive size")
        ends = [min(start + size, length) for start in range(0, length, size)]
    else:
        ends = [int(end) for end in sizes.cumsum()]
    if sizes.min(initial=0) < 0 or (ends and ends[-1] != length):
        raise error("E1006", f"parts of the sizes {sizes.tolist()} do not cover dimension {axis} of {length}")
    starts = [0, *ends[:-1]]
    parts = [op.strided_slice(a.input, [axis], [start], [end]) for start, end in zip(starts, ends, strict=True)]
    return relax.Tuple(tuple(op.squeeze(part, [axis]) if is_squeezed else part for part in parts))


_MOST_PARTS = 1024
"""Maximum number of parts that are values of their own."""


def _split_at_run_time(c: Converter, a: Any, axis: int, is_squeezed: bool) -> relax.Expr:
    if is_squeezed:
        raise c.unsupported("the number of parts is not known", "make the dimension static, or keep it by keepdims")
    sizes = const(1, "int64") if a.split is None else a.split
    kind = c.kind(a.input)
    assert isinstance(kind, TensorKind)
    assert kind.sizes is not None
    element = TensorKind(kind.dtype, (*kind.sizes[:axis], None, *kind.sizes[axis + 1 :]))
    return c.with_kind(apply("sequence_split", a.input, sizes, axis), SequenceKind(element))


# --- Optional values ------------------------------------------------------------------------------------------


@ROWS.row("Optional", takes_objects=True)
def _optional(c: Converter, a: Any) -> relax.Expr:
    if a.input is not None:
        return a.input
    if a.type is None:
        raise error("E1006", "it has neither an input nor the attribute 'type'")
    return c.with_kind(apply("null_value"), OptionalKind(kind_of_type(a.type)))


@ROWS.row("OptionalHasElement", takes_objects=True)
def _has_element(c: Converter, a: Any) -> relax.Expr:
    if a.input is None or not isinstance(c.kind(a.input), OptionalKind):
        return const(a.input is not None, "bool")
    return apply("optional_has_element", a.input)


@ROWS.row("OptionalGetElement", takes_objects=True)
def _get_element(c: Converter, a: Any) -> relax.Expr:
    kind = c.kind(a.input)
    return (
        c.declared(apply("optional_get_element", a.input), kind.element) if isinstance(kind, OptionalKind) else a.input
    )
