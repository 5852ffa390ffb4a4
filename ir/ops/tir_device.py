"""Intrinsics of GPUs and accelerators: threads, barriers, matrix units, asynchronous copies (TVM: `builtin.cc`)."""

from __future__ import annotations

from .tir_table import Intrinsic

_FRAGMENT = "fragment m n k index"
_FRAGMENTS = "fragment_d index_d fragment_a index_a fragment_b index_b fragment_c index_c"
_MMA = (
    "shape A_layout B_layout A_dtype B_dtype C_dtype multiplicand_a a_index multiplicand_b b_index accumulator c_index"
)

ROWS = (
    Intrinsic("tvm_storage_sync", "storage_scope", "int32", "opaque", "Wait for all threads that share the scope."),
    Intrinsic("tvm_global_barrier_kinit", "*args", "int32", "opaque", "Set a global barrier up.", in_script=False),
    Intrinsic("tvm_thread_invariant", "cond", "arg0", "pure", "cond, the same in all threads of a block."),
    Intrinsic(
        "tvm_thread_allreduce", "*freduce_args", "handle", "opaque",
        "size, values…, condition, results…, threads…: combine the threads' values by the surrounding reducer.",
    ),
    Intrinsic("tvm_warp_shuffle", "mask value warp_id width warp_size", "arg1", "opaque", "Thread warp_id's value."),
    Intrinsic(
        "tvm_warp_shuffle_up", "mask value offset width warp_size", "arg1", "opaque",
        "The value of the thread offset below.",
    ),
    Intrinsic(
        "tvm_warp_shuffle_down", "mask value offset width warp_size", "arg1", "opaque",
        "The value of the thread offset above.",
    ),
    Intrinsic(
        "tvm_warp_shuffle_xor", "mask value lane_mask width warp_size", "arg1", "opaque",
        "The value of the thread whose number differs by lane_mask.",
    ),
    Intrinsic("tvm_warp_activemask", "", "uint32", "opaque", "The threads of the warp that run."),
    Intrinsic("atomic_add", "address value", "arg1", "opaque", "Add to memory; what it held.", in_script=False),
    # Matrix units
    Intrinsic("tvm_fill_fragment", f"{_FRAGMENT} value", "handle", "opaque", "Fill a fragment."),
    Intrinsic(
        "tvm_load_matrix_sync", f"{_FRAGMENT} buffer_ptr stride layout", "handle", "read",
        "Load a fragment, all threads of the warp together.",
    ),
    Intrinsic(
        "tvm_store_matrix_sync", f"{_FRAGMENT} buffer_ptr stride layout", "handle", "opaque",
        "Store a fragment, all threads of the warp together.",
    ),
    Intrinsic("tvm_mma_sync", _FRAGMENTS, "handle", "opaque", "d = a @ b + c, on fragments."),
    Intrinsic("tvm_bmma_sync", _FRAGMENTS, "handle", "opaque", "d = popcount(a ^ b) + c, on fragments of bits."),
    Intrinsic("ptx_mma", f"{_MMA} saturate operator=None", "first", "opaque", "PTX's `mma.sync`."),
    Intrinsic(
        "ptx_mma_sp", f"{_MMA} metadata meta_index sparse_selector saturate", "first", "opaque",
        "PTX's `mma.sp.sync`, of a sparse matrix.",
    ),
    Intrinsic(
        "ptx_ldmatrix", "trans num type local_ptr local_offset smem_ptr smem_offset", "first", "opaque",
        "PTX's `ldmatrix`.",
    ),
    Intrinsic("ptx_ldg32", "*args", "first", "pure", "PTX's `ld.global.nc` under a condition.", in_script=False),
    Intrinsic(
        "mma_store", "m n dst_ptr src_ptr src_offset dst_stride", "first", "opaque", "Store the result of `ptx_mma`."
    ),
    Intrinsic("mma_fill", "local_size local_ptr offset", "first", "opaque", "Fill the result of `ptx_mma` with zeros."),
    Intrinsic(
        "make_filled_simdgroup_matrix", "d index value col=8 row=8", "handle", "opaque", "Fill a matrix of a SIMD group."
    ),
    Intrinsic(
        "simdgroup_load", "d index ptr stride col=8 row=8 transpose_matrix=False", "handle", "opaque",
        "Load a matrix of a SIMD group.",
    ),
    Intrinsic(
        "simdgroup_store", "d index ptr stride col=8 row=8 transpose_matrix=False", "handle", "opaque",
        "Store a matrix of a SIMD group.",
    ),
    Intrinsic(
        "simdgroup_multiply_accumulate", "d index_d a index_a b index_b c index_c", "handle", "opaque",
        "d = a @ b + c, on matrices of a SIMD group.",
    ),
    # Asynchronous copies
    Intrinsic(
        "ptx_cp_async", "shared_ptr shared_offset global_ptr global_offset bytes predicate=None", "first", "opaque",
        "PTX's `cp.async`: begin to copy to shared memory; zeros where predicate is false.",
    ),
    Intrinsic(
        "ptx_cp_async_bulk", "shared_ptr shared_offset global_ptr global_offset bytes barrier_id", "first", "opaque",
        "PTX's `cp.async.bulk`.",
    ),
    Intrinsic("ptx_commit_group", "", "void", "opaque", "PTX's `cp.async.commit_group`."),
    Intrinsic("ptx_wait_group", "num", "void", "opaque", "PTX's `cp.async.wait_group`."),
    Intrinsic("ptx_cp_async_barrier", "barrier_id", "void", "opaque", "PTX's `cp.async.mbarrier.arrive`."),
    Intrinsic("create_barriers", "barrier_count", "void", "opaque", "Declare barriers in shared memory."),
    Intrinsic(
        "ptx_init_barrier_thread_count", "barrier_id thread_count", "void", "opaque", "PTX's `mbarrier.init`."
    ),
    Intrinsic("ptx_arrive_barrier", "barrier_id", "void", "opaque", "PTX's `mbarrier.arrive`."),
    Intrinsic(
        "ptx_arrive_barrier_expect_tx", "barrier_id byte_count", "void", "opaque", "PTX's `mbarrier.arrive.expect_tx`."
    ),
    Intrinsic("ptx_wait_barrier", "barrier_id", "void", "opaque", "Wait for a barrier."),
    Intrinsic("dma_copy", "*args", "int32", "opaque", "Begin a copy by DMA.", in_script=False),
    Intrinsic("dma_wait", "*args", "int32", "opaque", "Wait for copies by DMA.", in_script=False),
    Intrinsic("dma_start_group", "*args", "int32", "opaque", "Begin a group of copies by DMA.", in_script=False),
    Intrinsic("dma_end_group", "*args", "int32", "opaque", "End a group of copies by DMA.", in_script=False),
    Intrinsic("texture2d_load", "*args", "first", "opaque", "Read a texture.", in_script=False),
    Intrinsic("texture2d_store", "*args", "first", "opaque", "Write a texture.", in_script=False),
)  # fmt: skip
