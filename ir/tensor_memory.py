"""Tensor memory, and the products of fifth-generation tensor cores that accumulate in it (`tcgen05`, sm_100a).

A block has up to 512 columns of tensor memory, each with 128 lanes of 32 bits: buffers of scope "tmem". Allocations, loads and waits for
loads are collective to a warp; one thread starts products, and commits them to a barrier in shared memory (`ir.tensor_copies`).

    c = T.allocate([128 * 64], "float32", "tmem")
    if tx < 32:
        T.ptx_tcgen05_alloc(c, 64)
    T.tvm_storage_sync("shared")
    if tx == 0:
        T.ptx_tcgen05_mma("float32", "m128n64k16", "row", "col", "fp16", "fp16", "fp32", a, 0, b, 0, c, 0, 0, 1024, 0, 1024, False)
        T.ptx_tcgen05_commit(0)
    T.ptx_wait_barrier(0, 0)
    T.ptx_tcgen05_fence_after_thread_sync()
    T.ptx_tcgen05_ld("float32", d, 0, c, tx // 32 * 32, 0, "32x32b", 64)
    T.ptx_tcgen05_wait_ld()

The product of A, of 128 × 16, and B, of 16 × N elements, is added to the accumulator, or overwrites it if the last operand is false: row
`i` is in lane `i`, column `j` in column `c_index + j`. The factors lie as those of `ir.warpgroups` do. Thread `l` of warp `w` loads from lane
`32 * (w % 4) + l`. (PTX ISA: "Tensor Memory", "Shared memory descriptor", "Instruction descriptor", "Memory Consistency Model for
5th generation of TensorCore operations"; CUTLASS: `mma_sm100_desc.hpp`.)
"""

from __future__ import annotations

from math import prod

from msgspec import Struct

from . import tir
from .base import Node
from .diagnostics import TvmsError, error
from .matrix_units import name_of, number, ptx_type, texts
from .visit import walk
from .warpgroups import DEPTH, DTYPES, Tile, distance

SCOPE = "tmem"
LANES, MOST_COLUMNS = 128, 512
"""Lanes of tensor memory, and columns of a multiprocessor."""
SIZES = (32, 64, 128, 256, 512)
"""Numbers of columns that can be allocated."""
COLUMNS = range(16, 257, 16)
"""Numbers of columns that products have."""
LOADED = (1, 2, 4, 8, 16, 32, 64, 128)
"""Numbers of columns that a load has."""
PRODUCT, COMMIT, ALLOCATE, FREE, RELINQUISH, LOAD, WAIT, BEFORE, AFTER = (
    "ptx_tcgen05_mma",
    "ptx_tcgen05_commit",
    "ptx_tcgen05_alloc",
    "ptx_tcgen05_dealloc",
    "ptx_tcgen05_relinquish_alloc_permit",
    "ptx_tcgen05_ld",
    "ptx_tcgen05_wait_ld",
    "ptx_tcgen05_fence_before_thread_sync",
    "ptx_tcgen05_fence_after_thread_sync",
)
OPERATORS = (PRODUCT, COMMIT, ALLOCATE, FREE, RELINQUISH, LOAD, WAIT, BEFORE, AFTER)
OF_WARP = (ALLOCATE, FREE, RELINQUISH, LOAD)
"""The operators that need all threads of a warp, and have an effect beside order."""
OF_THREAD = (PRODUCT, COMMIT)
"""The operators that one thread of a block calls."""
ARCHITECTURES = ("sm_100a", "sm_103a")
"""The architectures with tensor memory."""
_SHAPE = "32x32b"
_FORMATS = {"f16": 0, "bf16": 1}
"""The numbers of dtypes in instruction descriptors."""
_OF_FLOAT32 = 1


class TensorProduct(Struct, frozen=True):
    """A product of 128 × `n` and depth 16 of PTX type `kind`, accumulated in float32."""

    n: int
    kind: str
    a: Tile
    b: Tile

    @property
    def dtype(self) -> str:
        """Return the dtype of the factors."""
        return DTYPES[self.kind]

    @property
    def instruction_descriptor(self) -> int:
        """Return the dtypes, layouts and sizes as `tcgen05.mma` wants them."""
        dtypes = _OF_FLOAT32 << 4 | _FORMATS[self.kind] << 7 | _FORMATS[self.kind] << 10
        layouts = int(not self.a.is_deep) << 15 | int(not self.b.is_deep) << 16
        return dtypes | layouts | self.n >> 3 << 17 | LANES >> 4 << 24


