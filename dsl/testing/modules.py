"""Modules of loop functions and graph functions."""

from __future__ import annotations

from textwrap import indent

from hypothesis import strategies as st
from msgspec.structs import replace

from ...ir import relax, tir
from ...ir.base import BaseFunc, IRModule
from ..load import parse
from .choices import Choices, weighted
from .cooperation import cooperative_programs
from .graphs import graph_text
from .known_programs import known_kernels, known_programs
from .networks import network_modules
from .options import check_counts, check_strategies
from .prim_funcs import prim_func
from .threads import thread_programs
from .views import Views

_DOUBLE = """
T.prim_func(private=True) double(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        with T.block("double"):
            vi = T.axis.spatial(4, i)
            B[vi] = A[vi] * T.float32(2)

"""
"""Loop functions that graph functions call."""


def modules(
    is_graph_allowed: bool = True,
    loops: st.SearchStrategy[tir.PrimFunc] | None = None,
    graphs: st.SearchStrategy[relax.Function] | None = None,
    max_functions: int = 2,
) -> st.SearchStrategy[IRModule]:
    """Generate modules of one to `max_functions` loop functions, of a graph function and its callees, or of both; or
    one bare function.

    `loops` and `graphs` are strategies of their functions, such as `prim_funcs(dtypes=["int32"])`. None means any.
    E0818 if one is not a strategy.
    """
    check_strategies(loops=loops, graphs=graphs)
    check_counts(max_functions=max_functions)
    return _modules(is_graph_allowed, loops, graphs, max_functions)


@st.composite
def _modules(
    draw: st.DrawFn,
    is_graph_allowed: bool,
    loops: st.SearchStrategy[tir.PrimFunc] | None,
    graphs: st.SearchStrategy[relax.Function] | None,
    max_functions: int,
) -> IRModule:
    choose = Choices(draw)
    kind = choose.number(0, 4 if is_graph_allowed else 1)
    functions: dict[str, BaseFunc] = {}
    if kind >= 2 and graphs is not None:
        functions["main"] = choose.draw(graphs)
    elif kind >= 2:
        text = indent(_DOUBLE + graph_text(choose, "main", ("double",)), "    ")
        functions.update(parse(f"I.ir_module Module:\n{text}").functions)
    count = {0: 1, 1: max_functions, 4: max(max_functions - 1, 1)}.get(kind, 0)
    for name in ("main", "other", *[f"other_{number}" for number in range(1, count)])[int(kind == 4) :][:count]:
        function = prim_func(Choices(draw), name=name) if loops is None else choose.draw(loops)
        functions[name] = replace(function, attrs={**function.attrs, "global_symbol": name})
    return IRModule(functions, name="" if kind == 0 else "Module")


def all_modules() -> st.SearchStrategy[IRModule]:
    """Generate modules of every kind: besides those of `modules()`, networks, kernels, programs that somebody wrote, and
    functions whose views may be wrong, which the verifier may refuse.
    """
    written = st.deferred(lambda: st.sampled_from((*known_programs(), *known_kernels())))
    threads = weighted((1, thread_programs()), (1, cooperative_programs()))
    return weighted((2, modules()), (1, network_modules()), (1, threads), (1, _views()), (1, written))


@st.composite
def _views(draw: st.DrawFn) -> IRModule:
    return parse(Views(Choices(draw)).text())
