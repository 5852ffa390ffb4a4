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
        another = _started_instead(subject, site, init, body)
        if another is None:
            _check_update(subject, block, body, axes)
        else:
            message = f"the T.init of block '{block.name_hint}' starts {another}"
            subject.report.add("E0424", message, init, "let both be the same element")


def _started_instead(subject: Subject, site: BlockSite, init: tir.BufferStore, body: tir.BufferStore) -> str | None:
    """Return which element an init starts that its block does not update there; None where that is not certain."""
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
        ", ".join(str(subject.value(each, values)) for each in side) for side in zip(*pairs, strict=True)
    )
    shown = subject.show([axis.var for axis in site.node.block.iter_vars], values)
    return f"{init.buffer.name}[{started}] where it updates {body.buffer.name}[{updated}]: {shown}"


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
