"""Helpers of tests of graph-level programs (TVM: `tvm.relax.testing`)."""

from . import ast_printer, nn, runtime_builtin, transform, vm
from .ast_printer import dump_ast

__all__ = ["ast_printer", "dump_ast", "nn", "runtime_builtin", "transform", "vm"]
