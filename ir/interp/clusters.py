"""Evaluation of clusters of blocks, whose blocks take turns, and of barriers at which some threads wait (`ir.clusters`)."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import suppress
from math import prod
from typing import Any

from .. import tir
from ..base import Node
from ..clusters import ARRIVE, NAMED, REGISTERS, TAGS, WAIT, block_tag, check_call, check_extents, cluster_extents
from .calls import intrinsic
from .expressions import Expression
from .frame import Frame, fault
from .jumps import Leave
from .matrix_units import operands_of
from .memory import Pointer
from .scalars import Value
from .threads import Blocked, Body, Exchange, exchange, run_blocks, thread_number


class Cluster:
    """The shared memory of the blocks of a cluster by their rank, and the barrier of their threads."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.blocks: dict[int, dict[Any, Any]] = {}
        self.arrived = self.phase = 0
        self.arrivals: dict[tuple[int, int], int] = {}
        """The phase in which a thread has arrived and not waited, by the rank of its block and its number."""


def cluster_of(frame: Frame) -> tuple[Cluster, int]:
    """Return the cluster of a block and the rank of the block in it; outside of clusters, it is the only one."""
    if Cluster not in frame.shared:
        frame.shared[Cluster] = Cluster(1), 0
        frame.shared[Cluster][0].blocks[0] = frame.shared
    return frame.shared[Cluster]  # type: ignore[no-any-return]


def block_of(frame: Frame, call: tir.Call, rank: int) -> dict[Any, Any]:
    """Return the shared memory of a block of the cluster; E0712 if there is none."""
    cluster, _ = cluster_of(frame)
    if not 0 <= rank < cluster.size:
        reason = f"block {rank} of the cluster does not exist: it has {cluster.size}"
        raise fault("E0712", reason, call, f"give a rank from 0 to {cluster.size - 1}")
    if rank not in cluster.blocks:
        reason = f"block {rank} of the cluster may not have started"
        raise fault("E0712", reason, call, f"call T.{ARRIVE}() and T.{WAIT}() before")
    return cluster.blocks[rank]


def in_block(frame: Frame, call: tir.Call, rank: int, place: Pointer) -> Pointer:
    """Return the place in the shared memory of a block that corresponds to `place` in that of this block."""
    block = block_of(frame, call, rank)
    for key, own in frame.shared.items():
        if isinstance(own, Pointer) and own.memory is place.memory:
            if key not in block:
                reason = f"block {rank} of the cluster may not have started"
                raise fault("E0712", reason, call, f"call T.{ARRIVE}() and T.{WAIT}() before")
            return Pointer(block[key].memory, place.offset)
    return place


# --- Launches -------------------------------------------------------------------------------------------------


