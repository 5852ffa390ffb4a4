"""The law of reductions: what a block accumulates does not depend on the order of its reduction axes.

E0423: an update that overwrites what came before, or whose result depends on the order · E0424: an init that starts
another element than the one that is updated.
"""

from __future__ import annotations

from .. import tir
from ..equal import structural_equal
from ..visit import substitute, walk
from .affine import any_of
from .order import order_matters
from .place import BlockSite
from .subject import Subject


def check_reductions(subject: Subject) -> None:
    """Check the blocks that have a T.init and a reduction axis, where one statement updates what the init starts."""
    for site in subject.flow.blocks:
        block = site.node.block
        axes = [axis for axis in block.iter_vars if axis.iter_type is tir.IterVarType.COMM_REDUCE]
        init, body = block.init, block.body
        if (
            not any(map(_has_steps, axes))
            or not isinstance(init, tir.BufferStore)
            or not isinstance(body, tir.BufferStore)
        ):
            continue
        if _starts_another(subject, site, init, body):
            message = f"the T.init of block '{block.name_hint}' starts an element that the block does not update"
            subject.report.add("E0424", message, init, "let both be the same element")
        else:
            _check_update(subject, block, body, axes)


def _starts_another(subject: Subject, site: BlockSite, init: tir.BufferStore, body: tir.BufferStore) -> bool:
    """Whether an init certainly starts another element than that of its own spatial axes' updates."""
    if init.buffer is not body.buffer or len(init.indices) != len(body.indices):
        return init.buffer.data is not body.buffer.data
    if structural_equal(init.indices, body.indices):
        return False
    starts = {
        axis.var: axis.dom.min
        for axis in site.node.block.iter_vars
        if axis.iter_type is tir.IterVarType.COMM_REDUCE and axis.dom is not None
    }
    resolve = subject.flow.resolve
    pairs = [(resolve(substitute(a, starts)), resolve(b)) for a, b in zip(init.indices, body.indices, strict=True)]
    differ = any_of([tir.NE("bool", a, b) for a, b in pairs])
    return subject.solver.ask(differ, site.place.facts).values is not None


def _has_steps(axis: tir.IterVar) -> bool:
    """Whether an axis may have more than one value."""
    return axis.dom is None or not (isinstance(axis.dom.extent, tir.IntImm) and axis.dom.extent.value < 2)


def _check_update(subject: Subject, block: tir.Block, body: tir.BufferStore, axes: list[tir.IterVar]) -> None:
    name, axis = body.buffer.name, axes[0].var.name
    inside = list(walk(body.value))
    if not any(isinstance(node, tir.BufferLoad) and node.buffer is body.buffer for node in inside):
        if not any(node is each.var for node in inside for each in axes):
            return
        message = f"block '{block.name_hint}' overwrites '{name}' with each value of its reduction axis '{axis}'"
        help = f"combine it with '{name}', as in {name}[…] + value, or make the axis another kind"
        subject.report.add("E0423", message, body, help)
        return
    example = order_matters(body, {each.var for each in axes})
    if example is not None:
        message = (
            f"the result of block '{block.name_hint}' depends on the order of its reduction axis '{axis}': {example}"
        )
        subject.report.add("E0423", message, body, "use a reducer that commutes, or make the axis a scan")
