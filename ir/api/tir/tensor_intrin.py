"""Names of hardware intrinsics, as modules of TVM declare them (`tvm.tir.tensor_intrin.cuda`, `.x86`).

`MMA_f16f16f32_INTRIN` is the name "mma_f16f16f32", `LDMATRIX_f16_A_DYN_INTRIN` is "mma_ldmatrix_f16_a_dyn". The intrinsics
themselves are read on first use: `tir.TensorIntrin.get("mma_f16f16f32")`.
"""

from __future__ import annotations

from ...schedule.tensor_intrin import TensorIntrin

_SUFFIX = "_INTRIN"
_OTHERS = {
    "VNNI_DOT_16x4": "dot_16x4_vnni",
    "AVX512_DOT_16x4": "dot_16x4_avx512",
    "ARM_DOT_4x4_i8_NEON": "dot_4x4_i8i8s32_neon",
    "ARM_DOT_4x4_i8_SDOT": "dot_4x4_i8i8s32_sdot",
    "ARM_DOT_4x4_u8_UDOT": "dot_4x4_u8u8u32_udot",
    "ARM_DOT_4x4_u8_HDOT": "dot_4x4_u8u8i32_hdot",
    "VRMPY_u8u8i32": "dot_32x4_u8u8i32_vrmpy",
    "VRMPY_u8i8i32": "dot_32x4_u8i8i32_vrmpy",
    "VRMPY_u8u8i32_VTCM": "dot_32x4_u8u8i32_vtcm_vrmpy",
    "VRMPY_u8i8i32_VTCM": "dot_32x4_u8i8i32_vtcm_vrmpy",
    "VDMPY_i16i16i32": "dot_product_32x2_i16i16i32_vdmpy",
    "AMDGPU_SDOT4": "sdot4",
}
"""Names that do not follow the rule."""
_KINDS = {"float16": "f16", "bfloat16": "bf16", "float32": "f32", "int8": "i8", "int32": "i32"}
_WMMA = {"i8": "s8", "i32": "s32"}
"""Kinds of integers that `wmma` spells in another way than `mma`."""


def get_wmma_intrin_group(
    load_scope: str, store_scope: str, in_dtype: str, out_dtype: str, trans_b: bool
) -> dict[str, str]:
    """Return the names of the intrinsics that multiply with `wmma` (TVM: `get_wmma_intrin_group`)."""
    kind, result = (_WMMA.get(_KINDS[dtype], _KINDS[dtype]) for dtype in (in_dtype, out_dtype))
    there, back = (scope.replace(".", "_") for scope in (load_scope, store_scope))
    turned = "_trans" if trans_b else ""
    return {
        "init": f"wmma_fill_16x16x16_{result}",
        "load_a": f"wmma_load_16x16x16_{kind}_a_{there}",
        "load_b": f"wmma_load_16x16x16_{kind}_b{turned}_{there}",
        "compute": f"wmma_sync_16x16x16_{kind}{kind}{result}{turned}",
        "store": f"wmma_store_16x16x16_{result}_{back}",
    }


def get_mma_intrin_group(
    load_scope: str,
    store_scope: str,
    in_dtype: str,
    out_dtype: str,
    trans_a: bool,
    trans_b: bool,
    not_use_mma_store_intrinic: bool = True,
    store_to_smem_dtype: str | None = None,
) -> dict[str, str]:
    """Return the names of the intrinsics that multiply with `mma` (TVM: `get_mma_intrin_group`)."""
    kind, result = _KINDS[in_dtype], _KINDS[out_dtype]
    a_turned, b_turned = ("_trans" if trans else "" for trans in (trans_a, trans_b))
    where = "_dyn" if load_scope == "shared.dyn" else ""
    ways = (a_turned and f"{a_turned}_a") + (b_turned and f"{b_turned}_b")
    store = f"mma_store_16x16_{_KINDS[store_to_smem_dtype or out_dtype]}_{store_scope.replace('.', '_')}_"
    return {
        "init": f"mma_fill_16x16_{result}",
        "load_a": f"mma_ldmatrix_{kind}_a{a_turned}{where}",
        "load_b": f"mma_ldmatrix_{kind}_b{b_turned}{where}",
        "compute": f"mma_{kind}{kind}{result}{ways}",
        "store": f"{store}simple_" if not_use_mma_store_intrinic else store,
    }


def __getattr__(name: str) -> str:
    """Return the name of an intrinsic for TVM's constant `name`."""
    base = name.removesuffix(_SUFFIX)
    if base != name and base in _OTHERS:
        return _OTHERS[base]
    if base != name:
        lower = base.lower()
        moved = lower.removesuffix("_dyn") + "_shared_dyn" if lower.endswith("_dyn") else f"{lower}_shared"
        for candidate in (lower, f"mma_{lower}", moved, f"{lower}_"):
            if TensorIntrin.get(candidate, allow_missing=True) is not None:
                return candidate
    raise AttributeError(f"there is no intrinsic '{name}'")