def compile_grid_axis(axis: tir.IterVar, extent: Expression, body: Body, stmt: tir.AttrStmt) -> Body | None:
    """Return a function that runs the blocks of an axis of the grid, those of a cluster in turns; None without clusters."""
    extents = cluster_extents(stmt.body)
    if not extents:
        return None
    check_extents(extents.items(), stmt)
    size = next((count for tag, count in extents.items() if block_tag(tag) == axis.thread_tag), 1)

    def run(frame: Frame) -> Iterator[Node]:
        count, is_last = extent(frame), not frame.cluster
        if count % size:
            reason = f"{count} blocks along '{axis.thread_tag}' do not consist of clusters of {size}"
            raise fault("E0712", reason, stmt, f"launch a multiple of {size} blocks")
        if is_last:
            frame.clusters = {}
        for first in range(0, count, size):
            blocks: list[Iterator[Node]] = []
            for index in frame.world.order(size):
                block = frame.fork()
                block[axis.var], block.shared = first + index, {}
                block.cluster[axis.thread_tag] = (first // size, index, size)
                blocks.append(iter(_started(body, block)))
            yield from run_blocks(blocks, is_last)

    return run


def _started(body: Body, frame: Frame) -> Iterator[Node]:
    with suppress(Leave):
        yield from body(frame)


def compile_cluster_axis(axis: tir.IterVar, body: Body, stmt: tir.AttrStmt) -> Body:
    """Return a function that binds the index of a block in its cluster along an axis, and lets the other blocks know its memory."""
    tag = block_tag(axis.thread_tag)

    def run(frame: Frame) -> Iterator[Node]:
        if tag not in frame.cluster or frame.thread:
            reason = f"'{axis.thread_tag}' is not launched between '{tag}' and the threads of a block"
            raise fault("E0712", reason, stmt, f"launch '{tag}' before, and 'threadIdx' behind it")
        frame[axis.var] = frame.cluster[tag][1]
        if Cluster not in frame.shared:
            places = [frame.cluster.get(block_tag(name), (0, 0, 1)) for name in TAGS]
            size, rank = prod(size for _, _, size in places), 0
            for _, index, count in places:
                rank = rank * count + index
            key = tuple(group for group, _, _ in places)
            cluster = frame.clusters.setdefault(key, Cluster(size))
            cluster.blocks[rank] = frame.shared
            frame.shared[Cluster] = cluster, rank
        yield from body(frame)

    return run


# --- Barriers -------------------------------------------------------------------------------------------------


def _block_threads(frame: Frame) -> int:
    return prod(size for tag, (_, _, size) in frame.thread.items() if tag.startswith("threadIdx"))


@intrinsic(ARRIVE)
def _arrive(call: tir.Call) -> Expression:
    def arrive(frame: Frame) -> Value:
        cluster, rank = cluster_of(frame)
        who = rank, thread_number(frame)
        if who in cluster.arrivals:
            reason = f"thread {who[1]} arrives twice at the barrier of its cluster"
            raise fault("E0712", reason, call, f"call T.{WAIT}() between")
        frame.world.tell_synchronize("arrive", (cluster, cluster.phase), frame, call)
        cluster.arrivals[who] = cluster.phase
        cluster.arrived += 1
        if cluster.arrived == cluster.size * _block_threads(frame):
            cluster.arrived, cluster.phase = 0, cluster.phase + 1
        return 0

    return arrive


@exchange(WAIT)
def _wait(call: tir.Call) -> Exchange:
    def wait(frame: Frame) -> Generator[Node, None, Value]:
        cluster, rank = cluster_of(frame)
        who = rank, thread_number(frame)
        if who not in cluster.arrivals:
            reason = f"thread {who[1]} waits at the barrier of its cluster without having arrived"
            raise fault("E0712", reason, call, f"call T.{ARRIVE}() before")
        phase = cluster.arrivals[who]

        def never() -> Any:
            count = cluster.size * _block_threads(frame)
            reason = (
                f"the barrier of a cluster is waited for in vain: {cluster.arrived} of {count} threads have arrived"
            )
            return fault("E0714", reason, call, "let all threads of all its blocks arrive")

        yield Blocked(is_ready=lambda: cluster.phase > phase, never=never)
        del cluster.arrivals[who]
        frame.world.tell_synchronize("wait", (cluster, phase), frame, call)
        return 0

    return wait


class _Named:
    """A barrier of a block that threads wait at together."""

    def __init__(self) -> None:
        self.arrived = self.phase = 0


@exchange(NAMED)
def _named(call: tir.Call) -> Exchange:
    check_call(call)
    operands = operands_of(call)

    def wait(frame: Frame) -> Generator[Node, None, Value]:
        number, count = map(int, operands(frame))
        barrier: _Named = frame.shared.setdefault((_Named, number), _Named())
        phase = barrier.phase
        frame.world.tell_synchronize("arrive", (barrier, phase), frame, call)
        barrier.arrived += 1
        if barrier.arrived == count:
            barrier.arrived, barrier.phase = 0, phase + 1

        def never() -> Any:
            reason = f"barrier {number} of T.{NAMED} is waited for in vain: {barrier.arrived} of {count} threads wait"
            return fault("E0714", reason, call, "let as many threads call it as it names")

        yield Blocked(is_ready=lambda: barrier.phase > phase, never=never)
        frame.world.tell_synchronize("wait", (barrier, phase), frame, call)
        return 0

    return wait


@intrinsic(REGISTERS)
def _registers(call: tir.Call) -> Expression:
    """Do nothing: registers change no value."""
    check_call(call)
    return lambda frame: 0
