"""The law of parallel loops: no two iterations certainly update the same element.

E0419: iterations of a parallel loop race.
"""

from __future__ import annotations

from collections.abc import Iterable

from .. import tir
from ..diagnostics import Note
from ..equal import structural_equal
from ..visit import walk
from .flow import Access, Flow
from .report import Report


def check_race(access: Access, flow: Flow, shared: frozenset[tir.Var], report: Report) -> None:
    """Check a store, with nothing uncertain around it, against every parallel loop that it stands in.

    Certain is a race where no index mentions the loop variable, the iterations are two or more, and the stored value
    is computed from the same element, in a buffer that the caller sees (`shared` has their data pointers).
    """
    if not isinstance(access, tir.BufferStore) or access.buffer.data not in shared:
        return
    if not _updates_itself(access):
        return
    indices = [flow.resolve(index) for index in access.indices]
    for position, loop in enumerate(flow.loops):
        inner_ends = [end for each in flow.loops[position + 1 :] for end in (each.min, each.extent)]
        is_single = not isinstance(loop.extent, tir.IntImm) or loop.extent.value < 2
        if not _is_parallel(loop) or is_single or _mention((*indices, *inner_ends), loop.loop_var):
            continue
        message = f"iterations of the loop over '{loop.loop_var.name}' race: all update the same element of "
        help = f"let an index depend on '{loop.loop_var.name}', or make the loop serial"
        note = Note(f"the loop over '{loop.loop_var.name}' runs in parallel", loop.span)
        report.add("E0419", message + f"'{access.buffer.name}'", access, help, note)
        return


def _is_parallel(loop: tir.For) -> bool:
    """Threads of a block may reduce together; blocks and parallel iterations may not."""
    if loop.kind is tir.ForKind.THREAD_BINDING:
        return loop.thread_binding is not None and loop.thread_binding.thread_tag.startswith("blockIdx")
    return loop.kind is tir.ForKind.PARALLEL


def _updates_itself(store: tir.BufferStore) -> bool:
    return any(
        isinstance(node, tir.BufferLoad)
        and node.buffer is store.buffer
        and structural_equal(node.indices, store.indices)
        for node in walk(store.value)
    )


def _mention(expressions: Iterable[tir.PrimExpr], variable: tir.Var) -> bool:
    return any(node is variable for expression in expressions for node in walk(expression))
