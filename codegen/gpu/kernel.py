"""A kernel: the code that every thread of a launch runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from ...ir import exchanges, tir
from ...ir.base import Node, Op
from ...ir.clusters import ARRIVE, MOST_BLOCKS, REGISTERS, block_tag, check_extents
from ...ir.clusters import TAGS as CLUSTER_TAGS
from ...ir.diagnostics import TvmsError, error
from ...ir.matrix_units import STORE, name_of
from ...ir.visit import children, walk
from ...ir.warpgroups import OPERATORS as OF_WARPGROUPS
from .architectures import MOST_EXTENT, MOST_THREADS

THREAD_TAGS = ("threadIdx.z", "threadIdx.y", "threadIdx.x")
"""The axes of a block; the last one varies fastest."""
BLOCK_TAGS = ("blockIdx.z", "blockIdx.y", "blockIdx.x")
SYNC = Op("tir.tvm_storage_sync")
SHUFFLES: dict[str, str] = dict(zip(exchanges.SHUFFLES, ("idx", "up", "down", "bfly"), strict=True))
"""The calls by which threads of a warp read each other's values, with PTX's names."""
ACTIVE = Op(exchanges.ACTIVE)
_EXCHANGES = frozenset((exchanges.ACTIVE, *exchanges.BARRIERS, *SHUFFLES))
ALLREDUCE = Op("tir.tvm_thread_allreduce")
_ON_REGISTERS = (
    "ptx_mma", "ptx_ldmatrix", STORE, "mma_fill", "tvm_fill_fragment", "tvm_load_matrix_sync", "tvm_mma_sync", ARRIVE, REGISTERS,
    *OF_WARPGROUPS,
)  # fmt: skip


class Axis(Node, frozen=True, eq=False):
    """An axis of the grid, of a cluster of blocks, or of a block: `var` runs from 0 to `extent`."""

    tag: str
    var: tir.Var
    extent: tir.PrimExpr


class Kernel(Node, frozen=True, eq=False):
    """The code of every thread; `axes` lists blocks, clusters and threads, the slowest first. If `is_alone`, memory that is written is reached
    through one parameter only (`tir.noalias`).
    """

    name: str
    axes: tuple[Axis, ...]
    body: tir.Stmt
    is_alone: bool = False

    @property
    def blocks(self) -> tuple[Axis, ...]:
        return tuple(axis for axis in self.axes if axis.tag in BLOCK_TAGS)

    @property
    def clusters(self) -> tuple[Axis, ...]:
        """Return the axes of a cluster, whose indices are those of the blocks of the grid modulo their constant extents."""
        return tuple(axis for axis in self.axes if axis.tag in CLUSTER_TAGS)

    @property
    def cluster_size(self) -> int:
        """Return the number of blocks of a cluster."""
        return prod(size_of(axis) for axis in self.clusters)

    @property
    def threads(self) -> tuple[Axis, ...]:
        return tuple(axis for axis in self.axes if axis.tag in THREAD_TAGS)

    @property
    def thread_count(self) -> int:
        """Return the number of threads of a block."""
        return prod(size_of(axis) for axis in self.threads)


class Launch(tir.Stmt, frozen=True, eq=False):
    """The host statement that launches a kernel."""

    kernel: Kernel


def size_of(axis: Axis) -> int:
    """Return the extent of an axis of threads or of a cluster, which is constant."""
    assert isinstance(axis.extent, tir.IntImm)
    return axis.extent.value


def check_axes(axes: Sequence[Axis]) -> None:
    """Raise E0611 if the numbers of blocks and threads exceed the limits of a launch."""
    for axis in axes:
        most = MOST_EXTENT.get(axis.tag, MOST_BLOCKS)
        if axis.tag in THREAD_TAGS and not isinstance(axis.extent, tir.IntImm):
            raise refused(f"the extent of '{axis.tag}' is not constant", axis.var, "split the loop by a constant")
        if isinstance(axis.extent, tir.IntImm) and not 1 <= axis.extent.value <= most:
            reason = f"'{axis.tag}' has {axis.extent.value} threads or blocks; expected 1 to {most}"
            raise refused(reason, axis.var, "split the loop")
    _check_clusters(axes)
    threads = [axis for axis in axes if axis.tag in THREAD_TAGS]
    count = prod(size_of(axis) for axis in threads)
    if count > MOST_THREADS:
        reason = f"a block has {count} threads; the limit is {MOST_THREADS}"
        raise refused(reason, threads[-1].var, "bind fewer iterations to threads")


def _check_clusters(axes: Sequence[Axis]) -> None:
    grid = {axis.tag: axis.extent for axis in axes}
    clusters = [axis for axis in axes if axis.tag in CLUSTER_TAGS]
    for axis in clusters:
        if not isinstance(axis.extent, tir.IntImm):
            raise refused(f"the extent of '{axis.tag}' is not constant", axis.var, "give it a constant extent")
        size, extent = axis.extent.value, grid.get(block_tag(axis.tag))
        if extent is None:
            reason = f"the kernel has '{axis.tag}', but no '{block_tag(axis.tag)}'"
            raise refused(reason, axis.var, f"launch '{block_tag(axis.tag)}' around it, which counts all blocks")
        if isinstance(extent, tir.IntImm) and extent.value % max(size, 1):
            reason = f"{extent.value} blocks along '{block_tag(axis.tag)}' do not consist of clusters of {size}"
            raise refused(reason, axis.var, f"launch a multiple of {size} blocks")
    if clusters:
        check_extents([(axis.tag, size_of(axis)) for axis in clusters], clusters[-1].var)


def check_waits(body: tir.Stmt) -> None:
    """Raise E0613 if a loop waits for what another thread writes: the compiler may read memory once before the loop, and the block
    that writes may never run at the same time.
    """
    for node in walk(body):
        if isinstance(node, tir.While) and exchanges.is_busy_wait(node):
            reason = "this loop waits until another thread changes memory that it reads"
            help = 'wait at T.tvm_storage_sync("shared") for threads of the block; split the kernel to wait for other blocks'
            raise error("E0613", reason, node.span, help)


def refused(reason: str, place: Node, help: str) -> TvmsError:
    """Return the error for an impossible launch."""
    return error("E0611", reason, place.span, help)


def scope_of(variable: tir.Var) -> str:
    """Return the storage scope of the memory that a variable points to."""
    kind = variable.type_annotation
    return (kind.storage_scope if isinstance(kind, tir.PointerType) else "") or "global"


def is_private(variable: tir.Var) -> bool:
    """Return whether each thread has its own copy of the memory of `variable`."""
    return scope_of(variable) == "local"


def is_of_matrix_units(node: Node) -> bool:
    """Return whether `node` only changes fragments of tensor cores, so that all threads execute it."""
    return isinstance(node, tir.Call) and name_of(node) in _ON_REGISTERS


def is_exchange(node: Node) -> bool:
    """Return whether threads synchronize at this node."""
    return isinstance(node, tir.Call) and getattr(node.op, "name", "") in _EXCHANGES


def exchanges_in(node: Node) -> Iterator[tir.Call]:
    """Yield the calls at which threads synchronize."""
    return (inner for inner in walk(node) if isinstance(inner, tir.Call) and is_exchange(inner))


def has_exchange(node: Node) -> bool:
    """Return whether threads synchronize in `node`."""
    return next(exchanges_in(node), None) is not None


def is_apart(stmt: tir.Stmt) -> bool:
    """Return whether each thread can run all of `stmt` without the others: it neither synchronizes nor allocates
    shared memory.
    """
    nodes = (node for node in walk(stmt) if isinstance(node, tir.Allocate))
    return not has_exchange(stmt) and all(scope_of(node.buffer_var) == "local" for node in nodes)


def constant_memory(kernel: Kernel) -> set[tir.Var]:
    """Return the pointers whose memory no thread writes while the kernel runs."""
    if not kernel.is_alone:
        return set()
    loaded: set[tir.Var] = set()
    others: set[Node] = set()
    for node in walk(kernel.body):
        match node:
            case tir.BufferLoad():
                loaded.add(node.buffer.data)
            case tir.BufferStore():
                others.add(node.buffer.data)
            case tir.Buffer():
                pass
            case _:
                others.update(child for child in children(node) if isinstance(child, tir.Var))
    return loaded - others
