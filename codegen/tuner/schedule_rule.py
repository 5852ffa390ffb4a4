"""Schedule rules of TVM (`tvm.meta_schedule.schedule_rule`): each makes schedules with drawn numbers for one block.

Conditions and steps are those of TVM's rules. A rule that does not fit a block returns the schedule as it is. Those that divide loops into
tiles are in `tile_rules`, those for threads in `thread_rules`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...ir.functions import get_global_func
from ...ir.schedule import BlockRV, Schedule
from . import block_facts as facts
from .rule import DEFAULTS, INTRINSIC, PyScheduleRule, ScheduleRule, cores_of, drawn, try_step
from .thread_rules import AutoBind, CrossThreadReduction
from .tile_rules import MultiLevelTiling, MultiLevelTilingWithIntrin, ReuseType

__all__ = [
    "AddRFactor", "ApplyCustomRule", "AutoBind", "AutoInline", "CrossThreadReduction", "InlineConstantScalars", "MultiLevelTiling",
    "MultiLevelTilingWithIntrin", "ParallelizeVectorizeUnroll", "PyScheduleRule", "RandomComputeLocation", "ReuseType", "ScheduleRule",
]  # fmt: skip


class AutoInline(ScheduleRule):
    """Inline blocks without reductions into their consumers, or into their producer (TVM: `AutoInline`)."""

    def __init__(
        self, into_producer: bool = False, into_consumer: bool = True, inline_const_tensor: bool = True,
        disallow_if_then_else: bool = False, require_injective: bool = False, require_ordered: bool = False,
        disallow_op: Sequence[str] | None = None,
    ) -> None:  # fmt: skip
        """The last four options apply to functions with reductions. They exclude blocks with branches, blocks whose reads are not
        injective or not in order, and blocks that call one of the operators in `disallow_op`.
        """
        self._into_producer, self._into_consumer, self._inlines_constants = (
            into_producer, into_consumer, inline_const_tensor,
        )  # fmt: skip
        self._excludes_branches, self._excluded = disallow_if_then_else, tuple(disallow_op or ())
        self._wants_injective, self._wants_ordered = require_injective, require_ordered

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        """See `ScheduleRule`."""
        node, made = sch.get(block), sch.copy()
        if len(node.writes) != 1 or facts.is_root(sch, block):
            return [sch]
        has_consumers = bool(facts.consumers_of(sch, block))
        if self._inlines_constants and not node.reads and has_consumers and try_step(made, "compute_inline", block):
            return [made]
        if self._is_excluded(sch, block) or facts.annotation_of(node, "meta_schedule.inline_rule") == "disable":
            return [sch]
        if self._into_consumer and has_consumers and try_step(made, "compute_inline", block):
            return [made]
        producers = facts.producers_of(sch, block) if self._into_producer else []
        if len(producers) == 1 and facts.is_complete(sch.program(), producers[0]):
            tensorized = facts.annotation_of(producers[0], INTRINSIC)
            if tensorized is None and try_step(made, "reverse_compute_inline", block):
                return [made]
        return [sch]

    def _is_excluded(self, sch: Schedule, block: BlockRV) -> bool:
        if facts.is_spatial_function(sch, block):
            return False
        node = sch.get(block)
        realize = sch.program().realize_of(node)
        if facts.has_operator(realize, self._excluded) or (self._excludes_branches and facts.has_branch(realize)):
            return True
        patterns = [facts.read_pattern(read, node.writes[0]) for read in node.reads]
        return any(
            (self._wants_injective and not pattern.is_injective) or (self._wants_ordered and not pattern.is_ordered)
            for pattern in patterns
        )


class InlineConstantScalars(ScheduleRule):
    """Inline blocks of one element that read nothing (TVM: `InlineConstantScalars`)."""

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        """See `ScheduleRule`."""
        node, made = sch.get(block), sch.copy()
        is_scalar = not node.reads and len(node.writes) == 1 and not node.writes[0].buffer.shape
        can_go = is_scalar and not facts.is_root(sch, block) and not facts.is_output(sch, block)
        return [made] if can_go and try_step(made, "compute_inline", block) else [sch]


class AddRFactor(ScheduleRule):
    """Divide reductions with few results into parts that are reduced at the end (TVM: `AddRFactor`)."""

    def __init__(self, max_jobs_per_core: int = 16, max_innermost_factor: int | None = None) -> None:
        """Reductions with more results than `max_jobs_per_core` for each core are left as they are; -1: no number is too large.

        `max_innermost_factor` is the largest number of elements of a part, or of parts; None: it has no limit.
        """
        self._jobs, self._largest = max_jobs_per_core, max_innermost_factor or -1

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        """See `ScheduleRule`."""
        cores = cores_of(self.target)
        if facts.is_root(sch, block) or not facts.needs_parts(sch, block, self._jobs * cores, cores):
            return [sch]
        start = sch.copy()
        reduction, spatial = facts.fused_reduction(start, block)
        factors = start.sample_perfect_tile(reduction, 2, self._largest)
        found: list[Schedule] = []
        for loop in start.split(reduction, factors=factors):
            made = start.copy()
            if try_step(made, "rfactor", loop, spatial):
                made.annotate(block, _PRODUCER, 1)
                found.append(made)
        return [*found, sch]


class ParallelizeVectorizeUnroll(ScheduleRule):
    """Annotate functions with how much runs in parallel, as vectors, and unrolled (TVM: `ParallelizeVectorizeUnroll`).

    The postprocessor `RewriteParallelVectorizeUnroll` turns the annotations into kinds of loops.
    """

    def __init__(
        self, max_jobs_per_core: int = 16, max_vectorize_extent: int = 16, unroll_max_steps: Sequence[int] | None = None,
        unroll_explicit: bool = True,
    ) -> None:  # fmt: skip
        """-1 switches off parallel loops (`max_jobs_per_core`) or vectors (`max_vectorize_extent`); one of `unroll_max_steps` is drawn."""
        self._jobs, self._vector, self._steps = max_jobs_per_core, max_vectorize_extent, tuple(unroll_max_steps or ())
        self._unroll = "meta_schedule.unroll_explicit" if unroll_explicit else "meta_schedule.unroll_implicit"

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        """See `ScheduleRule`."""
        if not facts.is_root(sch, block):
            return [sch]
        made = sch.copy()
        if self._jobs != -1:
            made.annotate(block, "meta_schedule.parallel", self._jobs * cores_of(self.target))
        if self._vector != -1:
            made.annotate(block, "meta_schedule.vectorize", self._vector)
        if self._steps and not facts.is_spatial_function(sch, block):
            made.annotate(block, self._unroll, drawn(made, self._steps))
        return [made]


class RandomComputeLocation(ScheduleRule):
    """Compute a block at a drawn loop of its consumers (TVM: `RandomComputeLocation`)."""

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        """See `ScheduleRule`."""
        if not self._is_movable(sch, block):
            return [sch]
        made, moved = sch.copy(), [block]
        if _PRODUCER in sch.get(block).annotations:
            moved += made.get_producers(block)
            made.unannotate(block, _PRODUCER)
        for part in moved:
            if not try_step(made, "compute_at", part, made.sample_compute_location(part), True):
                return [sch]
        return [made]

    @staticmethod
    def _is_movable(sch: Schedule, block: BlockRV) -> bool:
        program, node = sch.program(), sch.get(block)
        scope, loops = program.scope_of(node), program.loops_of(node)
        if scope is None or program.scope_of(scope) is not None or not loops:
            return False
        is_alone = len(program.child_blocks(loops[0])) == 1
        return is_alone and facts.TILED not in node.annotations and bool(facts.consumers_of(sch, block))


class ApplyCustomRule(ScheduleRule):
    """Apply a function to blocks with an annotation `schedule_rule` (TVM: `ApplyCustomRule`).

    The function takes a schedule and the block. It is registered with the name that the annotation has after "meta_schedule.cpu.", or after
    "meta_schedule.cuda." for GPUs.
    """

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        """See `ScheduleRule`."""
        name = sch.get(block).annotations.get("schedule_rule")
        if name is None or str(name) == "None":
            return [sch]
        kind = "cuda" if self.target.arch else "cpu"
        function: Any = get_global_func(f"meta_schedule.{kind}.{getattr(name, 'value', name)}")
        found = function(sch.copy(), block)
        return list(found) if isinstance(found, list | tuple) else [found]  # type: ignore[reportUnknownArgumentType]


_PRODUCER = "meta_schedule.random_compute_producer"
"""Annotation of a block whose producer is computed at a drawn loop."""


# --- Default rules ----------------------------------------------------------------------------------------------


def _for_processors(intrinsic: str | None = None) -> list[ScheduleRule]:
    write = ReuseType("may", (1, 2), "global")
    tiles = [MultiLevelTiling("SSRSRS", max_innermost_factor=64, reuse_write=write)]
    if intrinsic is not None:
        tiles.insert(0, MultiLevelTilingWithIntrin(intrinsic, "SSRSRS", max_innermost_factor=64, reuse_write=write))
    return [
        ApplyCustomRule(),
        InlineConstantScalars(),
        AutoInline(disallow_if_then_else=True, require_injective=True, require_ordered=True, disallow_op=["tir.exp"]),
        AddRFactor(16, 64),
        *tiles,
        ParallelizeVectorizeUnroll(16, 64, [0, 16, 64, 512]),
        RandomComputeLocation(),
    ]


def _for_gpus() -> list[ScheduleRule]:
    return [
        ApplyCustomRule(),
        MultiLevelTiling(
            "SSSRRSRS", ["blockIdx.x", "vthread.x", "threadIdx.x"], 64, [1, 2, 3, 4, 8, 16], ReuseType("must", (4,), "shared"),
            ReuseType("must", (3,), "local"),
        ),
        InlineConstantScalars(),
        AutoInline(into_producer=True),
        CrossThreadReduction([4, 8, 16, 32, 64, 128, 256, 512]),
        ParallelizeVectorizeUnroll(-1, -1, [0, 16, 64, 512, 1024]),
        AutoBind(256, [32, 64, 128, 256, 512, 1024]),
    ]  # fmt: skip


DEFAULTS.update(
    {
        "llvm": _for_processors,
        "vnni": lambda: _for_processors("dot_16x4_vnni"),
        "avx512": lambda: _for_processors("dot_16x4_avx512"),
        "cuda": _for_gpus,
    }
)
