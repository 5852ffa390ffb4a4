"""Libraries that execute parts of a graph: their patterns by name (TVM: `tvm.relax.backend`)."""

from __future__ import annotations

from .registry import get_pattern, get_patterns_with_prefix, register_patterns

__all__ = ["get_pattern", "get_patterns_with_prefix", "register_patterns"]
