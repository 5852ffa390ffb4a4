"""Clusters of blocks, roles of warps, and the barriers at which some threads of a block wait (sm_90).

The blocks of a cluster run at the same time, and reach each other's shared memory. Their number along an axis is the extent of
`clusterCtaIdx.x`, `.y` or `.z`, as in TVM; its index is `blockIdx.x % extent`, since `blockIdx.x` counts all blocks of the grid:

    bx = T.launch_thread("blockIdx.x", 8)
    cx = T.launch_thread("clusterCtaIdx.x", 2)

The rank of a block in its cluster is `x + y * extent_x + z * extent_x * extent_y`. All threads of a cluster meet at a barrier in two
steps, `T.ptx_barrier_cluster_arrive()` and `T.ptx_barrier_cluster_wait()`; what a thread did before it arrived is known to every
thread that has waited. `T.ptx_barrier_sync(number, count)` is a barrier of `count` threads of a block. (PTX ISA: "Cluster of
Cooperative Thread Arrays", "barrier.cluster", "barrier", "setmaxnreg".)
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

from . import tir
from .base import Node
from .diagnostics import error
from .matrix_units import WARP, name_of, number
from .visit import walk

TAGS = ("clusterCtaIdx.z", "clusterCtaIdx.y", "clusterCtaIdx.x")
MOST_BLOCKS = 8
"""Maximum number of blocks of a cluster that every GPU with clusters has."""
ARRIVE, WAIT, NAMED, REGISTERS = (
    "ptx_barrier_cluster_arrive",
    "ptx_barrier_cluster_wait",
    "ptx_barrier_sync",
    "ptx_setmaxnreg",
)
OPERATORS = (ARRIVE, WAIT, NAMED, REGISTERS)
NAMES = range(1, 16)
"""The numbers of the barriers of `T.ptx_barrier_sync`; barrier 0 is that of `T.tvm_storage_sync`."""
REGISTER_COUNTS = range(24, 257, 8)
"""Numbers of registers that a thread may ask for."""


def block_tag(tag: str) -> str:
    """Return the axis of the grid to which an axis of a cluster belongs."""
    return tag.replace("clusterCtaIdx", "blockIdx")


def cluster_extents(body: Node) -> dict[str, int]:
    """Return the extents of the clusters of a kernel by tag; E0611 if one is not constant."""
    found: dict[str, int] = {}
    for node in walk(body):
        if isinstance(node, tir.AttrStmt) and node.attr_key == "thread_extent" and node.node.thread_tag in TAGS:
            if not isinstance(node.value, tir.IntImm):
                reason = f"the extent of '{node.node.thread_tag}' is not constant"
                raise error("E0611", reason, node.span, "give it a constant extent")
            found[node.node.thread_tag] = node.value.value
    return found


def calls_of(body: Node) -> list[tir.Call]:
    """Return the calls of the `OPERATORS` in `body`."""
    return [node for node in walk(body) if isinstance(node, tir.Call) and name_of(node) in OPERATORS]


def check_extents(extents: Iterable[tuple[str, int]], place: Node) -> None:
    """Raise E0611 if a cluster has no or too many blocks."""
    count = prod(extent for _, extent in extents)
    if not 1 <= count <= MOST_BLOCKS:
        reason = f"a cluster has {count} blocks; expected 1 to {MOST_BLOCKS}"
        raise error("E0611", reason, place.span, "launch smaller clusters")


def check_call(call: tir.Call) -> None:
    """Raise E0606 if a constant argument of one of the `OPERATORS` is one that no GPU supports."""
    if name_of(call) == NAMED:
        name, count = number(call, 0), number(call, 1)
        if name not in NAMES:
            reason, help = f"a block has no barrier {name} for T.{NAMED}", f"use one of {NAMES[0]} to {NAMES[-1]}"
            raise error("E0606", reason, call.span, help)
        if count % WARP or count <= 0:
            reason = f"T.{NAMED} waits for {count} threads"
            raise error("E0606", reason, call.span, f"give a positive multiple of {WARP}")
    if name_of(call) == REGISTERS and number(call, 1) not in REGISTER_COUNTS:
        reason = f"a thread cannot have {number(call, 1)} registers"
        help = f"give a multiple of 8 from {REGISTER_COUNTS[0]} to {REGISTER_COUNTS[-1]}"
        raise error("E0606", reason, call.span, help)