def matrix_descriptor(tile: Tile) -> int:
    """Return the descriptor of a factor without its start address, which is encoded in units of 16 bytes: version 1, and the 128-byte
    swizzle, number 2, from bit 61 on.
    """
    return 2 << 61 | 1 << 46 | tile.stride >> 4 << 32 | tile.leading >> 4 << 16


def tensor_product_of(call: tir.Call) -> TensorProduct:
    """Return the product that `T.ptx_tcgen05_mma(shape, A_layout, B_layout, A_dtype, B_dtype, C_dtype, …)` computes; E0606 if
    it does not exist.
    """
    shape, a_layout, b_layout, *types = texts(call)[:6]
    a, b, c = (ptx_type(name) for name in types)
    columns = next((n for n in COLUMNS if shape == f"m{LANES}n{n}k{DEPTH}"), None)
    layouts = ("row", "col")
    if columns is None or a not in DTYPES or (b, c) != (a, "f32") or a_layout not in layouts or b_layout not in layouts:
        reason = (
            f"T.{PRODUCT} does not multiply {shape} of {a_layout} {types[0]} and {b_layout} {types[1]} into {types[2]}"
        )
        help = "supported: m128nNk16 of fp16 or bf16 into fp32, in layouts row and col, where N is a multiple of 16 up to 256"
        raise error("E0606", reason, call.span, help)
    leading_a, stride_a, leading_b, stride_b = (distance(call, position) for position in (12, 13, 14, 15))
    left = Tile(LANES, a_layout == "row", leading_a, stride_a)
    return TensorProduct(columns, a, left, Tile(columns, b_layout == "col", leading_b, stride_b))


def loaded_columns(call: tir.Call) -> int:
    """Return the number of columns that a `T.ptx_tcgen05_ld` loads; E0606 for a shape that does not exist."""
    shape, count = texts(call)[5], number(call, 6)
    if shape != _SHAPE or count not in LOADED:
        reason = f"T.{LOAD} does not load {count} times '{shape}'"
        raise error("E0606", reason, call.span, f"load '{_SHAPE}' 1, 2, 4, 8, 16, 32, 64 or 128 times")
    return count


def calls_in(body: Node) -> list[tir.Call]:
    """Return the calls of the `OPERATORS` in `body`."""
    return [node for node in walk(body) if isinstance(node, tir.Call) and name_of(node) in OPERATORS]


def columns_in(body: Node) -> dict[tir.Var, int]:
    """Return the number of columns of each buffer in tensor memory that `body` allocates; E0606 for a size that does not exist."""
    found: dict[tir.Var, int] = {}
    for stmt in walk(body):
        if not isinstance(stmt, tir.Allocate) or not is_tensor_memory(stmt.buffer_var):
            continue
        sizes = [extent.value for extent in stmt.extents if isinstance(extent, tir.IntImm)]
        columns, rest = divmod(prod(sizes), LANES)
        if stmt.dtype != "float32" or len(sizes) < len(stmt.extents) or rest or columns not in SIZES:
            what = " × ".join(map(str, stmt.extents))
            reason = f"'{stmt.buffer_var.name}' in tensor memory has {what} elements of {stmt.dtype}"
            help = f"allocate float32, {LANES} × 32, 64, 128, 256 or 512"
            raise error("E0606", reason, stmt.span or stmt.buffer_var.span, help)
        found[stmt.buffer_var] = columns
    return found


def is_tensor_memory(variable: object) -> bool:
    """Return whether a variable points to tensor memory."""
    kind = variable.type_annotation if isinstance(variable, tir.Var) else None
    return isinstance(kind, tir.PointerType) and kind.storage_scope == SCOPE


def tensor_memory_of(call: tir.Call) -> tir.Var:
    """Return the buffer in tensor memory that a call names; E0606 if it names another one."""
    at = {PRODUCT: 10, LOAD: 2}.get(name_of(call), 0)
    memory = call.args[at]
    if not isinstance(memory, tir.Var) or not is_tensor_memory(memory):
        reason = f"argument {at + 1} of T.{name_of(call)} is not a buffer in tensor memory"
        raise error("E0606", reason, call.span, f'pass the data of a buffer of scope "{SCOPE}"')
    return memory


def own_lane(thread: int) -> int:
    """Return the first lane of tensor memory that the warp of a thread accesses."""
    return thread // 32 % 4 * 32


def incomplete(call: tir.Call, name: str) -> TvmsError:
    """Return the error for an access of an accumulator before its product is complete."""
    reason = f"'{name}' is accessed before the product that changes it is complete"
    help = f"call T.{COMMIT} behind the product, and T.ptx_wait_barrier for its barrier before the access"
    return error("E0710", reason, call.span, help)
