"""Lines that differ from an earlier one in digits only: parsed by copying what that one became.

Generated programs repeat lines: `B[17] = A[4] + T.float32(3)`. What the parser puts on its stacks for a line depends on the
state before it and on its tokens, and digits for other digits give the same tokens at the same offsets. So for a line seen
twice a shape is kept, by its text with every digit a 0: the states, and what makes the values for a line that starts elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from .. import syntax
from .comments import Comments
from .lexer import Token
from .literals import LiteralError, number, string

LONGEST = 400
"""Characters of a line that has a shape."""
MOST = 10_000
"""Shapes of a text."""
ZEROS = str.maketrans("123456789", "0" * 9)

Maker = Callable[[int], Any]
"""From where a line starts to a value that stands for a part of it."""


class Unshaped(Exception):
    """A line whose values cannot be copied."""


class Shape(Struct, frozen=True):
    """A line: its first token, how many tokens it has, and for the state before it the states and values it pushes."""

    kind: str
    word: str
    tokens: int
    pushed: dict[int, tuple[tuple[int, ...], list[Maker]]]


class ShapeMaker:
    """Makes what copies the values of lines of `text`; it raises LiteralError where a literal stands for nothing."""

    def __init__(self, text: str, comments: Comments) -> None:
        self.text, self.comments = text, comments

    def makers(self, values: Sequence[Any], tokens: Sequence[tuple[str, Token]]) -> list[Maker]:
        """Return what makes `values` for a line of the same shape; Unshaped where nothing can."""
        start = tokens[0][1].start
        if tokens[0][0] in ("@", "import", "from"):
            raise Unshaped
        if any(kind == "NUMBER" and not set("xXoObB").isdisjoint(token.text) for kind, token in tokens):
            raise Unshaped
        return [self._maker(value, start) for value in values]

    def _maker(self, value: Any, base: int) -> Maker:
        match value:
            case None:
                return lambda _: None
            case Token():
                return self._token(value, base)
            case syntax.Name():
                return self._name(value, base)
            case syntax.Constant():
                return self._constant(value, base)
            case syntax.Subscript(indices=(index,)):
                return self._pair(syntax.Subscript, value, (value.value, index), base)
            case syntax.Call(args=(argument,), keywords=()):
                return self._pair(syntax.Call, value, (value.func, argument), base)
            case syntax.Syntax():
                return self._node(value, base)
            case tuple():
                makers = [self._maker(each, base) for each in value]  # type: ignore[reportUnknownVariableType]
                return lambda place: tuple([make(place) for make in makers])
            case list():
                makers = [self._maker(each, base) for each in value]  # type: ignore[reportUnknownVariableType]
                return lambda place: [make(place) for make in makers]
            case _:
                raise Unshaped

    def _token(self, token: Token, base: int) -> Maker:
        start, end, said, text = token.start - base, token.end - base, token.text, self.text
        if not _has_digit(said):
            return lambda place: Token(place + start, place + end, said)
        if text[token.start : token.end] != said:
            raise Unshaped
        return lambda place: Token(place + start, place + end, text[place + start : place + end])

    def _name(self, name: syntax.Name, base: int) -> Maker:
        start, end, said, text = name.start - base, name.end - base, name.id, self.text
        if not _has_digit(said):
            return lambda place: syntax.Name(said, start=place + start, end=place + end)
        if text[name.start : name.end] != said:
            raise Unshaped
        return lambda place: syntax.Name(text[place + start : place + end], start=place + start, end=place + end)

    def _constant(self, constant: syntax.Constant, base: int) -> Maker:
        start, end, value, text = constant.start - base, constant.end - base, constant.value, self.text
        said = text[constant.start : constant.end]
        if not _has_digit(said):
            return lambda place: syntax.Constant(value, start=place + start, end=place + end)
        function = string if isinstance(value, str) else number
        try:
            is_same = repr(function(said)) == repr(value)
        except LiteralError:
            is_same = False
        if not is_same:
            raise Unshaped

        def make(place: int) -> syntax.Constant:
            first, last = place + start, place + end
            digits = text[first:last]
            return syntax.Constant(value if digits == said else function(digits), start=first, end=last)

        def make_short(place: int) -> syntax.Constant:
            first, last = place + start, place + end
            if text[first] == "0":
                return make(place)
            return syntax.Constant(int(text[first:last]), start=first, end=last)

        return make_short if said.isdecimal() and len(said) < 16 else make

    def _pair(self, kind: type[Any], node: syntax.Syntax, parts: tuple[Any, Any], base: int) -> Maker:
        """Return what makes a subscript with one index, or a call with one argument."""
        start, end = node.start - base, node.end - base
        first, second = (self._maker(each, base) for each in parts)
        if kind is syntax.Call:
            return lambda place: kind(first(place), (second(place),), (), start=place + start, end=place + end)
        return lambda place: kind(first(place), (second(place),), start=place + start, end=place + end)

    def _node(self, node: syntax.Syntax, base: int) -> Maker:
        kind: Any = type(node)
        start, end = node.start - base, node.end - base
        names = [name for name in node.__struct_fields__ if name not in ("start", "end", "trivia")]
        makers = [self._field(node, name, base) for name in names]
        if isinstance(node, syntax.Statement):
            trivia = self.comments.trivia
            return lambda place: kind(
                *[make(place) for make in makers],
                start=place + start,
                end=place + end,
                trivia=trivia(place + start),
            )
        if len(makers) == 3:
            one, two, three = makers
            return lambda place: kind(one(place), two(place), three(place), start=place + start, end=place + end)
        return lambda place: kind(*[make(place) for make in makers], start=place + start, end=place + end)

    def _field(self, node: syntax.Syntax, name: str, base: int) -> Maker:
        value = getattr(node, name)
        if not isinstance(value, str):
            if isinstance(value, bool | int | float):
                raise Unshaped
            return self._maker(value, base)
        if not _has_digit(value):
            return lambda _: value
        text, length = self.text, len(value)
        at = node.end - length if isinstance(node, syntax.Attribute) else node.start
        if text[at : at + length] != value:
            raise Unshaped
        start = at - base
        return lambda place: text[place + start : place + start + length]


def _has_digit(text: str) -> bool:
    return text.translate(ZEROS) != text or "0" in text
