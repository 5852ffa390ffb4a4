"""The LALR tables of `tvms.lark`: read from `tvms.tables`, or built if the grammar has changed since."""

from __future__ import annotations

from functools import cache

import msgspec

from .automaton import GRAMMAR, TABLES, Tables, digest


@cache
def load() -> Tables:
    """Return the tables of the current grammar."""
    grammar = GRAMMAR.read_text(encoding="utf-8")
    if TABLES.exists():
        tables = msgspec.json.decode(TABLES.read_bytes(), type=Tables)
        if tables.digest == digest(grammar):
            return tables
    from .generate import build

    return build(grammar)
