"""Helpers of tests of graph-level programs (TVM: `tvm.relax.testing`)."""

from . import nn, runtime_builtin, transform, vm

__all__ = ["nn", "runtime_builtin", "transform", "vm"]
