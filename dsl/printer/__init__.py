"""Prints programs as canonical text, in the native dialect and in those of Apache TVM."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from importlib import import_module
from typing import Any

from ...ir.base import Source, Span
from ...ir.deep import deep
from ...ir.relax import Constant
from ...ir.sanitize import emit, visible, wants_color, write_program
from .dialects import DIALECTS
from .modules import print_node
from .options import Options, read_options
from .printer import END_MARK, MARK

__all__ = ["DIALECTS", "script", "script_with_constants", "script_with_spans", "show", "underline"]

for _noun in (
    "expressions", "buffers", "statements", "blocks", "prim_functions", "struct_info", "relax_expressions", "relax_functions",
    "schedules",
):  # fmt: skip
    import_module(f".{_noun}", __package__)


@deep
def script(node: Any, dialect: str = "tvms", **options: Any) -> str:
    """Return `node` as text in `dialect`: "tvms", "tvm-0.21" or "tvm-0.27"; `options` are those of `options.Options`.

    Any node can be printed, even if it is not well-formed. The text of a module parses to a structurally equal module.
    Raise ValueError for an unknown dialect, and for an unsupported value of an option.
    """
    if dialect not in DIALECTS:
        raise ValueError(f"'{dialect}' is not a dialect: choose one of {', '.join(DIALECTS)}")
    chosen = read_options(options)
    text = print_node(node, DIALECTS[dialect], options=chosen)
    return _with_carets(text) if chosen.print_line_numbers else text


@deep
def script_with_constants(
    node: Any, dialect: str = "tvms", shows_small: bool = False
) -> tuple[str, dict[str, Constant]]:
    """Return the text of `node`, and the tensors that it names but does not show.

    With `shows_small`, the dialects of TVM show small tensors, for a text that has no file of tensors beside it.
    """
    stored: dict[str, Constant] = {}
    return print_node(node, DIALECTS[dialect], stored=stored, options=Options(shows_small_tensors=shows_small)), stored


@deep
def script_with_spans(node: Any, source: Source) -> tuple[str, dict[int, Span]]:
    """Return `node` as text, and the position in `source` of the statement on each line, by line number.

    A statement without a position takes that of the statement around it.
    """
    spans: dict[int, Span] = {}
    return print_node(node, DIALECTS["tvms"], places=(source, spans)), spans


@deep
def underline(node: Any, places: Iterable[Any]) -> str:
    """Return `node` as text with line numbers, and carets under the loops and blocks in `places`."""
    return _with_carets(print_node(node, DIALECTS["tvms"], places))


_MARKED = re.compile(f"{MARK}([^{END_MARK}]*){END_MARK}")


def _with_carets(text: str) -> str:
    """Return `text` with line numbers, and a line of carets under every line with marks."""
    lines = text.split("\n")
    width = len(str(len(lines)))
    shown: list[str] = []
    for number, line in enumerate(lines, 1):
        carets = ""
        for index, mark in enumerate(_MARKED.finditer(line)):
            carets = carets.ljust(mark.start() - 2 * index) + "^" * len(mark[1])
        plain = _MARKED.sub(r"\1", line)
        shown.append(f" {number:{width}} | {plain}".rstrip())
        if carets:
            shown.append(f" {'':{width}} | {carets}")
    return "\n".join(shown)


def show(
    node: Any,
    dialect: str = "tvms",
    color: bool | None = None,
    style: str | None = None,
    black_format: bool = False,
    **options: Any,
) -> None:
    """Print `node`: as HTML in a notebook, colored in a terminal, else plain; `options` are those of `script`.

    `color` forces colors on or off; by default they follow the terminal, NO_COLOR and FORCE_COLOR. The colors are
    those of the terminal, and the layout is canonical; `style` and `black_format` (TVM's arguments) have no effect.
    """
    from ..highlighting import to_ansi

    text = script(node, dialect, **options)
    if color is None and _in_notebook():
        from ..html import program_page

        display = import_module("IPython.display")
        display.display({"text/html": program_page(text), "text/plain": text}, raw=True)
        return
    if color is None:
        color = wants_color(sys.stdout)
    if color:
        emit(to_ansi(visible(text, keep="\n\t")))
    else:
        write_program(f"{text}\n")


def _in_notebook() -> bool:
    shell = sys.modules.get("IPython")
    instance = shell.get_ipython() if shell is not None else None
    return type(instance).__name__ == "ZMQInteractiveShell"
