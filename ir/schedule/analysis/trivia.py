"""Comments of statements that are merged."""

from __future__ import annotations

from ...base import Trivia


def joined(*trivias: Trivia | None) -> Trivia | None:
    """Return the comments of merged statements, in order. Trailing comments except the last one move above."""
    present = [each for each in trivias if each is not None]
    if len(present) <= 1:
        return present[0] if present else None
    before: list[str] = []
    for each in present[:-1]:
        before.extend((*each.before, *((each.after,) if each.after else ())))
    last = present[-1]
    ends = tuple(comment for each in reversed(present) for comment in each.end)
    parts = tuple(part for each in present for part in each.parts)
    return Trivia((*before, *last.before), last.after, ends, parts)
