"""Modules of loop-level and graph-level functions."""

from __future__ import annotations

from hypothesis import strategies as st

from ...ir.base import BaseFunc, IRModule
from .choices import Choices
from .prim_funcs import MAX_STAGES, prim_func
from .stages import STAGES


@st.composite
def modules(draw: st.DrawFn, max_functions: int = 2, is_graph_allowed: bool = True) -> IRModule:
    """Modules of one to `max_functions` functions, or a bare function."""
    choose = Choices(draw)
    count = choose.number(1, max_functions)
    names = ["main", "other", "third", "fourth"][:count]
    functions: dict[str, BaseFunc] = {}
    for name in names:
        functions[name] = prim_func(Choices(draw), tuple(STAGES), MAX_STAGES, None, name)
    return IRModule(functions, name="" if count == 1 and not choose.rarely() else "Module")
