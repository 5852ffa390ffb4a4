"""The entries of all graph functions of a module."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...ir import relax
from ...ir.backend.external import external_functions
from ...ir.base import IRModule
from ...ir.diagnostics import Diagnostic, TvmsError
from .calls import GraphEntry
from .compiler import BeforeStep, Entries, GraphCompiler
from .home import HOST, Home
from .operators import compile_operator, start_operator

Entry = Callable[..., Any]


def compile_function(
    name: str,
    function: relax.Function,
    entries: Entries,
    external: Entries | None = None,
    home: Home = HOST,
    before_step: BeforeStep | None = None,
) -> GraphEntry:
    """Compile `function`, whose tensors are at `home`. `entries` are the functions of the module, looked up when
    they are called; `external` are functions of libraries in addition to the registered ones. `before_step` is called
    with the span of each binding before it is executed.

    Raises TvmsError: E0607 for an operator that cannot be compiled, E0605 if a size is not determined.
    """
    compiler = GraphCompiler(entries, external or {}, home, compile_operator, start_operator, before_step)
    return compiler.function(name, function)


def compile_graphs(module: IRModule, entries: dict[str, Entry], home: Home = HOST) -> None:
    """Compile the graph functions of a module, with tensors at `home`, and add them to `entries`, which they may
    call.
    """
    problems: list[Diagnostic] = []
    external = external_functions(module)
    for name, function in module.functions.items():
        try:
            if isinstance(function, relax.Function) and name not in entries:
                entries[name] = compile_function(name, function, entries, external, home)
        except TvmsError as problem:
            problems.extend(problem.diagnostics)
    if problems:
        raise TvmsError(problems)
