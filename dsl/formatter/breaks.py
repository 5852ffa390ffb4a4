"""Chooses the brackets of a logical line that are broken into one element per line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from .line import LogicalLine

INDENT = 4


def broken_brackets(line: LogicalLine, indent: int, line_length: int | None) -> set[int]:
    """Return the opening brackets to break.

    These are brackets that directly contain a comment or have a trailing comma, those that the author broke or, with
    a `line_length`, those that must be broken to satisfy it.
    """
    broken: set[int] = set()
    for index, owner in enumerate(line.owner):
        commented = line.end_comments[index] or line.own_comments[index]
        kept = line_length is None and line.breaks[index] and line.closing.get(owner, 0) > owner + 1
        if owner >= 0 and (commented or kept):
            broken.add(owner)
    broken.update(opening for opening in line.closing if line.ends_in_magic_comma(opening))
    if line_length is not None:
        _wrap(line, broken, indent, line_length)
    return broken


def _wrap(line: LogicalLine, broken: set[int], indent: int, line_length: int) -> None:
    """Break brackets from the outside in: in a piece that is too long, the widest bracket that takes a comma first."""
    pieces = [(0, len(line.kinds), indent)]
    for start, stop, column in pieces:
        room = line_length - column
        low, candidates = start, list[int]()
        for opening, closing in [*_brackets(line, start, stop), (stop, stop)]:
            if opening not in broken and opening < stop:
                if closing > opening + 1:
                    candidates.append(opening)
                continue
            comma = opening == stop and stop < len(line.kinds)
            _break_to_fit(line, broken, candidates, low, min(opening + 1, stop), room - comma, room)
            low, candidates = closing, []
        for opening, _ in _brackets(line, start, stop):
            if opening in broken:
                bounds = [opening, *line.separators.get(opening, []), line.closing[opening]]
                pieces.extend((low + 1, high, column + INDENT) for low, high in pairwise(bounds))


def _brackets(line: LogicalLine, start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Yield the outermost brackets between two tokens: the opening and the closing one."""
    index = start
    while index < stop:
        if index in line.closing:
            yield index, line.closing[index]
            index = line.closing[index]
        index += 1


def _break_to_fit(
    line: LogicalLine, broken: set[int], candidates: list[int], start: int, stop: int, room: int, room_before: int
) -> None:
    """Break brackets of `candidates`, all between two tokens, until each line fits or has no candidate left.

    The line that ends at `stop` has `room` columns, one that ends at a bracket `room_before`.
    """
    if not candidates:
        return
    widths = [
        (line.takes_comma(candidate), line.width(candidate, line.closing[candidate] + 1), candidate)
        for candidate in candidates
    ]
    root, before, after = _greatest_first(widths)
    waiting: list[tuple[int, int, int, int]] = [(root, start, stop, room)]
    while waiting:
        index, low, high, columns = waiting.pop()
        if index >= 0 and line.width(low, high) > columns:
            opening = candidates[index]
            broken.add(opening)
            waiting.append((before[index], low, opening + 1, room_before))
            waiting.append((after[index], line.closing[opening], high, columns))


def _greatest_first(keys: Sequence[Any]) -> tuple[int, list[int], list[int]]:
    """Return a Cartesian tree of `keys`: the root's index, and the left and right child of each index, or -1."""
    before, after = [-1] * len(keys), [-1] * len(keys)
    path: list[int] = []
    for index, key in enumerate(keys):
        last = -1
        while path and keys[path[-1]] < key:
            last = path.pop()
        before[index] = last
        if path:
            after[path[-1]] = index
        path.append(index)
    return path[0], before, after
