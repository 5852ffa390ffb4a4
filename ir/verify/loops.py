"""The law of loops and threads.

E0416: a thread tag that does not exist, or a binding on the wrong kind of loop · E0417: loops bound to the same threads
with different extents.
"""

from __future__ import annotations

from .. import tir
from ..base import Node
from ..diagnostics import Note
from ..visit import children
from .report import Report

THREAD_TAGS = frozenset(
    [f"{scope}.{axis}" for scope in ("blockIdx", "threadIdx", "vthread") for axis in "xyz"]
    + ["vthread", "cthread", "pipeline", "danger_vthread"]
)
"""What a loop or a variable may be bound to (TVM: `runtime::ThreadScope`, and what its tests name besides)."""


def check_loops(function: tir.PrimFunc, report: Report) -> None:
    """Check the loops of `function`; those bound to threads agree within each outermost one, which is a kernel."""
    stack: list[tuple[Node, dict[str, tir.For] | None]] = [(function.body, None)]
    while stack:
        node, kernel = stack.pop()
        if isinstance(node, tir.PrimExpr | tir.Buffer):
            continue
        if isinstance(node, tir.For):
            kernel = _check_loop(node, kernel, report)
        stack.extend([(child, kernel) for child in reversed(children(node)) if isinstance(child, tir.Stmt)])


def _check_loop(loop: tir.For, kernel: dict[str, tir.For] | None, report: Report) -> dict[str, tir.For] | None:
    """Check one loop; return the loops bound to threads in its kernel."""
    name = loop.loop_var.name
    if (loop.kind is tir.ForKind.THREAD_BINDING) != (loop.thread_binding is not None):
        word = "has no thread" if loop.thread_binding is None else f"is {loop.kind.value}, yet bound to a thread"
        report.add("E0416", f"the loop over '{name}' {word}", loop)
    if loop.thread_binding is None:
        return kernel
    tag = loop.thread_binding.thread_tag
    if tag not in THREAD_TAGS:
        known = ", ".join(sorted(each for each in THREAD_TAGS if "." in each))
        report.add("E0416", f"there is no thread '{tag}'", loop, f"bind a loop to one of {known}")
    kernel = {} if kernel is None else kernel
    other = kernel.setdefault(tag, loop)
    if not tag.startswith(("blockIdx", "threadIdx")):
        return kernel
    extents = [each.extent.value for each in (other, loop) if isinstance(each.extent, tir.IntImm)]
    if len(set(extents)) > 1:
        message = f"{tag} has {extents[1]} threads here and {extents[0]} in the loop over '{other.loop_var.name}'"
        note = Note("that loop is here", other.span)
        report.add("E0417", message, loop, "loops bound to the same threads have the same extent", note)
    return kernel
