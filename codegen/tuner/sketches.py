"""Sketches: search spaces for loop functions that no rule knows, generated from their loops (after Ansor, OSDI 2020).

Each sketch is a schedule of primitives whose tile sizes are drawn:

- `tiles` divides the loops of every reduction into the levels SSRSRS, from the outside: two levels of spatial tiles, a part of
  the sums, a spatial tile, the rest of the sums, and the spatial tile in registers. The outer loops run in parallel,
  the innermost one as vectors;
- `cached tiles` also sums each tile in a buffer of its own, which is copied to the result at the end;
- `partial sums` divides a reduction into lanes that are summed at the end, for results of few elements.

Other blocks run in parallel, with the innermost loop as vectors. Steps that are refused for a block are left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import takewhile
from math import prod

from msgspec import Struct
from msgspec.structs import replace

from ...ir import tir
from ...ir.base import IRModule
from ...ir.idioms import uses
from ...ir.schedule import BlockRV, ExprRV, LoopRV, Schedule, ScheduleError
from ...ir.schedule.text import Element, Name, ScheduleText, Step
from ..target import Target

_DATA_PAR, _REDUCE = tir.IterVarType.DATA_PAR, tir.IterVarType.COMM_REDUCE
_LARGEST_TILE = 64
"""Largest innermost factor of a tile."""
_LARGEST_UNROLLED = 8
"""Largest innermost factor of a spatial tile that is unrolled."""
_FEW = 64
"""Number of elements of a result up to which partial sums are tried."""
_MOST_BLOCKS = 12
"""Largest number of blocks of a function for which sketches are generated."""


def sketches(module: IRModule, target: Target) -> list[tuple[str, ScheduleText]]:
    """Return the sketches of a module of one loop function by name; none for GPUs, and for functions that end loops early."""
    (name,) = module.functions
    if target.arch or Schedule(module).jumping:
        return []
    lanes = max(target.processor.vector_bytes // 4, 1)
    found: list[tuple[str, ScheduleText]] = []
    for sketch, is_cached, has_parts in (
        ("tiles", False, False), ("cached tiles", True, False), ("partial sums", False, True),
    ):  # fmt: skip
        generator = _Generator(Schedule(module, seed=1, error_render_level="fast"), lanes, is_cached, has_parts)
        if generator.run():
            found.append((sketch, generator.text(name)))
    return found


class Nest(Struct, frozen=True, eq=False):
    """The loops around one block, from the outermost that is around no other block and carries no dependence."""

    loops: tuple[LoopRV, ...]
    spatial: tuple[LoopRV, ...]
    reduction: tuple[LoopRV, ...]


class _Generator:
    def __init__(self, schedule: Schedule, lanes: int, is_cached: bool, has_parts: bool) -> None:
        self.schedule, self.lanes, self.is_cached, self.has_parts = schedule, lanes, is_cached, has_parts
        self.is_special = not (is_cached or has_parts)

    def run(self) -> bool:
        """Apply the steps; return whether the sketch differs from the plain one."""
        sch = self.schedule
        try:
            root = sch.get_block("root")
            blocks = sch.get_child_blocks(root)
        except ScheduleError:
            return False
        if len(blocks) > _MOST_BLOCKS:
            return False
        left = [block for block in blocks if not self.inlined(block)]
        steps = len(sch.trace.insts)
        for block in left:
            nest = self.nest(block)
            if nest is not None and not self._scheduled(block, nest):
                self.rows(nest)
        return self.is_special and len(sch.trace.insts) > steps

    def text(self, function: str) -> ScheduleText:
        """Return the steps with open draws."""
        found = self.schedule.trace.simplified().as_text("sketch", "llvm")
        steps = [_open(step) for step in found.steps if isinstance(step, Step)]
        return replace(found, function=function, steps=tuple(_with_last_loops(steps)))

    # --- Blocks

    def inlined(self, block: BlockRV) -> bool:
        """Inline a block without reductions into its consumers, if possible."""
        node = self.schedule.get(block)
        if any(axis.iter_type is not _DATA_PAR for axis in node.iter_vars):
            return False
        return self._try("compute_inline", block)

    def nest(self, block: BlockRV) -> Nest | None:
        """Return the loops of a block that can be reordered; None if there are none."""
        program, node = self.schedule.program(), self.schedule.get(block)
        handles = self.schedule.get_loops(block)
        loops = [self.schedule.get(handle) for handle in handles]
        kinds = [_kinds(program.realize_of(node), loop) for loop in loops]
        first = max(
            [
                at + 1
                for at, (loop, kind) in enumerate(zip(loops, kinds, strict=True))
                if len(kind) != 1 or not kind <= {_DATA_PAR, _REDUCE} or len(program.child_blocks(loop)) != 1
            ],
            default=0,
        )
        if first == len(handles):
            return None
        pairs = list(zip(handles[first:], kinds[first:], strict=True))
        spatial = tuple([handle for handle, kind in pairs if kind == {_DATA_PAR}])
        reduction = tuple([handle for handle, kind in pairs if kind == {_REDUCE}])
        return Nest(tuple(handles[first:]), spatial, reduction)

    def _scheduled(self, block: BlockRV, nest: Nest) -> bool:
        """Schedule a reduction in tiles or partial sums; return whether that is done."""
        if not nest.reduction:
            return False
        if self.has_parts and self._count(nest.spatial) <= _FEW and self.parts(nest):
            return True
        return bool(nest.spatial) and self.tiles(block, nest)

    def _count(self, loops: Sequence[LoopRV]) -> int:
        extents = [self.schedule.get(loop).extent for loop in loops]
        return prod([extent.value if isinstance(extent, tir.IntImm) else _FEW + 1 for extent in extents])

    # --- Sketches

    def tiles(self, block: BlockRV, nest: Nest) -> bool:
        sch = self.schedule
        unrolled = [self._split(loop, 4, _LARGEST_UNROLLED) for loop in nest.spatial[:-1]]
        spatial = [*unrolled, self._split(nest.spatial[-1], 4, _LARGEST_TILE)]
        reduction = [self._split(loop, 2, _LARGEST_TILE) for loop in nest.reduction]
        levels = [
            [loops[0] for loops in spatial], [loops[1] for loops in spatial], [loops[0] for loops in reduction],
            [loops[2] for loops in spatial], [loops[1] for loops in reduction], [loops[3] for loops in spatial],
        ]  # fmt: skip
        sch.reorder(*[loop for level in levels for loop in level])
        copy = sch.cache_write(block, 0, "global") if self.is_cached and self._has_one_output(block) else None
        if copy is not None and self._try("reverse_compute_at", copy, levels[1][-1]):
            self.is_special = True
            self._vectorize_last(copy)
        self._try("vectorize", levels[5][-1])
        for loop in levels[5][:-1]:
            self._try("unroll", loop)
        self._parallel(levels[0])
        with suppress(ScheduleError):
            self._vectorize_last(sch.decompose_reduction(block, levels[2][0]))
        return True

    def parts(self, nest: Nest) -> bool:
        """Sum each lane of the last reduction loop apart."""
        _, inner = self.schedule.split(nest.reduction[-1], factors=[None, self._width()])
        if not self._try("rfactor", inner, 0):
            return False
        self.is_special = True
        return True

    def rows(self, nest: Nest) -> None:
        """Run the outer loops in parallel, and the innermost one as vectors, if they are spatial."""
        if not nest.spatial:
            return
        loops = list(nest.loops)
        leading = list(takewhile(lambda loop: loop in nest.spatial, loops))
        if loops[-1] in nest.spatial:
            outer, inner = self.schedule.split(loops[-1], factors=[None, self._width()])
            self._try("vectorize", inner)
            leading = [outer if loop is loops[-1] else loop for loop in leading]
        self._parallel(leading)

    # --- Steps

    def _width(self) -> ExprRV:
        """Return a drawn number of elements: half a vector to four vectors."""
        candidates = [max(self.lanes >> 1, 1), self.lanes, self.lanes << 1, self.lanes << 2]
        return self.schedule.sample_categorical(candidates, [1 / len(candidates)] * len(candidates))

    def _split(self, loop: LoopRV, n: int, largest: int) -> list[LoopRV]:
        factors: list[ExprRV | None] = self.schedule.sample_perfect_tile(loop, n, largest)
        return self.schedule.split(loop, factors=factors)

    def _parallel(self, loops: Sequence[LoopRV]) -> None:
        if loops:
            outer = self.schedule.fuse(*loops) if len(loops) > 1 else loops[0]
            self._try("parallel", outer)

    def _vectorize_last(self, block: BlockRV) -> None:
        loops = self.schedule.get_loops(block)
        if loops:
            self._try("vectorize", loops[-1])

    def _has_one_output(self, block: BlockRV) -> bool:
        return len(self.schedule.get(block).writes) == 1

    def _try(self, name: str, *arguments: object) -> bool:
        try:
            self.schedule.apply(name, *arguments)
        except ScheduleError:
            return False
        return True


def _kinds(realize: tir.BlockRealize, loop: tir.For) -> set[tir.IterVarType]:
    pairs = zip(realize.block.iter_vars, realize.iter_values, strict=True)
    return {axis.iter_type for axis, value in pairs if uses(value, [loop])} or {_DATA_PAR}


def _open(step: Step) -> Step:
    """Return a step without the decision that it drew."""
    return replace(step, named={name: value for name, value in step.named.items() if name != "decision"})


def _with_last_loops(steps: Sequence[Step]) -> Iterator[Step]:
    """Yield the steps, with `S.vectorize(loops[-1])` where only the last of some loops is used: their number may depend on draws."""
    uses = Counter(value.name for step in steps for value in step.args if isinstance(value, Name))
    lists: dict[str, Element] = {}
    for step in steps:
        if (
            step.primitive == "get_loops"
            and uses[step.results[-1]]
            and not any(uses[name] for name in step.results[:-1])
        ):
            name = f"loops_of_{step.args[0].name}"
            lists[step.results[-1]] = Element("int32", Name("int32", name), -1)
            yield replace(step, results=(name,), unpacks=False)
        else:
            args = [lists.get(value.name, value) if isinstance(value, Name) else value for value in step.args]
            yield replace(step, args=tuple(args))


def as_space(schedule: Schedule) -> ScheduleText:
    """Return the steps of a schedule with open draws: the space that it is a sample of."""
    found = schedule.trace.simplified().as_text("space", "llvm")
    steps = [_open(step) for step in found.steps if isinstance(step, Step)]
    return replace(found, steps=tuple(_with_last_loops(steps)))
