"""Which brackets of a logical line are broken into one element a line."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from .line import LogicalLine

INDENT = 4


def broken_brackets(line: LogicalLine, indent: int, line_length: int | None) -> set[int]:
    """Return the opening brackets to break: those with a comment directly in them or a comma after their last element,
    and those that the author broke, or with a `line_length` those that have to be broken to keep to it.
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
    """Break brackets from the outside in: of a piece that is too long the widest, those that take a comma first."""
    pieces = [(0, len(line.kinds), indent)]
    for start, stop, column in pieces:
        while (opening := _widest_of_too_long(line, broken, start, stop, line_length - column)) is not None:
            broken.add(opening)
        for opening, _ in _brackets(line, start, stop):
            if opening in broken:
                bounds = [opening, *line.separators.get(opening, []), line.closing[opening]]
                pieces.extend((low + 1, high, column + INDENT) for low, high in pairwise(bounds))


def _brackets(line: LogicalLine, start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Yield the outermost brackets between two tokens, each with its closing one."""
    index = start
    while index < stop:
        if index in line.closing:
            yield index, line.closing[index]
            index = line.closing[index]
        index += 1


def _widest_of_too_long(line: LogicalLine, broken: set[int], start: int, stop: int, room: int) -> int | None:
    """Return the bracket to break next in the first line longer than `room`, if one can be broken."""
    low, candidates = start, list[tuple[bool, int, int]]()
    for opening, closing in [*_brackets(line, start, stop), (stop, stop)]:
        if opening not in broken and opening < stop:
            if closing > opening + 1:
                candidates.append((line.takes_comma(opening), line.width(opening, closing + 1), opening))
            continue
        comma = opening == stop and stop < len(line.kinds)
        if line.width(low, min(opening + 1, stop)) + comma > room and candidates:
            return max(candidates)[2]
        low, candidates = closing, []
    return None
