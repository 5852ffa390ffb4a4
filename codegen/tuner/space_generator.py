"""Generators of search spaces under TVM's names (`tvm.meta_schedule.space_generator`).

A generator returns schedules of a module of one loop function. The numbers that they drew are open for the tuner, which takes their
traces as texts: a space is a schedule text, whatever made it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from ...ir import tir
from ...ir.base import IRModule
from ...ir.diagnostics import ArgumentError, Diagnostic, TvmsError
from ...ir.schedule import BlockRV, Schedule
from ...ir.schedule.apply import draws
from ...ir.schedule.text import ScheduleText, Step
from ...ir.schedule.tree import walk_statements
from ..target import Target, get_target
from .block_facts import annotation_of
from .mutator import Mutator
from .postproc import Postproc
from .schedule_rule import ApplyCustomRule, ScheduleRule
from .sketches import as_space
from .spaces import FUNCTION

__all__ = ["PostOrderApply", "PySpaceGenerator", "ScheduleFn", "SpaceGenerator", "SpaceGeneratorUnion", "create"]


class SpaceGenerator(ABC):
    """A generator; subclasses define `generate_design_space` (TVM: `SpaceGenerator`, `PySpaceGenerator`)."""

    target: Target = get_target("llvm")
    """The target of the search; it is set before `generate_design_space` is called."""
    postprocs: Sequence[Postproc] = ()
    """What completes or declines a schedule after its numbers are drawn."""
    mutator_probs: Mapping[Mutator, float] = {}
    """Mutators with their weights, for programs that call them: the search changes all draws with equal probability."""

    @abstractmethod
    def generate_design_space(self, mod: IRModule) -> list[Schedule]:
        """Return schedules, each a sample of a space."""
        ...

    def complete(self, schedule: Schedule) -> str:
        """Apply the postprocessors to a schedule; return why it is declined, or an empty text."""
        declining = (postproc for postproc in self.postprocs if not postproc.apply(schedule))
        return next((f"{type(postproc).__name__} declines the schedule" for postproc in declining), "")

    def _take(self, parts: Mapping[str, object]) -> None:
        """Take the arguments that all generators have; TVM's "from-target" means none. Raises ArgumentError E0702 for others."""
        for name, value in parts.items():
            if name not in _PARTS:
                help = f"the arguments are {', '.join(_PARTS)}"
                raise ArgumentError([Diagnostic("E0702", f"unknown argument '{name}'", None, help)])
            if name == "sch_rules" or not value or value == "from-target":
                continue
            kind = Postproc if name == "postprocs" else Mutator
            if not isinstance(value, Iterable) or not all(isinstance(part, kind) for part in value):  # type: ignore[reportUnknownVariableType]
                reason = f"argument '{name}': expected objects of {kind.__name__}, got {value!r}"
                raise ArgumentError([Diagnostic("E0702", reason, None, f"derive a class from {kind.__name__}")])
            setattr(self, name, value)

    @staticmethod
    def create(kind: str | Callable[[Schedule], Any] = "post-order-apply", *args: Any, **kwargs: Any) -> SpaceGenerator:
        """Return the generator of a kind: "post-order-apply", "union", or a function that applies primitives. Raises ArgumentError E0702 for
        others.
        """
        if callable(kind):
            return ScheduleFn(kind, *args, **kwargs)
        kinds: dict[str, Callable[..., SpaceGenerator]] = {
            "post-order-apply": PostOrderApply,
            "union": SpaceGeneratorUnion,
        }
        if kind not in kinds:
            reason = f"argument 'kind' to SpaceGenerator.create: expected 'post-order-apply', 'union' or a function, got {kind!r}"
            raise ArgumentError([Diagnostic("E0702", reason, None, "derive your own generator from PySpaceGenerator")])
        return kinds[kind](*args, **kwargs)

    def clone(self) -> SpaceGenerator:
        """Return the generator itself, which searches can share."""
        return self


PySpaceGenerator = SpaceGenerator
create = SpaceGenerator.create
_PARTS = ("sch_rules", "postprocs", "mutator_probs")


