"""How threads synchronize: the names of the intrinsics, and loops that wait for what another thread writes."""

from __future__ import annotations

from . import tir
from .base import Node, Op
from .intern import has_effects
from .jumps import BREAK
from .visit import walk

SHUFFLES = ("tir.tvm_warp_shuffle", "tir.tvm_warp_shuffle_up", "tir.tvm_warp_shuffle_down", "tir.tvm_warp_shuffle_xor")
"""Intrinsics by which the threads of a warp exchange values."""
ACTIVE = "tir.tvm_warp_activemask"
"""Intrinsic that tells which threads of a warp execute it together."""
WAITS = ("tir.ptx_wait_barrier", "tir.ptx_barrier_cluster_wait", "tir.ptx_barrier_sync")
"""Intrinsics at which single threads wait for what others do."""
BARRIERS = ("tir.tvm_storage_sync", "tir.tvm_thread_allreduce", *WAITS)
"""Intrinsics at which threads of a block wait for each other."""

_ATOMIC = Op("tir.atomic_add")
_KNOWN = (_ATOMIC, BREAK)


def is_busy_wait(loop: tir.While) -> bool:
    """Whether only another thread can end `loop`: its condition depends on memory that threads share, and each iteration does the same as
    the one before, until that memory changes.
    """
    stores = [part for part in walk(loop.body) if isinstance(part, tir.BufferStore)]
    written = {store.buffer.data for store in stores}
    if any(store.buffer.scope != "local" for store in stores):
        return False
    if any(isinstance(part, tir.Call) and part.op not in _KNOWN and has_effects(part) for part in walk(loop.body)):
        return False
    tested, changed = [_loads(part) for part in (loop.condition, loop.body)]
    if any(load.buffer.data in written for load in changed):
        return False
    is_atomic = any(isinstance(part, tir.Call) and part.op == _ATOMIC for part in walk(loop))
    return is_atomic or any(load.buffer.scope != "local" for load in (*tested, *changed))


def _loads(node: Node) -> list[tir.BufferLoad]:
    return [part for part in walk(node) if isinstance(part, tir.BufferLoad)]
