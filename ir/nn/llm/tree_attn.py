"""Attention to trees of tokens (TVM: `relax.frontend.nn.llm.tree_attn`)."""

from .attention import paged_tree as tree_attn_with_paged_kv_cache_cpu
from .attention import tree as tree_attn_cpu

__all__ = ["tree_attn_cpu", "tree_attn_with_paged_kv_cache_cpu"]
