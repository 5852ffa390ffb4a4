"""cuBLAS: importing this module registers its patterns and its code generator (TVM: `relax.backend.cuda.cublas`)."""

from __future__ import annotations

from ...base import IRModule
from ...passes.fuse_by_pattern import fuse_ops_by_pattern
from .. import external as external
from ..registry import get_patterns_with_prefix


def partition_for_cublas(mod: IRModule, bind_constants: bool = False) -> IRModule:
    """Return `mod` with the operations that cuBLAS supports moved to new functions, which `RunCodegen` compiles."""
    patterns = get_patterns_with_prefix("cublas")
    return fuse_ops_by_pattern(mod, patterns, bind_constants=bind_constants, annotate_codegen=True)
