"""Schedule rules, the pass that applies them, and the steps that rules share (TVM: `tvm.dlight.base`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from msgspec.structs import replace

from ...ir import tir
from ...ir.base import IRModule
from ...ir.base import Target as TargetNode
from ...ir.diagnostics import error
from ...ir.passes.instrument import PassInfo
from ...ir.passes.transform import Pass, PassContext
from ...ir.schedule import BlockRV, LoopRV, Schedule, ScheduleError
from ...ir.schedule.text import ScheduleText
from ..current_target import Target
from .analysis import BlockInfo, Extent, number_or

Space: TypeAlias = "Schedule | list[Schedule] | None"
"""Result of a rule: a schedule, several to choose from, or None if the rule does not apply."""


class ScheduleRule(ABC):
    """A rule that schedules loop functions (TVM: `tvm.dlight.ScheduleRule`).

    The trace of its schedule is its recipe: `rule.apply(func, target, False).script()` prints it as an `S.schedule`.
    """

    @abstractmethod
    def apply(self, func: tir.PrimFunc, target: Target, tunable: bool) -> Space:
        """Return a schedule of `func`, which is called `main` there, or None if the rule does not apply.

        Only if `tunable` is true, the schedule may contain sampling primitives, and there may be several.
        """

    def is_target_available(self, target: Target) -> bool:
        """Return whether the rule is for this target."""
        return True

    @staticmethod
    def from_callable(name: str) -> Callable[[Callable[[tir.PrimFunc, Target, bool], Space]], ScheduleRule]:
        """Return a decorator that makes a rule called `name` from a function with the parameters of `apply`."""

        def made(function: Callable[[tir.PrimFunc, Target, bool], Space]) -> ScheduleRule:
            def apply(self: ScheduleRule, func: tir.PrimFunc, target: Target, tunable: bool) -> Space:
                return function(func, target, tunable)

            return type(name, (ScheduleRule,), {"apply": apply})()

        return made

    @staticmethod
    def from_text(text: ScheduleText) -> ScheduleRule:
        """Return the rule that replays a schedule text on any function that all of its steps accept."""
        return _Recipe(text)


class _Recipe(ScheduleRule):
    def __init__(self, text: ScheduleText) -> None:
        self._text = replace(text, function="main")

    def apply(self, func: tir.PrimFunc, target: Target, tunable: bool) -> Space:
        """Return the replayed schedule, or None if the target differs or the function refuses a step."""
        if self._text.target is not None and Target(self._text.target).kind != target.kind:
            return None
        sch = Schedule(func)
        try:
            sch.replay(self._text)
        except ScheduleError:
            return None
        return sch


class TargetRule(ScheduleRule):
    """A rule for the targets that have `key`, such as "gpu"."""

    key: str

    def is_target_available(self, target: Target) -> bool:
        """Return whether the target has the key of the rule."""
        return self.key in target.keys

    def apply(self, func: tir.PrimFunc, target: Target, tunable: bool) -> Space:
        """Return the schedule of the rule; None if it is for other targets or functions, or if a step is refused."""
        try:
            return self.schedule(func, target) if self.is_target_available(target) else None
        except ScheduleError:
            return None

    @abstractmethod
    def schedule(self, func: tir.PrimFunc, target: Target) -> Schedule | None:
        """Return a schedule of `func` for a target that has the key of the rule."""


class ApplyDefaultSchedule(Pass):
    """Pass that schedules each loop function by the first rule that applies (TVM: `tvm.dlight.ApplyDefaultSchedule`).

    Rules are ScheduleRule objects and schedule texts. Functions with the attribute `tir.is_scheduled` stay. The target
    is that of the function's attribute `target`, or the current target; E0601 without one.
    """

    def __init__(self, *rules: ScheduleRule | ScheduleText) -> None:
        super().__init__(PassInfo("ApplyDefaultSchedule", 0))
        self.rules = [ScheduleRule.from_text(rule) if isinstance(rule, ScheduleText) else rule for rule in rules]

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Return the module with its functions scheduled."""
        functions = {
            name: self._scheduled(function) if isinstance(function, tir.PrimFunc) else function
            for name, function in mod.functions.items()
        }
        return replace(mod, functions=functions)

    def _scheduled(self, func: tir.PrimFunc) -> tir.PrimFunc:
        if _is_true(func.attrs.get("tir.is_scheduled")):
            return func
        target = target_of(func)
        for rule in self.rules:
            space = rule.apply(func, target, False)
            if space is not None:
                sch = space[0] if isinstance(space, list) else space
                result = sch.mod.functions["main"]
                return replace(result, attrs={**result.attrs, "tir.is_scheduled": True})  # type: ignore[arg-type]
        return func


