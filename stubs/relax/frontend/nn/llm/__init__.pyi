"""`tvms.relax.frontend.nn.llm`. Generated from the declarations; do not edit."""

from tvms.relax.frontend.nn.llm import attention as attention
from tvms.relax.frontend.nn.llm import attention_texts as attention_texts
from tvms.relax.frontend.nn.llm import kv_cache as kv_cache
from tvms.relax.frontend.nn.llm import pages as pages
from tvms.relax.frontend.nn.llm import position_embedding as position_embedding
from tvms.relax.frontend.nn.llm import texts as texts
from tvms.relax.frontend.nn.llm import tree_attn as tree_attn
