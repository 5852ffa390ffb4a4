"""`tvms.relax.frontend.nn.llm.attention`. Generated from the declarations; do not edit."""

from tvms.ir.nn.llm.attention import CAUSAL as CAUSAL
from tvms.ir.nn.llm.attention import Heads as Heads
from tvms.ir.nn.llm.attention import LAYER_WINDOW as LAYER_WINDOW
from tvms.ir.nn.llm.attention import Mask as Mask
from tvms.ir.nn.llm.attention import attention as attention
from tvms.ir.nn.llm.attention import decode as decode
from tvms.ir.nn.llm.attention import is_gpu as is_gpu
from tvms.ir.nn.llm.attention import paged_source as paged_source
from tvms.ir.nn.llm.attention import paged_tree as paged_tree
from tvms.ir.nn.llm.attention import prefill as prefill
from tvms.ir.nn.llm.attention import ragged as ragged
from tvms.ir.nn.llm.attention import ragged_source as ragged_source
from tvms.ir.nn.llm.attention import tree as tree
from tvms.ir.nn.llm.attention import tree_mask as tree_mask
from tvms.ir.nn.llm.attention import windowed as windowed
