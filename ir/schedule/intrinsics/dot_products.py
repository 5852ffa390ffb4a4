"""Texts of intrinsics that add 2 or 4 products of integers to each element of a vector, under TVM's names.

Those of processors are implemented by vectors of integers, which LLVM turns into the instructions of a processor that has
them, those of GPUs by `T.dp4a`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from msgspec import Struct


class DotProduct(Struct, frozen=True):
    """`columns` sums of `depth` products: C[i] += A[k] * B[i, k]; the dtypes are those of A, B and C."""

    columns: int
    depth: int
    dtypes: tuple[str, str, str]
    scopes: tuple[str, str, str] = ("global", "global", "global")


def _on_gpu(*dtypes: str) -> DotProduct:
    a, b, c = dtypes
    return DotProduct(1, 4, (a, b, c), ("shared", "shared", "local"))


_VTCM = ("global.vtcm", "global.vtcm", "global.vtcm")
_ROWS = {
    "dot_16x4_vnni": DotProduct(16, 4, ("uint8", "int8", "int32")),
    "dot_16x4_avx512": DotProduct(16, 4, ("uint8", "int8", "int32")),
    "dot_4x4_i8i8s32_neon": DotProduct(4, 4, ("int8", "int8", "int32")),
    "dot_4x4_i8i8s32_sdot": DotProduct(4, 4, ("int8", "int8", "int32")),
    "dot_4x4_u8u8u32_udot": DotProduct(4, 4, ("uint8", "uint8", "uint32")),
    "dot_4x4_u8u8i32_hdot": DotProduct(4, 4, ("uint8", "uint8", "int32")),
    "dot_32x4_u8u8i32_vrmpy": DotProduct(32, 4, ("uint8", "uint8", "int32")),
    "dot_32x4_u8i8i32_vrmpy": DotProduct(32, 4, ("uint8", "int8", "int32")),
    "dot_32x4_u8u8i32_vtcm_vrmpy": DotProduct(32, 4, ("uint8", "uint8", "int32"), _VTCM),
    "dot_32x4_u8i8i32_vtcm_vrmpy": DotProduct(32, 4, ("uint8", "int8", "int32"), _VTCM),
    "dot_product_32x2_i16i16i32_vdmpy": DotProduct(32, 2, ("int16", "int16", "int32")),
    "dp4a_s8s8s32": _on_gpu("int8", "int8", "int32"),
    "dp4a_u8s8s32": _on_gpu("uint8", "int8", "int32"),
    "dp4a_s8u8s32": _on_gpu("int8", "uint8", "int32"),
    "dp4a_u8u8u32": _on_gpu("uint8", "uint8", "uint32"),
    "sdot4": _on_gpu("int8", "int8", "int32"),
}


def _text(name: str, row: DotProduct) -> str:
    is_vector = row.columns > 1
    b_shape = f"({row.columns}, {row.depth})" if is_vector else f"({row.depth},)"
    shapes = (f"({row.depth},)", b_shape, f"({row.columns},)")
    options = "offset_factor=1" if is_vector else "align=4, offset_factor=1"
    buffers = ", ".join(
        [
            f'{buffer}: T.Buffer({shape}, "{dtype}", {options}, scope="{scope}")'
            for buffer, shape, dtype, scope in zip("ABC", shapes, row.dtypes, row.scopes, strict=True)
        ]
    )
    result = f"C[0:{row.columns}]" if is_vector else "C[0]"
    columns = f"0:{row.columns}, " if is_vector else ""
    head = f"""    with T.block("root"):
        T.reads({result}, A[0:{row.depth}], B[{columns}0:{row.depth}])
        T.writes({result})
"""
    return f"""
T.prim_func {name}_desc({buffers}):
{head}{_description(row, is_vector)}

T.prim_func {name}_impl({buffers}):
{head}{_implementation(row, is_vector)}
"""


def _description(row: DotProduct, is_vector: bool) -> str:
    if not is_vector:
        return f"""        for k in range({row.depth}):
            with T.block("update"):
                vk = T.axis.reduce({row.depth}, k)
                {_update(row, "0", "vk", "vk")}"""
    return f"""        for i, k in T.grid({row.columns}, {row.depth}):
            with T.block("update"):
                vi, vk = T.axis.remap("SR", [i, k])
                {_update(row, "vi", "vk", "vi, vk")}"""


def _implementation(row: DotProduct, is_vector: bool) -> str:
    if not is_vector:
        return "        C[0] = T.dp4a(A[0:4], B[0:4], C[0])"
    return f"""        for k in T.unroll({row.depth}):
            for i in T.vectorized({row.columns}):
                {_update(row, "i", "k", "i, k")}"""


def _update(row: DotProduct, i: str, k: str, place: str) -> str:
    kind = row.dtypes[2]
    return f'C[{i}] = C[{i}] + T.Cast("{kind}", A[{k}]) * T.Cast("{kind}", B[{place}])'


TEXTS: dict[str, Callable[[str], str]] = {name: partial(_text, row=row) for name, row in _ROWS.items()}
"""Generators of the text of each intrinsic, by name: the functions `NAME_desc` and `NAME_impl`."""
