"""Libraries for NVIDIA GPUs (TVM: `tvm.relax.backend.cuda`)."""
