"""Programs, tables and diagnostics as HTML for notebooks: highlighted, functions folded by `<details>`, light and dark.

The HTML has its own style and needs neither scripts nor a network. Where a page removes styles, the text keeps its layout. Colors
follow the theme of JupyterLab and Visual Studio Code where the page names it, otherwise that of the browser.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, LiteralString

from pygments.token import STANDARD_TYPES

from ..ir.base import IRModule, Node
from ..ir.diagnostics import Diagnostic
from ..ir.sanitize import Safe, fill, joined, markup, visible
from .diagnostics import render
from .highlighting import exact_lexer

MAX_LINES, MAX_CHARACTERS = 2_000, 200_000
"""Maximum size of a program that is shown in full: a notebook stores its outputs."""
MAX_ROWS = 200
"""Maximum number of rows of a table."""
OPEN_LINES = 60
"""Maximum number of lines of a module whose functions are open at first; in a longer one they are folded."""

_LIGHT = """\
color-scheme: light; --back: #ffffff; --text: #1f2328; --dim: #59636e; --line: #d0d7de; --red: #cf222e; --yellow: #9a6700;
--green: #116329; --blue: #0969da; --cyan: #1b7c83; --string: #0a3069; --number: #0550ae; --word: #cf222e; --name: #8250df;"""
_DARK = """\
color-scheme: dark; --back: #0d1117; --text: #e6edf3; --dim: #9198a1; --line: #3d444d; --red: #ff7b72; --yellow: #d29922;
--green: #7ee787; --blue: #79c0ff; --cyan: #56d4dd; --string: #a5d6ff; --number: #79c0ff; --word: #ff7b72; --name: #d2a8ff;"""
_STYLE = f"""\
.tvms {{ {_LIGHT} }}
@media (prefers-color-scheme: dark) {{ .tvms {{ {_DARK} }} }}
[data-jp-theme-light="true"] .tvms, .vscode-light .tvms {{ {_LIGHT} }}
[data-jp-theme-light="false"] .tvms, .vscode-dark .tvms {{ {_DARK} }}
div.tvms.tvms {{ background: var(--back); color: var(--text); padding: 0.4em 0.4em 0.4em 1.4em; overflow-x: auto; text-align: left; }}
div.tvms.tvms pre, div.tvms.tvms code {{ font: 13px/1.4 ui-monospace, "JetBrains Mono", Menlo, Consolas, monospace; white-space: pre;
background: none; color: inherit; border: 0; margin: 0; padding: 0; overflow: visible; }}
div.tvms.tvms summary {{ list-style: none; cursor: pointer; position: relative; }}
div.tvms.tvms summary::-webkit-details-marker {{ display: none; }}
div.tvms.tvms summary::before {{ content: "▸"; position: absolute; left: -1em; color: var(--dim); }}
div.tvms.tvms details[open] > summary::before {{ content: "▾"; }}
div.tvms.tvms details:not([open]) > summary::after {{ content: " … " attr(title); color: var(--dim); font-size: 12px; }}
div.tvms.tvms p {{ margin: 0.3em 0; font: 13px system-ui, sans-serif; color: var(--dim); }}
div.tvms.tvms table {{ border-collapse: collapse; margin: 0.3em 0; font: 13px system-ui, sans-serif; color: inherit; }}
div.tvms.tvms tr {{ background: none; }}
div.tvms.tvms th, div.tvms.tvms td {{ padding: 2px 10px; border: 0; border-bottom: 1px solid var(--line); text-align: right; color: inherit; }}
div.tvms.tvms th:first-child, div.tvms.tvms td:first-child {{ text-align: left; }}
.tvms .tvms-c1 {{ color: var(--dim); }} .tvms .tvms-s {{ color: var(--string); }} .tvms .tvms-m {{ color: var(--number); }}
.tvms .tvms-kt {{ color: var(--cyan); }} .tvms .tvms-nb {{ color: var(--blue); }} .tvms .tvms-nf {{ color: var(--name); font-weight: bold; }}
.tvms .tvms-k, .tvms .tvms-kd, .tvms .tvms-ow, .tvms .tvms-nd {{ color: var(--word); }} .tvms .tvms-kc {{ color: var(--number); }}
.tvms .tvms-1 {{ font-weight: bold; }} .tvms .tvms-31 {{ color: var(--red); }} .tvms .tvms-32 {{ color: var(--green); }}
.tvms .tvms-33 {{ color: var(--yellow); }} .tvms .tvms-34 {{ color: var(--blue); }} .tvms .tvms-36 {{ color: var(--cyan); }}
"""
_STYLED = set(re.findall(r"\.tvms-(\w+)", _STYLE))
_DEFINITION = re.compile(r"( *)(?:T\.prim_func|R\.function|S\.schedule)\b.*:(?:  #.*)?$")
_ESCAPE = re.compile(r"\x1b\[([\d;]*)m")


