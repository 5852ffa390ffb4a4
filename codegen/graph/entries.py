"""The entries of all graph functions of a module."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...ir import relax
from ...ir.backend.external import external_functions
from ...ir.base import IRModule
from ...ir.diagnostics import Diagnostic, TvmsError
from .compiler import Entries, GraphCompiler, GraphEntry
from .home import HOST, Home
from .operators import compile_operator

Entry = Callable[..., Any]


def compile_function(
    name: str, function: relax.Function, entries: Entries, external: Entries | None = None, home: Home = HOST
) -> GraphEntry:
    """Compile `function`, whose tensors are at `home`. `entries` are the functions of the module, looked up when
    they are called; `external` are functions of libraries in addition to the registered ones.

    Raises TvmsError: E0607 for an operator that cannot be compiled, E0605 if a size is not determined.
    """
    return GraphCompiler(entries, external or {}, home, compile_operator).function(name, function)


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
