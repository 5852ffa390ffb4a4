"""Modules of loop-level and graph-level functions."""

from __future__ import annotations

from textwrap import indent

from hypothesis import strategies as st

from ...ir.base import BaseFunc, IRModule
from ..load import parse
from .choices import Choices
from .graphs import graph_text
from .prim_funcs import prim_func

_DOUBLE = """
T.prim_func(private=True) double(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        with T.block("double"):
            vi = T.axis.spatial(4, i)
            B[vi] = A[vi] * T.float32(2)

"""
"""What graph-level functions call."""


@st.composite
def modules(draw: st.DrawFn, is_graph_allowed: bool = True) -> IRModule:
    """Modules of one or two loop-level functions, of a graph-level one and what it calls, or of both; or a bare one."""
    choose = Choices(draw)
    kind = choose.number(0, 4 if is_graph_allowed else 1)
    functions: dict[str, BaseFunc] = {}
    if kind >= 2:
        text = indent(_DOUBLE + graph_text(choose, "main", ("double",)), "    ")
        functions.update(parse(f"I.ir_module Module:\n{text}").functions)
    names = {0: ("main",), 1: ("main", "other"), 4: ("other",)}.get(kind, ())
    for name in names:
        functions[name] = prim_func(Choices(draw), name=name)
    return IRModule(functions, name="" if kind == 0 else "Module")
