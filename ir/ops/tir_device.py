"""Intrinsics for GPUs and accelerators: threads, barriers, matrix units, asynchronous copies (TVM: `builtin.cc`)."""

from __future__ import annotations

from .tir_table import Intrinsic

_FRAGMENT = "fragment:data m:constant n:constant k:constant index:index"
_FRAGMENTS = " ".join(f"fragment_{name}:data index_{name}:index" for name in "dabc")
_MMA = (
    "shape:text A_layout:text B_layout:text A_dtype:text B_dtype:text C_dtype:text "
    "multiplicand_a:handle a_index:index multiplicand_b:handle b_index:index accumulator:handle c_index:index"
)

ROWS = (
    Intrinsic("tvm_storage_sync", "storage_scope:text", "int32", "opaque", "Synchronize all threads that share the scope."),
    Intrinsic("tvm_global_barrier_kinit", "*args:any", "int32", "opaque", "Initialize a global barrier.", in_script=False),
    Intrinsic("tvm_thread_invariant", "cond:value", "arg0", "pure", "cond, which must be the same in all threads of a block."),
    Intrinsic(
        "tvm_thread_allreduce", "*freduce_args:value", "handle", "opaque",
        "size, values…, condition, results…, threads…: reduce the threads' values by the surrounding reducer.",
    ),
    Intrinsic("tvm_warp_shuffle", "mask:index value:scalar warp_id:index width:index warp_size:index", "arg1", "opaque", "The value of lane warp_id."),
    Intrinsic(
        "tvm_warp_shuffle_up", "mask:index value:scalar offset:index width:index warp_size:index", "arg1", "opaque",
        "The value of the lane that is lower by offset.",
    ),
    Intrinsic(
        "tvm_warp_shuffle_down", "mask:index value:scalar offset:index width:index warp_size:index", "arg1", "opaque",
        "The value of the lane that is higher by offset.",
    ),
    Intrinsic(
        "tvm_warp_shuffle_xor", "mask:index value:scalar lane_mask:index width:index warp_size:index", "arg1", "opaque",
        "The value of the lane whose number is this one xor lane_mask.",
    ),
    Intrinsic("tvm_warp_activemask", "", "uint32", "opaque", "Mask of the active threads of the warp."),
    Intrinsic("atomic_add", "address:handle value:scalar", "arg1", "opaque", "Add to memory and return the old value.", in_script=False),
    # Matrix units
    Intrinsic("tvm_fill_fragment", f"{_FRAGMENT} value:scalar", "handle", "opaque", "Fill a fragment."),
    Intrinsic(
        "tvm_load_matrix_sync", f"{_FRAGMENT} buffer_ptr:handle stride:index layout:text", "handle", "read",
        "Load a fragment, collectively by all threads of a warp.",
    ),
    Intrinsic(
        "tvm_store_matrix_sync", f"{_FRAGMENT} buffer_ptr:handle stride:index layout:text", "handle", "opaque",
        "Store a fragment, collectively by all threads of a warp.",
    ),
    Intrinsic("tvm_mma_sync", _FRAGMENTS, "handle", "opaque", "d = a @ b + c, on fragments."),
    Intrinsic("tvm_bmma_sync", _FRAGMENTS, "handle", "opaque", "d = popcount(a ^ b) + c, on fragments of bits."),
    Intrinsic("ptx_mma", f"{_MMA} saturate:constant operator:text=None", "first", "opaque", "PTX's `mma.sync`."),
    Intrinsic(
        "ptx_mma_sp", f"{_MMA} metadata:handle meta_index:index sparse_selector:index saturate:constant", "first", "opaque",
        "PTX's `mma.sp.sync` with a sparse matrix.",
    ),
    Intrinsic(
        "ptx_ldmatrix", "trans:constant num:constant type:text local_ptr:handle local_offset:index smem_ptr:handle smem_offset:index", "first", "opaque",
        "PTX's `ldmatrix`.",
    ),
    Intrinsic(
        "ptx_stmatrix", "trans:constant num:constant type:text local_ptr:handle local_offset:index smem_ptr:handle smem_offset:index", "first", "opaque",
        "PTX's `stmatrix`: store what `ldmatrix` with the same arguments loads.",
    ),
    Intrinsic(
        "ptx_wgmma_mma_async", f"{_MMA} a_leading:constant a_stride:constant b_leading:constant b_stride:constant", "first", "opaque",
        "PTX's `wgmma.mma_async`: start a product of a warpgroup; offsets of its factors in shared memory are in bytes.",
    ),
    Intrinsic("ptx_wgmma_fence", "", "void", "opaque", "PTX's `wgmma.fence`: let products use the registers that were changed before."),
    Intrinsic("ptx_wgmma_commit_group", "", "void", "opaque", "PTX's `wgmma.commit_group`."),
    Intrinsic("ptx_wgmma_wait_group", "num:constant", "void", "opaque", "PTX's `wgmma.wait_group`: wait until at most num groups are pending."),
    Intrinsic("ptx_fence_proxy_async", "", "void", "opaque", "PTX's `fence.proxy.async`: let asynchronous products read shared memory that was written before."),
    Intrinsic(
        "ptx_tcgen05_alloc", "accumulator:handle columns:constant", "void", "opaque",
        "PTX's `tcgen05.alloc`: a warp allocates the columns of a buffer in tensor memory.",
    ),
    Intrinsic(
        "ptx_tcgen05_dealloc", "accumulator:handle columns:constant", "void", "opaque",
        "PTX's `tcgen05.dealloc`: a warp frees the columns of a buffer in tensor memory.",
    ),
    Intrinsic(
        "ptx_tcgen05_relinquish_alloc_permit", "", "void", "opaque",
        "PTX's `tcgen05.relinquish_alloc_permit`: a warp declares that its block allocates no more tensor memory.",
    ),
    Intrinsic(
        "ptx_tcgen05_mma",
        f"{_MMA} a_leading:constant a_stride:constant b_leading:constant b_stride:constant enable_input_d:condition",
        "first", "opaque",
        "PTX's `tcgen05.mma`: a thread starts a product that is added to tensor memory, or overwrites it if enable_input_d is false.",
    ),
    Intrinsic(
        "ptx_tcgen05_commit", "barrier_id:index", "void", "opaque",
        "PTX's `tcgen05.commit`: arrive at a barrier in shared memory when all products that this thread has started are complete.",
    ),
    Intrinsic(
        "ptx_tcgen05_ld", "local_ptr:handle local_offset:index accumulator:handle row:index column:index shape:text num:constant", "first", "opaque",
        "PTX's `tcgen05.ld`: a warp starts to load num columns of its lanes of tensor memory, the first of which is row.",
    ),
    Intrinsic("ptx_tcgen05_wait_ld", "", "void", "opaque", "PTX's `tcgen05.wait::ld`: wait until all loads of this thread are complete."),
    Intrinsic(
        "ptx_tcgen05_fence_before_thread_sync", "", "void", "opaque",
        "PTX's `tcgen05.fence::before_thread_sync`: let what threads do behind a barrier follow the loads and products before.",
    ),
    Intrinsic(
        "ptx_tcgen05_fence_after_thread_sync", "", "void", "opaque",
        "PTX's `tcgen05.fence::after_thread_sync`: let loads and products follow what threads did before a barrier.",
    ),
    Intrinsic("ptx_ldg32", "*args:any", "first", "pure", "PTX's `ld.global.nc` under a condition.", in_script=False),
    Intrinsic(
        "mma_store", "m:constant n:constant dst_ptr:handle src_ptr:handle src_offset:index dst_stride:index", "first", "opaque", "Store the result of `ptx_mma`."
    ),
    Intrinsic("mma_fill", "local_size:index local_ptr:handle offset:index", "first", "opaque", "Fill the result of `ptx_mma` with zeros."),
    Intrinsic(
        "make_filled_simdgroup_matrix", "d:data index:index value:scalar col:index=8 row:index=8", "handle", "opaque", "Fill a matrix of a SIMD group."
    ),
    Intrinsic(
        "simdgroup_load", "d:data index:index ptr:handle stride:index col:index=8 row:index=8 transpose_matrix:condition=False", "handle", "opaque",
        "Load a matrix of a SIMD group.",
    ),
    Intrinsic(
        "simdgroup_store", "d:data index:index ptr:handle stride:index col:index=8 row:index=8 transpose_matrix:condition=False", "handle", "opaque",
        "Store a matrix of a SIMD group.",
    ),
    Intrinsic(
        "simdgroup_multiply_accumulate", "d:data index_d:index a:data index_a:index b:data index_b:index c:data index_c:index", "handle", "opaque",
        "d = a @ b + c, on matrices of a SIMD group.",
    ),
    # Asynchronous copies
    Intrinsic(
        "ptx_cp_async", "shared_ptr:handle shared_offset:index global_ptr:handle global_offset:index bytes:constant predicate:condition=None", "first", "opaque",
        "PTX's `cp.async`: start a copy to shared memory; writes zeros if predicate is false.",
    ),
    Intrinsic(
        "ptx_cp_async_bulk", "shared_ptr:handle shared_offset:index global_ptr:handle global_offset:index bytes:index barrier_id:index", "first", "opaque",
        "PTX's `cp.async.bulk`.",
    ),
    Intrinsic("ptx_commit_group", "", "void", "opaque", "PTX's `cp.async.commit_group`."),
    Intrinsic("ptx_wait_group", "num:index", "void", "opaque", "PTX's `cp.async.wait_group`."),
    Intrinsic("ptx_cp_async_barrier", "barrier_id:index", "void", "opaque", "PTX's `cp.async.mbarrier.arrive`."),
    Intrinsic("create_barriers", "barrier_count:index", "void", "opaque", "Declare barriers in shared memory."),
    Intrinsic(
        "ptx_init_barrier_thread_count", "barrier_id:index thread_count:index", "void", "opaque", "PTX's `mbarrier.init`."
    ),
    Intrinsic(
        "ptx_arrive_barrier", "barrier_id:index predicate:condition=None", "void", "opaque",
        "PTX's `mbarrier.arrive`; does nothing if predicate is false.",
    ),
    Intrinsic(
        "ptx_arrive_barrier_remote", "barrier_id:index cta_rank:index predicate:condition=None", "void", "opaque",
        "PTX's `mapa` and `mbarrier.arrive.shared::cluster`: arrive at the barrier of block cta_rank of the cluster.",
    ),
    Intrinsic(
        "ptx_arrive_barrier_expect_tx", "barrier_id:index byte_count:index predicate:condition=None", "void", "opaque",
        "PTX's `mbarrier.arrive.expect_tx`; does nothing if predicate is false.",
    ),
    Intrinsic(
        "ptx_wait_barrier", "barrier_id:index parity:index=0", "void", "opaque",
        "PTX's `mbarrier.try_wait.parity`: the thread waits until the phase of that parity, its lowest bit, is complete.",
    ),
    Intrinsic(
        "ptx_cp_async_bulk_tensor",
        "shared_ptr:handle shared_offset:index global_ptr:handle rows:index columns:index stride:index row:index column:index "
        "box_rows:constant barrier_id:index predicate:condition=None",
        "first", "opaque",
        "PTX's `cp.async.bulk.tensor.2d`: start a copy of rows of 128 bytes of a matrix to shared memory, in the layout of the 128-byte swizzle, if predicate is true.",
    ),
    Intrinsic(
        "ptx_cp_async_bulk_tensor_multicast",
        "shared_ptr:handle shared_offset:index global_ptr:handle rows:index columns:index stride:index row:index column:index "
        "box_rows:constant barrier_id:index cta_mask:index predicate:condition=None",
        "first", "opaque",
        "PTX's `cp.async.bulk.tensor.2d` with `.multicast::cluster`: start a copy to the same place in each block of the cluster whose bit "
        "in cta_mask is set; each of them counts the bytes.",
    ),
    Intrinsic("ptx_barrier_cluster_arrive", "", "void", "opaque", "PTX's `barrier.cluster.arrive`: arrive at the barrier of a cluster of blocks."),
    Intrinsic(
        "ptx_barrier_cluster_wait", "", "void", "opaque",
        "PTX's `barrier.cluster.wait`: wait until all threads of the cluster have arrived.",
    ),
    Intrinsic(
        "ptx_barrier_sync", "barrier:constant thread_count:constant", "void", "opaque",
        "PTX's `barrier.sync`: wait until thread_count threads of the block wait at this one of its barriers 1 to 15.",
    ),
    Intrinsic(
        "ptx_setmaxnreg", "is_increase:constant count:constant", "void", "opaque",
        "PTX's `setmaxnreg`: change the number of registers of each thread of a warpgroup.",
    ),
    Intrinsic("dma_copy", "*args:any", "int32", "opaque", "Start a DMA copy.", in_script=False),
    Intrinsic("dma_wait", "*args:any", "int32", "opaque", "Wait for DMA copies.", in_script=False),
    Intrinsic("dma_start_group", "*args:any", "int32", "opaque", "Begin a group of DMA copies.", in_script=False),
    Intrinsic("dma_end_group", "*args:any", "int32", "opaque", "End a group of DMA copies.", in_script=False),
    Intrinsic("texture2d_load", "*args:any", "first", "opaque", "Read a texture.", in_script=False),
    Intrinsic("texture2d_store", "*args:any", "first", "opaque", "Write a texture.", in_script=False),
)  # fmt: skip
