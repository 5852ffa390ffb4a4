"""The law of loops and threads.

E0416: a thread tag that does not exist, or a binding on the wrong kind of loop · E0417: loops bound to the same threads
with different extents · E0441: a jump that is not a statement, a `break` or `continue` outside loops, a
`T.thread_return` outside kernels.
"""

from __future__ import annotations

from .. import tir
from ..base import Node, Op
from ..diagnostics import Note
from ..dtype import is_int
from ..spelling import did_you_mean
from ..visit import children
from .kernels import Threads
from .report import written
from .subject import Subject

_JUMPS = {
    "tir.break_loop": "break", "tir.continue_loop": "continue", "tir.ret": "T.ret", "tir.thread_return": "T.thread_return",
}  # fmt: skip
"""The intrinsics that end a loop, an iteration, a function or a thread, by their names in texts."""
THREAD_TAGS = frozenset(
    [f"{scope}.{axis}" for scope in ("blockIdx", "threadIdx", "vthread") for axis in "xyz"]
    + ["vthread", "cthread", "pipeline", "danger_vthread"]
)
"""Valid thread tags (TVM: `runtime::ThreadScope`, and further tags in its tests)."""


def check_loops(subject: Subject) -> None:
    """Check that loops are bound to threads that exist, with one extent per kernel."""
    for loop in subject.of_kinds(tir.For):
        _check_binding(subject, loop)
    for launch in subject.of_kinds(tir.AttrStmt):
        if isinstance(launch.node, tir.IterVar) and not is_int(launch.value.dtype):
            message = f"the extent of thread '{launch.node.var.name}' is {launch.value.dtype}"
            subject.report.add("E0406", message, launch, "give an integer extent")
    _check_jumps(subject)
    for kernel in subject.kernels:
        first: dict[str, Threads] = {}
        for threads in kernel.threads:
            other = first.setdefault(threads.tag, threads)
            if threads.tag.startswith(("blockIdx", "threadIdx")):
                _check_extents(subject, threads, other)


def _check_jumps(subject: Subject) -> None:
    """Check that jumps are statements inside the loop, function or kernel that they leave."""
    if not any(_jump(call) for call in subject.of_kinds(tir.Call)):
        return
    stack: list[tuple[Node, Node | None, bool, bool]] = [(subject.function.body, None, False, False)]
    while stack:
        node, near, in_loop, in_kernel = stack.pop()
        near = near if node.span is None else node
        statement = _jump(node.value) if isinstance(node, tir.Evaluate) else ""
        if statement in ("break", "continue") and not in_loop:
            help = "remove it, or write a loop around it"
            subject.report.add("E0441", f"'{statement}' is outside any loop", node, help)
        elif statement == "T.thread_return" and not in_kernel:
            help = "remove it, or bind a loop around it to a thread"
            subject.report.add("E0441", f"'{statement}' is outside any loop bound to a thread", node, help)
        elif not statement and _jump(node):
            subject.report.add("E0441", f"'{_jump(node)}' has no value", near, "write it as a statement of its own")
        in_loop = in_loop or isinstance(node, tir.For | tir.While)
        in_kernel = in_kernel or _begins_threads(node)
        below = node.value if isinstance(node, tir.Evaluate) and statement else node
        stack.extend((child, near, in_loop, in_kernel) for child in children(below))


def _jump(node: Node) -> str:
    """Return the name in texts of the jump `node`; "" for other nodes."""
    return _JUMPS.get(node.op.name, "") if isinstance(node, tir.Call) and isinstance(node.op, Op) else ""


def _begins_threads(node: Node) -> bool:
    if isinstance(node, tir.For):
        return node.thread_binding is not None
    return isinstance(node, tir.AttrStmt) and node.attr_key == "thread_extent"


def _check_binding(subject: Subject, loop: tir.For) -> None:
    name = loop.loop_var.name
    if (loop.kind is tir.ForKind.THREAD_BINDING) != (loop.thread_binding is not None):
        word = "has no thread" if loop.thread_binding is None else f"is {loop.kind.value}, but bound to a thread"
        subject.report.add("E0416", f"the loop over '{name}' {word}", loop)
    if loop.thread_binding is not None and loop.thread_binding.thread_tag not in THREAD_TAGS:
        known = ", ".join(sorted(thread_tag for thread_tag in THREAD_TAGS if "." in thread_tag))
        message = f"there is no thread '{loop.thread_binding.thread_tag}'"
        tag = loop.thread_binding.thread_tag
        help = did_you_mean(tag, THREAD_TAGS) or f"bind a loop to one of {known}"
        subject.report.add("E0416", message, written(loop, tag), help)


def _check_extents(subject: Subject, threads: Threads, other: Threads) -> None:
    extents = [launch.extent.value for launch in (other, threads) if isinstance(launch.extent, tir.IntImm)]
    if len(set(extents)) > 1:
        name = other.loop.loop_var.name if isinstance(other.loop, tir.For) else other.tag
        message = f"{threads.tag} has {extents[1]} threads here and {extents[0]} in the loop over '{name}'"
        note = Note("that loop is here", other.loop.span)
        help = "give loops bound to the same thread axis the same extent"
        subject.report.add("E0417", message, threads.loop, help, note)
