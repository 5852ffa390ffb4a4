"""Postprocessors under TVM's names (`tvm.meta_schedule.postproc`): they complete a schedule after its numbers are drawn, or decline it.

`apply` returns whether the schedule is kept. The tuner applies those of a generator to each schedule of its spaces; their steps become a part of the
schedule text.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from ...ir import tir
from ...ir.dtype import element_bytes
from ...ir.idioms import uses
from ...ir.schedule import BlockRV, ExprRV, LoopRV, Schedule, ScheduleError
from ...ir.schedule.tree import walk_statements
from ...ir.visit import walk
from .annotated_loops import change_loops, take_request
from .block_facts import annotation_of, extent_of
from .rule import INTRINSIC, wrong
from .threads import bind_unbound, blocks_of, is_bound

__all__ = [
    "DisallowDynamicLoop", "Postproc", "PyPostproc", "RewriteCooperativeFetch", "RewriteParallelVectorizeUnroll", "RewriteReductionBlock", "RewriteTensorize",
    "RewriteUnboundBlock",
]  # fmt: skip

_FETCH, _FETCHING, _WARP = "meta_schedule.cooperative_fetch", ("threadIdx.y", "threadIdx.x"), 32
"""Annotation of copies, the threads that share one, and the number of those that execute together."""
_WIDEST = 4
"""Bytes of the widest value of a copy with vectors."""
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
                DisallowDynamicLoop(), RewriteCooperativeFetch(), RewriteUnboundBlock(), RewriteParallelVectorizeUnroll(), RewriteReductionBlock(),
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


class RewriteCooperativeFetch(Postproc):
    """Divide copies with the annotation `meta_schedule.cooperative_fetch` among the threads that are bound before them, each of which copies that
    many elements together (TVM: `RewriteCooperativeFetch`).
    """

    def apply(self, sch: Schedule) -> bool:
        """See `Postproc`."""
        threads: dict[str, int] = {}
        copies: list[tuple[BlockRV, int, dict[str, int]]] = []
        for inst in sch.trace.insts:
            given = inst.arguments
            if inst.primitive.name == "bind" and given["thread_axis"] in _FETCHING:
                threads[given["thread_axis"]] = extent_of(sch, given["loop"]) or 1
            elif inst.primitive.name == "annotate" and given["ann_key"] == "warp_execution":
                threads["threadIdx.x"] = _WARP
            elif inst.primitive.name == "annotate" and given["ann_key"] == _FETCH and "threadIdx.x" in threads:
                value = given["ann_val"]
                lanes = int(sch.get(value)) if isinstance(value, ExprRV) else int(getattr(value, "value", value))
                copies.append((given["block_or_loop"], lanes, dict(threads)))
        for block, lanes, extents in copies:
            sch.unannotate(block, _FETCH)
            _divide(sch, block, lanes, extents)
        return True


def _divide(sch: Schedule, block: BlockRV, lanes: int, threads: dict[str, int]) -> None:
    """Divide the innermost loop of a copy among threads, and the elements of a thread into vectors of up to 4 bytes each."""
    loop = sch.get_loops(block)[-1]
    extent = extent_of(sch, loop)
    values = [node for node in walk(sch.get(block).body) if isinstance(node, tir.BufferLoad | tir.Cast)]
    widest = max((element_bytes(node.dtype) for node in values), default=0)
    is_whole = extent is not None and extent % lanes == 0 and widest <= _WIDEST
    bound = [axis for axis in _FETCHING if axis in threads]
    factors = [threads[axis] for axis in bound] + ([lanes] if lanes > 1 and is_whole else [])
    _, *inner = sch.split(loop, factors=[None, *factors])
    if lanes > 1 and is_whole:
        sch.vectorize(inner[-1])
    for axis, part in reversed(list(zip(bound, inner, strict=False))):
        sch.bind(part, axis)


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
        """With `vectorize_init_loop`, the initialization of tensorized blocks is vectorized."""
        self._vectorizes = vectorize_init_loop

    def apply(self, sch: Schedule) -> bool:
        """See `Postproc`."""
        for block in blocks_of(sch):
            if INTRINSIC not in sch.get(block).annotations:
                continue
            name = annotation_of(sch.get(block), INTRINSIC)
            if not name and not self._vectorizes:
                continue
            sch.unannotate(block, INTRINSIC)
            try:
                if name:
                    sch.tensorize(block, name)
                else:
                    sch.vectorize(sch.get_loops(sch.get_child_blocks(block)[0])[-1])
            except ScheduleError:
                return False
        return True
