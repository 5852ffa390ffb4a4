"""Libraries that execute parts of a graph: their patterns by name (TVM: `tvm.relax.backend`)."""

from __future__ import annotations

from ..passes.transform import passes
from .registry import get_pattern, get_patterns_with_prefix, register_patterns

__all__ = ["DispatchSampling", "DispatchSortScan", "get_pattern", "get_patterns_with_prefix", "register_patterns"]
DispatchSampling, DispatchSortScan = (passes()[name] for name in ("DispatchSampling", "DispatchSortScan"))
