"""Entry point of Hypothesis: `st.from_type` supports programs.

It is not part of `testing`, which imports Hypothesis itself, so that it costs nothing until a program is drawn.
"""

from __future__ import annotations

from typing import Any


def register() -> None:
    """Register strategies for `PrimFunc`, `relax.Function` and `IRModule`."""
    from hypothesis import strategies as st

    from ..ir.base import IRModule
    from ..ir.relax import Function
    from ..ir.tir import PrimFunc

    def prim_funcs(_: type[PrimFunc]) -> Any:
        from .testing import prim_funcs

        return prim_funcs()

    def graph_functions(_: type[Function]) -> Any:
        from .testing import graph_functions

        return graph_functions()

    def modules(_: type[IRModule]) -> Any:
        from .testing import modules

        return modules()

    st.register_type_strategy(PrimFunc, prim_funcs)
    st.register_type_strategy(Function, graph_functions)
    st.register_type_strategy(IRModule, modules)
