"""Copies of boxes of a matrix by Hopper's copy engine (TMA), and the barriers in shared memory that count their bytes.

A barrier (PTX: `mbarrier`) goes through phases, numbered from 0. A phase is complete when as many threads have arrived as the barrier
was initialized for, and as many bytes have been copied as arriving threads have announced. `T.ptx_wait_barrier(number, parity)`
lets a thread wait until the phase whose number has that parity is complete: the current one, or the one before it.

    T.create_barriers(1)
    if tx == 0:
        T.ptx_init_barrier_thread_count(0, 1)
    T.tvm_storage_sync("shared")
    if tx == 0:
        T.ptx_arrive_barrier_expect_tx(0, 8192)
        T.ptx_cp_async_bulk_tensor("float16", S, 0, A.data, 100, 256, 256, row, column, 64, 0)
    T.ptx_wait_barrier(0, 0)

One thread copies a box: `box_rows` rows of 128 bytes, from element (`row`, `column`) of a matrix in global memory on, whose `rows`
rows of `columns` elements are `stride` elements apart. Elements outside of the matrix are zero. In shared memory rows follow each
other, and bits 4 to 6 of an address are combined with bits 7 to 9 by exclusive or: the 128-byte swizzle of `ir.warpgroups`.

In a cluster of blocks (`ir.clusters`), `T.ptx_cp_async_bulk_tensor_multicast` copies a box to the same place in several blocks, each of
which counts the bytes at its own barrier, and `T.ptx_arrive_barrier_remote` arrives at the barrier of another block.
(PTX ISA: "mbarrier", "cp.async.bulk.tensor", "Swizzling Modes".)
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from . import tir
from .base import Node
from .diagnostics import error
from .dtype import element_bytes
from .equal import structural_equal
from .matrix_units import name_of, number
from .visit import walk

COPY, MULTICAST = "ptx_cp_async_bulk_tensor", "ptx_cp_async_bulk_tensor_multicast"
COPIES = (COPY, MULTICAST)
CREATE, INIT, ARRIVE, REMOTE, EXPECT, WAIT = (
    "create_barriers",
    "ptx_init_barrier_thread_count",
    "ptx_arrive_barrier",
    "ptx_arrive_barrier_remote",
    "ptx_arrive_barrier_expect_tx",
    "ptx_wait_barrier",
)
NUMBERED = (INIT, ARRIVE, REMOTE, EXPECT, WAIT)
"""The operators whose first argument is the number of a barrier."""
OPERATORS = (*COPIES, CREATE, *NUMBERED)
ROW_BYTES, LINE_BYTES, GROUP = 128, 16, 8
"""Bytes of a row and of the lines in it that the swizzle exchanges; number of rows after which it repeats."""
DATA_TYPES = {
    "uint8": 0, "uint16": 1, "uint32": 2, "int32": 3, "uint64": 4, "int64": 5, "float16": 6, "float32": 7, "float64": 8,
    "bfloat16": 9,
}  # fmt: skip
"""The dtypes of matrices, with the numbers of CUDA's `CUtensorMapDataType`."""
MOST_ROWS = 256
PREDICATES = {ARRIVE: 1, REMOTE: 2, EXPECT: 2, COPY: 10, MULTICAST: 11}
"""Positions of the optional conditions under which operators do something."""


class TensorMap(Struct, frozen=True):
    """A matrix that boxes are copied from: its memory, dtype, sizes, and the number of rows of a box."""

    data: tir.Var
    dtype: str
    sizes: tuple[tir.PrimExpr, tir.PrimExpr, tir.PrimExpr]
    """The numbers of rows, of columns, and of elements from one row to the next."""
    box_rows: int

    @property
    def columns(self) -> int:
        """Return the number of columns of a box."""
        return ROW_BYTES // element_bytes(self.dtype)

    @property
    def box_bytes(self) -> int:
        return self.box_rows * ROW_BYTES

    def is_same(self, other: TensorMap) -> bool:
        """Return whether two matrices and their boxes are the same."""
        own, others = (self.data, self.dtype, self.box_rows), (other.data, other.dtype, other.box_rows)
        return own == others and all(map(structural_equal, self.sizes, other.sizes))


def tensor_map_of(call: tir.Call) -> TensorMap:
    """Return what a copy of a box copies from; E0606 if the copy engine cannot."""
    name = name_of(call)
    data, rows, columns, stride = call.args[2:6]
    box_rows = number(call, 8)
    if call.dtype not in DATA_TYPES:
        help = f"copy one of {', '.join(DATA_TYPES)}"
        raise error("E0606", f"T.{name} does not copy '{call.dtype}'", call.span, help)
    if not 1 <= box_rows <= MOST_ROWS:
        reason = f"a box of T.{name} has {box_rows} rows"
        raise error("E0606", reason, call.span, f"copy 1 to {MOST_ROWS} rows at once")
    if not isinstance(data, tir.Var):
        raise error("E0606", f"T.{name} does not copy from an element", call.span, "pass the data of a buffer")
    sizes = tuple([size for size in (rows, columns, stride) if isinstance(size, tir.PrimExpr)])
    assert len(sizes) == 3
    return TensorMap(data, call.dtype, sizes, box_rows)


def calls_in(body: Node, names: Sequence[str]) -> list[tir.Call]:
    """Return the calls of the operators `names` in `body`."""
    return [node for node in walk(body) if isinstance(node, tir.Call) and name_of(node) in names]


def tensor_maps(body: Node) -> list[TensorMap]:
    """Return the different matrices that `body` copies boxes from."""
    found: list[TensorMap] = []
    for call in calls_in(body, COPIES):
        made = tensor_map_of(call)
        if not any(map(made.is_same, found)):
            found.append(made)
    return found
