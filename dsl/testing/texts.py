"""Texts of generated modules: with comments anywhere, with another layout, and with errors."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeAlias

from hypothesis import strategies as st

from .choices import Choices
from .modules import modules

TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|#[^\n]*|\w+(?:\.\d+)?|->|//|\*\*|[<>=!]=|\n[ ]*|[ \t]+|[^\w\s]')
"""Pattern of tokens and of the white space between them. Joined, its matches give the text."""

_SAYS = (" why", "", "!", " ünïcødé 漢字", ' "quoted', " (", " ]}", ":", " \\", "\t tab", " # twice", " {x} %s")
_GAPS = ("  ", "\n  ", "  # inside\n")
"""Replacements of a space. Line ends are used only in brackets."""
_STRAY = (*"()[]{}:,.=-+*\"'\\@#\0\t", "\n", "\n    ", "é", "T.", "for", "0x", "1e", "\u202e", "in range(4):")


@st.composite
def texts(draw: st.DrawFn, text: str | None = None) -> str:
    """Generate printed modules in the native dialect, or always return `text`."""
    return str(draw(modules())) + "\n" if text is None else text


@st.composite
def commented_texts(draw: st.DrawFn, text: str | None = None) -> str:
    """Generate texts with comments above some lines, at any indentation, and at the end of some lines."""
    lines, choose = draw(texts(text)).splitlines(), Choices(draw)
    for _ in range(choose.number(1, 6)):
        place = choose.number(0, len(lines) - 1)
        comment = f"#{choose.pick(_SAYS)}"
        if lines[place].strip() and "#" not in lines[place] and choose.number(0, 1):
            lines[place] += " " * choose.number(0, 3) + comment
        else:
            indent = len(lines[place]) - len(lines[place].lstrip())
            lines.insert(place, " " * choose.pick((indent, 0, indent + 4, 7)) + comment)
    return "\n".join(lines) + "\n"


@st.composite
def loose_texts(draw: st.DrawFn, text: str | None = None) -> str:
    """Generate commented texts with extra spaces, blank lines, and bracketed lists over several lines with comments. Some keep
    the layout of a part (`# fmt: off`), some are indented by tabs.
    """
    choose, parts, depth = Choices(draw), list[str](), 0
    for token in TOKEN.findall(draw(commented_texts(text))):
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(token, 0)
        if token.isspace() and "\n" not in token and parts and not parts[-1].endswith("\n"):
            parts.append(choose.pick(_GAPS if depth else _GAPS[:1]) if choose.rarely(20) else token)
        elif token.startswith("\n") and not depth and choose.rarely(20):
            parts.append("\n" * choose.number(1, 3) + token)
        else:
            parts.append(token)
    loose = "".join(parts)
    loose = _kept(choose, loose.splitlines()) if choose.rarely(4) else loose
    return _TABS.sub(lambda match: "\t" * (len(match[0]) // 4), loose) if choose.rarely(4) else loose


_TABS = re.compile(r"^(?: {4})+", re.MULTILINE)


def _kept(choose: Choices, lines: list[str]) -> str:
    """Return a text with `# fmt: off` above a line, `# fmt: on` above a later one as deep, or `# fmt: skip` at the end of a line."""
    place = choose.number(0, len(lines) - 1)
    if choose.number(0, 2) == 0 and lines[place].strip() and "#" not in lines[place]:
        lines[place] += "  # fmt: skip"
        return "\n".join(lines) + "\n"
    margin = lines[place][: len(lines[place]) - len(lines[place].lstrip())]
    later = [at for at, line in enumerate(lines) if at > place and line.strip() and line.startswith(margin)]
    as_deep = [at for at in later if not lines[at][len(margin) :].startswith(" ")]
    if as_deep and choose.number(0, 1):
        lines.insert(choose.pick(as_deep), f"{margin}# fmt: on")
    lines.insert(place, f"{margin}# fmt: off")
    return "\n".join(lines) + "\n"


# --- Damage ---------------------------------------------------------------------------------------------------

_Damage: TypeAlias = Callable[[Choices, list[str]], None]


def _delete(choose: Choices, tokens: list[str]) -> None:
    del tokens[choose.number(0, len(tokens) - 1)]


def _double(choose: Choices, tokens: list[str]) -> None:
    place = choose.number(0, len(tokens) - 1)
    tokens.insert(place, tokens[place])


def _swap(choose: Choices, tokens: list[str]) -> None:
    one, other = choose.number(0, len(tokens) - 1), choose.number(0, len(tokens) - 1)
    tokens[one], tokens[other] = tokens[other], tokens[one]


def _copy(choose: Choices, tokens: list[str]) -> None:
    tokens[choose.number(0, len(tokens) - 1)] = tokens[choose.number(0, len(tokens) - 1)]


def _insert(choose: Choices, tokens: list[str]) -> None:
    tokens.insert(choose.number(0, len(tokens)), choose.pick(_STRAY))


def _cut(choose: Choices, tokens: list[str]) -> None:
    del tokens[choose.number(1, len(tokens)) :]


_DAMAGES: Sequence[_Damage] = (_delete, _insert, _copy, _swap, _double, _cut)


@st.composite
def damaged_texts(draw: st.DrawFn, text: str | None = None) -> str:
    """Generate texts in which one to three tokens are deleted, doubled, swapped, replaced or inserted, or whose end is cut off."""
    choose, tokens = Choices(draw), TOKEN.findall(draw(texts(text)))
    for _ in range(choose.number(1, 3)):
        if tokens:
            choose.pick(_DAMAGES)(choose, tokens)
    return "".join(tokens)
