"""Observation of the calls that graph functions make, for profiles and instruments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from ...ir import relax
from ...ir.backend.external import external_functions
from ...ir.base import IRModule
from ...ir.functions import get_global_func
from ...ir.visit import walk
from .compiler import BeforeStep, packed
from .entries import Entry, compile_function
from .home import Home

Observe: TypeAlias = Callable[[str, Entry], Entry]
"""Wraps a kernel, or a function of a library or of Python, given its name."""


def observed(
    module: IRModule,
    entries: Mapping[str, Entry],
    observe: Observe,
    home: Home,
    known: Mapping[str, Entry] = {},
    before_step: BeforeStep | None = None,
) -> dict[str, Entry]:
    """Return the functions of a compiled module, whose tensors are at `home`, with the calls of graph functions
    wrapped by `observe`. `known` are graph functions that need no observation, and `before_step` is called with the
    span of each binding before it is executed.

    The machine code does not change, nor do the functions in `entries`.
    """
    graphs = {name: func for name, func in module.functions.items() if isinstance(func, relax.Function)}
    nodes = (node for function in graphs.values() for node in walk(function))
    named = {node.global_symbol for node in nodes if isinstance(node, relax.ExternFunc)}
    registered = {name: packed(name) for name in named if get_global_func(name, allow_missing=True)}
    external = registered | external_functions(module)
    seen = {name: observe(name, home.inside(entry)) for name, entry in entries.items() if name not in graphs}
    outside = {name: observe(name, function) for name, function in external.items()}
    for name, function in graphs.items():
        seen[name] = known.get(name) or compile_function(name, function, seen, outside, home, before_step)
    return {name: home.outside(function) for name, function in seen.items()}
