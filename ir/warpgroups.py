"""Matrix products of a warpgroup, the four warps whose first thread is a multiple of 128 (`wgmma`, sm_90a).

`T.ptx_wgmma_mma_async` adds A @ B, of 64 × K and K × N elements in shared memory, to an accumulator in the local memory of
the threads. K elements have 32 bytes: 16 for float16 and bfloat16, 32 for float8, 8 for float32 (tf32). Lane `4 * g + t` of warp `w` of the warpgroup holds `N / 2` elements of it:

    accumulator, element i:    row 16 * w + g + 8 * (i // 2 % 2),  column 8 * (i // 4) + 2 * t + i % 2

A and B are in the layout of the 128-byte swizzle: rows of 128 bytes and groups of eight rows. A factor
is contiguous along k, as A is in the layout "row" and B in "col", or, if its elements have two bytes, along its span, the rows of A or
columns of B:

    along k:           span i, depth k at    start + i // 8 * stride + i % 8 * 128 + k * bytes of an element
    along the span:    span i, depth k at    start + i // 64 * leading + i % 64 * 2 + k // 8 * stride + k % 8 * 128

in bytes. Bits 4 to 6 of that address are then combined with bits 7 to 9 by exclusive or. Addresses count from the begin of the
allocation, which is a multiple of 1024. (PTX ISA: "Shared Memory Matrix Layout", "Matrix Descriptor Format"; CUTLASS:
`mma_sm90_desc.hpp`.)
"""

from __future__ import annotations

from msgspec import Struct

from . import tir
from .base import Node
from .diagnostics import TvmsError, error
from .dtype import element_bytes
from .matrix_units import name_of, number, ptx_type, texts
from .visit import walk

WARPGROUP = 128
"""Threads of a warpgroup."""
ROWS, DEPTH = 64, 16
"""Rows and depth of a product."""
COLUMNS = range(8, 257, 8)
"""Numbers of columns that products have."""
ALIGNMENT = 1024
"""Alignment of shared memory in bytes, so that the swizzle of an address is that of the offset in the allocation."""
ROW, LINE = 64, 8
"""Numbers of elements in a row of 128 bytes and in 16 bytes."""
PRODUCT = "ptx_wgmma_mma_async"
FENCE, COMMIT, WAIT, PROXY = (
    "ptx_wgmma_fence",
    "ptx_wgmma_commit_group",
    "ptx_wgmma_wait_group",
    "ptx_fence_proxy_async",
)
OPERATORS = (PRODUCT, FENCE, COMMIT, WAIT, PROXY)
ARCHITECTURE = "sm_90a"
"""The only architecture with these products."""
_ROW_BYTES, _LINE_BYTES, _DEPTH_BYTES = 128, 16, 32
_MOST_BYTES = 1 << 18
DTYPES = {"f16": "float16", "bf16": "bfloat16"}
"""Dtypes of factors that are contiguous along k or along their span, by their PTX types."""
_DEEP_DTYPES = {"e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2", "tf32": "float32"}
"""Dtypes of factors that are contiguous along k."""
_ALL_DTYPES = {**DTYPES, **_DEEP_DTYPES}


class Tile(Struct, frozen=True):
    """The layout of a factor: contiguous along k (`is_deep`) or along its span. `leading`, `stride` and the `size` of an element count
    bytes.
    """

    span: int
    is_deep: bool
    leading: int
    stride: int
    size: int = 2

    @property
    def row(self) -> int:
        """Return the number of elements in a row of 128 bytes."""
        return _ROW_BYTES // self.size

    @property
    def line(self) -> int:
        """Return the number of elements in 16 bytes."""
        return _LINE_BYTES // self.size

    @property
    def depth(self) -> int:
        """Return the depth of the factor."""
        return _DEPTH_BYTES // self.size

    def straight(self, span: int, depth: int) -> int:
        """Return the offset of an element from the start before the swizzle, in elements."""
        leading, stride = self.leading // self.size, self.stride // self.size
        if self.is_deep:
            return span // 8 * stride + span % 8 * self.row + depth
        return span // self.row * leading + span % self.row + depth // 8 * stride + depth % 8 * self.row

    @property
    def end(self) -> int:
        """Return the largest offset from the start before the swizzle, in elements."""
        return self.straight(self.span - 1, self.depth - 1)

    @property
    def descriptor(self) -> int:
        """Return the matrix descriptor but for its start address, which it has in units of 16 bytes."""
        return 1 << 62 | self.stride >> 4 << 32 | self.leading >> 4 << 16


