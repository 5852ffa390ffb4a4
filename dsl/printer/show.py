"""Shows a program in a terminal or a notebook."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from ...ir.sanitize import emit, visible, wants_color, write_program
from ...ir.script import script


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
    from ..highlighting import to_ansi, to_html

    text = script(node, dialect, **options)
    if color is None and _in_notebook():
        display = import_module("IPython.display")
        display.display(display.HTML(to_html(visible(text, keep="\n\t"))))
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
