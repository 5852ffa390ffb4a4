"""`tvms.relax.frontend.nn.llm.position_embedding`. Generated from the declarations; do not edit."""

from tvms.ir.nn.llm.position_embedding import Frequencies as Frequencies
from tvms.ir.nn.llm.position_embedding import llama_rope as llama_rope
from tvms.ir.nn.llm.position_embedding import llama_rope_with_position_map as llama_rope_with_position_map
from tvms.ir.nn.llm.position_embedding import rope_freq as rope_freq
from tvms.ir.nn.llm.position_embedding import rope_freq_default as rope_freq_default
from tvms.ir.nn.llm.position_embedding import rope_freq_gptj as rope_freq_gptj
from tvms.ir.nn.llm.position_embedding import rope_freq_llama3 as rope_freq_llama3
from tvms.ir.nn.llm.position_embedding import rope_freq_longrope as rope_freq_longrope
from tvms.ir.nn.llm.position_embedding import rope_freq_yarn as rope_freq_yarn
from tvms.ir.nn.llm.position_embedding import rotation_of as rotation_of
from tvms.ir.nn.llm.position_embedding import switch_rope_freq_func as switch_rope_freq_func
from tvms.ir.nn.llm.position_embedding import yarn_find_correction_dim as yarn_find_correction_dim
from tvms.ir.nn.llm.position_embedding import yarn_find_correction_range as yarn_find_correction_range
