"""Postprocessors under TVM's names (`tvm.meta_schedule.postproc`): they complete a schedule after its numbers are drawn, or decline it.

`apply` returns whether the schedule is kept. The tuner applies those of a generator to each schedule of its spaces; their steps become a part of the
schedule text.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from ...ir import tir
from ...ir.idioms import uses
from ...ir.schedule import BlockRV, LoopRV, Schedule, ScheduleError
from ...ir.schedule.tree import walk_statements
from .threads import bind_unbound, blocks_of, is_bound

__all__ = [
    "DisallowDynamicLoop", "Postproc", "PyPostproc", "RewriteReductionBlock", "RewriteTensorize", "RewriteUnboundBlock",
]  # fmt: skip
_INTRINSIC = "meta_schedule.auto_tensorize"


class Postproc(ABC):
    """A postprocessor; subclasses define `apply` (TVM: `Postproc`, `PyPostproc`)."""

    @abstractmethod
    def apply(self, sch: Schedule) -> bool:
        """Change a schedule; return False if the schedule is not to be measured."""
        ...

    def clone(self) -> Postproc:
        """Return the postprocessor itself, which searches can share."""
        return self


PyPostproc = Postproc


class DisallowDynamicLoop(Postproc):
    """Decline programs with a loop whose extent is not constant (TVM: `DisallowDynamicLoop`)."""

    def apply(self, sch: Schedule) -> bool:
        """See `Postproc`."""
        functions = [function for function in sch.mod.functions.values() if isinstance(function, tir.PrimFunc)]
        loops = [stmt for function in functions for stmt in walk_statements(function.body) if isinstance(stmt, tir.For)]
        return all(isinstance(loop.extent, tir.IntImm) for loop in loops)


class RewriteReductionBlock(Postproc):
    """Separate the start of each reduction, before its outermost reduction loop (TVM: `RewriteReductionBlock`).

    Reductions across threads keep it.
    """

    def apply(self, sch: Schedule) -> bool:
        """See `Postproc`."""
        for block in blocks_of(sch):
            if sch.get(block).init is None:
                continue
            loops = [loop for loop in sch.get_loops(block) if _reduces(sch, block, loop)]
            if loops and not any(is_bound(sch, loop) for loop in loops):
                sch.decompose_reduction(block, loops[0])
        return True


def _reduces(sch: Schedule, block: BlockRV, loop: LoopRV) -> bool:
    realize = sch.program().realize_of(sch.get(block))
    pairs = zip(realize.block.iter_vars, realize.iter_values, strict=True)
    return any(axis.iter_type is tir.IterVarType.COMM_REDUCE and uses(value, [sch.get(loop)]) for axis, value in pairs)


class RewriteUnboundBlock(Postproc):
    """Bind the loops of blocks that no thread executes to thread blocks and threads (TVM: `RewriteUnboundBlock`)."""

    def __init__(self, max_threadblocks: int = 256, max_threads_per_block: int = 1024) -> None:
        """Larger grids are executed in several rounds by `max_threadblocks` blocks of threads."""
        self._blocks, self._threads = max_threadblocks, max_threads_per_block

    def apply(self, sch: Schedule) -> bool:
        """See `Postproc`."""
        for block in blocks_of(sch):
            bind_unbound(sch, block, self._blocks, self._threads)
        return True


class RewriteTensorize(Postproc):
    """Replace blocks with the annotation `meta_schedule.auto_tensorize` by the intrinsic that it names (TVM: `RewriteTensorize`)."""

    def __init__(self, vectorize_init_loop: bool = False) -> None:
        """`vectorize_init_loop` is ignored: LLVM vectorizes the loops that start a tile."""

    def apply(self, sch: Schedule) -> bool:
        """See `Postproc`."""
        for block in blocks_of(sch):
            name = sch.get(block).annotations.get(_INTRINSIC)
            if name is None:
                continue
            sch.unannotate(block, _INTRINSIC)
            try:
                sch.tensorize(block, getattr(name, "value", name))
            except ScheduleError:
                return False
        return True
