"""Dynamic shared memory (scope "shared.dyn"): one allocation per block, whose size the launch gives, divided
among the buffers.

More than 48 KiB of shared memory per block must be dynamic.
"""

from __future__ import annotations

from math import prod

from ...ir import tir
from ...ir.diagnostics import error
from ...ir.dtype import element_bytes
from ...ir.tensor_copies import COPIES, calls_in
from ...ir.tensor_memory import PRODUCT
from ...ir.visit import walk
from ...ir.warpgroups import ALIGNMENT, warpgroup_calls
from .kernel import Kernel, scope_of

DYNAMIC = "shared.dyn"
SHARED_ALIGNMENT = 128
"""Alignment of shared memory in bytes: tensor cores need 32, and one row of all banks is 128."""


def shared_alignment(kernel: Kernel) -> int:
    """Return the alignment of buffers in shared memory in bytes: the swizzle of the products of warpgroups, and of
    copies of boxes, depends on addresses.
    """
    is_swizzled = warpgroup_calls(kernel.body) or calls_in(kernel.body, (*COPIES, PRODUCT))
    return ALIGNMENT if is_swizzled else SHARED_ALIGNMENT


def dynamic_offsets(kernel: Kernel) -> dict[tir.Allocate, int]:
    """Return the offset of each buffer of the scope in bytes; E0606 if one has no constant size."""
    offsets: dict[tir.Allocate, int] = {}
    end, alignment = 0, shared_alignment(kernel)
    for stmt in walk(kernel.body):
        if isinstance(stmt, tir.Allocate) and scope_of(stmt.buffer_var) == DYNAMIC:
            offsets[stmt], end = end, end + rounded(_size(stmt), alignment)
    return offsets


def dynamic_bytes(kernel: Kernel) -> int:
    """Return the number of bytes that a launch of `kernel` requests."""
    offsets = dynamic_offsets(kernel)
    return sum(rounded(_size(stmt), shared_alignment(kernel)) for stmt in offsets) if offsets else 0


def rounded(size: int, alignment: int) -> int:
    """Return the first multiple of `alignment` that is at least `size`."""
    return -(-size // alignment) * alignment


def _size(stmt: tir.Allocate) -> int:
    sizes = [extent.value for extent in stmt.extents if isinstance(extent, tir.IntImm)]
    if len(sizes) < len(stmt.extents):
        span = stmt.span or stmt.buffer_var.span
        raise error("E0606", f"'{stmt.buffer_var.name}' has no constant size", span, "give it a constant size")
    return prod(sizes) * element_bytes(stmt.dtype)
