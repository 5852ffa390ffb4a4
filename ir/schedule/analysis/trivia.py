"""Comments of statements that are merged."""

from __future__ import annotations

from ...base import Trivia


def joined(*trivias: Trivia | None) -> Trivia | None:
    """Return the comments of merged statements, in order. Trailing comments except the last one move above."""
    present = [trivia for trivia in trivias if trivia is not None]
    if len(present) <= 1:
        return present[0] if present else None
    before: list[str] = []
    for trivia in present[:-1]:
        before.extend((*trivia.before, *((trivia.after,) if trivia.after else ())))
    last = present[-1]
    ends = tuple(comment for trivia in reversed(present) for comment in trivia.end)
    parts = tuple(part for trivia in present for part in trivia.parts)
    return Trivia((*before, *last.before), last.after, ends, parts)
