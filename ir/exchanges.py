"""Names of the intrinsics that synchronize threads."""

SHUFFLES = ("tir.tvm_warp_shuffle", "tir.tvm_warp_shuffle_up", "tir.tvm_warp_shuffle_down", "tir.tvm_warp_shuffle_xor")
"""Intrinsics by which the threads of a warp exchange values."""
BARRIERS = ("tir.tvm_storage_sync", "tir.tvm_thread_allreduce", "tir.ptx_wait_barrier")
"""Intrinsics that all threads of a block reach together."""
