"""A whole module as one picture, one function below the other, as an SVG or an HTML file."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ...ir import relax, tir
from ...ir.base import BaseFunc, IRModule, Node
from ...ir.sanitize import markup
from ...ir.source_lines import SourceLines, source_of
from ..printer import script
from .graph import draw_function
from .loops import draw_loops
from .svg import LINE, Drawing, document, stacked, text

_PAGE = """\
<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="color-scheme" content="light dark"><title>{title}</title>
<style>body {{ margin: 1em; background: #ffffff; }} @media (prefers-color-scheme: dark) {{ body {{ background: #0d1117; }} }}</style></head>
<body>
{picture}</body></html>
"""


def picture(module: IRModule, title: str, as_html: bool = False) -> str:
    """Return the picture of a module as SVG; with `as_html`, as a page called `title`.

    Boxes have the number of the source line of what they show, as the attribute `data-line`.
    """
    known, source = SourceLines(), source_of(module)

    def line(node: Node) -> int | None:
        return None if source is None else known.line_of(node.span, source)

    functions = [_titled(name, function, line) for name, function in module.functions.items()]
    drawn = document(stacked(functions, gap=2 * LINE))
    return _PAGE.format(title=markup(title), picture=drawn) if as_html else drawn


def _titled(name: str, function: BaseFunc, line: Callable[[Node], int | None]) -> Drawing:
    heading = Drawing(len(name) * LINE / 2, LINE, tuple(text([name], 0, 0, "title")))
    if isinstance(function, relax.Function):
        return stacked([heading, draw_function(function, line)])
    if isinstance(function, tir.PrimFunc):
        return stacked([heading, draw_loops(function, partial(script, dialect="tvms"), line)])
    return heading
