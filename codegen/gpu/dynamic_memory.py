"""The memory that a kernel needs, and dynamic shared memory (scope "shared.dyn"): one allocation per block, whose size the launch
gives, divided among the buffers.

More than 48 KiB of shared memory per block must be dynamic.
"""

from __future__ import annotations

from math import prod

from msgspec import Struct

from ...ir import tir
from ...ir.diagnostics import error
from ...ir.dtype import element_bytes
from ...ir.tensor_copies import COPIES, calls_in
from ...ir.tensor_memory import PRODUCT
from ...ir.visit import walk
from ...ir.warpgroups import ALIGNMENT, warpgroup_calls
from .architectures import ARCHITECTURES, LOCAL_BYTES, STATIC_SHARED_BYTES
from .kernel import Kernel, scope_of

DYNAMIC = "shared.dyn"
LARGEST = max(ARCHITECTURES, key=lambda arch: ARCHITECTURES[arch].dynamic_shared_bytes)
"""The architecture with the most shared memory, which simulated blocks have."""
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


class Need(Struct, frozen=True):
    """Bytes of memory: per block in scope "shared", per thread in scope "local", and per block in scope "shared.dyn"."""

    shared: int
    local: int
    dynamic: int


def need_of(kernel: Kernel) -> Need:
    """Return the memory that a lowered kernel allocates, without fragments; E0606 if a size is not constant."""
    shared = local = 0
    for stmt in walk(kernel.body):
        scope = scope_of(stmt.buffer_var) if isinstance(stmt, tir.Allocate) else ""
        if isinstance(stmt, tir.Allocate) and scope in ("shared", "local"):
            size = max(count_of(stmt) * element_bytes(stmt.dtype), 1)
            local += size if scope == "local" else 0
            shared = rounded(shared, shared_alignment(kernel)) + size if scope == "shared" else shared
    return Need(shared, local, dynamic_bytes(kernel))


def count_of(stmt: tir.Allocate) -> int:
    """Return the number of elements that `stmt` allocates; E0606 if it is not constant."""
    sizes = [extent.value for extent in stmt.extents if isinstance(extent, tir.IntImm) and extent.value >= 0]
    if len(sizes) < len(stmt.extents):
        span, help = stmt.span or stmt.buffer_var.span, "give it a constant size that is not negative"
        raise error("E0606", f"'{stmt.buffer_var.name}' has no constant size", span, help)
    return prod(sizes)


def check_need(name: str, need: Need, arch: str, place: tir.Stmt | None = None) -> None:
    """Raise E0614 at `place` if the kernel `name` needs more memory than the GPU has."""
    most_dynamic = ARCHITECTURES[arch].dynamic_shared_bytes
    kinds = (
        ("shared", need.shared, STATIC_SHARED_BYTES),
        ("local", need.local, LOCAL_BYTES),
        (DYNAMIC, need.dynamic and need.shared + need.dynamic, most_dynamic),
    )
    for kind, size, most in kinds:
        if size > most:
            span = None if place is None else place.span
            if span is None and isinstance(place, tir.Allocate):
                span = place.buffer_var.span
            help = "make its tiles smaller"
            if kind == "shared" and size + need.dynamic <= most_dynamic:
                help += f', or allocate them in scope "{DYNAMIC}"'
            reason = f"kernel '{name}' needs {size} bytes of {kind} memory; the limit is {most}"
            raise error("E0614", reason, span, help)


def _size(stmt: tir.Allocate) -> int:
    return count_of(stmt) * element_bytes(stmt.dtype)
