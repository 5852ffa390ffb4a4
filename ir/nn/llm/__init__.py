"""Parts of language models: caches of keys and values, position embeddings (TVM: `relax.frontend.nn.llm`)."""

from . import kv_cache, position_embedding, tree_attn

__all__ = ["kv_cache", "position_embedding", "tree_attn"]
