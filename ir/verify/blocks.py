"""The law of block signatures.

E0410: a block bound to the wrong number of values · E0411: an axis with a negative extent or a domain that is not an
integer · E0412 (warning): a T.init without a reduction axis.
"""

from __future__ import annotations

from .. import tir
from ..diagnostics import count
from ..dtype import is_int
from .report import Report
from .subject import Subject

_REDUCING = (tir.IterVarType.COMM_REDUCE, tir.IterVarType.ORDERED, tir.IterVarType.OPAQUE)


def check_blocks(subject: Subject) -> None:
    """Check the signature of every block."""
    report = subject.report
    for realize in subject.of_kinds(tir.BlockRealize):
        _check_binding(realize, report)
    for block in subject.of_kinds(tir.Block):
        _check_axes(block, report)


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
        if axis.dom is not None and not (is_int(axis.dom.min.dtype) and is_int(axis.dom.extent.dtype)):
            message = f"the domain of axis '{axis.var.name}' of block '{block.name_hint}' is {axis.dom.extent.dtype}"
            report.add("E0411", message, axis if axis.span is not None else block, "give an integer extent")
        if isinstance(extent, tir.IntImm) and extent.value < 0:
            message = f"axis '{axis.var.name}' of block '{block.name_hint}' has the extent {extent.value}"
            report.add("E0411", message, axis if axis.span is not None else block)
    if block.init is not None and not any(axis.iter_type in _REDUCING for axis in block.iter_vars):
        message = f"block '{block.name_hint}' has a T.init, but no reduction axis"
        help = 'make the axis that is summed over a reduction: "R" in T.axis.remap, or T.axis.reduce'
        place = block.init if block.init.span is not None else block
        report.warn("E0412", message, place, help)