def _is_true(value: Any) -> bool:
    return bool(value.value if isinstance(value, tir.IntImm) else value)


def target_of(func: tir.PrimFunc) -> Target:
    """Return the target of `func`, otherwise that of the context; TvmsError E0601 if there is none."""
    given = func.attrs.get("target")
    target = Target.current() if given is None else Target(given.attrs if isinstance(given, TargetNode) else given)
    if target is None:
        raise error("E0601", "a default schedule needs a target", None, "call it inside 'with tvms.target.Target(…):'")
    return target


# --- Steps that rules share --------------------------------------------------------------------------------------


def try_inline(sch: Schedule, blocks: list[BlockInfo]) -> list[BlockInfo]:
    """Inline blocks into their consumers, else their producers, until no more can be; return those that remain."""
    left = list(blocks)
    while (done := _first_inlined(sch, left)) is not None:
        left.remove(done)
    return left


def _first_inlined(sch: Schedule, blocks: Sequence[BlockInfo]) -> BlockInfo | None:
    for inline in (sch.compute_inline, sch.reverse_compute_inline):
        for info in blocks:
            if is_accepted(inline, info.block_rv):
                return info
    return None


def is_accepted(step: Callable[..., Any], *args: Any) -> bool:
    """Apply a primitive; return whether it was accepted. A refused primitive leaves the schedule unchanged."""
    try:
        step(*args)
    except ScheduleError:
        return False
    return True


def try_inline_contiguous_spatial(sch: Schedule, block_infos: list[BlockInfo] | None) -> list[BlockInfo] | None:
    """Inline as many blocks of each run of spatial blocks as possible; return those that remain, in order."""
    if block_infos is None:
        return None
    remaining: list[BlockInfo] = []
    spatial: list[BlockInfo] = []
    for info in block_infos:
        if info.is_injective():
            spatial.append(info)
        else:
            remaining += [*try_inline(sch, spatial), info]
            spatial = []
    return remaining + try_inline(sch, spatial)


def split_bind(
    sch: Schedule, loop: LoopRV, factors: Sequence[Any], axes: Sequence[str | None], **options: Any
) -> list[LoopRV]:
    """Split a loop, and bind its parts to the thread axes that are not None."""
    parts = sch.split(loop, factors=list(factors), **options)
    bind(sch, parts, axes)
    return parts


def bind(sch: Schedule, loops: Sequence[LoopRV], axes: Sequence[str | None]) -> None:
    """Bind loops to thread axes; "vector" vectorizes a loop, "unroll" unrolls it, and None leaves it as it is."""
    for loop, axis in zip(loops, axes, strict=True):
        if axis == "vector":
            sch.vectorize(loop)
        elif axis == "unroll":
            sch.unroll(loop)
        elif axis is not None:
            sch.bind(loop, axis)


def unroll_up_to(sch: Schedule, loop: LoopRV, steps: int) -> None:
    """Annotate a loop: unroll the loops in it if they have at most `steps` iterations together."""
    sch.annotate(loop, "pragma_auto_unroll_max_step", steps)
    sch.annotate(loop, "pragma_unroll_explicit", 1)


