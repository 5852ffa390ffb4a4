"""What is known of a loop-level function while it is made: its parameters, its memory, its axes, and safe indices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import contextmanager

from msgspec import Struct
from msgspec.structs import replace

from ...ir import make, tir
from ...ir.access import detect_regions, full_region
from ...ir.buffers import decl_buffer
from ...ir.dtype import is_float
from ...ir.visit import walk
from .choices import Choices
from .expressions import OPERATORS, constants, expression, operations
from .features import FUNCTIONS, LARGE, LONG
from .options import MAX_EXTENT, Options

TRUE = tir.IntImm("bool", 1)
_CROWDED = 3
"""From how many reads of a buffer on a block declares all of it."""


class Axis(Struct, frozen=True):
    """An axis of a block: its variable, how many values it takes from `low`, and what may be done with them."""

    var: tir.Var
    extent: tir.PrimExpr
    kind: tir.IterVarType = tir.IterVarType.DATA_PAR
    low: int = 0

    @property
    def is_reduction(self) -> bool:
        return self.kind is tir.IterVarType.COMM_REDUCE

    @property
    def index(self) -> tir.PrimExpr:
        """How far the variable is from the first of its values."""
        return make.sub(self.var, self.low) if self.low else self.var


def size_of(extent: tir.PrimExpr) -> int | None:
    """Return a size that is known, else None."""
    return extent.value if isinstance(extent, tir.IntImm) else None


class Kernel:
    """A loop-level function in the making."""

    def __init__(self, choose: Choices, options: Options, symbolic: bool = False) -> None:
        self.choose, self.options = choose, options
        self.pending = dict.fromkeys(sorted(options.features))
        """The features that are to come."""
        self.room, self.reserved = options.max_blocks, 0
        """How many blocks there may be, and how many of them later stages need."""
        self.index = "int64" if symbolic else "int32"
        self.sizes = [tir.Var("int64", name) for name in ("n", "m")] if symbolic else []
        self.readable: list[tir.Buffer] = []
        self.params: dict[tir.Var, tir.Buffer] = {}
        self.scalars: list[tir.Var] = []
        self.allocated: list[tir.Buffer] = []
        self.views: list[tir.Buffer] = []
        names = frozenset(OPERATORS) if options.operators is None else options.operators
        self.operations = operations(names - options.without, None if len(options.dtypes) > 8 else options.dtypes)

    @property
    def free(self) -> int:
        """How many blocks the next stage may have."""
        return self.room - self.reserved

    # --- Features --------------------------------------------------------------------------------------------

    def allows(self, *features: str) -> bool:
        """Whether none of these features is excluded."""
        return not any(each in self.options.without for each in features)

    def wants(self, feature: str, once_in: int) -> bool:
        """Whether to make a feature now: never where it is excluded, at once where it was asked for, else sometimes, but not
        before those that were asked for."""
        if feature in self.options.without:
            return False
        if feature in self.pending:
            del self.pending[feature]
            return True
        return not self.pending and self.choose.rarely(once_in)

    def chances(self, feature: str, once_in: int) -> bool:
        """As `wants`, where what is made may be folded away again: what was asked for comes elsewhere."""
        return not self.pending and feature not in self.options.without and self.choose.rarely(once_in)

    def met(self, *features: str) -> None:
        """Take note that a stage has features."""
        for each in features:
            self.pending.pop(each, None)

    def dtype(self, *preferred: str) -> str:
        """Choose a dtype, one of `preferred` where those are allowed."""
        fitting = [each for each in preferred if each in self.options.dtypes]
        return self.choose.pick(fitting or self.options.dtypes)

    # --- Sizes -----------------------------------------------------------------------------------------------

    def const(self, value: int) -> tir.PrimExpr:
        """Return a constant of the dtype of indices."""
        return make.const(value, self.index)

    @property
    def least(self) -> int:
        return 1 if self.allows("extent 1") else 2

    def number(self, low: int, high: int) -> int:
        """Choose a size that is allowed, about from `low` to `high`."""
        high = max(min(high, self.options.max_extent), self.least)
        return self.choose.number(min(max(low, self.least), high), high)

    def extent(self) -> tir.PrimExpr:
        """Choose the size of a dimension."""
        if self.sizes and self.wants("symbolic extent", 2):
            return self.choose.pick(self.sizes)
        if "equality" in self.pending:
            return self.const(1)
        return self.const(self.number(1, MAX_EXTENT))

    def shape(self, low: int = 1, high: int = 3) -> tuple[tir.PrimExpr, ...]:
        """Choose a shape by the number of its dimensions."""
        least = max(low, 0 if self.allows("rank 0") else 1)
        return tuple([self.extent() for _ in range(self.choose.number(least, max(high, least)))])

    def wide_shape(self) -> tuple[tir.PrimExpr, ...]:
        """Choose a shape that may be unusual: without dimensions, with four, with a long one, or with one of size 0."""
        if self.wants("rank 0", 20):
            return ()
        if self.wants("rank 4", 8):
            return tuple([self.const(self.number(1, 3)) for _ in range(4)])
        shape = list(self.shape(1, 1 if self.pending else 3))
        is_long = "long loop" in self.pending or self.wants("long loop", 5)
        known = [place for place, extent in enumerate(shape) if size_of(extent) is not None]
        if known and len(shape) < 3 and self.options.max_extent > LONG and is_long:
            shape[known[-1]] = self.const(self.choose.number(LONG + 1, self.options.max_extent))
        elif known and self.wants("extent 0", 14):
            shape[self.choose.pick(known)] = self.const(0)
        return tuple(shape)

    # --- Memory ----------------------------------------------------------------------------------------------

    def declare(self, name: str, dtype: str, shape: Sequence[tir.PrimExpr], scope: str = "global") -> tir.Buffer:
        """Return a new buffer, which is nobody's yet."""
        name = self.choose.fresh(name)
        return decl_buffer(shape, dtype, name, scope)

    def parameter(self, name: str, dtype: str, shape: Sequence[tir.PrimExpr]) -> tir.Buffer:
        """Return a new buffer that the caller gives."""
        buffer = self.declare(name, dtype, shape)
        if shape and self.wants("strides", 12):
            buffer = replace(buffer, strides=self._strides(shape))
        if self.wants("offset", 20):
            offset = tir.Var(self.index, f"{buffer.name}_elem_offset")
            buffer = replace(buffer, elem_offset=offset, offset_factor=self.choose.pick((1, 4)))
        self.params[tir.Var("handle", f"{buffer.name}_handle")] = buffer
        return buffer

    def _strides(self, shape: Sequence[tir.PrimExpr]) -> tuple[tir.PrimExpr, ...]:
        """Choose strides that leave room between rows, or elements; some are known only at the call."""
        found: list[tir.PrimExpr] = []
        step = self.choose.pick((1, 1, 2))
        for extent in reversed(shape):
            size = size_of(extent)
            is_open = step == 0 or self.choose.rarely(4)
            found.insert(0, tir.Var(self.index, self.choose.fresh("s")) if is_open else self.const(step))
            step = 0 if is_open or size is None else step * max(size, 1) + self.choose.number(0, 2)
        return tuple(found)

    def result(self, name: str, dtype: str, shape: Sequence[tir.PrimExpr], last: bool) -> tir.Buffer:
        """Return memory for what a stage computes: a parameter for the last one, else sometimes memory of its own."""
        if last or self.choose.rarely(4):
            return self.parameter(name, dtype, shape)
        buffer = self.declare(name, dtype, shape)
        self.allocated.append(buffer)
        return buffer

    def source(self, dtype: str | None = None, rank: int | None = None) -> tir.Buffer:
        """Choose a buffer to read: one that holds something already, or a new parameter, or a view of that."""
        known = [
            buffer
            for buffer in self.readable
            if dtype in (None, buffer.dtype) and rank in (None, len(buffer.shape))
        ]  # fmt: skip
        if known and "view" not in self.pending and self.choose.number(0, 3):
            return self.choose.pick(known)
        shape = self.shape() if rank is None else self.shape(rank, rank)
        buffer = self.parameter("A", dtype or self.dtype(), shape)
        self.readable.append(buffer)
        sizes = [size_of(each) for each in shape]
        is_plain = not buffer.strides and buffer.elem_offset is None and None not in sizes
        if is_plain and rank in (None, 1, len(shape)) and self.wants("view", 10):
            buffer = self._view(buffer, [size or 0 for size in sizes], rank)
        return buffer

    def _view(self, buffer: tir.Buffer, sizes: Sequence[int], rank: int | None) -> tir.Buffer:
        """Return another buffer of the same memory: flat, or with its dimensions in reverse."""
        total = 1
        for size in sizes:
            total *= size
        is_flat = rank == 1 or (rank is None and self.choose.number(0, 1) == 0)
        shape = [self.const(each) for each in ([total] if is_flat else reversed(sizes))]
        view = tir.Buffer(buffer.data, buffer.dtype, tuple(shape), self.choose.fresh("V"))
        self.views.append(view)
        self.readable.append(view)
        return view

    @contextmanager
    def hidden(self, buffer: tir.Buffer) -> Generator[None]:
        """Let nothing read a buffer, or a view of it, meanwhile."""
        before = list(self.readable)
        self.readable = [each for each in self.readable if each.data is not buffer.data]
        yield
        self.readable = [*before, *[each for each in self.readable if each not in before]]

    # --- Indices ---------------------------------------------------------------------------------------------

    def position(self, extent: tir.PrimExpr, axes: Sequence[Axis]) -> tir.PrimExpr:
        """Choose an index that lies in [0, extent) for all values of `axes`."""
        fitting = [axis for axis in axes if _fits(axis, extent)]
        shape = self.choose.number(0, 7)
        if fitting and shape <= 3:
            return self.choose.pick(fitting).index
        if fitting and shape == 4:
            return make.sub(make.sub(extent, 1), self.choose.pick(fitting).index)
        if fitting and shape == 5:
            axis = self.choose.pick(fitting)
            room = (size_of(extent) or 0) - (size_of(axis.extent) or 0)
            return make.add(axis.index, self.const(self.choose.number(0, max(room, 0))))
        if shape == 6 or not axes:
            size = size_of(extent)
            return self.const(0 if size is None else self.choose.number(0, size - 1))
        return self._confined(self._combined(axes), extent)

    def _combined(self, axes: Sequence[Axis]) -> tir.PrimExpr:
        """Choose any integer made of `axes`."""
        if self.chances("gather", 6):
            return self._gathered(axes)
        one, other = self.choose.pick(axes).var, self.choose.pick(axes).var
        factor, offset = self.const(self.choose.number(1, 3)), self.const(self.choose.number(0, 3))
        match self.choose.number(0, 3):
            case 0:
                return make.add(one, offset)
            case 1:
                return make.add(make.mul(one, factor), other)
            case 2:
                return make.sub(one, other)
            case _:
                return make.floordiv(make.add(one, offset), factor)

    def _gathered(self, axes: Sequence[Axis]) -> tir.PrimExpr:
        """Choose an integer that stands in memory."""
        return make.cast(self.element(self.source(self.dtype("int32", "int64", "uint8")), axes), self.index)

    def _confined(self, index: tir.PrimExpr, extent: tir.PrimExpr) -> tir.PrimExpr:
        """Keep an integer in [0, extent): the remainder, or the nearest."""
        if self.choose.number(0, 1):
            return make.floormod(index, extent)
        return make.maximum(make.minimum(index, make.sub(extent, 1)), self.const(0))

    def element(self, buffer: tir.Buffer, axes: Sequence[Axis]) -> tir.PrimExpr:
        """Choose an element of `buffer`."""
        return tir.BufferLoad(buffer.dtype, buffer, tuple([self.position(extent, axes) for extent in buffer.shape]))

    # --- Values ----------------------------------------------------------------------------------------------

    def value(self, dtype: str, axes: Sequence[Axis], size: int | None = None) -> tir.PrimExpr:
        """Choose a value of `dtype` that is computed from what can be read and from `axes`."""

        def leaf(choose: Choices, wanted: str) -> tir.PrimExpr:
            kind = choose.number(0, 7)
            if kind <= 4 and wanted != "bool":
                buffer = self.source(wanted) if kind <= 2 and wanted in self.options.dtypes else self.source()
                return make.cast(self.element(buffer, axes), wanted)
            if kind <= 5 and axes:
                return make.cast(choose.pick(axes).var, wanted)
            return self._constant(wanted)

        depth = self.choose.number(0, 6) if size is None else size
        return expression(self.choose, dtype, leaf, depth, self.operations)

    def _constant(self, dtype: str) -> tir.PrimExpr:
        if is_float(dtype) and self.chances("float scalar", 8):
            return make.cast(self.scalar(dtype), dtype)
        if is_float(dtype) and self.chances("special constant", 6):
            return make.const(self.choose.pick((float("inf"), float("-inf"), float("nan"))), dtype)
        return self.options.constant(self.choose, dtype) or constants(self.choose, dtype)

    def scalar(self, dtype: str) -> tir.Var:
        """Return a scalar parameter of a dtype, or of float32 for narrow floats, which are not passed."""
        dtype = "float32" if dtype in ("float16", "bfloat16") else dtype
        self.met("integer scalar" if not is_float(dtype) else "float scalar")
        found = [each for each in self.scalars if each.dtype == dtype]
        if not found:
            found = [tir.Var(dtype, self.choose.fresh("x"))]
            self.scalars += found
        return found[0]

    def outermost(self, value: tir.PrimExpr, axes: Sequence[Axis]) -> tuple[tir.PrimExpr, bool]:
        """Return a value or a function of it, and whether that is one whose last places, or range, are delicate: then
        nothing must be computed of it."""
        dtype = value.dtype
        if self.pending and isinstance(value, tir.IntImm | tir.FloatImm):
            value = self.element(self.source(dtype), axes)
        if "gather" in self.pending:
            self.met("gather")
            source = self.parameter("A", dtype, (self.const(self.choose.number(2, MAX_EXTENT)),))
            index = self._confined(self._gathered(axes), source.shape[0])
            value = make.maximum(value, tir.BufferLoad(dtype, source, (index,)))
        if "let" in self.pending:
            self.met("let")
            variable = tir.Var(dtype, self.choose.fresh("x"))
            value = tir.Let(dtype, variable, value, make.add(variable, make.const(1, dtype)))
        if is_float(dtype):
            if "float scalar" in self.pending:
                value = make.add(value, make.cast(self.scalar(dtype), dtype))
            if "special constant" in self.pending:
                self.met("special constant")
                value = make.maximum(value, make.const(float("-inf"), dtype))
            return (self._function(value), True) if self.wants("function", 3) else (value, False)
        if "integer scalar" in self.pending or self.wants("integer scalar", 16):
            value = make.add(value, make.cast(self.scalar("int32"), dtype))
        if "shift" in self.pending:
            self.met("shift")
            value = make.left_shift(value, make.const(2, dtype))
        if dtype not in ("int32", "int64", "uint32") or not self.wants("large integer", 4):
            return value, False
        large = make.const(self.choose.pick(_LARGE[dtype]), dtype)
        combine = self.choose.pick((make.minimum, make.maximum, make.bitwise_and, make.bitwise_xor))
        return combine(value, large), True

    def _function(self, value: tir.PrimExpr) -> tir.PrimExpr:
        name, dtype = self.choose.pick(FUNCTIONS), value.dtype
        if name == "exp":
            value = make.minimum(value, make.const(8.0, dtype))
        if name == "pow":
            arguments = (make.abs(value), make.const(self.choose.pick((2.0, 0.5, 3.0)), dtype))
            return make.call("tir.pow", arguments, dtype)
        return make.call(f"tir.{name}", (make.abs(value) if name in ("log", "sqrt") else value,), dtype)

    # --- The whole -------------------------------------------------------------------------------------------

    def block(
        self,
        name: str,
        axes: Sequence[Axis],
        body: tir.Stmt,
        init: tir.Stmt | None = None,
        own: tuple[tir.Buffer, ...] = (),
        matches: tuple[tir.MatchBufferRegion, ...] = (),
    ) -> tir.Block:
        """Return a block, with the regions that it reads and writes found in it."""
        self.room -= 1
        iters = tuple([tir.IterVar(tir.Range(self.const(axis.low), axis.extent), axis.var, axis.kind) for axis in axes])
        notes = self.choose.pick(NOTES) if self.wants("block annotation", 12) else {}
        block = tir.Block(iters, (), (), self.choose.fresh(name), body, init, own, matches, notes)
        visible = dict.fromkeys((*self.params.values(), *self.allocated, *self.views))
        crowded = [] if matches else self._crowded(body, visible)
        reads, writes, opaque = detect_regions(block, [each for each in visible if each not in crowded])
        reads = (*reads, *[full_region(each) for each in crowded], *opaque)
        return replace(block, reads=reads, writes=(*writes, *opaque))

    def _crowded(self, body: tir.Stmt, visible: dict[tir.Buffer, None]) -> list[tir.Buffer]:
        """Return the buffers that a body only reads, and at many places: finding their region takes long."""
        nodes = list(walk(body))
        if any(isinstance(node, tir.BlockRealize) for node in nodes):
            return []
        written = {node.buffer.data for node in nodes if isinstance(node, tir.BufferStore)}
        counts = Counter(node.buffer for node in nodes if isinstance(node, tir.BufferLoad))
        alike = Counter(each.data for each in visible)
        return [each for each, count in counts.items() if count >= _CROWDED and each in visible and each.data not in written and alike[each.data] == 1]  # fmt: skip

    def function(self, stages: Sequence[tir.Stmt], attrs: dict[str, object]) -> tir.PrimFunc:
        """Return the function that runs `stages`."""
        body = sequence(stages)
        used = {node for node in walk(body) if isinstance(node, tir.Buffer)}
        for view in self.views:
            if view in used:
                body = tir.DeclBuffer(view, body)
        root = tir.Block((), (), (), "root", body, alloc_buffers=tuple(self.allocated))
        realize = tir.BlockRealize((), TRUE, root)
        told = {extent for buffer in self.params.values() for extent in (*buffer.shape, *buffer.strides)}
        untold = [size for size in self.sizes if size not in told and any(node is size for node in walk(realize))]
        if not self.allows("integer scalar"):
            for size in untold:
                self.params[tir.Var("handle", f"{size.name}_handle")] = self.declare("N", self.dtype(), (size,))
            untold = []
        return tir.PrimFunc((*self.params, *self.scalars, *untold), realize, buffer_map=self.params, attrs=attrs)


NOTES: tuple[dict[str, object], ...] = ({"hint": 1}, {"note": "a text"}, {"sizes": [1, 2]})
"""What loops and blocks are annotated with."""
_LARGE = {
    "int32": (LARGE, -LARGE - 1, -LARGE), "int64": (LARGE, LARGE + 1, -LARGE - 2, 2**40, 2**63 - 1, -(2**63)),
    "uint32": (LARGE, LARGE + 1, 2**32 - 1),
}  # fmt: skip


def _fits(axis: Axis, extent: tir.PrimExpr) -> bool:
    """Whether the values of `axis` are indices of a dimension."""
    known, size = size_of(axis.extent), size_of(extent)
    return axis.extent is extent if known is None or size is None else known <= size


def sequence(parts: Sequence[tir.Stmt]) -> tir.Stmt:
    """Return statements one after the other."""
    flat = [each for part in parts for each in (part.seq if isinstance(part, tir.SeqStmt) else (part,))]
    return flat[0] if len(flat) == 1 else tir.SeqStmt(tuple(flat))
