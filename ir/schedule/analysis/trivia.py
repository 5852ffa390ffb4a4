"""Comments follow their statements: what becomes of them where statements are made into others."""

from __future__ import annotations

from ...base import Trivia


def joined(*trivias: Trivia | None) -> Trivia | None:
    """Return the comments of statements that become one, in order; all but the last trailing comment stand above."""
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
