"""State of a loop-level function under construction: features still to come, sizes, parameters and memory."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager

from msgspec.structs import replace

from ...ir import make, tir
from ...ir.buffers import decl_buffer
from .choices import Choices
from .expressions import OPERATORS, operations
from .features import LONG
from .options import MAX_EXTENT, Options


def size_of(extent: tir.PrimExpr) -> int | None:
    """Return a static size, or None."""
    return extent.value if isinstance(extent, tir.IntImm) else None


class Memory:
    """The sizes and buffers of a loop-level function under construction, and its requested features."""

    def __init__(
        self, choose: Choices, options: Options, symbolic: bool = False, theme: frozenset[str] = frozenset()
    ) -> None:
        self.choose, self.options, self.theme = choose, options, theme
        self.pending = dict.fromkeys(sorted(options.features))
        """Requested features that are still to come."""
        self.room, self.reserved = options.max_blocks, 0
        """Number of blocks that are still allowed, and the number of them that later stages need."""
        self.index = "int64" if symbolic else "int32"
        self.sizes = [tir.Var("int64", name) for name in ("n", "m")] if symbolic else []
        self.readable: list[tir.Buffer] = []
        self.params: dict[tir.Var, tir.Buffer] = {}
        self.scalars: list[tir.Var] = []
        self.allocated: list[tir.Buffer] = []
        self.views: list[tir.Buffer] = []
        self.boxes: dict[tir.Buffer, tuple[tuple[int, tir.PrimExpr], ...]] = {}
        """First index and size per dimension of the written part, for buffers that are written in part."""
        self.read: set[tir.Var] = set()
        """Memory that blocks have read so far."""
        self.gathers: int = 0
        """Depth of the index that is being made: the number of loads around it that take their index from memory."""
        self.is_straight = not self.allows("computed index")
        names = frozenset(OPERATORS) if options.operators is None else options.operators
        self.operations = operations(names - options.without, None if len(options.dtypes) > 8 else options.dtypes)

    @property
    def free(self) -> int:
        """The number of blocks that the next stage may have."""
        return self.room - self.reserved

    # --- Features --------------------------------------------------------------------------------------------

    def allows(self, *features: str) -> bool:
        """Return whether none of these features is excluded."""
        return not any(feature in self.options.without for feature in features)

    def wants(self, feature: str, once_in: int) -> bool:
        """Return whether to make a feature now: never if it is excluded, always if it is requested, otherwise
        sometimes, but only after all requested ones.
        """
        if feature in self.options.without:
            return False
        if feature in self.pending:
            del self.pending[feature]
            return True
        return not self.pending and self.choose.rarely(2 if feature in self.theme else once_in)

    def favors(self, feature: str) -> bool:
        """Return whether to make a feature of the theme now, in place of another one. False for other features."""
        return feature in self.theme and not self.pending and self.choose.rarely(2)

    def chances(self, feature: str, once_in: int) -> bool:
        """Like `wants`, for a feature that folding may remove; it does not fulfil a request."""
        is_free = not self.pending and feature not in self.options.without
        return is_free and self.choose.rarely(2 if feature in self.theme else once_in)

    def met(self, *features: str) -> None:
        """Record that a stage has features."""
        for feature in features:
            self.pending.pop(feature, None)

    def dtype(self, *preferred: str) -> str:
        """Choose a dtype, one of `preferred` if those are allowed."""
        fitting = [name for name in preferred if name in self.options.dtypes]
        return self.choose.pick(fitting or self.options.dtypes)

    # --- Sizes -----------------------------------------------------------------------------------------------

    def const(self, value: int) -> tir.PrimExpr:
        """Return a constant of the dtype of indices."""
        return make.const(value, self.index)

    @property
    def least(self) -> int:
        return 1 if self.allows("extent 1") else 2

    def number(self, low: int, high: int) -> int:
        """Choose an allowed size, about from `low` to `high`."""
        high = max(min(high, self.options.max_extent), self.least)
        return self.choose.number(min(max(low, self.least), high), high)

    def extent(self) -> tir.PrimExpr:
        """Choose the size of a dimension."""
        if self.sizes and self.wants("symbolic extent", 2):
            return self.choose.pick(self.sizes)
        if "equality" in self.pending:
            return self.const(1)
        return self.const(self.number(2 if "fused axis" in self.pending else 1, MAX_EXTENT))

    def shape(self, low: int = 1, high: int = 3) -> tuple[tir.PrimExpr, ...]:
        """Choose a shape of a given rank."""
        least = max(low, 0 if self.allows("rank 0") else 1)
        if self.readable and not self.pending and self.choose.number(0, 5 if self.is_straight else 2):
            sizes = self.box(self.choose.pick(self.readable))
            if least <= len(sizes) <= high and all(size_of(size) != 0 for _, size in sizes):
                return tuple([size for _, size in sizes])
        return tuple([self.extent() for _ in range(self.choose.number(least, max(high, least)))])

    def wide_shape(self) -> tuple[tir.PrimExpr, ...]:
        """Choose a shape that may be unusual: of rank 0 or 4, with a long dimension, or with a dimension of size 0."""
        if self.wants("rank 0", 20):
            return ()
        if self.wants("rank 4", 8):
            return tuple([self.const(self.number(1, 3)) for _ in range(4)])
        shape = list(self.shape(2, 2) if "fused axis" in self.pending else self.shape(1, 1 if self.pending else 3))
        is_long = "long loop" in self.pending or self.wants("long loop", 5)
        known = [place for place, extent in enumerate(shape) if size_of(extent) is not None]
        if known and len(shape) < 3 and self.options.max_extent > LONG and is_long:
            shape[known[-1]] = self.const(self.choose.number(LONG + 1, self.options.max_extent))
        elif known and self.wants("extent 0", 14):
            shape[self.choose.pick(known)] = self.const(0)
        return tuple(shape)

    # --- Memory ----------------------------------------------------------------------------------------------

    def declare(self, name: str, dtype: str, shape: Sequence[tir.PrimExpr], scope: str = "global") -> tir.Buffer:
        """Return a new buffer that is neither a parameter nor allocated yet."""
        name = self.choose.fresh(name)
        return decl_buffer(shape, dtype, name, scope)

    def parameter(self, name: str, dtype: str, shape: Sequence[tir.PrimExpr]) -> tir.Buffer:
        """Return a new buffer parameter."""
        buffer = self.declare(name, dtype, shape)
        if shape and self.wants("strides", 12):
            buffer = replace(buffer, strides=self._strides(shape))
        if self.wants("offset", 20):
            offset = tir.Var(self.index, f"{buffer.name}_elem_offset")
            buffer = replace(buffer, elem_offset=offset, offset_factor=self.choose.pick((1, 4)))
        self.params[tir.Var("handle", f"{buffer.name}_handle")] = buffer
        return buffer

    def _constant_strides(self, shape: Sequence[tir.PrimExpr]) -> tuple[tir.PrimExpr, ...]:
        """Choose constant strides with padding between rows."""
        found, step = list[tir.PrimExpr](), 1
        for extent in reversed(shape):
            found.insert(0, self.const(step))
            step = step * max(size_of(extent) or 1, 1) + self.choose.number(0, 2)
        return tuple(found)

    def _strides(self, shape: Sequence[tir.PrimExpr]) -> tuple[tir.PrimExpr, ...]:
        """Choose strides with padding between rows or elements. Some are symbolic."""
        found: list[tir.PrimExpr] = []
        step = self.choose.pick((1, 1, 2))
        for extent in reversed(shape):
            size = size_of(extent)
            is_open = step == 0 or self.choose.rarely(4)
            found.insert(0, tir.Var(self.index, self.choose.fresh("s")) if is_open else self.const(step))
            step = 0 if is_open or size is None else step * max(size, 1) + self.choose.number(0, 2)
        return tuple(found)

    def result(
        self, name: str, dtype: str, shape: Sequence[tir.PrimExpr], last: bool, lows: Sequence[int] | None = None
    ) -> tir.Buffer:
        """Return memory for the result of a stage: a parameter for the last stage, otherwise sometimes an allocation.
        With `lows`, the first values of the axes, the stage may write only a part of it.
        """
        box: tuple[tuple[int, tir.PrimExpr], ...] = ()
        known = [place for place, size in enumerate(shape) if self._room(size) > 0]
        if lows is not None and known and self.wants("part", 10):
            box = tuple(self._part(shape, lows, self.choose.pick(known)))
            shape = [self._around(low, size) if place in known else size for place, (low, size) in enumerate(box)]
        if last or self.choose.rarely(4):
            buffer = self.parameter(name, dtype, shape)
        else:
            buffer = self.declare(name, dtype, shape)
            if shape and not self.sizes and self.allows("strides") and self.chances("strides", 10):
                buffer = replace(buffer, strides=self._constant_strides(shape))
            self.allocated.append(buffer)
        if box:
            self.boxes[buffer] = box
        return buffer

    def _part(
        self, shape: Sequence[tir.PrimExpr], lows: Sequence[int], asked: int
    ) -> Generator[tuple[int, tir.PrimExpr]]:
        """Choose the first index of a part in each dimension: usually the first value of the axis."""
        for place, (size, low) in enumerate(zip(shape, lows, strict=True)):
            is_open = self._room(size) > 0 and (place == asked or self.choose.rarely(2))
            first = low if low and self.choose.number(0, 2) else self.choose.number(0, 2)
            yield min(first, self._room(size)) if is_open else 0, size

    def _room(self, size: tir.PrimExpr) -> int:
        """Return how much larger than a static size a dimension may be."""
        known = size_of(size)
        return 0 if known is None else max(self.options.max_extent - known, 0)

    def _around(self, low: int, size: tir.PrimExpr) -> tir.PrimExpr:
        """Choose the size of a dimension of which a part from `low` on is written."""
        more = min(self.choose.number(0 if low else 1, 2), self._room(size) - low)
        return self.const(low + (size_of(size) or 0) + more)

    def box(self, buffer: tir.Buffer) -> tuple[tuple[int, tir.PrimExpr], ...]:
        """Return the written part of a buffer: first index and size per dimension."""
        return self.boxes.get(buffer) or tuple([(0, size) for size in buffer.shape])

    def source(self, dtype: str | None = None, rank: int | None = None, is_whole: bool = False) -> tir.Buffer:
        """Choose a buffer to read: one that is already written, a new parameter, or a view of either. With `is_whole`,
        all of its elements are written.
        """
        known = [
            buffer
            for buffer in self.readable
            if dtype in (None, buffer.dtype) and rank in (None, len(buffer.shape)) and not (is_whole and buffer in self.boxes)
        ]  # fmt: skip
        if known and "view" not in self.pending and self.choose.number(0, 3):
            buffer = self.choose.pick(known)
            return buffer if buffer in self.views or buffer in self.boxes else self._seen(buffer, rank)
        buffer = self.parameter("A", dtype or self.dtype(), self.shape() if rank is None else self.shape(rank, rank))
        self.readable.append(buffer)
        return self._seen(buffer, rank)

    def _seen(self, buffer: tir.Buffer, rank: int | None) -> tir.Buffer:
        """Return a buffer, or another one of the same memory if the whole function has it."""
        sizes = [size_of(expr) for expr in buffer.shape]
        is_plain = not buffer.strides and buffer.elem_offset is None and None not in sizes
        is_common = buffer in self.allocated or any(buffer is parameter for parameter in self.params.values())
        if is_plain and is_common and rank in (None, 1, len(sizes)) and self.wants("view", 10):
            return self._view(buffer, [size or 0 for size in sizes], rank)
        return buffer

    def _view(self, buffer: tir.Buffer, sizes: Sequence[int], rank: int | None) -> tir.Buffer:
        """Return another buffer of the same memory: flat, possibly with a stride or an offset, or with its dimensions
        reversed.
        """
        total = 1
        for size in sizes:
            total *= size
        is_flat = rank == 1 or (rank is None and self.choose.number(0, 1) == 0)
        first = step = 0
        if is_flat and total > 1 and self.allows("strides", "offset") and self.choose.rarely(2):
            first, step = self.choose.number(0, min(total - 1, 2)), self.choose.number(1, 2)
            total = (total - first - 1) // step + 1
        shape = [self.const(number) for number in ([total] if is_flat else reversed(sizes))]
        view = tir.Buffer(buffer.data, buffer.dtype, tuple(shape), self.choose.fresh("V"))
        if step:
            view = replace(view, strides=(self.const(step),), elem_offset=self.const(first) if first else None)
        self.views.append(view)
        self.readable.append(view)
        return view

    def other_name(self, buffer: tir.Buffer) -> tir.Buffer:
        """Return another buffer of the same memory and layout."""
        view = replace(buffer, name=self.choose.fresh("V"))
        self.views.append(view)
        return view

    def renames(self, once_in: int) -> bool:
        """Return whether to access memory by another buffer now. It may be memory that nothing writes."""
        return self.allows("view") and self.chances("two names", once_in)

    def perhaps_renamed(self, buffer: tir.Buffer) -> tir.Buffer:
        """Return a buffer that the function declares, or sometimes another one of the same memory."""
        return self.other_name(buffer) if self.allows("view") and self.wants("two names", 3) else buffer

    @contextmanager
    def hidden(self, buffer: tir.Buffer) -> Generator[None]:
        """Exclude a buffer and its views from `readable` within the context."""
        before = list(self.readable)
        self.readable = [other for other in self.readable if other.data is not buffer.data]
        yield
        self.readable = [*before, *[other for other in self.readable if other not in before]]
