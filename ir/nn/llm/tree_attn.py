"""Attention to trees of tokens (TVM: `relax.frontend.nn.llm.tree_attn`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ... import tir
from .attention import is_gpu
from .attention import paged_tree as tree_attn_with_paged_kv_cache_cpu
from .attention import tree as tree_attn_cpu

__all__ = ["tree_attn", "tree_attn_cpu", "tree_attn_with_paged_kv_cache", "tree_attn_with_paged_kv_cache_cpu"]


def tree_attn(
    h_kv: int, h_q: int, d: int, dtype: str, rope_scaling: Mapping[str, Any], target: Any
) -> tir.PrimFunc:  # fmt: skip
    """Return the function that `tree_attn_cpu` describes, for `target`."""
    return tree_attn_cpu(h_kv, h_q, d, dtype, rope_scaling, is_gpu(target))


def tree_attn_with_paged_kv_cache(
    h_kv: int, h_q: int, d: int, dtype: str, rope_scaling: Mapping[str, Any], target: Any, page_size: Any = 16
) -> tir.PrimFunc:  # fmt: skip
    """Return the function that `tree_attn_with_paged_kv_cache_cpu` describes, for `target`."""
    return tree_attn_with_paged_kv_cache_cpu(h_kv, h_q, d, dtype, rope_scaling, page_size, is_gpu(target))
