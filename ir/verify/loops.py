"""The law of loops and threads.

E0416: a thread tag that does not exist, or a binding on the wrong kind of loop · E0417: loops bound to the same threads
with different extents.
"""

from __future__ import annotations

from .. import tir
from ..diagnostics import Note
from .kernels import Threads
from .subject import Subject

THREAD_TAGS = frozenset(
    [f"{scope}.{axis}" for scope in ("blockIdx", "threadIdx", "vthread") for axis in "xyz"]
    + ["vthread", "cthread", "pipeline", "danger_vthread"]
)
"""What a loop or a variable may be bound to (TVM: `runtime::ThreadScope`, and what its tests name besides)."""


def check_loops(subject: Subject) -> None:
    """Check that loops are bound to threads that exist, and those of one kernel with one extent."""
    for loop in subject.of_kinds(tir.For):
        _check_binding(subject, loop)
    for kernel in subject.kernels:
        first: dict[str, Threads] = {}
        for threads in kernel.threads:
            other = first.setdefault(threads.tag, threads)
            if threads.tag.startswith(("blockIdx", "threadIdx")):
                _check_extents(subject, threads, other)


def _check_binding(subject: Subject, loop: tir.For) -> None:
    name = loop.loop_var.name
    if (loop.kind is tir.ForKind.THREAD_BINDING) != (loop.thread_binding is not None):
        word = "has no thread" if loop.thread_binding is None else f"is {loop.kind.value}, yet bound to a thread"
        subject.report.add("E0416", f"the loop over '{name}' {word}", loop)
    if loop.thread_binding is not None and loop.thread_binding.thread_tag not in THREAD_TAGS:
        known = ", ".join(sorted(each for each in THREAD_TAGS if "." in each))
        message = f"there is no thread '{loop.thread_binding.thread_tag}'"
        subject.report.add("E0416", message, loop, f"bind a loop to one of {known}")


def _check_extents(subject: Subject, threads: Threads, other: Threads) -> None:
    extents = [each.extent.value for each in (other, threads) if isinstance(each.extent, tir.IntImm)]
    if len(set(extents)) > 1:
        name = other.loop.loop_var.name if isinstance(other.loop, tir.For) else other.tag
        message = f"{threads.tag} has {extents[1]} threads here and {extents[0]} in the loop over '{name}'"
        note = Note("that loop is here", other.loop.span)
        help = "loops bound to the same threads have the same extent"
        subject.report.add("E0417", message, threads.loop, help, note)
