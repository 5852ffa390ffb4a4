"""Prints programs as canonical text, in the native dialect and in those of Apache TVM."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Any

from ...ir.deep import deep
from ...ir.relax import Constant
from .dialects import DIALECTS
from .marks import with_carets
from .modules import print_node
from .options import read_options
from .show import show

__all__ = ["DIALECTS", "script", "script_with_constants", "show", "underline"]

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
    return with_carets(text) if chosen.print_line_numbers else text


@deep
def script_with_constants(node: Any, dialect: str = "tvms") -> tuple[str, dict[str, Constant]]:
    """Return the text of `node`, and the tensors that it names but does not show."""
    stored: dict[str, Constant] = {}
    return print_node(node, DIALECTS[dialect], stored=stored), stored


@deep
def underline(node: Any, places: Iterable[Any]) -> str:
    """Return `node` as text with line numbers, and carets under the loops and blocks in `places`."""
    return with_carets(print_node(node, DIALECTS["tvms"], places))
