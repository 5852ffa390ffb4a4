"""The intrinsics at which threads wait for each other, by name."""

SHUFFLES = ("tir.tvm_warp_shuffle", "tir.tvm_warp_shuffle_up", "tir.tvm_warp_shuffle_down", "tir.tvm_warp_shuffle_xor")
"""Those by which threads of a warp read each other's values."""
BARRIERS = ("tir.tvm_storage_sync", "tir.tvm_thread_allreduce")
"""Those that threads of a block reach together."""
