"""The cell magic `%%tvms` of IPython and Jupyter: the text of a cell defines a module. `%load_ext tvms` imports this module."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from keyword import iskeyword
from typing import Any

from ..ir.base import IRModule
from ..ir.diagnostics import Diagnostic, Source, TvmsError
from ..ir.lints import lint
from ..ir.sanitize import say, wants_color
from ..ir.verify import verify
from .cli.check_command import check_schedules
from .diagnostics import render, summary
from .html import diagnostics_page
from .load import parse_source

_ARGUMENTS = import_module("IPython.core.magic_arguments")
_UsageError = import_module("IPython.core.error").UsageError
_DISPLAY = import_module("IPython.display")


class CellError(Exception):
    """A cell with errors, which were displayed: the cell fails, so that no later cell of "Run all" uses a missing module."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


def register(shell: Any) -> None:
    """Define the cell magic in a shell."""

    @_ARGUMENTS.magic_arguments()
    @_ARGUMENTS.argument(
        "name", metavar="NAME", nargs="?", help="the variable (default: the name of the module in the text)"
    )
    @_ARGUMENTS.argument("--check", action="store_true", help="report errors and warnings, but define nothing")
    def tvms(line: str, cell: str) -> None:
        """Define a module from the text of the cell, in the language of .tvms files, and show it.

        The text is checked as `tvms check` does. Errors are shown below the cell, and the variable keeps its value. The text is
        never executed as Python; it cannot refer to variables of the notebook.
        """
        arguments: Any = _ARGUMENTS.parse_argstring(tvms, line)
        name: str | None = arguments.name
        if name is not None and (not name.isidentifier() or iskeyword(name)):
            raise _UsageError(f"%%tvms: '{name}' is not the name of a variable")
        # Not `execution_count`: IPython 9 counts on before it runs a cell.
        module, found = examine(cell, f"In[{shell.displayhook.prompt_count}]")
        name = name or (module.name if module else "") or "Module"
        if found:
            _show(found)
        if module is None:
            raise CellError(summary(found) if arguments.check else f"{summary(found)}: the cell defines nothing")
        if arguments.check:
            say(summary(found) or "no errors")
            return
        shell.push({name: module})
        _DISPLAY.display(module)

    shell.register_magic_function(tvms, "cell", "tvms")


def examine(cell: str, name: str) -> tuple[IRModule | None, tuple[Diagnostic, ...]]:
    """Return the module in a cell, or None if it has errors, and what `tvms check` finds in it.

    `name` is the name of the cell in messages. Lines are counted from that of the magic, as notebooks number them.
    """
    warnings: list[Diagnostic] = []
    try:
        module = parse_source(Source(name, f"\n{cell}"), None, warnings)
    except TvmsError as problem:
        return None, problem.diagnostics
    found = verify(module)
    if not _has_errors(found):
        found += check_schedules(module)
        found += lint(module)
    found = (*warnings, *found)
    return None if _has_errors(found) else module, found


def _has_errors(found: Sequence[Diagnostic]) -> bool:
    return any(diagnostic.severity == "error" for diagnostic in found)


def _show(found: Sequence[Diagnostic]) -> None:
    text = render(found, color=wants_color(sys.stdout))
    _DISPLAY.display({"text/html": diagnostics_page(found), "text/plain": text}, raw=True)
