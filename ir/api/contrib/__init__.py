"""Helpers around compiled programs (TVM: `tvm.contrib`)."""
