"""The forms of TIRX's tile level: which names of `T` belong to it, and the dtypes of their results.

None of them is compiled or executed. A program that uses them can be read, rewritten and printed
(docs/decisions/0018-tile-level.md).

A name that ends with `[]` takes its arguments in brackets, and one that starts with a dot is a method of its first argument;
`:` is a slice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

NAMESPACES = frozenset(
    ("ptx", "cuda", "nki", "webgpu", "nvshmem", "tile", "cta", "warp", "warpgroup", "wg", "cluster", "thread")
)
"""Namespaces of `T` whose members all belong to the tile level, except those that have an equivalent in TVM 0.21."""
SCOPE_IDS = frozenset(
    (
        "cluster_id", "cta_id", "cta_id_in_cluster", "cta_id_in_pair", "warpgroup_id", "warp_id", "warp_id_in_wg", "lane_id",
        "thread_id", "thread_id_in_wg",
    )
)  # fmt: skip
"""Forms that define the index of a thread, or of a group of threads, in the group around it."""
SCOPES = frozenset(("hint", "tile.compose_op"))
"""Forms that say something about the statements in their body."""
LAYOUTS = frozenset(("TileLayout", "ComposeLayout", "SwizzleLayout"))
AXES = frozenset(("S", "R"))
"""Forms of layouts that take their arguments in brackets."""
OTHERS = frozenset(
    (
        "print_buffer", "tvm_kernel_replace_point", "handle_add_byte_offset", "ptr_byte_offset", "call_kernel", "selector",
        "tensormap_encode_tiled", "thread_return", "TensorMap", "smem", "tmem",
    )
)  # fmt: skip
NAMES = SCOPE_IDS | SCOPES | LAYOUTS | AXES | OTHERS
"""Names of the tile level outside its namespaces."""
SCALARS = {"local_scalar": "local", "shared_scalar": "shared"}
"""Forms that declare a buffer of one element, with their storage scope."""
OF_OTHERS = {
    "s_tir": frozenset(("ldg32",)),
    "metal": frozenset(("simd_shuffle", "simd_shuffle_up", "simd_shuffle_down")),
}
"""Members of namespaces that otherwise do not belong to the tile level."""
VALUES = frozenset(("ptx.SINK",))
"""Names that are values, not calls."""
VIEW = "view"
"""Attribute of a buffer that a method of the tile level made: the call."""
PERSISTENT = "tir.persistent_kernel"
"""Key of the attribute of a function with `T.prim_func(persistent=True)`."""
DEVICE_ENTRY = "tirx.device_entry"
"""Key of the attribute that `T.device_entry()` gives to the statements after it."""

_RESULTS = {
    "cuda.elect_sync": "uint32", "cuda.__activemask": "uint32", "cuda.ballot_sync": "uint32", "cuda.ffs_u32": "int32",
    "cuda.float_as_uint": "uint32", "cuda.uint_as_float": "float32", "cuda.fdividef": "float32", "cuda.clock64": "uint64",
    "cuda.reduce_add_sync_u32": "uint32", "cuda.reduce_min_sync_u32": "uint32", "cuda.any_sync": "int32",
    "cuda.cvta_generic_to_shared": "uint32", "cuda.sm100_2sm_leader_smem_addr": "uint32", "cuda.make_float2": "uint64",
    "cuda.mov_sreg": "int32", "cuda.float22bfloat162_rn": "uint32", "cuda.thread_rank": "int32", "cuda.half2float": "float32", "cuda.bfloat162float": "float32",
    "cuda.syncthreads_and": "int32", "cuda.syncthreads_or": "int32",
    "ptr_byte_offset": "handle", "handle_add_byte_offset": "handle", "ptx.addr": "handle", "ptx.pred": "bool",
}  # fmt: skip
_LIKE_OPERAND = {
    **dict.fromkeys(
        (
            "cuda.warp_sum", "cuda.warp_max", "cuda.warp_min", "cuda.warp_reduce", "cuda.cta_sum", "cuda.cta_max", "cuda.cta_min",
            "cuda.cta_reduce", "webgpu.subgroup_shuffle", "webgpu.subgroup_shuffle_up", "webgpu.subgroup_shuffle_down",
            "metal.simd_shuffle", "metal.simd_shuffle_up", "metal.simd_shuffle_down",
        ),
        0,
    ),
    **dict.fromkeys(
        (
            "cuda.__shfl_sync", "cuda.__shfl_up_sync", "cuda.__shfl_down_sync", "cuda.__shfl_xor_sync", "cuda.atomic_add",
            "cuda.atomic_cas",
        ),
        1,
    ),
}  # fmt: skip
"""Calls whose result has the dtype of an argument, with its position."""


def result_dtype(name: str, args: Sequence[Any], keywords: Mapping[str, Any]) -> str:
    """Return the dtype of a call; "void" if it has no result, or if only TVM knows it."""
    if name in SCOPE_IDS:
        return str(keywords.get("dtype", "int32"))
    if name == "cuda.ldg" and len(args) == 2:
        return str(args[1])
    named = keywords.get("return_type", keywords.get("dtype"))
    if isinstance(named, str) and name.startswith("cuda."):
        return named
    place = _LIKE_OPERAND.get(name)
    if place is not None and place < len(args):
        return "int32" if isinstance(args[place], int) else getattr(args[place], "dtype", "void")
    return _RESULTS.get(name, "void")
