"""Dynamic shared memory (scope "shared.dyn"): one allocation per block, whose size the launch gives, divided
among the buffers.

More than 48 KiB of shared memory per block must be dynamic.
"""

from __future__ import annotations

from math import prod

from ...ir import tir
from ...ir.diagnostics import error
from ...ir.dtype import element_bytes
from ...ir.visit import walk
from .kernel import Kernel, scope_of

DYNAMIC = "shared.dyn"
_ALIGNMENT = 128


def dynamic_offsets(kernel: Kernel) -> dict[tir.Allocate, int]:
    """Return the offset of each buffer of the scope in bytes; E0606 if one has no constant size."""
    offsets: dict[tir.Allocate, int] = {}
    end = 0
    for stmt in walk(kernel.body):
        if isinstance(stmt, tir.Allocate) and scope_of(stmt.buffer_var) == DYNAMIC:
            offsets[stmt], end = end, end + _rounded(_size(stmt))
    return offsets


def dynamic_bytes(kernel: Kernel) -> int:
    """Return the number of bytes that a launch of `kernel` requests."""
    return sum(_rounded(_size(stmt)) for stmt in dynamic_offsets(kernel))


def _rounded(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def _size(stmt: tir.Allocate) -> int:
    sizes = [extent.value for extent in stmt.extents if isinstance(extent, tir.IntImm)]
    if len(sizes) < len(stmt.extents):
        span = stmt.span or stmt.buffer_var.span
        raise error("E0606", f"'{stmt.buffer_var.name}' has no constant size", span, "give it a constant size")
    return prod(sizes) * element_bytes(stmt.dtype)
