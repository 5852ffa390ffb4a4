"""Programs that people schedule, in many sizes: each family suits some primitives that random programs hardly ever do."""

from __future__ import annotations

from functools import cache
from itertools import product

from hypothesis import strategies as st
from msgspec import Struct

from ...ir.base import IRModule
from ..load import parse

_MATMUL = """
T.prim_func main(A: T.Buffer(({n}, {k}), "{t}"), B: T.Buffer(({k}, {m}), "{t}"), D: T.Buffer(({n}, {m}), "{t}")):
    C = T.alloc_buffer(({n}, {m}), "{t}")
    for i, j, k in T.grid({n}, {m}, {k}):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.{t}(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j in T.grid({n}, {m}):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = T.max(C[vi, vj], T.{t}(0))
"""
_PRODUCT = """
T.prim_func main(A: T.Buffer(({n}, {k}), "float32"), B: T.Buffer(({k}, {m}), "float32"), C: T.Buffer(({n}, {m}), "float32")):
    for i, j, k in T.grid({n}, {m}, {k}):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""
_ROWS = """
T.prim_func main(A: T.Buffer(({n}, 8), "float32"), B: T.Buffer(({k}, 8), "float32"), C: T.Buffer(({n}, 8), "float32")):
    for i, j in T.grid({n}, 8):
        with T.block("start"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = 0.0
    for i, k, j in T.grid({n}, {k}, 8):
        with T.block("C"):
            vi, vk, vj = T.axis.remap("SRS", [i, k, j])
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""
_BYTES = """
T.prim_func main(A: T.Buffer(({n}, 4), "uint8"), B: T.Buffer((16, 4), "int8"), C: T.Buffer(({n}, 16), "int32")):
    for i, j in T.grid({n}, 16):
        with T.block("start"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = 0
    for i, j, k in T.grid({n}, 16, 4):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            C[vi, vj] = C[vi, vj] + T.Cast("int32", A[vi, vk]) * T.Cast("int32", B[vj, vk])
"""
_CHAIN = """
T.prim_func main(A: T.Buffer(({n}, {m}), "{t}"), D: T.Buffer(({n}, {m}), "{t}")):
    B = T.alloc_buffer(({n}, {m}), "{t}")
    C = T.alloc_buffer(({n}, {m}), "{t}")
    for i, j in T.grid({n}, {m}):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + A[0, vj]
    for i, j in T.grid({n}, {m}):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] * T.{t}(2)
    for i, j in T.grid({n}, {m}):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = C[vi, vj] + T.{t}(1)
"""
_PAIR = """
T.prim_func main(A: T.Buffer(({n}, {m}), "float32"), B: T.Buffer(({n}, {m}), "float32"), C: T.Buffer(({n}, {m}), "float32")):
    for i in range({n}):
        for j in range({m}):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] + 1.0
        for j in range({m}):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj] * 2.0
"""
_STENCIL = """
T.prim_func main(A: T.Buffer(({n} + {w}, {m}), "int32"), C: T.Buffer(({n}, {m}), "int32")):
    B = T.alloc_buffer(({n} + {w} - 1, {m}), "int32")
    for i, j in T.grid({n} + {w} - 1, {m}):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + A[vi + 1, vj]
    for i, j, k in T.grid({n}, {m}, {w}):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = -1000
            C[vi, vj] = T.max(C[vi, vj], B[vi + vk, vj])
"""
_TILED_STENCIL = """
T.prim_func main(A: T.Buffer(({o} * {n} + {w}, {m}), "int32"), C: T.Buffer(({o} * {n}, {m}), "int32")):
    B = T.alloc_buffer(({o} * {n} + {w} - 1, {m}), "int32")
    for i_0 in range({o}):
        for i_1, j in T.grid({n} + {w} - 1, {m}):
            with T.block("B"):
                vi = T.axis.spatial({o} * {n} + {w} - 1, i_0 * {n} + i_1)
                vj = T.axis.spatial({m}, j)
                B[vi, vj] = A[vi, vj] + A[vi + 1, vj]
        for i_1, j, k in T.grid({n}, {m}, {w}):
            with T.block("C"):
                vi = T.axis.spatial({o} * {n}, i_0 * {n} + i_1)
                vj, vk = T.axis.remap("SR", [j, k])
                with T.init():
                    C[vi, vj] = 0
                C[vi, vj] = C[vi, vj] + B[vi + vk, vj]
"""
_PADDED = """
T.prim_func main(A: T.Buffer(({n}, {m}), "float32"), C: T.Buffer(({n}, {m}), "float32")):
    P = T.alloc_buffer(({n} + 2, {m}), "float32")
    for i, j in T.grid({n} + 2, {m}):
        with T.block("P"):
            vi, vj = T.axis.remap("SS", [i, j])
            P[vi, vj] = T.if_then_else(1 <= vi and vi < {n} + 1, A[vi - 1, vj], T.float32({v}))
    for i, j, k in T.grid({n}, {m}, 3):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] = C[vi, vj] + P[vi + vk, vj]
"""
_IN_PLACE = """
T.prim_func main(A: T.Buffer(({n}, {m}), "{t}"), B: T.Buffer(({n}, {m}), "{t}")):
    for i, j in T.grid({n}, {m}):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = B[vi, vj] + A[vi, vj]
    for i, j in T.grid({n}, {m}):
        with T.block("twice"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = B[vi, vj] * T.{t}(2)
"""
_GATHER = """
T.prim_func main(A: T.Buffer(({n} * {m},), "float32"), I: T.Buffer(({n},), "int32"), C: T.Buffer(({n}, {m}), "float32")):
    B = T.alloc_buffer(({n}, {m}), "float32")
    for i, j in T.grid({n}, {m}):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(I[vi], A[0:{n} * {m}])
            T.writes(B[vi, vj])
            B[vi, vj] = A[T.max(T.min(I[vi] * {m} + vj, {n} * {m} - 1), 0)]
    for i, j in T.grid({n}, {m}):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + A[(vi * {m} + vj) // 2 * 2 % ({n} * {m})]
"""
_NORM = """
T.prim_func main(A: T.Buffer(({n}, {m}), "float32"), C: T.Buffer(({n}, {m}), "float32")):
    M = T.alloc_buffer(({n},))
    B = T.alloc_buffer(({n}, {m}))
    for i, k in T.grid({n}, {m}):
        with T.block("M"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                M[vi] = -1000.0
            M[vi] = T.max(M[vi], A[vi, vk])
    for i, j in T.grid({n}, {m}):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] - M[vi]
    for i, j in T.grid({n}, {m}):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] * 0.5
"""
_SUM = """
T.prim_func main(A: T.Buffer(({n}, {m}, {k}), "int32"), C: T.Buffer(({n},), "int32")):
    for i, j, k in T.grid({n}, {m}, {k}):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SRR", [i, j, k])
            with T.init():
                C[vi] = 0
            C[vi] = C[vi] + A[vi, vj, vk]
"""
_RECURRENCE = """
T.prim_func main(A: T.Buffer(({n}, {m}), "int32"), C: T.Buffer(({n}, {m}), "int32")):
    for i, j in T.grid({n}, {m}):
        with T.block("C"):
            vi = T.axis.scan({n}, i)
            vj = T.axis.scan({m}, j)
            T.reads(A[vi, vj], C[vi - 1, {m} - 1 - vj])
            T.writes(C[vi, vj])
            C[vi, vj] = A[vi, vj] + T.if_then_else(vi > 0, C[vi - 1, {m} - 1 - vj], 0)
"""
_DTYPES = ("int32", "float32")


class Family(Struct, frozen=True):
    """Programs of one `text` in several `sizes`, and primitives to try on them first."""

    text: str
    sizes: dict[str, tuple[object, ...]]
    first: tuple[str, ...]

    def texts(self) -> list[str]:
        """The programs."""
        return [
            self.text.format(**dict(zip(self.sizes, chosen, strict=True))) for chosen in product(*self.sizes.values())
        ]


FAMILIES = (
    Family(_MATMUL, {"n": (4, 5), "m": (4, 6), "k": (4, 7), "t": _DTYPES}, ("rfactor", "decompose_reduction")),
    Family(_PRODUCT, {"n": (4, 7), "m": (8, 5), "k": (6, 3)}, ("pad_einsum", "rfactor")),
    Family(_ROWS, {"n": (2, 4), "k": (3, 4)}, ("tensorize",)),
    Family(_BYTES, {"n": (2, 3)}, ("tensorize",)),
    Family(_CHAIN, {"n": (4, 6), "m": (4, 5), "t": _DTYPES}, ("reverse_compute_inline", "compute_inline")),
    Family(_PAIR, {"n": (4, 6), "m": (4, 5)}, ("merge",)),
    Family(_STENCIL, {"n": (8, 6), "m": (2, 3), "w": (2, 3)}, ("compute_at", "reindex_cache_write")),
    Family(_TILED_STENCIL, {"o": (2, 3), "n": (4, 2), "m": (1, 3), "w": (2, 3)}, ("rolling_buffer",)),
    Family(_PADDED, {"n": (6, 8), "m": (2, 3), "v": (0, 1)}, ("decompose_padding",)),
    Family(_IN_PLACE, {"n": (4, 6), "m": (4, 3), "t": _DTYPES}, ("cache_inplace",)),
    Family(_GATHER, {"n": (4, 3), "m": (2, 4)}, ("cache_index", "annotate_buffer_access")),
    Family(_SUM, {"n": (2, 3), "m": (2, 4), "k": (3, 4)}, ("rfactor", "fuse")),
    Family(_RECURRENCE, {"n": (3, 4), "m": (3, 4)}, ("reorder", "fuse")),
    Family(_NORM, {"n": (4, 3), "m": (8, 6)}, ("reverse_compute_at", "reverse_compute_inline")),
)


@cache
def _parsed(text: str) -> IRModule:
    return parse(text)


def schedulable() -> st.SearchStrategy[tuple[IRModule, tuple[str, ...]]]:
    """Modules of one function `main` of a few blocks, such as products, stencils, and padded or gathered reads; and a
    primitive that suits each."""
    families = [st.sampled_from([*product(family.texts(), family.first)]) for family in FAMILIES]
    return st.one_of(families).map(lambda choice: (_parsed(choice[0]), (choice[1],)))
