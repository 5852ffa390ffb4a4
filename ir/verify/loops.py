"""The law of loops and threads.

E0416: a thread tag that does not exist, or a binding on the wrong kind of loop · E0417: loops bound to the same threads
with different extents · E0441: a `break` or `continue` that is not a statement inside a loop.
"""

from __future__ import annotations

from .. import tir
from ..base import Node, Op
from ..diagnostics import Note
from ..dtype import is_int
from ..visit import children
from .kernels import Threads
from .subject import Subject

_JUMPS = ("tir.break_loop", "tir.continue_loop")
THREAD_TAGS = frozenset(
    [f"{scope}.{axis}" for scope in ("blockIdx", "threadIdx", "vthread") for axis in "xyz"]
    + ["vthread", "cthread", "pipeline", "danger_vthread"]
)
"""What a loop or a variable may be bound to (TVM: `runtime::ThreadScope`, and what its tests name besides)."""


def check_loops(subject: Subject) -> None:
    """Check that loops are bound to threads that exist, and those of one kernel with one extent."""
    for loop in subject.of_kinds(tir.For):
        _check_binding(subject, loop)
    for launch in subject.of_kinds(tir.AttrStmt):
        if isinstance(launch.node, tir.IterVar) and not is_int(launch.value.dtype):
            message = f"the extent of thread '{launch.node.var.name}' is {launch.value.dtype}"
            subject.report.add("E0406", message, launch, "an extent is an integer")
    _check_jumps(subject)
    for kernel in subject.kernels:
        first: dict[str, Threads] = {}
        for threads in kernel.threads:
            other = first.setdefault(threads.tag, threads)
            if threads.tag.startswith(("blockIdx", "threadIdx")):
                _check_extents(subject, threads, other)


def _check_jumps(subject: Subject) -> None:
    """Check that `break` and `continue` are statements inside a loop."""
    if not any(_is_jump(call) for call in subject.of_kinds(tir.Call)):
        return
    stack: list[tuple[Node, Node | None, bool]] = [(subject.function.body, None, False)]
    while stack:
        node, near, in_loop = stack.pop()
        near = near if node.span is None else node
        if isinstance(node, tir.Evaluate) and _is_jump(node.value):
            if not in_loop:
                help = "leave it out, or write a loop around it"
                subject.report.add("E0441", f"'{_word(node.value)}' stands in no loop", node, help)
            continue
        if _is_jump(node):
            subject.report.add("E0441", f"'{_word(node)}' has no value", near, "write it as a statement of its own")
        in_loop = in_loop or isinstance(node, tir.For | tir.While)
        stack.extend((child, near, in_loop) for child in children(node))


def _is_jump(node: Node) -> bool:
    return isinstance(node, tir.Call) and isinstance(node.op, Op) and node.op.name in _JUMPS


def _word(node: Node) -> str:
    assert isinstance(node, tir.Call)
    assert isinstance(node.op, Op)
    return node.op.name.removeprefix("tir.").removesuffix("_loop")


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