class ScheduleFn(SpaceGenerator):
    """A function that applies primitives to a schedule (TVM: `ScheduleFn`). It may return schedules, or None for the one that it got."""

    def __init__(self, sch_fn: Callable[[Schedule], Any], **parts: object) -> None:
        """`parts` are `postprocs` and `mutator_probs`; the function decides which primitives are applied."""
        self._take(parts)
        self._function = sch_fn

    def generate_design_space(self, mod: IRModule) -> list[Schedule]:
        """See `SpaceGenerator`."""
        schedule = Schedule(mod, seed=1)
        found = self._function(schedule)
        if found is None:
            return [schedule]
        return [found] if isinstance(found, Schedule) else list(found)


class SpaceGeneratorUnion(SpaceGenerator):
    """The spaces of several generators (TVM: `SpaceGeneratorUnion`)."""

    def __init__(self, space_generators: Sequence[SpaceGenerator], **parts: object) -> None:
        self._take(parts)
        self._generators = list(space_generators)

    def generate_design_space(self, mod: IRModule) -> list[Schedule]:
        """See `SpaceGenerator`."""
        for generator in self._generators:
            generator.target = self.target
        return [schedule for generator in self._generators for schedule in generator.generate_design_space(mod)]


class PostOrderApply(SpaceGenerator):
    """Rules that are applied to all blocks, the last ones first (TVM: `PostOrderApply`)."""

    def __init__(
        self, f_block_filter: Callable[[Any], bool] | None = None, sch_rules: Sequence[ScheduleRule] | str = "from-target", **parts: object
    ) -> None:  # fmt: skip
        """`f_block_filter` chooses the blocks; the rules and postprocessors of the target are the default. `parts` are `postprocs` and
        `mutator_probs`.
        """
        self._take(parts)
        self._filter = f_block_filter
        self.sch_rules = None if isinstance(sch_rules, str) else list(sch_rules)
        self._completes = parts.get("postprocs", "from-target") == "from-target"

    def generate_design_space(self, mod: IRModule) -> list[Schedule]:
        """See `SpaceGenerator`."""
        kind = "cuda" if self.target.arch else "llvm"
        if self._completes:
            self.postprocs = Postproc.create(kind)
        start = Schedule(mod, seed=1)
        blocks = self._blocks(start)
        found = [start]
        for rule in ScheduleRule.create(kind) if self.sch_rules is None else self.sch_rules:
            rule.target = self.target
            for block in reversed(blocks):
                found = [made for schedule in found for made in self._applied(rule, schedule, block)]
        return found

    def _blocks(self, schedule: Schedule) -> list[BlockRV]:
        """Return the blocks of all functions, inner ones first."""
        found: list[BlockRV] = []
        for name, function in schedule.mod.functions.items():
            if isinstance(function, tir.PrimFunc):
                nodes = [node for node in walk_statements(function.body) if isinstance(node, tir.Block)]
                chosen = [node for node in _inner_first(nodes) if self._filter is None or self._filter(node)]
                found += [schedule.get_block(node.name_hint, name) for node in chosen]
        return found

    @staticmethod
    def _applied(rule: ScheduleRule, schedule: Schedule, block: BlockRV) -> list[Schedule]:
        try:
            node = schedule.get(block)
        except TvmsError:
            return [schedule]  # an earlier rule inlined it
        is_custom = annotation_of(node, "schedule_rule") is not None
        return [schedule] if is_custom and not isinstance(rule, ApplyCustomRule) else rule.apply(schedule, block)


def _inner_first(blocks: Sequence[tir.Block]) -> list[tir.Block]:
    """Return blocks in the order in which they end."""
    inside = {block: {node for node in walk_statements(block.body) if isinstance(node, tir.Block)} for block in blocks}
    found: list[tir.Block] = []
    for block in blocks:
        place = next((number for number, other in enumerate(found) if block in inside[other]), len(found))
        found.insert(place, block)
    return found


def generated_spaces(generator: SpaceGenerator, workload: IRModule, target: Target) -> tuple[ScheduleText, ...]:
    """Return the spaces of a generator for a workload as texts."""
    generator.target = target
    return space_texts(generator.generate_design_space(workload))


def space_texts(schedules: Sequence[Schedule]) -> tuple[ScheduleText, ...]:
    """Return the spaces of samples as texts; a schedule that draws nothing is a space with one point."""
    found: list[ScheduleText] = []
    for number, schedule in enumerate(schedules):
        text = replace(as_space(schedule), name=f"space_{number}", function=FUNCTION)
        point = Step("sample_categorical", ((1,),), {"probs": (1.0,)}, ("point",))
        found.append(text if draws(text) else replace(text, steps=(point, *text.steps)))
    return tuple(found)
