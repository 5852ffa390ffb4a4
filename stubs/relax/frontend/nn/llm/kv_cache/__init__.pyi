"""`tvms.relax.frontend.nn.llm.kv_cache`. Generated from the declarations; do not edit."""

from tvms.ir.nn.llm.kv_cache import AttnKind as AttnKind
from tvms.ir.nn.llm.kv_cache import FlashInferPagedKVCache as FlashInferPagedKVCache
from tvms.ir.nn.llm.kv_cache import PagedKVCache as PagedKVCache
from tvms.ir.nn.llm.kv_cache import RopeMode as RopeMode
from tvms.ir.nn.llm.kv_cache import TIRPagedKVCache as TIRPagedKVCache
from tvms.ir.nn.llm.kv_cache import llama_rope_with_position_map as llama_rope_with_position_map
from tvms.ir.nn.llm.kv_cache import tree_attn as tree_attn
from tvms.ir.nn.llm.kv_cache import tree_attn_cpu as tree_attn_cpu
from tvms.ir.nn.llm.kv_cache import tree_attn_with_paged_kv_cache as tree_attn_with_paged_kv_cache
from tvms.ir.nn.llm.kv_cache import tree_attn_with_paged_kv_cache_cpu as tree_attn_with_paged_kv_cache_cpu
