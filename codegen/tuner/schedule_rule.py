"""Schedule rules under TVM's names (`tvm.meta_schedule.schedule_rule`): each makes schedules with drawn numbers for one block.

The steps are those of the tuner's sketches (`sketches`). A rule that does not fit a block returns the schedule as it is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from ...ir import tir
from ...ir.diagnostics import ArgumentError, Diagnostic
from ...ir.functions import get_global_func
from ...ir.schedule import BlockRV, ExprRV, Schedule, ScheduleError
from ..target import Target, get_target
from .sketches import lanes_of, try_inline, try_partial_sums, try_rows, try_tiles
from .threads import bind_unbound, drawn_extent, try_shared_reduction

__all__ = [
    "AddRFactor", "ApplyCustomRule", "AutoBind", "AutoInline", "CrossThreadReduction", "InlineConstantScalars", "MultiLevelTiling",
    "ParallelizeVectorizeUnroll", "PyScheduleRule", "RandomComputeLocation", "ReuseType", "ScheduleRule",
]  # fmt: skip
_LEVELS = "SSRSRS"


class ScheduleRule(ABC):
    """A rule; subclasses define `apply` (TVM: `ScheduleRule`, `PyScheduleRule`)."""

    target: Target = get_target("llvm")
    """The target of the search; it is set before `apply` is called."""

    @abstractmethod
    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        """Return the schedules that the rule makes of `sch` for a block."""
        ...

    def clone(self) -> ScheduleRule:
        """Return the rule itself, which searches can share."""
        return self


PyScheduleRule = ScheduleRule


class ReuseType:
    """How tiles are kept in buffers of their own: `req` is "no", "may" or "must" (TVM: `ReuseType`)."""

    def __init__(self, req: str, levels: Sequence[int] = (), scope: str = "global") -> None:
        if req not in ("no", "may", "must"):
            raise _wrong(f"argument 1, 'req' to ReuseType: expected 'no', 'may' or 'must', got {req!r}", "use 'may'")
        self.req, self.levels, self.scope = req, tuple(levels), scope


class AutoInline(ScheduleRule):
    """Inline blocks without reductions into their consumers (TVM: `AutoInline`)."""

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        """See `ScheduleRule`."""
        made = sch.copy()
        return [made if try_inline(made, block) else sch]


class InlineConstantScalars(AutoInline):
    """Inline blocks of one element (TVM: `InlineConstantScalars`)."""

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        """See `ScheduleRule`."""
        return [sch] if sch.get_loops(block) else super().apply(sch, block)


class MultiLevelTiling(ScheduleRule):
    """Divide reductions into tiles of drawn sizes, in the levels SSRSRS (TVM: `MultiLevelTiling`)."""

    def __init__(
        self, structure: str = _LEVELS, tile_binds: Sequence[str] | None = None, max_innermost_factor: int | None = None,
        vector_load_lens: Sequence[int] | None = None, reuse_read: ReuseType | None = None, reuse_write: ReuseType | None = None,
        filter_fn: Callable[[Any], bool] | None = None,
    ) -> None:  # fmt: skip
        """`reuse_write` says whether tiles are summed in a buffer of their own; the sizes are at most 64.

        Raises ArgumentError E0702 for what the tiles of CPUs do not have: other structures, threads, vector loads, copies of what is read.
        """
        if structure != _LEVELS:
            raise _wrong(
                f"argument 1, 'structure' to MultiLevelTiling: expected '{_LEVELS}', got {structure!r}", _WRITE
            )
        given = {"tile_binds": tile_binds, "vector_load_lens": vector_load_lens, "reuse_read": reuse_read}
        for name, value in given.items():
            if value and not (isinstance(value, ReuseType) and value.req == "no"):
                raise _wrong(f"argument '{name}' to MultiLevelTiling: tiles of CPUs have no such thing", _WRITE)
        if max_innermost_factor not in (None, 64):
            raise _wrong("argument 'max_innermost_factor' to MultiLevelTiling: expected 64", _WRITE)
        self._write, self._filter = reuse_write or ReuseType("no"), filter_fn

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        """See `ScheduleRule`."""
        if self._filter is not None and not self._filter(sch.get(block)):
            return [sch]
        kinds = {"no": (False,), "may": (False, True), "must": (True,)}[self._write.req]
        made = [(sch.copy(), is_cached) for is_cached in kinds]
        lanes = lanes_of(self.target)
        return [copy for copy, is_cached in made if try_tiles(copy, block, lanes, is_cached)] or [sch]


class AddRFactor(ScheduleRule):
    """Divide reductions into lanes that are summed at the end (TVM: `AddRFactor`)."""

    def __init__(self, max_jobs_per_core: int = 16, max_innermost_factor: int | None = None) -> None:
        """Both arguments are ignored: the number of lanes is drawn from half a vector to four vectors."""

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        """See `ScheduleRule`."""
        made = sch.copy()
        return [sch, made] if try_partial_sums(made, block, lanes_of(self.target)) else [sch]


class ParallelizeVectorizeUnroll(ScheduleRule):
    """Run outer loops in parallel, and a part of the innermost one as vectors (TVM: `ParallelizeVectorizeUnroll`)."""

    def __init__(
        self, max_jobs_per_core: int = 16, max_vectorize_extent: int = 16, unroll_max_steps: Sequence[int] | None = None,
        unroll_explicit: bool = True,
    ) -> None:  # fmt: skip
        """-1 switches off parallel loops (`max_jobs_per_core`) and vectors (`max_vectorize_extent`); it must be given for both.

        Other values, `unroll_max_steps` and `unroll_explicit` are ignored.
        """
        if (max_jobs_per_core == -1) != (max_vectorize_extent == -1):
            raise _wrong("arguments to ParallelizeVectorizeUnroll: parallel loops and vectors come together", _WRITE)
        self._is_off = max_jobs_per_core == -1

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        """See `ScheduleRule`."""
        made = sch.copy()
        has_changed = (
            not self._is_off and not _is_scheduled(sch, block) and try_rows(made, block, lanes_of(self.target))
        )
        return [made if has_changed else sch]


class RandomComputeLocation(ScheduleRule):
    """Compute a block without reductions at a drawn loop of its consumers (TVM: `RandomComputeLocation`)."""

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        """See `ScheduleRule`."""
        kinds = {axis.iter_type for axis in sch.get(block).iter_vars}
        if kinds != {tir.IterVarType.DATA_PAR} or not sch.get_consumers(block):
            return [sch]
        made = sch.copy()
        try:
            made.compute_at(block, made.sample_compute_location(block), preserve_unit_loops=True)
        except ScheduleError:
            return [sch]
        return [made]


# --- Rules for GPUs -------------------------------------------------------------------------------------------------

_EXTENTS = (32, 64, 128, 256, 512, 1024)


class AutoBind(ScheduleRule):
    """Bind the outer loops of a block that no thread executes to thread blocks and a drawn number of threads (TVM: `AutoBind`)."""

    def __init__(
        self, max_threadblocks: int = 256, thread_extents: Sequence[int] | None = None, max_threads_per_block: int = 1024
    ) -> None:  # fmt: skip
        """`thread_extents` are the numbers of threads that are drawn."""
        self._blocks, self._threads = max_threadblocks, max_threads_per_block
        self._extents = tuple(thread_extents or _EXTENTS)

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        """See `ScheduleRule`."""
        made = sch.copy()

        def factor(most: int) -> int | ExprRV:
            candidates = [extent for extent in self._extents if extent <= most]
            return drawn_extent(made, candidates) if candidates else most

        return [made if bind_unbound(made, block, self._blocks, self._threads, factor) else sch]


class CrossThreadReduction(ScheduleRule):
    """Let a drawn number of threads reduce together (TVM: `CrossThreadReduction`). The plain schedule is kept as well."""

    def __init__(self, thread_extents: Sequence[int] | None = None) -> None:
        """`thread_extents` are the numbers of threads that are drawn."""
        self._extents = tuple(thread_extents or _EXTENTS)

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        """See `ScheduleRule`."""
        made = sch.copy()
        return [sch, made] if try_shared_reduction(made, block, self._extents) else [sch]


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


_WRITE = "write the space as an S.schedule that draws, or as a function for space_generator.ScheduleFn"


def _is_scheduled(sch: Schedule, block: BlockRV) -> bool:
    """Return whether a loop around a block has a kind already."""
    return any(sch.get(loop).kind.value != "serial" for loop in sch.get_loops(block))


def _wrong(message: str, help: str) -> ArgumentError:
    return ArgumentError([Diagnostic("E0702", message, None, help)])
