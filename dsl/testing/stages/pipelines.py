"""Software pipelines: loops whose parts run for different iterations at the same time."""

from __future__ import annotations

from collections.abc import Sequence

from ....ir import make, tir
from ....ir.idioms import sequence
from ....ir.software_pipeline import ASYNC, ORDER, STAGE
from ..kernels import OPAQUE, SPATIAL, TRUE, Axis, Kernel, indices_of
from ..loops import nest
from ..memory import size_of

_MOST = 4
"""Maximum number of parts of a pipeline."""


def pipelined(kernel: Kernel, last: bool) -> tir.Stmt:
    """Compute the iterations of a loop in parts that communicate through memory of an iteration. Each part belongs to a stage of
    the pipeline; the last one, and perhaps others, write a row of a result, or update all of it, so that the order of iterations
    matters.
    """
    count = kernel.choose.number(2, min(_MOST, max(kernel.free, 2)))
    may_nest = kernel.free > count and kernel.allows("nested blocks", "own memory") and not kernel.pending
    places = [*(["reused"] if kernel.allows("opaque axis") else []), "row", *(["own"] if may_nest else [])]
    memory = kernel.choose.pick(places)
    is_update = kernel.allows("opaque axis", "in place") and not kernel.choose.rarely(3)
    notes = _notes(kernel, count)
    rows = _rows(kernel, max(notes[STAGE]))
    start = kernel.choose.number(1, 3) if kernel.wants("late loop", 2) else 0
    loop = tir.Var(kernel.index, kernel.choose.fresh("i"))
    index = make.sub(loop, start) if start else loop
    parts = _Parts(kernel, rows, kernel.shape(1, 1), memory, is_update)
    body = sequence([parts.part(place == count - 1, index) for place in range(count)])
    if memory == "own":
        block = kernel.block("step", [parts.row], body, own=tuple(parts.memory))
        body = tir.BlockRealize((index,), TRUE, block)
    else:
        kernel.allocated += parts.memory
        kernel.met("shared loop")
    if size_of(rows) != 0:
        kernel.readable += parts.targets
    return tir.For(loop, kernel.const(start), rows, tir.ForKind.SERIAL, body, annotations={**notes})


def _rows(kernel: Kernel, depth: int) -> tir.PrimExpr:
    """Return the number of iterations. It is often too small to fill the pipeline, whose last stage is `depth`."""
    if kernel.wants("extent 0", 12):
        return kernel.const(0)
    return kernel.const(kernel.number(1, depth - 1)) if depth > 1 and kernel.choose.rarely(2) else kernel.extent()


class _Parts:
    """The parts of an iteration, the memory through which they communicate, and the results."""

    def __init__(
        self, kernel: Kernel, rows: tir.PrimExpr, columns: Sequence[tir.PrimExpr], where: str, is_update: bool
    ) -> None:
        self.kernel, self.rows, self.columns, self.where, self.is_update = kernel, rows, columns, where, is_update
        self.row = self._row()
        self.source, self.memory = kernel.source(), list[tir.Buffer]()
        self.dtype = self.source.dtype
        self.targets = list[tir.Buffer]()

    def _row(self) -> Axis:
        """Return the axis of the iteration. Iterations that reuse memory are in order."""
        is_ordered = self.is_update or self.where == "reused"
        return self.kernel.axes((self.rows,), OPAQUE if is_ordered else SPATIAL, is_plain=True)[0]

    def part(self, is_end: bool, index: tir.PrimExpr) -> tir.Stmt:
        """Return the loops of the next part; `index` is the value of the axis of the row, unless a block around the parts has it."""
        kernel, columns = self.kernel, self.kernel.axes(self.columns)
        self.row = self.row if self.where == "own" else self._row()
        value, place = self._value(columns), indices_of(columns)
        known, outer = tuple(self.memory), () if self.where == "own" else (index,)
        if is_end or (self.memory and kernel.choose.rarely(2 if self.is_update else 3)):
            shape = tuple(self.columns) if self.is_update else (self.rows, *self.columns)
            target = kernel.parameter("Y", self.dtype, shape)
            self.targets.append(target)
            if self.is_update:
                value = make.sub(value, tir.BufferLoad(self.dtype, target, place))
            else:
                place = (self.row.var, *place)
        else:
            has_rows = self.where == "row"
            target = kernel.declare("M", self.dtype, (self.rows, *self.columns) if has_rows else self.columns)
            place = (self.row.var, *place) if has_rows else place
            self.memory.append(target)
        axes = [self.row, *columns] if outer else columns
        block = kernel.block("part", axes, tir.BufferStore(target, value, place), inside=(*known, target))
        return nest(kernel, columns, block, outer=outer)

    def _value(self, columns: Sequence[Axis]) -> tir.PrimExpr:
        """Return a value that is computed from what the previous part wrote, and perhaps from other memory."""
        kernel = self.kernel
        read = [kernel.element(self.source, [self.row, *columns])] if not self.memory or kernel.choose.rarely(3) else []
        others = [kernel.choose.pick(self.memory[:-1])] if len(self.memory) > 1 and kernel.choose.rarely(2) else []
        for memory in (*self.memory[-1:], *others):
            indices = self._indices(columns)
            place = (self.row.var, *indices) if self.where == "row" else tuple(indices)
            read.append(tir.BufferLoad(self.dtype, memory, place))
        value, *more = read
        for other in more:
            value = kernel.choose.pick((make.add, make.maximum, make.sub))(value, other)
        return make.add(value, make.const(kernel.choose.number(1, 3), self.dtype))

    def _indices(self, columns: Sequence[Axis]) -> list[tir.PrimExpr]:
        """Return indices of a column. They are computed only of memory that a block allocates: elsewhere the compiler has to prove
        that an iteration reads what it has written itself.
        """
        before, kernel = self.kernel.is_straight, self.kernel
        kernel.is_straight = before or self.where != "own"
        found = [kernel.position(size, columns) for size in self.columns]
        kernel.is_straight = before
        return found


def _notes(kernel: Kernel, count: int) -> dict[str, list[int]]:
    """Return annotations for `count` parts, each of which reads what the previous one writes: stages ascend, and parts of one
    stage are in order.
    """
    stages = [0]
    for _ in range(count - 1):
        stages.append(stages[-1] + kernel.choose.pick((1, 0, 1, 2)))
    orders, left = [0] * count, list(range(count))
    for place in range(count):
        orders[place] = left.pop(kernel.choose.number(0, len(left) - 1))
    for stage in set(stages):
        places = [place for place in range(count) if stages[place] == stage]
        for place, order in zip(places, sorted([orders[place] for place in places]), strict=True):
            orders[place] = order
    notes = {STAGE: stages, ORDER: orders}
    return notes | {ASYNC: [kernel.choose.pick(stages)]} if kernel.choose.rarely(4) else notes
