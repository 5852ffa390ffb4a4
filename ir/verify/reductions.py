"""The law of reductions: the result of a block does not depend on the order of its reduction axes.

E0423: an update that overwrites the previous value, or whose result depends on the order (a warning if only the order of
equal values matters) · E0424: an init that starts another element than the update, or reads what the block updates.
"""

from __future__ import annotations

from msgspec import Struct

from .. import tir
from ..equal import structural_equal
from ..visit import substitute, walk
from .affine import any_of, conjuncts
from .order import order_matters
from .place import BlockSite
from .subject import Subject


def check_reductions(subject: Subject) -> None:
    """Check the blocks that have a reduction axis: the elements that their T.init starts, and the order of their steps."""
    for site in subject.flow.blocks:
        block = site.node.block
        axes = [axis for axis in block.iter_vars if axis.iter_type is tir.IterVarType.COMM_REDUCE and _has_steps(axis)]
        if not axes:
            continue
        another = _started_from_itself(block) or _started_instead(subject, site)
        if another is not None:
            subject.report.add(
                "E0424", f"the T.init of block '{block.name_hint}' {another.reason}", another.node, another.help
            )
        elif not _overwrites(subject, renamed := subject.under_one_name(block), axes):
            _check_steps(subject, renamed, axes)


class _WrongStart(Struct, frozen=True):
    """A store in a T.init, the error in it, and the remedy."""

    node: tir.BufferStore
    reason: str
    help: str


def _started_from_itself(block: tir.Block) -> _WrongStart | None:
    """Return an error for a store of an init that loads what the block updates, unless the init has stored that before."""
    stores = [] if block.init is None else [node for node in walk(block.init) if isinstance(node, tir.BufferStore)]
    updated = {node.buffer.data for node in walk(block.body) if isinstance(node, tir.BufferStore)}
    started: list[tir.BufferStore] = []
    for store in stores:
        for node in walk(store.value):
            if isinstance(node, tir.BufferLoad) and node.buffer.data in updated:
                if any(
                    node.buffer is update.buffer and structural_equal(node.indices, update.indices)
                    for update in started
                ):
                    continue
                name = store.buffer.name
                reason = f"starts '{name}' from '{node.buffer.name}', which the block updates"
                return _WrongStart(store, reason, "let it start from a constant, or from what the block does not write")
        started.append(store)
    return None


def _started_instead(subject: Subject, site: BlockSite) -> _WrongStart | None:
    """Return an error if the init certainly starts another element than the block updates, else None."""
    init, body = site.node.block.init, site.node.block.body
    if not isinstance(init, tir.BufferStore) or not isinstance(body, tir.BufferStore):
        return None
    another = _other_element(subject, site, init, body)
    return None if another is None else _WrongStart(init, f"starts {another}", "start the element that is updated")


def _other_element(subject: Subject, site: BlockSite, init: tir.BufferStore, body: tir.BufferStore) -> str | None:
    if init.buffer is not body.buffer or len(init.indices) != len(body.indices):
        return f"'{init.buffer.name}', not '{body.buffer.name}'" if init.buffer.data is not body.buffer.data else None
    if structural_equal(init.indices, body.indices):
        return None
    starts = {
        axis.var: axis.dom.min
        for axis in site.node.block.iter_vars
        if axis.iter_type is tir.IterVarType.COMM_REDUCE and axis.dom is not None
    }
    resolve = subject.flow.resolve
    pairs = [(resolve(substitute(a, starts)), resolve(b)) for a, b in zip(init.indices, body.indices, strict=True)]
    differ = any_of([tir.NE("bool", a, b) for a, b in pairs])
    values = subject.solver.ask(differ, site.place.facts).values
    if values is None:
        return None
    started, updated = (
        ", ".join(str(subject.value(item, values)) for item in side) for side in zip(*pairs, strict=True)
    )
    shown = subject.show([axis.var for axis in site.node.block.iter_vars], values)
    return f"{init.buffer.name}[{started}] where it updates {body.buffer.name}[{updated}]: {shown}"


def _has_steps(axis: tir.IterVar) -> bool:
    """Whether an axis may have more than one value."""
    return axis.dom is None or not (isinstance(axis.dom.extent, tir.IntImm) and axis.dom.extent.value < 2)


def _overwrites(subject: Subject, block: tir.Block, axes: list[tir.IterVar]) -> bool:
    """Report a block that overwrites the element that its init starts with values that depend on its reduction axes."""
    body = block.body
    if not isinstance(body, tir.BufferStore) or not isinstance(block.init, tir.BufferStore):
        return False
    if any(isinstance(node, tir.BufferLoad) and node.buffer is body.buffer for node in walk(body.value)):
        return False
    if any(node is iter_var.var for node in walk(body.value) for iter_var in axes):
        name, axis = body.buffer.name, axes[0].var.name
        message = f"block '{block.name_hint}' overwrites '{name}' with each value of its reduction axis '{axis}'"
        help = f"combine it with '{name}', as in {name}[…] + value, or make the axis another kind"
        subject.report.add("E0423", message, body, help)
    return True


def _starts_inside(body: tir.Stmt, axes: set[tir.Var]) -> bool:
    """Whether the block starts its elements in its first step by a condition, as `LowerInitBlock` rewrites `T.init`."""
    first = body.seq[0] if isinstance(body, tir.SeqStmt) else body
    return isinstance(first, tir.IfThenElse) and all(
        isinstance(conjunct, tir.EQ) and conjunct.a in axes for conjunct in conjuncts(first.condition, True)
    )


def _check_steps(subject: Subject, block: tir.Block, axes: list[tir.IterVar]) -> None:
    if _starts_inside(block.body, {axis.var for axis in axes}):
        return
    found = order_matters(block, axes)
    if found is None:
        return
    where = next((node for node in walk(block.body) if isinstance(node, tir.BufferStore)), block)
    message = f"the result of block '{block.name_hint}' depends on the order of its reduction axis '{axes[0].var.name}'"
    if found.among_equals:
        help = "let the lesser index win among equal values; until then, no schedule reorders this reduction"
        subject.report.warn("E0423", f"{message} among equal values: {found.example}", where, help)
    else:
        help = "use a reducer that commutes, or make the axis a scan"
        if block.init is None and isinstance(block.body, tir.SeqStmt):
            help = "start the result in a block `with T.init():`"
        subject.report.add("E0423", f"{message}: {found.example}", where, help)
