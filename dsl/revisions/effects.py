"""Whether statements that two sides insert at one place may have either order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..parser.lexer import NESTING
from .outline import CLAUSE, DEFINITION, LINE, Node

_ORDERED = frozenset({"return", "assert", "pass", "import", "from"})
_ANY = "*"
"""Stands for the effects of a call."""


class Effects(NamedTuple):
    """The names that statements may change, and all names that they contain."""

    changed: frozenset[str]
    used: frozenset[str]


def commute(left: Sequence[Node | None], right: Sequence[Node | None]) -> bool:
    """Return whether statements have the same meaning in either order: neither changes a name that the other contains.

    Definitions have no order. Calls without a result may do anything.
    """
    one, other = ([node for node in side if node is not None] for side in (left, right))
    if any(node.kind in (CLAUSE, LINE) or node.tokens[0] in _ORDERED for node in (*one, *other)):
        return False
    if all(node.kind == DEFINITION for node in (*one, *other)):
        return not {node.name for node in one} & {node.name for node in other}
    a, b = _effects(one), _effects(other)
    return not (a.changed & b.used or b.changed & a.used)


def _effects(nodes: Sequence[Node]) -> Effects:
    changed, used = set[str](), set[str]()
    for node in (part for root in nodes for part in root.walk()):
        names = _names(node.tokens)
        used |= names
        target = _target(node.tokens)
        changed |= _names(target) if target else {_ANY}
        used |= set() if target else {_ANY}
    return Effects(frozenset(changed), frozenset(used))


def _names(tokens: Sequence[str]) -> set[str]:
    """Return the names in tokens, without attributes."""
    return {
        token for before, token in zip(("", *tokens), tokens, strict=False) if token.isidentifier() and before != "."
    }


def _target(tokens: Sequence[str]) -> Sequence[str]:
    """Return what a statement assigns to: the target of an assignment or of a loop, or the name of a block."""
    if tokens[0] == "for" and "in" in tokens:
        return tokens[1 : tokens.index("in")]
    if tokens[0] in ("with", "if", "while", "else", "elif"):
        return tokens[:1]
    depth = 0
    for index, token in enumerate(tokens):
        depth += NESTING.get(token, 0)
        if depth == 0 and (token in ("=", ":") or (token.endswith("=") and token not in ("==", "<=", ">=", "!="))):
            return tokens[:index]
    return ()
