"""The position of a syntax error: the line, the token that does not fit, and the kinds expected there."""

from __future__ import annotations

import re
from typing import TypeAlias

from msgspec import Struct

from .lexer import Token

CLOSING = {"(": ")", "[": "]", "{": "}"}
OPENING = {closing: opening for opening, closing in CLOSING.items()}
HEAD = re.compile(r"(?:def|class|[\w.]+(?:\([^()\n]*\))?)[ \t]+(\w+)[ \t]*[(\[:]")
"""Pattern of the start of a definition; the group is its name."""

Tokens: TypeAlias = list[tuple[str, Token]]


class UnexpectedToken(Struct, frozen=True):
    """The token `tokens[index]` of a logical line, where only the kinds `expected` fit."""

    text: str
    tokens: Tokens
    index: int
    expected: set[str]

    @property
    def kind(self) -> str:
        """The kind of the token."""
        return self.tokens[self.index][0]

    @property
    def token(self) -> Token:
        """The token that does not fit."""
        return self.tokens[self.index][1]

    @property
    def previous(self) -> Token | None:
        """The token before it on the logical line."""
        return self.tokens[self.index - 1][1] if self.index else None

    @property
    def opening(self) -> Token | None:
        """The innermost bracket around it."""
        opened = opened_by(self.tokens[: self.index])
        return opened[-1] if opened else None


def opened_by(tokens: Tokens) -> list[Token]:
    """Return the brackets that are open after `tokens`; a closing bracket that does not match is ignored."""
    opened: list[Token] = []
    for kind, token in tokens:
        if kind in CLOSING:
            opened.append(token)
        elif opened and kind == CLOSING[opened[-1].text]:
            opened.pop()
    return opened


def closed_last(tokens: Tokens) -> Token | None:
    """Return the last outermost bracketed part of `tokens`, including its brackets."""
    depth, start, found = 0, 0, None
    for kind, token in tokens:
        if kind in CLOSING:
            start = token.start if not depth else start
            depth += 1
        elif kind in OPENING and depth:
            depth -= 1
            found = found if depth else Token(start, token.end)
    return found
