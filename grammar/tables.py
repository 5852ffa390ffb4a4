"""The LALR tables of `tvms.lark`: read from `tvms.tables`, or built anew where the grammar was edited since."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

import msgspec

GRAMMAR = Path(__file__).with_name("tvms.lark")
TABLES = Path(__file__).with_name("tvms.tables")


class Rule(msgspec.Struct, frozen=True, array_like=True):
    """Reduce `size` symbols to `origin`, building the node with `action`; an empty `action` passes on the one symbol."""

    origin: str
    size: int
    action: str


class Tables(msgspec.Struct, frozen=True):
    """An LALR(1) automaton. A terminal is called by its name, or by its text where the grammar quotes it."""

    digest: str
    """Of the grammar text, so that stale tables are noticed."""
    patterns: dict[str, str]
    """Regular expressions of the named terminals, in the order the lexer tries them."""
    fixed: list[str]
    """The quoted terminals: words and signs."""
    rules: list[Rule]
    states: list[dict[str, int]]
    """For each state what a symbol does: n >= 0 goes to state n, a negative n reduces by rule ~n.
    The first state is the start; the last step is to go to a state on `$END`."""


def digest(grammar: str) -> str:
    """Return the hash by which tables know their grammar."""
    return hashlib.sha256(grammar.encode()).hexdigest()


@cache
def load() -> Tables:
    """Return the tables of the grammar as it is now."""
    grammar = GRAMMAR.read_text(encoding="utf-8")
    if TABLES.exists():
        tables = msgspec.json.decode(TABLES.read_bytes(), type=Tables)
        if tables.digest == digest(grammar):
            return tables
    from .generate import build

    return build(grammar)