def get_extent(sch: Schedule, loop_rv: LoopRV) -> Extent:
    """Return the extent of a loop, as a number if it is constant."""
    return number_or(sch.get(loop_rv).extent)


def auto_vectorize(sch: Schedule, loop: LoopRV, max_vec: int) -> None:
    """Vectorize a loop of constant extent, in vectors of at most `max_vec` elements."""
    extent = get_extent(sch, loop)
    if isinstance(extent, int):
        sch.vectorize(loop if extent <= max_vec else sch.split(loop, factors=[None, max_vec])[-1])


def largest_divisor(number: Extent, candidates: Sequence[int]) -> int:
    """Return the largest of `candidates` that divides a number; 1 if none does or the number is not known."""
    divisors = [factor for factor in candidates if isinstance(number, int) and number % factor == 0]
    return max(divisors, default=1)


def max_threads_per_block(target: Target) -> int:
    """Return the maximum number of threads of a block."""
    return int(getattr(target, "max_threads_per_block", 256))


_THREADS = {"cuda": 1024, "nvptx": 1024, "rocm": 256, "metal": 256, "opencl": 256}


def suggest_threads_per_block(
    target: Target, loops: Sequence[tir.For], max_threads_for_dynamic_loop: int = 32
) -> list[int]:
    """Return powers of two of threads for nested loops, as many as fit in a block together.

    Loops of constant extent come first; a loop of unknown extent gets at most `max_threads_for_dynamic_loop` threads,
    the first of these also the threads that are left.
    """
    left = _THREADS.get(target.kind, 64)
    extents = [number_or(loop.extent) for loop in loops]
    fixed = [at for at, extent in enumerate(extents) if isinstance(extent, int)]
    dynamic = [at for at in range(len(loops)) if at not in fixed]
    found = dict.fromkeys(range(len(loops)), 1)
    for at in (*fixed, *dynamic):
        limit = extents[at] if at in fixed else max_threads_for_dynamic_loop
        found[at] = 1 << (min(limit, left).bit_length() - 1)  # type: ignore[type-var, union-attr]
        left //= found[at]
    if dynamic:
        found[dynamic[0]] *= left
    return [found[at] for at in range(len(loops))]


def collect(sch: Schedule, block: BlockRV, neighbors: Callable[[BlockRV], list[BlockRV]]) -> list[BlockRV]:
    """Return all transitive `neighbors` of a block (`sch.get_producers` or `sch.get_consumers`), depth first."""
    return [found for near in neighbors(block) for found in (near, *collect(sch, near, neighbors))]


def auto_inline_producers(sch: Schedule, block: BlockRV) -> None:
    """Inline the transitive producers of a block until no more can be."""
    while sum(is_accepted(sch.compute_inline, near) for near in collect(sch, block, sch.get_producers)):
        pass


def auto_inline_consumers(sch: Schedule, block: BlockRV) -> None:
    """Inline the transitive consumers of a block into each other and into the block until no more can be."""
    while True:
        near = collect(sch, block, sch.get_consumers)
        accepted = [
            is_accepted(inline, other) for inline in (sch.compute_inline, sch.reverse_compute_inline) for other in near
        ]
        if not any(accepted):
            return


def auto_inline_consumer_chain(sch: Schedule, block: BlockRV) -> bool:
    """Inline all consumers of a block into it; return whether none is left.

    A consumer with other producers can be inlined only after these are inlined into it.
    """
    auto_inline_consumers(sch, block)
    remaining = sch.get_consumers(block)
    for consumer in remaining:
        for producer in sch.get_producers(consumer):
            if sch.get(producer) is not sch.get(block):
                auto_inline_producers(sch, producer)
                sch.compute_inline(producer)
    if remaining:
        auto_inline_consumers(sch, block)
    return not sch.get_consumers(block)