class WarpgroupProduct(Struct, frozen=True):
    """A product of 64 × `n` with factors of the PTX types `kinds`, accumulated in float32."""

    n: int
    kinds: tuple[str, str]
    a: Tile
    b: Tile

    @property
    def dtypes(self) -> tuple[str, str]:
        """Return the dtypes of the factors."""
        a, b = self.kinds
        return _ALL_DTYPES[a], _ALL_DTYPES[b]

    @property
    def is_turnable(self) -> bool:
        """Return whether the factors may be contiguous along their spans."""
        return self.kinds[0] in DTYPES

    @property
    def count(self) -> int:
        """Return the number of elements of the accumulator that a thread holds."""
        return self.n // 2

    @property
    def shape(self) -> str:
        return f"m{ROWS}n{self.n}k{self.a.depth}"


def warpgroup_product_of(call: tir.Call) -> WarpgroupProduct:
    """Return the product that `T.ptx_wgmma_mma_async(shape, A_layout, B_layout, A_dtype, B_dtype, C_dtype, …)` computes; E0606
    if it does not exist.
    """
    shape, a_layout, b_layout, *types = texts(call)[:6]
    a, b, c = (ptx_type(name) for name in types)
    size = element_bytes(_ALL_DTYPES.get(a, "float16"))
    columns = next((n for n in COLUMNS if shape == f"m{ROWS}n{n}k{_DEPTH_BYTES // size}"), None)
    layouts = ("row", "col") if a in DTYPES else ("row",), ("row", "col") if a in DTYPES else ("col",)
    is_known = a in _ALL_DTYPES and (a == b or {a, b} == {"e4m3", "e5m2"}) and c == "f32"
    if columns is None or not is_known or a_layout not in layouts[0] or b_layout not in layouts[1]:
        reason = f"no warpgroup multiplies {shape} of {a_layout} {types[0]} and {b_layout} {types[1]} into {types[2]}"
        help = (
            "supported: m64nNk16 of fp16 or bf16 in layouts row and col, m64nNk32 of e4m3 and e5m2 and m64nNk8 of tf32 in layouts row "
            "and col in this order, into fp32, where N is a multiple of 8 up to 256"
        )
        raise error("E0606", reason, call.span, help)
    leading_a, stride_a, leading_b, stride_b = (distance(call, position) for position in (12, 13, 14, 15))
    left = Tile(ROWS, a_layout == "row", leading_a, stride_a, size)
    return WarpgroupProduct(columns, (a, b), left, Tile(columns, b_layout == "col", leading_b, stride_b, size))


def distance(call: tir.Call, position: int) -> int:
    """Return an offset of a matrix descriptor, in bytes; E0606 if it does not fit."""
    size = number(call, position)
    if size % 16 or not 0 <= size < _MOST_BYTES:
        reason = f"argument {position + 1} of T.{name_of(call)} is {size} bytes"
        raise error("E0606", reason, call.span, f"give a multiple of 16 from 0 to {_MOST_BYTES - 16}")
    return size


def accumulator_places(lane: int) -> list[tuple[int, int]]:
    """Return the row and column of each of four elements of the accumulator of thread `lane` of a warpgroup; the next four are
    in the next eight columns.
    """
    warp, g, t = lane // 32, lane % 32 // 4, lane % 4
    return [(16 * warp + g + 8 * (i // 2), 2 * t + i % 2) for i in range(4)]


def warpgroup_calls(body: Node) -> list[tir.Call]:
    """Return the products of warpgroups in `body`."""
    return [node for node in walk(body) if isinstance(node, tir.Call) and name_of(node) == PRODUCT]


def incomplete(call: tir.Call, name: str) -> TvmsError:
    """Return the error for an access of an accumulator before its product is complete."""
    reason = f"'{name}' is accessed before T.{WAIT} has waited for the product that changes it"
    return error("E0710", reason, call.span, f"call T.{WAIT}(0) before the access")
