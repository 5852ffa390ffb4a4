"""A Pygments lexer of the language, built from the grammar, and colored text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from pygments import highlight
from pygments.formatters import TerminalFormatter
from pygments.lexer import Lexer, RegexLexer, bygroups, this, using, words  # type: ignore[reportUnknownVariableType]
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text

from ..grammar.tables import load
from ..ir.dtype import is_dtype
from ..ir.sanitize import Safe, colored

_TOKENS = load()
_NAME, _NUMBER = _TOKENS.patterns["NAME"], _TOKENS.patterns["NUMBER"]
_SIGNS = [text for text in _TOKENS.fixed if not text.isidentifier()]
_OPERATORS = ("->", "+", "-", "*", "~", "=")
_WORD_OPERATORS = ("and", "as", "in", "not", "or")
_CONSTANTS = ("False", "None", "True")
_KEYWORDS = [text for text in _TOKENS.fixed if text.isidentifier() and text not in (*_WORD_OPERATORS, *_CONSTANTS)]
_DIALECT = r"[ITRS](?:\.\w+)+"
_groups: Callable[..., Any] = bygroups  # type: ignore[reportUnknownVariableType]
_GAP = r"[^\S\n]+"


def _string(lexer: Lexer, match: re.Match[str]) -> Iterator[tuple[int, Any, str]]:
    """Highlight a string as a type if it is the name of a dtype."""
    yield match.start(), Keyword.Type if is_dtype(match[0][1:-1]) else String, match[0]


def _form(lexer: Lexer, match: re.Match[str]) -> Iterator[tuple[int, Any, str]]:
    """Highlight `T.float32` as a type, any other form as a builtin."""
    yield match.start(), Keyword.Type if is_dtype(match[0][2:]) else Name.Builtin, match[0]


class TvmsLexer(RegexLexer):
    """Lexer of `.tvms` files and of TVMScript."""

    name = "tvms"
    aliases = ["tvms"]
    filenames = ["*.tvms"]
    mimetypes = ["text/x-tvms"]
    flags = re.UNICODE
    tokens = {
        "root": [
            (r"#[^\n]*", Comment.Single),
            (r"\s+", Text.Whitespace),
            (_TOKENS.patterns["STRING"], _string),
            (r"\\\r?\n", Text),
            (rf"(@)({_DIALECT})", _groups(Punctuation, Name.Decorator)),
            (rf"\b(def|class)({_GAP})({_NAME})", _groups(Keyword, Text.Whitespace, Name.Function)),
            (rf"\b({_DIALECT})(\([^()\n]*\))?({_GAP})(?!(?:if|else|for|in|as|is|and|or|not)\b)({_NAME})",
             _groups(Keyword.Declaration, using(this), Text.Whitespace, Name.Function)),
            (rf"\b{_DIALECT}", _form),
            (words(_KEYWORDS, r"\b", r"\b"), Keyword),
            (words(_CONSTANTS, r"\b", r"\b"), Keyword.Constant),
            (words(_WORD_OPERATORS, r"\b", r"\b"), Operator.Word),
            (_NUMBER, Number),
            (_NAME, Name),
            (_TOKENS.patterns["AUGMENT"], Operator),
            (_TOKENS.patterns["BINARY"], Operator),
            (words(_OPERATORS), Operator),
            (words(_SIGNS), Punctuation),
        ]
    }  # fmt: skip


def to_ansi(text: Safe) -> Safe:
    """Return `text` with escape sequences that color it in a terminal."""
    return colored(text, lambda safe: highlight(safe, exact_lexer(), TerminalFormatter(bg="dark")))


def exact_lexer() -> Lexer:
    """Return a lexer that neither adds nor drops line ends."""
    return TvmsLexer(stripnl=False, ensurenl=False)
