"""`tvms.relax.frontend.nn.llm.tree_attn`. Generated from the declarations; do not edit."""

from tvms.ir.nn.llm.tree_attn import tree_attn as tree_attn
from tvms.ir.nn.llm.tree_attn import tree_attn_cpu as tree_attn_cpu
from tvms.ir.nn.llm.tree_attn import tree_attn_with_paged_kv_cache as tree_attn_with_paged_kv_cache
from tvms.ir.nn.llm.tree_attn import tree_attn_with_paged_kv_cache_cpu as tree_attn_with_paged_kv_cache_cpu
