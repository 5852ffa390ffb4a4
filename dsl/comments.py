"""Comments of statements that do not become nodes, and their transfer to other statements."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from msgspec.structs import replace

from ..ir.base import Trivia
from . import syntax


def comments_of(trivia: Trivia | None) -> tuple[str, ...]:
    """Return all comments of a statement in reading order."""
    if trivia is None:
        return ()
    parts = [comment for _, part in trivia.parts for comment in comments_of(part)]
    return (*trivia.before, *((trivia.after,) if trivia.after else ()), *parts, *trivia.end)


def comments_in(statements: Iterable[syntax.Stmt]) -> tuple[str, ...]:
    """Return all comments of statements and of nested statements, from the outside in."""
    found: list[str] = []
    queue = list(statements)
    for statement in queue:
        found += comments_of(statement.trivia)
        for field in ("body", "orelse"):
            queue += cast("tuple[Any, ...]", getattr(statement, field, ()))
    return tuple(found)


def without_comments(statements: tuple[syntax.Stmt, ...]) -> tuple[syntax.Stmt, ...]:
    """Return statements without their comments."""
    return tuple(_bare(statement) for statement in statements)


def _bare(statement: syntax.Stmt) -> syntax.Stmt:
    bodies = {field: getattr(statement, field) for field in ("body", "orelse") if hasattr(statement, field)}
    return replace(statement, trivia=None, **{field: without_comments(body) for field, body in bodies.items()})


def with_comments(
    trivia: Trivia | None, before: Iterable[str] = (), end: Iterable[str] = (), parts: Iterable[tuple[str, Trivia]] = ()
) -> Trivia | None:
    """Return `trivia` with additional comments above, below, and of declarations; None if there are none at all."""
    known = trivia or Trivia()
    new = Trivia((*before, *known.before), known.after, (*known.end, *end), (*known.parts, *parts))
    return new if comments_of(new) else None
