"""The form of the LALR tables of `tvms.lark`, and the files of both."""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec

GRAMMAR = Path(__file__).with_name("tvms.lark")
TABLES = Path(__file__).with_name("tvms.tables")


class Rule(msgspec.Struct, frozen=True, array_like=True):
    """Reduce `size` symbols to `origin`, building the node with `action`; if that is empty, pass on the only symbol."""

    origin: str
    size: int
    action: str


class Tables(msgspec.Struct, frozen=True):
    """An LALR(1) automaton. The name of a terminal is its text if the grammar quotes it."""

    digest: str
    """Hash of the grammar text, by which stale tables are recognized."""
    patterns: dict[str, str]
    """Regular expressions of the named terminals, in the order in which the lexer tries them."""
    ignored: str
    """Regular expression of what may follow any token: white space, and a backslash at the end of a line."""
    fixed: list[str]
    """The quoted terminals: words and signs."""
    rules: list[Rule]
    states: list[dict[str, int]]
    """The action of each state for a symbol: n >= 0 goes to state n, a negative n reduces by rule ~n.
    The first state is the start; the final action is going to a state on `$END`.
    """


def digest(grammar: str) -> str:
    """Return the hash of a grammar text."""
    return hashlib.sha256(grammar.encode()).hexdigest()
