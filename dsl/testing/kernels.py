"""What is known of a loop-level function while it is made: its parameters, its memory, its axes, and safe indices."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from ...ir import make, tir
from ...ir.access import detect_regions
from ...ir.buffers import decl_buffer
from ...ir.visit import walk
from .choices import Choices
from .expressions import DTYPES, constants, expression

TRUE = tir.IntImm("bool", 1)
MAX_EXTENT = 6


class Axis(Struct, frozen=True):
    """An axis of a block: its variable, how many values it takes from 0, and what may be done with them."""

    var: tir.Var
    extent: tir.PrimExpr
    kind: tir.IterVarType = tir.IterVarType.DATA_PAR

    @property
    def is_reduction(self) -> bool:
        return self.kind is tir.IterVarType.COMM_REDUCE


def size_of(extent: tir.PrimExpr) -> int | None:
    """Return a size that is known, else None."""
    return extent.value if isinstance(extent, tir.IntImm) else None


class Kernel:
    """A loop-level function in the making."""

    def __init__(self, choose: Choices, symbolic: bool = False) -> None:
        self.choose = choose
        self.index = "int64" if symbolic else "int32"
        self.sizes = [tir.Var("int64", name) for name in ("n", "m")] if symbolic else []
        self.readable: list[tir.Buffer] = []
        self.params: dict[tir.Var, tir.Buffer] = {}
        self.allocated: list[tir.Buffer] = []

    def const(self, value: int) -> tir.PrimExpr:
        """Return a constant of the dtype of indices."""
        return make.const(value, self.index)

    def extent(self) -> tir.PrimExpr:
        """Choose the size of a dimension."""
        if self.sizes and self.choose.number(0, 2):
            return self.choose.pick(self.sizes)
        return self.const(self.choose.number(1, MAX_EXTENT))

    def shape(self, low: int = 1, high: int = 3) -> tuple[tir.PrimExpr, ...]:
        """Choose a shape by the number of its dimensions."""
        return tuple([self.extent() for _ in range(self.choose.number(low, high))])

    # --- Memory ----------------------------------------------------------------------------------------------

    def declare(self, name: str, dtype: str, shape: Sequence[tir.PrimExpr], scope: str = "global") -> tir.Buffer:
        """Return a new buffer, which is nobody's yet."""
        name = self.choose.fresh(name)
        return decl_buffer(shape, dtype, name, scope)

    def parameter(self, name: str, dtype: str, shape: Sequence[tir.PrimExpr]) -> tir.Buffer:
        """Return a new buffer that the caller gives."""
        buffer = self.declare(name, dtype, shape)
        self.params[tir.Var("handle", f"{buffer.name}_handle")] = buffer
        return buffer

    def result(self, name: str, dtype: str, shape: Sequence[tir.PrimExpr], last: bool) -> tir.Buffer:
        """Return memory for what a stage computes: a parameter for the last one, else sometimes memory of its own."""
        if last or self.choose.rarely(4):
            return self.parameter(name, dtype, shape)
        buffer = self.declare(name, dtype, shape)
        self.allocated.append(buffer)
        return buffer

    def source(self, dtype: str | None = None, rank: int | None = None) -> tir.Buffer:
        """Choose a buffer to read: one that holds something already, or a new parameter."""
        known = [
            buffer
            for buffer in self.readable
            if dtype in (None, buffer.dtype) and rank in (None, len(buffer.shape))
        ]  # fmt: skip
        if known and self.choose.number(0, 3):
            return self.choose.pick(known)
        shape = self.shape() if rank is None else self.shape(rank, rank)
        buffer = self.parameter("A", dtype or self.choose.pick(DTYPES), shape)
        self.readable.append(buffer)
        return buffer

    # --- Indices ---------------------------------------------------------------------------------------------

    def position(self, extent: tir.PrimExpr, axes: Sequence[Axis]) -> tir.PrimExpr:
        """Choose an index that lies in [0, extent) for all values of `axes`."""
        fitting = [axis for axis in axes if _fits(axis, extent)]
        plain = [axis.var for axis in fitting]
        shape = self.choose.number(0, 7)
        if plain and shape <= 3:
            return plain[self.choose.number(0, len(plain) - 1)]
        if plain and shape == 4:
            return make.sub(make.sub(extent, 1), self.choose.pick(plain))
        if fitting and shape == 5:
            axis = self.choose.pick(fitting)
            room = (size_of(extent) or 0) - (size_of(axis.extent) or 0)
            return make.add(axis.var, self.const(self.choose.number(0, max(room, 0))))
        if shape == 6 or not axes:
            size = size_of(extent)
            return self.const(0 if size is None else self.choose.number(0, size - 1))
        return self._confined(self._combined(axes), extent)

    def _combined(self, axes: Sequence[Axis]) -> tir.PrimExpr:
        """Choose any integer made of `axes`."""
        one, other = self.choose.pick(axes).var, self.choose.pick(axes).var
        factor, offset = self.const(self.choose.number(1, 3)), self.const(self.choose.number(0, 3))
        options = (make.add(one, offset), make.add(make.mul(one, factor), other), make.sub(one, other))
        if self.choose.rarely():
            return self._gathered(axes)
        return self.choose.pick((*options, make.floordiv(make.add(one, offset), factor)))

    def _gathered(self, axes: Sequence[Axis]) -> tir.PrimExpr:
        """Choose an integer that stands in memory."""
        return make.cast(self.element(self.source(self.choose.pick(("int32", "int64", "uint8"))), axes), self.index)

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
                buffer = self.source(wanted) if kind <= 2 else self.source()
                return make.cast(self.element(buffer, axes), wanted)
            if kind <= 5 and axes:
                return make.cast(choose.pick(axes).var, wanted)
            return constants(choose, wanted)

        return expression(self.choose, dtype, leaf, self.choose.number(0, 6) if size is None else size)

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
        iters = tuple([tir.IterVar(tir.Range(self.const(0), axis.extent), axis.var, axis.kind) for axis in axes])
        block = tir.Block(iters, (), (), self.choose.fresh(name), body, init, own, matches)
        visible = [*self.params.values(), *self.allocated]
        reads, writes, opaque = detect_regions(block, visible)
        return tir.Block(iters, (*reads, *opaque), (*writes, *opaque), block.name_hint, body, init, own, matches)

    def function(self, stages: Sequence[tir.Stmt], attrs: dict[str, object]) -> tir.PrimFunc:
        """Return the function that runs `stages`."""
        body = sequence(stages)
        root = tir.Block((), (), (), "root", body, alloc_buffers=tuple(self.allocated))
        realize = tir.BlockRealize((), TRUE, root)
        told = {extent for buffer in self.params.values() for extent in buffer.shape}
        untold = [size for size in self.sizes if size not in told and any(node is size for node in walk(realize))]
        return tir.PrimFunc((*self.params, *untold), realize, buffer_map=self.params, attrs=attrs)


def _fits(axis: Axis, extent: tir.PrimExpr) -> bool:
    """Whether the values of `axis` are indices of a dimension."""
    known, size = size_of(axis.extent), size_of(extent)
    return axis.extent is extent if known is None or size is None else known <= size


def sequence(parts: Sequence[tir.Stmt]) -> tir.Stmt:
    """Return statements one after the other."""
    flat = [each for part in parts for each in (part.seq if isinstance(part, tir.SeqStmt) else (part,))]
    return flat[0] if len(flat) == 1 else tir.SeqStmt(tuple(flat))
