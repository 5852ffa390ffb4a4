"""`tvms.relax.frontend.nn.llm.pages`. Generated from the declarations; do not edit."""

from tvms.ir.nn.llm.pages import append as append
from tvms.ir.nn.llm.pages import compact as compact
from tvms.ir.nn.llm.pages import copy_page as copy_page
from tvms.ir.nn.llm.pages import get as get
from tvms.ir.nn.llm.pages import merge_state as merge_state
