"""Texts with carets under marked parts."""

from __future__ import annotations

import re

from .printer import END_MARK, MARK

_MARKED = re.compile(f"{MARK}([^{END_MARK}]*){END_MARK}")


def with_carets(text: str) -> str:
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
