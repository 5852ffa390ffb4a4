"""The law of blocks: what a block says of itself fits what it does.

E0410: a block bound to the wrong number of values · E0411: an axis with a negative extent or a domain that is no
integer · E0412 (warning): a T.init without a reduction axis · E0413: a buffer that a block writes and does not declare
(read: warning, as TVM hides reads of index arrays).
"""

from __future__ import annotations

from collections.abc import Iterator

from .. import tir
from ..base import Node
from ..dtype import is_int
from ..visit import children, walk
from .report import Report, count

_REDUCING = (tir.IterVarType.COMM_REDUCE, tir.IterVarType.ORDERED, tir.IterVarType.OPAQUE)


def check_blocks(function: tir.PrimFunc, report: Report) -> None:
    """Check every block of `function`."""
    for node in walk(function.body):
        if isinstance(node, tir.BlockRealize):
            _check_binding(node, report)
        elif isinstance(node, tir.Block):
            _check_axes(node, report)
            _check_regions(node, report)


def _check_binding(node: tir.BlockRealize, report: Report) -> None:
    block = node.block
    if len(node.iter_values) != len(block.iter_vars):
        message = f"block '{block.name_hint}' has {count(len(block.iter_vars), 'axis')}, "
        report.add("E0410", message + f"but is bound to {count(len(node.iter_values), 'value')}", block)
    for value in node.iter_values:
        if not is_int(value.dtype):
            report.add("E0411", f"an axis of block '{block.name_hint}' is bound to {value.dtype}", value)


def _check_axes(block: tir.Block, report: Report) -> None:
    for axis in block.iter_vars:
        extent = axis.dom.extent if axis.dom is not None else None
        if isinstance(extent, tir.IntImm) and extent.value < 0:
            message = f"axis '{axis.var.name}' of block '{block.name_hint}' has the extent {extent.value}"
            report.add("E0411", message, axis if axis.span is not None else block)
    if block.init is not None and not any(axis.iter_type in _REDUCING for axis in block.iter_vars):
        message = f"block '{block.name_hint}' has a T.init, but no reduction axis"
        help = 'make the axis that is summed over a reduction: "R" in T.axis.remap, or T.axis.reduce'
        place = block.init if block.init.span is not None else block
        report.warn("E0412", message, place, help)


def _check_regions(block: tir.Block, report: Report) -> None:
    """A block without axes that declares nothing, such as the root, says nothing of its accesses."""
    if not (block.iter_vars or block.reads or block.writes):
        return
    own = {buffer.data for buffer in block.alloc_buffers} | {match.buffer.data for match in block.match_buffers}
    written = {region.buffer.data for region in block.writes}
    read = {region.buffer.data for region in block.reads} | written
    for node in _accesses(block):
        buffer = node.buffer
        is_write = isinstance(node, tir.BufferStore)
        if buffer.data in own or buffer.data in (written if is_write else read):
            continue
        own.add(buffer.data)
        if is_write:
            message = f"block '{block.name_hint}' writes '{buffer.name}', but does not declare it"
            report.add("E0413", message, node, "add the region to T.writes(…)")
        else:
            message = f"block '{block.name_hint}' reads '{buffer.name}', but does not declare it"
            report.warn("E0413", message, node, "add the region to T.reads(…), unless it is hidden on purpose")


def _accesses(block: tir.Block) -> Iterator[tir.BufferLoad | tir.BufferStore]:
    """Yield the accesses of `block` to memory from outside; a block inside answers for itself."""
    stack: list[Node] = [part for part in (block.body, block.init) if part is not None]
    local: set[tir.Var] = set()
    while stack:
        node = stack.pop()
        match node:
            case tir.Block() | tir.Buffer():
                continue
            case tir.Allocate() | tir.AllocateConst():
                local.add(node.buffer_var)
            case tir.LetStmt():
                local.add(node.var)
            case tir.BufferLoad() | tir.BufferStore() if node.buffer.data not in local:
                yield node
            case _:
                pass
        stack.extend(reversed(children(node)))