def page(*parts: object) -> Safe:
    """Return programs (nodes), tables (sequences of rows, the headings first) and paragraphs (texts) as one block of HTML."""
    return _block(joined("\n", [_part(part) for part in parts]))


def program_page(text: str) -> Safe:
    """Return the text of a program, in any dialect, as a block of HTML."""
    return _block(_program(text, "mod.script()"))


def diagnostics_page(diagnostics: Sequence[Diagnostic]) -> Safe:
    """Return diagnostics as a block of HTML, colored as in a terminal."""
    return _block(fill("<pre><span></span>{}</pre>", _from_ansi(render(diagnostics, color=True))))


def _block(content: Safe) -> Safe:
    return fill('<div class="tvms"><style>\n{}</style>\n{}\n</div>', visible(_STYLE), content)


def _part(part: Any) -> Safe:
    if isinstance(part, Node):
        return _program(part.script(), "mod.script()" if isinstance(part, IRModule) else "its script()")
    return fill("<p>{}</p>", markup(part)) if isinstance(part, str) else _table(part)


def _table(rows: Sequence[Sequence[str]]) -> Safe:
    head, *body = rows
    shown = [_row(row, "td") for row in body[:MAX_ROWS]]
    table = fill("<table><thead>{}</thead><tbody>\n{}\n</tbody></table>", _row(head, "th"), joined("\n", shown))
    if len(body) <= MAX_ROWS:
        return table
    return fill("{}\n<p>{} more rows are not shown.</p>", table, len(body) - MAX_ROWS)


def _row(cells: Sequence[str], kind: LiteralString) -> Safe:
    return fill("<tr>{}</tr>", joined("", [fill(f"<{kind}>{{}}</{kind}>", markup(cell)) for cell in cells]))


def _program(text: str, whole: LiteralString) -> Safe:
    """Return a program; `whole` is the expression for all of its text, if it is too long to be shown."""
    shown = text[:MAX_CHARACTERS].split("\n")[:MAX_LINES]
    html = _folded(shown)
    left_out = len(text) - len("\n".join(shown))
    if not left_out:
        return html
    lines = text.count("\n") + 1 - len(shown)
    note = f"{lines:,} more lines ({left_out:,} characters) are not shown: print({whole}) shows all."
    return fill("{}\n<p>{}</p>", html, markup(note))


def _folded(lines: Sequence[str]) -> Safe:
    """Return lines with a `<details>` for each function and schedule."""
    is_open = "open " if len(lines) <= OPEN_LINES or sum(map(bool, map(_DEFINITION.match, lines))) == 1 else ""
    shown: list[Safe] = []
    for head, body in _definitions(lines):
        code = fill("<pre><span></span>{}</pre>", _colored(body)) if body else None
        if head is None:
            shown += [code] if code else []
            continue
        noun = "line" if len(body) == 1 else "lines"
        summary = fill('<summary title="{} {}"><code>{}</code></summary>', len(body), visible(noun), _colored([head]))
        shown.append(fill("<details {}>{}{}</details>", visible(is_open), summary, code or visible("")))
    return joined("", shown)


def _definitions(lines: Sequence[str]) -> Iterator[tuple[str | None, Sequence[str]]]:
    """Yield the parts of a program: the first line of a function and its body, or None and lines between functions."""
    start = position = 0
    while position < len(lines):
        found = _DEFINITION.match(lines[position])
        if found is None:
            position += 1
            continue
        yield None, lines[start:position]
        margin, end = found[1] + " ", position + 1
        while end < len(lines) and (not lines[end] or lines[end].startswith(margin)):
            end += 1
        while not lines[end - 1]:
            end -= 1
        yield lines[position], lines[position + 1 : end]
        start = position = end
    yield None, lines[start:]


def _colored(lines: Sequence[str]) -> Safe:
    """Return highlighted lines, each with its line end."""
    shown: list[Safe] = []
    for kind, text in exact_lexer().get_tokens("\n".join(lines) + "\n"):
        name = STANDARD_TYPES.get(kind, "")
        shown.append(
            fill('<span class="tvms-{}">{}</span>', markup(name), markup(text)) if name in _STYLED else markup(text)
        )
    return joined("", shown)


def _from_ansi(text: Safe) -> Safe:
    """Return text with the colors of `render` as HTML."""
    plain, *pairs = _ESCAPE.split(text)
    shown = [markup(plain)]
    for codes, piece in zip(pairs[::2], pairs[1::2], strict=True):
        names = " ".join(f"tvms-{code}" for code in codes.split(";") if code != "0")
        shown.append(fill('<span class="{}">{}</span>', markup(names), markup(piece)) if names else markup(piece))
    return joined("", shown)
