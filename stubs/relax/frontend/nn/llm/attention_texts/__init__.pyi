"""`tvms.relax.frontend.nn.llm.attention_texts`. Generated from the declarations; do not edit."""

from tvms.ir.nn.llm.attention_texts import CPU as CPU
from tvms.ir.nn.llm.attention_texts import Form as Form
from tvms.ir.nn.llm.attention_texts import GPU as GPU
from tvms.ir.nn.llm.attention_texts import THREADS as THREADS
