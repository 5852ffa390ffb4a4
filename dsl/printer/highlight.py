"""Colours for program text: words told apart by one regular expression."""

from __future__ import annotations

import html
import re

_WORDS = re.compile(
    r"""(?P<comment>\#[^\n]*)
      |(?P<string>"(?:\\.|[^"\\\n])*")
      |(?P<keyword>\b(?:and|as|assert|class|def|elif|else|False|for|if|in|lambda|None|not|or|return|True|while|with)\b)
      |(?P<form>@?\b[ITRS]\.[\w.]+)
      |(?P<number>\b\d[\w.]*)""",
    re.VERBOSE,
)
_ANSI = {"comment": "90", "string": "32", "keyword": "1;35", "form": "36", "number": "33"}
_CSS = {"comment": "#6a737d", "string": "#22863a", "keyword": "#d73a49", "form": "#005cc5", "number": "#b08800"}


def to_ansi(text: str) -> str:
    """Return `text` with the escape sequences that colour it in a terminal."""
    return _WORDS.sub(lambda match: f"\x1b[{_ANSI[str(match.lastgroup)]}m{match[0]}\x1b[0m", text)


def to_html(text: str) -> str:
    """Return `text` as a piece of HTML that shows it in colours."""
    parts: list[str] = []
    place = 0
    for match in _WORDS.finditer(text):
        parts.append(html.escape(text[place : match.start()]))
        parts.append(f'<span style="color:{_CSS[str(match.lastgroup)]}">{html.escape(match[0])}</span>')
        place = match.end()
    parts.append(html.escape(text[place:]))
    return f'<pre style="line-height:1.3">{"".join(parts)}</pre>'
