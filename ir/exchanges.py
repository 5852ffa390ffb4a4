"""Names of the intrinsics that synchronize threads."""

SHUFFLES = ("tir.tvm_warp_shuffle", "tir.tvm_warp_shuffle_up", "tir.tvm_warp_shuffle_down", "tir.tvm_warp_shuffle_xor")
"""Intrinsics by which the threads of a warp exchange values."""
ACTIVE = "tir.tvm_warp_activemask"
"""Intrinsic that tells which threads of a warp execute it together."""
WAITS = ("tir.ptx_wait_barrier", "tir.ptx_barrier_cluster_wait", "tir.ptx_barrier_sync")
"""Intrinsics at which single threads wait for what others do."""
BARRIERS = ("tir.tvm_storage_sync", "tir.tvm_thread_allreduce", *WAITS)
"""Intrinsics at which threads of a block wait for each other."""
