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
from .annotated_loops import change_loops, take_request
from .block_facts import annotation_of
from .rule import INTRINSIC, wrong
from .threads import bind_unbound, blocks_of, is_bound

__all__ = [
    "DisallowDynamicLoop", "Postproc", "PyPostproc", "RewriteParallelVectorizeUnroll", "RewriteReductionBlock", "RewriteTensorize",
    "RewriteUnboundBlock",
]  # fmt: skip

_START = "meta_schedule.auto_tensorize_init"
"""Annotation of a block with the intrinsic that starts its reduction."""


class Postproc(ABC):
    """A postprocessor; subclasses define `apply` (TVM: `Postproc`, `PyPostproc`)."""

    @abstractmethod
    def apply(self, sch: Schedule) -> bool:
        """Change a schedule; return False if the schedule is not to be measured."""
        ...

    @staticmethod
    def create(kind: str) -> list[Postproc]:
        """Return the default postprocessors of a kind of target, "llvm" or "cuda" (TVM: `Postproc.create`). Raises ArgumentError E0702 for
        others.
        """
        if kind == "cuda":
            return [
                DisallowDynamicLoop(), RewriteUnboundBlock(), RewriteParallelVectorizeUnroll(), RewriteReductionBlock(),
            ]  # fmt: skip
        if kind not in ("llvm", "vnni", "avx512"):
            raise wrong(f"argument 1, 'kind' to create: there are no postprocessors for {kind!r}", "use 'llvm'")
        found: list[Postproc] = [DisallowDynamicLoop(), RewriteParallelVectorizeUnroll(), RewriteReductionBlock()]
        return found if kind == "llvm" else [*found, RewriteTensorize()]

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
                _move_intrinsic(sch, block, sch.decompose_reduction(block, loops[0]))
        return True


def _move_intrinsic(sch: Schedule, block: BlockRV, start: BlockRV) -> None:
    """Let the block that starts a reduction have the intrinsic that its annotation names for that, or none, instead of that of the reduction."""
    if INTRINSIC not in sch.get(start).annotations:
        return
    sch.unannotate(start, INTRINSIC)
    name = annotation_of(sch.get(block), _START)
    sch.annotate(start, INTRINSIC, name or "")
    for part in (block, start) if name is not None else ():
        sch.unannotate(part, _START)


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
            bind_unbound(sch, block, self._blocks, self._threads, lambda most: most)
        return True


class RewriteParallelVectorizeUnroll(Postproc):
    """Make loops parallel, vectors, and unrolled as the annotations of functions say (TVM: `RewriteParallelVectorizeUnroll`)."""

    def apply(self, sch: Schedule) -> bool:
        """See `Postproc`."""
        for name, function in sch.mod.functions.items():
            if isinstance(function, tir.PrimFunc) and isinstance(function.body, tir.BlockRealize):
                root = sch.get_block(function.body.block.name_hint, name)
                request = take_request(sch, root)
                for block in sch.get_child_blocks(root) if request is not None else ():
                    assert request is not None
                    change_loops(sch, block, request)
        return True


class RewriteTensorize(Postproc):
    """Replace blocks with the annotation `meta_schedule.auto_tensorize` by the intrinsic that it names (TVM: `RewriteTensorize`)."""

    def __init__(self, vectorize_init_loop: bool = False) -> None:
        """With `vectorize_init_loop`, the loops of blocks that start reductions and have no intrinsic become vectors."""
        self._vectorizes = vectorize_init_loop

    def apply(self, sch: Schedule) -> bool:
        """See `Postproc`."""
        for block in blocks_of(sch):
            if INTRINSIC not in sch.get(block).annotations:
                continue
            name = annotation_of(sch.get(block), INTRINSIC)
            sch.unannotate(block, INTRINSIC)
            try:
                if name:
                    sch.tensorize(block, name)
                elif self._vectorizes:
                    sch.vectorize(sch.get_loops(sch.get_child_blocks(block)[0])[-1])
            except ScheduleError:
                return False
        return True
