"""`parallel`, `vectorize`, `bind` and `unroll`: set the kind of a loop."""

from __future__ import annotations

from msgspec.structs import replace

from ... import make, tir
from ...analysis.proof import prove
from ...idioms import uses
from ...spelling import did_you_mean
from ..analysis.blocks import check_compact_dataflow
from ..analysis.order import check_independent, check_not_combined, is_across_threads
from ..arguments import Loop, Text
from ..conditions import COMPACT, IN_ORDER, INDEPENDENT_ITERATIONS, Condition, name_of
from ..declaration import primitive
from ..program import Program
from ..tree import walk_statements

THREAD = Condition("E0525", "the thread axis exists", "choose blockIdx.x, threadIdx.x, vthread.x, or y and z of them")
SAME_THREADS = Condition(
    "E0536",
    "no nested loops are bound to the same axis, except to fill shared memory, and its extent is the same in the whole kernel",
    "bind it to another axis, or split it to the same extent",
)
THREADS = ("blockIdx.x", "blockIdx.y", "blockIdx.z", "threadIdx.x", "threadIdx.y", "threadIdx.z",
           "vthread", "vthread.x", "vthread.y", "vthread.z")  # fmt: skip


_DEPEND = "run another loop in parallel, as the iterations of this one depend on each other"


@primitive(requires=(COMPACT, INDEPENDENT_ITERATIONS, IN_ORDER))
def parallel(program: Program, loop: Loop) -> None:
    """Execute the iterations of a loop in parallel on the cores of the CPU.

    Blocks under it that are neither complete nor reductions, such as those with opaque iterators, are accepted if its
    iterations are proven to be independent.

    Preserves: what is computed, as no iteration depends on another. Comments stay.
    """
    _run_as(program, loop, tir.ForKind.PARALLEL)


@primitive(requires=(COMPACT, INDEPENDENT_ITERATIONS, IN_ORDER))
def vectorize(program: Program, loop: Loop) -> None:
    """Execute the iterations of a loop as the lanes of a vector.

    Blocks under it that are neither complete nor reductions, such as those with opaque iterators, are accepted if its
    iterations are proven to be independent.

    Preserves: what is computed, as no iteration depends on another. Comments stay.
    """
    _run_as(program, loop, tir.ForKind.VECTORIZED)


@primitive(requires=(COMPACT, INDEPENDENT_ITERATIONS, IN_ORDER, THREAD, SAME_THREADS))
def bind(program: Program, loop: Loop, thread_axis: Text) -> None:
    """Bind a loop to a thread axis of a GPU: `blockIdx.x`, `threadIdx.x`, `vthread.x`, or y and z of these.

    Blocks under it that are neither complete nor reductions, such as those with opaque iterators, are accepted if its
    iterations are proven to be independent.

    Preserves: what is computed, as no iteration depends on another; a reduction bound to threadIdx is computed across
    threads. Comments stay.
    """
    if thread_axis not in THREADS:
        kind, _, axis = thread_axis.replace("_", ".").partition(".")
        full = next((name for name in THREADS if name.startswith(kind) and name.endswith(f".{axis}")), None)
        help = f"did you mean '{full}'?" if kind and axis and full else did_you_mean(thread_axis, THREADS)
        raise THREAD.refuse(f"unknown thread axis '{thread_axis}'", argument="thread_axis", help=help)
    _check_threads(program, loop, thread_axis)
    _run_as(program, loop, tir.ForKind.THREAD_BINDING, thread_axis)


@primitive(requires=(IN_ORDER,))
def unroll(program: Program, loop: Loop) -> None:
    """Unroll a loop. If it was bound to threads, its iterations must be independent.

    Preserves: the order of everything. Comments stay.
    """
    if loop.thread_binding is not None:
        check_independent(program, loop, None)
    program.replace(loop, replace(loop, kind=tir.ForKind.UNROLLED, thread_binding=None))


def _run_as(program: Program, loop: tir.For, kind: tir.ForKind, thread: str | None = None) -> None:
    check_compact_dataflow(program, loop)
    for realize in walk_statements(loop.body):
        if isinstance(realize, tir.BlockRealize):
            _check_independent(loop, realize, is_across_threads(thread))
    check_independent(program, loop, thread)
    binding = None
    if thread is not None:
        variable = tir.Var(loop.loop_var.dtype, thread)
        binding = tir.IterVar(None, variable, tir.IterVarType.THREAD_INDEX, thread)
    program.replace(loop, replace(loop, kind=kind, thread_binding=binding))


def _check_threads(program: Program, loop: tir.For, axis: str) -> None:
    """Refuse an axis that an outer or inner loop is bound to, and different extents of one axis in one kernel."""
    around = [stmt for stmt in program.around(loop) if isinstance(stmt, tir.For)]
    root = next((stmt for stmt in reversed(around) if stmt.thread_binding is not None), loop)
    inside = set(walk_statements(loop))
    first: dict[str, tir.For] = {axis: loop}
    for other in walk_statements(root):
        if not isinstance(other, tir.For) or other is loop or other.thread_binding is None:
            continue
        tag = other.thread_binding.thread_tag
        inner = loop if other in around else other
        if tag == axis != "vthread" and (other in around or other in inside) and not _fills_shared(inner):
            reason = f"{name_of(other)}, {'around' if other in around else 'inside'} it, is already bound to '{axis}'"
            raise SAME_THREADS.refuse(reason, loop, other)
        same = first.setdefault(tag, other)
        if not tag.startswith("vthread") and not prove(make.equal(other.extent, same.extent)).is_proven:
            counts = f"{same.extent} threads of '{tag}', {name_of(other)} to {other.extent}"
            raise SAME_THREADS.refuse(f"in its kernel, {name_of(same)} is bound to {counts}", loop, same, other)


def _fills_shared(loop: tir.For) -> bool:
    """Return whether `loop` writes only shared memory, which the threads of a block can fill together."""
    blocks = [stmt for stmt in walk_statements(loop.body) if isinstance(stmt, tir.Block)]
    written = [region.buffer.scope for block in blocks for region in block.writes]
    return bool(written) and all(scope.startswith("shared") for scope in written)


def _check_independent(loop: tir.For, realize: tir.BlockRealize, across_threads: bool) -> None:
    allowed = (tir.IterVarType.DATA_PAR, *((tir.IterVarType.COMM_REDUCE,) if across_threads else ()))
    for axis, value in zip(realize.block.iter_vars, realize.iter_values, strict=True):
        if axis.iter_type not in allowed and uses(value, [loop]):
            reason = f"it is in '{axis.var.name}' of {name_of(realize)}, an axis of kind '{axis.iter_type.value}'"
            help = None if axis.iter_type is tir.IterVarType.COMM_REDUCE else _DEPEND
            raise INDEPENDENT_ITERATIONS.refuse(reason, loop, realize.block, help=help)
    check_not_combined(realize, (loop,))
