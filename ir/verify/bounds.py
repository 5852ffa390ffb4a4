"""The law of bounds: no access is certainly outside its buffer, no axis certainly outside its domain.

E0414: an access outside its buffer · E0415: an axis bound to values outside its domain.
"""

from __future__ import annotations

from .. import tir
from ..base import Node
from ..diagnostics import Note
from .flow import Access, Flow
from .report import Report


def check_bounds(access: Access, flow: Flow, report: Report) -> None:
    """Check the indices of an access whose loops all have constant bounds."""
    buffer = access.buffer
    if len(buffer.shape) != len(access.indices):
        return
    for axis, (index, extent) in enumerate(zip(access.indices, buffer.shape, strict=True)):
        if not isinstance(extent, tir.IntImm):
            continue
        bounds = _index_bounds(index, flow)
        if bounds is None or (bounds[0] >= 0 and bounds[1] < extent.value):
            continue
        reached = bounds[1] if bounds[1] >= extent.value else bounds[0]
        message = f"the index of '{buffer.name}' in dimension {axis} reaches {reached}"
        help = f"dimension {axis} has the indices 0 to {extent.value - 1}"
        note = Note(f"'{buffer.name}' is declared here", buffer.span)
        report.add("E0414", message, _first_placed(index, access), help, note)
        return


def _index_bounds(index: tir.PrimExpr, flow: Flow) -> tuple[int, int] | None:
    """Of a ramp only the base is checked: a vector may run on into the next row."""
    match index:
        case tir.Ramp(base=first) | tir.Broadcast(value=first):
            return flow.bounds(first)
        case _:
            return flow.bounds(index)


def _first_placed(*nodes: Node) -> Node:
    """Return the first node that has a place of its own: a variable has that of its definition."""
    return next((node for node in nodes if node.span is not None and not isinstance(node, tir.Var)), nodes[0])


def check_binding(node: tir.BlockRealize, flow: Flow, report: Report) -> bool:
    """Check that the values that a block's axes are bound to lie in their domains; return whether they do."""
    is_fine = True
    for axis, value in zip(node.block.iter_vars, node.iter_values, strict=False):
        if axis.dom is None:
            continue
        bounds, start, extent = flow.bounds(value), flow.bounds(axis.dom.min), flow.bounds(axis.dom.extent)
        if bounds is None or start is None or extent is None:
            continue
        least, most = start[0], start[0] + extent[1] - 1
        if bounds[0] < least or bounds[1] > most:
            message = f"axis '{axis.var.name}' of block '{node.block.name_hint}' is bound to {bounds[0]} to {bounds[1]}"
            report.add("E0415", message, _first_placed(value, axis, node.block), f"its domain is {least} to {most}")
            is_fine = False
    return is_fine
