"""Explanation of the steps of a schedule: how each changes loop nests, vectorization and parallelism."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from msgspec import Struct
from msgspec.structs import replace

from .. import tir
from ..base import IRModule, Trivia
from ..diagnostics import TvmsError
from ..dtype import parse_dtype
from ..int_set import Interval, eval_set, from_range
from ..simplify import simplify
from ..visit import substitute
from .apply import SEED
from .declaration import COMPOSITES, primitive_called
from .program import child_blocks
from .schedule import Schedule
from .text import ScheduleText, Statement, Step, kind_of
from .tree import statements_in

_PARALLEL = (tir.ForKind.PARALLEL, tir.ForKind.THREAD_BINDING)


class Nest(Struct, frozen=True):
    """Block with its loops, outermost first, and the bytes that one iteration of each loop accesses."""

    block: tir.Block
    loops: tuple[tir.For, ...]
    touched: tuple[int | None, ...]

    @property
    def shape(self) -> str:
        """Loops with their extents, each with the size of what one iteration accesses in brackets."""
        parts = [
            f"{loop.loop_var.name} {loop.extent}" + (f" [{_bytes(size)}]" if size is not None else "")
            for loop, size in zip(self.loops, self.touched, strict=True)
        ]
        return " · ".join(parts) or "no loop"

    @property
    def vector(self) -> str:
        """Vectors that the block computes in; empty if there are none."""
        loops = [loop for loop in self.loops if loop.kind is tir.ForKind.VECTORIZED]
        if not loops or not self.block.writes:
            return ""
        dtype = self.block.writes[0].buffer.dtype
        extent = loops[-1].extent
        bits = f": {extent.value * parse_dtype(dtype).bits} bits" if isinstance(extent, tir.IntImm) else ""
        return f"vectors of {extent} {dtype}{bits}"

    @property
    def parallelism(self) -> str:
        """Number of iterations that execute in parallel; empty if the nest is serial."""
        loops = [loop for loop in self.loops if loop.kind in _PARALLEL]
        if not loops:
            return ""
        names = ", ".join([loop.loop_var.name for loop in loops])
        extents = [loop.extent.value for loop in loops if isinstance(loop.extent, tir.IntImm)]
        count = str(prod(extents)) if len(extents) == len(loops) else "all"
        return f"{count} iterations of {names} in parallel"

    @property
    def unrolled(self) -> str:
        """Unrolled loops; empty if there are none."""
        names = [loop.loop_var.name for loop in self.loops if loop.kind is tir.ForKind.UNROLLED]
        return f"{', '.join(names)} unrolled" if names else ""

    @property
    def gains(self) -> tuple[str, ...]:
        """Effects of the loop kinds."""
        return self.vector, self.parallelism, self.unrolled


class Explained(Struct, frozen=True):
    """Schedule whose steps have comments on their effects."""

    module: IRModule
    """The scheduled module."""
    text: ScheduleText
    """The steps that were applied, each with comments on its effect below it."""
    refusal: TvmsError | None = None
    """Error of the step after them; None if all steps were applied."""
    effects: tuple[tuple[str, ...], ...] = ()
    """The lines about the effect of each step that was applied."""


def explain(module: IRModule, text: ScheduleText, steps: tuple[Statement, ...]) -> Explained:
    """Apply the steps of a schedule up to the first that is refused, and comment on the effect of each."""
    schedule, refusal = Schedule(module, seed=SEED), None
    nests = nests_of(schedule.mod, text.function)
    schedule.target = kind_of(text.target) or schedule.target
    known: dict[str, object] = dict(text.parameters)
    applied, effects, told = list[Statement](), tuple[str, ...](), list[tuple[str, ...]]()
    for step in steps:
        try:
            known = schedule.replay_steps(text.function, (step,), known)
        except TvmsError as error:
            refusal = error
            break
        trivia = step.trivia or Trivia()
        applied.append(replace(step, trivia=replace(trivia, before=(*effects, *trivia.before))))
        after = nests_of(schedule.mod, text.function)
        told.append((*_composite(step), *_differences(nests, after)))
        effects = tuple([f"# {line}" for line in told[-1]])
        nests = after
    trivia = text.trivia or Trivia()
    commented = replace(text, steps=tuple(applied), trivia=replace(trivia, end=(*effects, *trivia.end)))
    return Explained(schedule.mod, commented, refusal, tuple(told))


def _composite(step: Statement) -> Iterator[str]:
    """Yield what a composite step does, and the meaning of its knobs."""
    if not isinstance(step, Step):
        return
    found = primitive_called(step.primitive)
    if found is None or found.name not in COMPOSITES:
        return
    yield " ".join(found.doc.split("\n\n")[0].split())
    for name, knob in found.knobs.items():
        if name in step.named and step.named[name] is not None:
            yield f"- {name}={step.named[name]!r}: {knob.meaning}; {knob.range}"


def nests_of(module: IRModule, name: str) -> dict[str, Nest]:
    """Return the nests of the innermost blocks of a function, by block name."""
    function = module.functions[name]
    assert isinstance(function, tir.PrimFunc)
    found: dict[str, Nest] = {}
    for realize, loops in _realizes(function.body, ()):
        block = realize.block
        if not child_blocks(block) and realize is not function.body:
            found[block.name_hint] = Nest(block, loops, tuple(_touched(realize, loops)))
    return found


def _realizes(node: tir.Stmt, loops: tuple[tir.For, ...]) -> Iterator[tuple[tir.BlockRealize, tuple[tir.For, ...]]]:
    if isinstance(node, tir.BlockRealize):
        yield node, loops
    inner = (*loops, node) if isinstance(node, tir.For) else loops
    for child in statements_in(node):
        yield from _realizes(child, inner)


def _touched(realize: tir.BlockRealize, loops: tuple[tir.For, ...]) -> Iterator[int | None]:
    """Yield, for every loop, how many bytes of all buffers one iteration accesses, or None if that is not constant."""
    values = dict(zip([axis.var for axis in realize.block.iter_vars], realize.iter_values, strict=True))
    for depth in range(len(loops)):
        domains = {loop.loop_var: from_range(loop.min, loop.extent) for loop in loops[depth + 1 :]}
        sizes = [_size(region, values, domains) for region in _regions(realize.block)]
        yield None if any(size is None for size in sizes) else sum(size or 0 for size in sizes)


def _regions(block: tir.Block) -> list[tir.BufferRegion]:
    found: dict[tir.Buffer, tir.BufferRegion] = {}
    for region in (*block.writes, *block.reads):
        found.setdefault(region.buffer, region)
    return list(found.values())


def _size(
    region: tir.BufferRegion, values: dict[tir.Var, tir.PrimExpr], domains: dict[tir.Var, Interval]
) -> int | None:
    size = (parse_dtype(region.buffer.dtype).bits + 7) // 8
    for axis in region.region:
        bound = from_range(substitute(axis.min, values), substitute(axis.extent, values))
        span = eval_set(bound, domains)
        if span.min is None or span.max is None:
            return None
        length = simplify(tir.Sub(span.max.dtype, span.max, span.min))
        if not isinstance(length, tir.IntImm):
            return None
        size *= length.value + 1
    return size


def _differences(before: dict[str, Nest], after: dict[str, Nest]) -> Iterator[str]:
    for name, nest in after.items():
        old = before.get(name)
        if old is None:
            yield f"new block {name}: {nest.shape}"
            continue
        if old.shape != nest.shape:
            yield f"{name}: {nest.shape}"
        for mine, its in zip(nest.gains, old.gains, strict=True):
            if mine != its:
                yield f"{name}: {mine or 'no longer ' + its}"
    for name in before.keys() - after.keys():
        yield f"block {name} is gone"


def _bytes(size: int) -> str:
    if size < 1024:
        return f"{size} B"
    return f"{size / 1024:.4g} KiB" if size < 1 << 20 else f"{size / (1 << 20):.4g} MiB"
