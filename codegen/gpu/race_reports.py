"""The memory accesses that `--races` compares, and its reports of conflicts."""

from __future__ import annotations

from msgspec import Struct

from ...ir import tir
from ...ir.diagnostics import Diagnostic, Note
from ...ir.interp.frame import Access, Reach
from ...ir.matrix_units import name_of
from ...ir.tensor_copies import WAIT
from ...ir.tensor_memory import COMMIT
from ...ir.tensor_memory import PRODUCT as TENSOR_PRODUCT
from ...ir.warpgroups import WAIT as WAIT_GROUP
from .architectures import WARP
from .knowledge import NEVER, Known, Moment
from .warpgroup_order import is_box, is_product

_DOES: dict[Reach, str] = {"read": "reads", "write": "writes", "update": "atomically changes"}


class AccessEvent(Struct, frozen=True):
    """An access with its launch, block and thread, and the number of preceding barriers of the block and of the warp.

    An asynchronous access starts at `began`, the number of barriers of the block before it was begun; for other accesses
    that is `barriers`. A `whole_warp` access is made by all threads of a warp together. The thread has called
    `fence.proxy.async` `proxies` times before. Threads that wait for others know the `moment` of the access (`gpu.knowledge`).
    """

    node: Access | tir.Call
    kind: Reach
    launch: int
    thread: int
    block: int
    barriers: int
    warp_barriers: int
    began: int
    whole_warp: bool
    proxies: int = 0
    moment: Moment = NEVER
    known: Known | None = None
    """What the thread knew when the access began, if that was before."""
    is_later: bool = False
    """Whether the access happens at any time until its `moment`, whatever its thread does meanwhile."""

    @property
    def who(self) -> tuple[int, int]:
        return self.block, self.thread

    def meets(self, later: AccessEvent) -> bool:
        """Return whether this access and a `later` one conflict without synchronization."""
        is_own = self.who == later.who and not self.is_later
        if self.launch != later.launch or is_own or self.kind == later.kind != "write":
            return False
        if self.block != later.block:
            return True
        is_same_warp = self.thread // WARP == later.thread // WARP and not self.is_later
        if is_same_warp and (self.warp_barriers != later.warp_barriers or (self.whole_warp and later.whole_warp)):
            return False
        return self.barriers >= later.began


def race(before: AccessEvent, after: AccessEvent, named: tuple[str, int]) -> Diagnostic:
    """Return the error for two accesses of an element that conflict, which has a name and an index."""
    if before.is_later and (is_product(before.node) or before.who == after.who):
        return _race_with_started(before, after, named)
    name, index = named
    who = f"threads {before.thread} and {after.thread}"
    who += " of a block" if before.block == after.block else f" of blocks {before.block} and {after.block}"
    message = f"{who} race on element {index} of '{name}': one {_DOES[before.kind]} it"
    message += f", the other {_DOES[after.kind]} it, without a barrier between"
    note = Note(f"it {_DOES[before.kind]} it here", before.node.span)
    return Diagnostic("E0723", message, after.node.span, help=_remedy(before, after), notes=(note,))


def _race_with_started(before: AccessEvent, after: AccessEvent, named: tuple[str, int]) -> Diagnostic:
    """Return the error for an access of what a product may still read, or the thread's own copy may still write."""
    what, wait = ("product", f"T.{COMMIT}") if is_product(before.node) else ("copy", "copy")
    message = f"thread {after.thread} {_DOES[after.kind]} element {named[1]} of '{named[0]}', which the {what} that "
    message += f"thread {before.thread} started may still {_DOES[before.kind].removesuffix('s')}"
    help, note = (
        f"call T.{WAIT} for the barrier of the {wait} before",
        Note(f"the {what} starts here", before.node.span),
    )
    return Diagnostic("E0723", message, after.node.span, help=help, notes=(note,))


def race_with_copy(copy: AccessEvent, after: AccessEvent, named: tuple[str, int]) -> Diagnostic:
    """Return the error for an access of an element to which an asynchronous copy is pending."""
    name, index = named
    message = f"thread {after.thread} {_DOES[after.kind]} element {index} of '{name}' before the asynchronous copy to it, which "
    message += (
        "it started itself, is complete" if copy.who == after.who else f"thread {copy.thread} started, is complete"
    )
    help = "call T.ptx_commit_group and T.ptx_wait_group between"
    if copy.who != after.who:
        help += ', and T.tvm_storage_sync("shared") after them'
    return Diagnostic(
        "E0723", message, after.node.span, help=help, notes=(Note("the copy starts here", copy.node.span),)
    )


def _remedy(before: AccessEvent, after: AccessEvent) -> str:
    """Return what prevents a race."""
    if is_box(before.node) and is_product(after.node):
        of_copy = f"call T.{WAIT} for the barrier of the copy before the product"
        if isinstance(after.node, tir.Call) and name_of(after.node) == TENSOR_PRODUCT:
            return f"{of_copy}, and for that of T.{COMMIT} before the next copy to the same place"
        return f"{of_copy}, and T.{WAIT_GROUP} before the thread arrives at a barrier that lets the next copy start"
    if is_box(before.node):
        return f"call T.{WAIT} for the barrier of the copy before the access"
    if is_box(after.node):
        return "copy when threads that access it before have arrived at a barrier that the copying thread waits for"
    if before.block == after.block:
        return 'put T.tvm_storage_sync("shared") between the accesses'
    return "blocks cannot synchronize: split the kernel between the accesses"
