"""A minimal SVG writer for pictures of programs. Lengths are in pixels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from ...ir.sanitize import markup

LETTER, LINE, MARGIN = 7.2, 16.0, 8.0
"""Width of a letter, height of a line, and margin, at the used font size."""

STYLE = """\
svg { background: #ffffff; }
text { font: 12px ui-monospace, monospace; fill: #1f2328; }
rect { stroke: #59636e; rx: 4px; }
path { fill: none; stroke: #59636e; marker-end: url(#arrow); }
.input { fill: #ddf4ff; } .operator { fill: #ffffff; } .kernel { fill: #fff8c5; } .constant { fill: #eff2f5; }
.output { fill: #dafbe1; } .choice { fill: #fbefff; } .dim { fill: #59636e; } .title { font-weight: bold; }
.serial { fill: #ffffff; } .parallel { fill: #ffebe9; } .vectorized { fill: #ddf4ff; } .unrolled { fill: #fff8c5; }
.head { fill: #59636e; stroke: none; marker-end: none; }
.thread { fill: #fbefff; } .block { fill: #dafbe1; } .statement { fill: #ffffff; }
@media (prefers-color-scheme: dark) {
svg { background: #0d1117; }
text { fill: #e6edf3; } rect { stroke: #656c76; } path { stroke: #9198a1; } .head, .dim { fill: #9198a1; }
.operator, .serial, .statement { fill: #151b23; } .constant { fill: #212830; } .input, .vectorized { fill: #0e2a47; }
.kernel, .unrolled { fill: #33290f; } .output, .block { fill: #102f1c; } .choice, .thread { fill: #2b1d42; }
.parallel { fill: #3d1a1c; }
}
"""
"""Colors of both themes. The picture has a background of its own, so that it can be read on any page."""
_ARROW = '<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
_HEAD = '<path class="head" d="M0,0 L8,4 L0,8 z"/></marker></defs>'


class Drawing(Struct, frozen=True):
    """Elements of SVG whose upper left corner is at (0, 0)."""

    width: float
    height: float
    elements: tuple[str, ...]


def size_of(lines: Sequence[str]) -> tuple[float, float]:
    """Return the width and the height of a box around lines of text."""
    return max(map(len, lines), default=0) * LETTER + 2 * MARGIN, len(lines) * LINE + 2 * MARGIN


def box(kind: str, x: float, y: float, width: float, height: float, line: int | None = None) -> str:
    """Return a rectangle of the class `kind`. `line` is the source line of what it shows."""
    origin = "" if line is None else f' data-line="{line}"'
    return f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}"{origin}/>'


def text(lines: Iterable[str], x: float, y: float, kind: str = "", rest: str = "dim") -> list[str]:
    """Return lines of text below `y`: the first one with the class `kind`, the others with the class `rest`."""
    return [
        f'<text class="{rest if number else kind}" x="{x:g}" y="{y + (number + 0.75) * LINE:g}" xml:space="preserve">'
        f"{markup(line)}</text>"
        for number, line in enumerate(lines)
    ]


def moved(drawing: Drawing, x: float, y: float) -> str:
    """Return `drawing` as one element, moved to (x, y)."""
    return f'<g transform="translate({x:g},{y:g})">{"".join(drawing.elements)}</g>'


def stacked(drawings: Sequence[Drawing], gap: float = MARGIN) -> Drawing:
    """Return drawings below one another."""
    elements: list[str] = []
    y = 0.0
    for drawing in drawings:
        elements.append(moved(drawing, 0, y))
        y += drawing.height + gap
    return Drawing(max((part.width for part in drawings), default=0), max(y - gap, 0), tuple(elements))


def document(drawing: Drawing) -> str:
    """Return `drawing` as an SVG file."""
    width, height = drawing.width + 2 * MARGIN, drawing.height + 2 * MARGIN
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" viewBox="0 0 {width:g} {height:g}">'
    return "\n".join([head, f"<style>{STYLE}</style>", _ARROW + _HEAD, moved(drawing, MARGIN, MARGIN), "</svg>", ""])
