"""Chooses where a logical line is broken: at the elements of brackets, and before binary operators.

A piece of the line, such as an element of a broken bracket, that does not fit is broken before its operators of the lowest
precedence; the operands are pieces in turn. Without operators, brackets of the piece are broken, and subscripts only if
nothing else is left. A value with operators that no bracket encloses gets parentheses. As in Wadler's "A prettier printer",
widths are differences of prefix sums, and each token is visited once per level of brackets and operators.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from .line import LogicalLine

INDENT = 4
_WORDS = frozenset({"return", "assert", "if", "elif", "while"})
"""Keywords before a value."""
_ASSIGNS = frozenset({"=", "AUGMENT"})


class _Piece(NamedTuple):
    """Tokens from `start` to before `stop`, on a line at `column`."""

    start: int
    stop: int
    column: int
    hanging: int
    """Column of the lines that start with its operators."""
    after: int = 0
    """Columns to keep free after it."""
    is_enclosed: bool = True
    """Whether it is in brackets, so that its lines may be broken anywhere."""


class Breaks:
    """Where a logical line is broken.

    These are the brackets that directly contain a comment or have a trailing comma, those that the author broke or, with
    a `line_length`, brackets and operators that must be broken to satisfy it.
    """

    def __init__(self, line: LogicalLine, indent: int, line_length: int | None) -> None:
        self.line, self.line_length = line, line_length
        self.starts: dict[int, int] = {}
        """Columns of the lines, by their first tokens."""
        self.wrapped: tuple[int, int] | None = None
        """The tokens that get parentheses: the first one, and the one after the last."""
        self._fixed = self._find_fixed()
        """Opening brackets that are broken whatever the width. Those with a trailing comma are not among them, because the formatter
        may have added it: what does not fit is broken as if there were none, so that formatted text does not change.
        """
        self.broken = self._fixed.union(opening for opening in line.closing if line.ends_in_magic_comma(opening))
        """Opening brackets with one element per line."""
        self._around_fixed, self._around_broken = self._around(self._fixed), self._around(self.broken)
        self._pieces = [_Piece(0, len(line.kinds), indent, indent, is_enclosed=False)]
        while self._pieces:
            self._break(self._pieces.pop())

    def _find_fixed(self) -> set[int]:
        line, found = self.line, set[int]()
        for index, owner in enumerate(line.owner):
            commented = line.end_comments[index] or line.own_comments[index]
            kept = self.line_length is None and line.breaks[index] and line.closing.get(owner, 0) > owner + 1
            if owner >= 0 and (commented or kept):
                found.add(owner)
        return found

    def _around(self, openings: set[int]) -> set[int]:
        """Return the opening brackets around given ones."""
        found: set[int] = set()
        for opening in openings:
            around = self.line.owner[opening]
            while around >= 0 and around not in found:
                found.add(around)
                around = self.line.owner[around]
        return found

    def _break(self, piece: _Piece) -> None:
        """Break a piece at operators or brackets, as far as it must be; its parts become pieces."""
        if piece.start < piece.stop and self._is_too_long(piece):
            if self._break_at_operators(piece) or self._wrap(piece):
                return
            self._break_brackets(piece)
        for opening, closing in self._brackets(piece.start, piece.stop, self.broken, self._around_broken):
            if opening in self.broken:
                bounds = [opening, *self.line.separators.get(opening, []), closing]
                column = piece.column + INDENT
                for low, high in pairwise(bounds):
                    after = int(high < closing or self.line.takes_comma(opening))
                    self.starts[low + 1] = column
                    self._pieces.append(_Piece(low + 1, high, column, column, after))
                self.starts[closing] = piece.column

    def _is_too_long(self, piece: _Piece) -> bool:
        """Return whether a line of a piece exceeds the limit or, without one, the author broke it at operators."""
        if self.line_length is None:
            return piece.is_enclosed and any(map(self.line.is_broken_at, self._operators(piece)))
        room = self.line_length - piece.column
        return any(
            self.line.width(low, high) > room - (piece.after if high == piece.stop else 0)
            for low, high, _ in self._segments(piece)
        )

    def _segments(self, piece: _Piece) -> Iterator[tuple[int, int, list[int]]]:
        """Yield the lines of a piece between its brackets that are broken whatever the width, and the other brackets in each."""
        low, whole = piece.start, list[int]()
        for opening, closing in self._brackets(piece.start, piece.stop, self._fixed, self._around_fixed):
            if opening in self._fixed:
                yield low, opening + 1, whole
                low, whole = closing, []
            elif closing > opening + 1:
                whole.append(opening)
        yield low, piece.stop, whole

    def _brackets(self, start: int, stop: int, broken: set[int], around: set[int]) -> Iterator[tuple[int, int]]:
        """Yield the outermost brackets between two tokens, the opening and the closing one, and those of `broken` inside; `around` are
        the brackets around these.
        """
        index = start
        while index < stop:
            if index in self.line.closing:
                yield index, self.line.closing[index]
                if index in broken or index not in around:
                    index = self.line.closing[index]
            index += 1

    def _operators(self, piece: _Piece) -> list[int]:
        """Return the operators of a piece that bind least, without one that it starts with."""
        found: list[int] = []
        least: int | None = None
        index = piece.start
        while index < piece.stop:
            level = self.line.levels[index] if index > piece.start else None
            if self.line.kinds[index] == "lambda":
                return []
            if level is not None and (least is None or level < least):
                least, found = level, []
            if level is not None and level == least:
                found.append(index)
            index = self.line.closing.get(index, index) + 1
        return found

    def _break_at_operators(self, piece: _Piece) -> bool:
        """Break a piece in brackets before its operators; return whether it has any."""
        operators = self._operators(piece) if piece.is_enclosed else []
        for low, high in pairwise([piece.start, *operators, piece.stop] if operators else []):
            column = piece.column if low == piece.start else piece.hanging
            if low > piece.start:
                self.starts[low] = column
            after = piece.after if high == piece.stop else 0
            self._pieces.append(_Piece(low, high, column, column + INDENT, after))
        return bool(operators)

    def _wrap(self, piece: _Piece) -> bool:
        """Break a line before and after its value; return whether it has one with operators.

        The value gets parentheses unless it has them.
        """
        if piece.stop - piece.start < len(self.line.kinds) or self.line_length is None:
            return False
        first, last = self._value()
        if first == last:
            return False
        is_enclosed = self.line.is_parenthesised(first, last)
        column = piece.column + INDENT
        value = _Piece(first + is_enclosed, last - is_enclosed, column, column)
        if not self._operators(value):
            return False
        self.wrapped = None if is_enclosed else (first, last)
        self.starts[value.start], self.starts[value.stop] = column, piece.column
        if is_enclosed:
            self.broken.add(first)
        before = _Piece(0, first, piece.column, piece.column, 2, is_enclosed=False)
        end = piece.column + 1 - is_enclosed
        after = _Piece(value.stop, piece.stop, end, end, is_enclosed=False)
        self._pieces += [value, before, after]
        return True

    def _value(self) -> tuple[int, int]:
        """Return the first token of the value of a statement that may get parentheses, and the one after the last."""
        line = self.line
        first = 1 if line.kinds[0] in _WORDS else 0
        last = len(line.kinds)
        index = first
        while index < last:
            kind = line.kinds[index]
            if kind in _ASSIGNS:
                first = index + 1
            elif kind == "," and line.kinds[0] != "assert":
                return 0, 0
            elif kind == "," or (kind == ":" and line.kinds[0] in _WORDS):
                last = index
            index = line.closing.get(index, index) + 1
        return (first, last) if first else (0, 0)

    def _break_brackets(self, piece: _Piece) -> None:
        """Break brackets of a piece until each of its lines fits or has no bracket left."""
        if self.line_length is None:
            return
        room = self.line_length - piece.column
        for low, high, whole in list(self._segments(piece)):
            if whole:
                self._break_to_fit(whole, low, high, room - (piece.after if high == piece.stop else 0), room)

    def _break_to_fit(self, candidates: list[int], start: int, stop: int, room: int, room_before: int) -> None:
        """Break brackets of `candidates`, all between two tokens, until each line fits or has no candidate left.

        The line that ends at `stop` has `room` columns, one that ends at a bracket `room_before`. Brackets that start
        on the first line come before others, calls before subscripts, wide ones before narrow ones.
        """
        line = self.line
        keys = [
            (
                line.width(start, candidate + 1) <= room_before,
                not line.is_subscript(candidate),
                line.takes_comma(candidate) or line.ends_in_magic_comma(candidate),
                line.width(candidate, line.closing[candidate] + 1),
                candidate,
            )
            for candidate in candidates
        ]
        root, before, after = _greatest_first(keys)
        waiting: list[tuple[int, int, int, int]] = [(root, start, stop, room)]
        while waiting:
            index, low, high, columns = waiting.pop()
            if index >= 0 and line.width(low, high) > columns:
                opening = candidates[index]
                self.broken.add(opening)
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
