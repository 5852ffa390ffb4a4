"""Builds expressions: the actions of `tvms.lark` for lists and expressions."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from .. import syntax
from ..syntax import Expr
from .comments import Comments
from .lexer import LimitError, Problem, Token
from .operators import resolve

MAX_CHAIN = 100_000
"""Operands and operators of one expression, outside its brackets."""


class ExpressionTree:
    """The actions for lists and expressions. An invalid value is reported to `report`, and the tree is still built."""

    def __init__(self, comments: Comments, report: Callable[[Problem], None]) -> None:
        self.comments = comments
        self.report = report

    # --- Lists ------------------------------------------------------------------------------------------------

    def nothing(self) -> list[Any]:
        return []

    def absent(self) -> None:
        return None

    def first(self, item: Any) -> list[Any]:
        return [item]

    def more(self, items: list[Any], item: Any) -> list[Any]:
        items.append(item)
        return items

    def more_after_comma(self, items: list[Any], comma: Token, item: Any) -> list[Any]:
        items.append(item)
        return items

    append = more

    def pair(self, first: Any, second: Any) -> list[Any]:
        return [first, second]

    def second(self, first: Token, second: Any) -> Any:
        return second

    # --- Expressions ------------------------------------------------------------------------------------------

    def starred(self, star: Token, value: Expr) -> syntax.Starred:
        return syntax.Starred(start=star.start, end=value.end, value=value)

    def bare_tuple(self, elements: list[Expr], comma: Token, last: Expr | None = None) -> syntax.Tuple:
        if last is not None:
            elements.append(last)
        return syntax.Tuple(start=elements[0].start, end=(last or comma).end, elements=tuple(elements))

    def conditional(self, then: Expr, if_: Token, condition: Expr, else_: Token, otherwise: Expr) -> syntax.Conditional:
        return syntax.Conditional(
            start=then.start, end=otherwise.end, then=then, condition=condition, otherwise=otherwise
        )

    def parameter(self, name: Token) -> syntax.Param:
        return syntax.Param(start=name.start, end=name.end, name=name.text, annotation=None)

    def lambda_expression(self, lambda_: Token, *rest: Any) -> syntax.Lambda:
        names: list[Token] = rest[0] if len(rest) == 3 else []
        body: Expr = rest[-1]
        params = tuple(self.parameter(name) for name in names)
        return syntax.Lambda(start=lambda_.start, end=body.end, params=params, body=body)

    def resolve(self, chain: list[Expr | Token]) -> Expr:
        if len(chain) > MAX_CHAIN:
            message = f"this expression has more than {MAX_CHAIN // 2:,} operators"
            help = "assign parts of it to names, or write a loop"
            raise LimitError(Problem("E0010", message, chain[0].start, chain[0].end, help))
        return resolve(chain, self._misplaced_not)

    def _misplaced_not(self, token: Token, operator: str) -> None:
        message = f"`not` cannot follow `{operator}` directly"
        self.report(Problem("E0008", message, token.start, token.end, "put parentheses around `not …`"))

    def attribute(self, value: Expr, dot: Token, name: Token) -> syntax.Attribute:
        return syntax.Attribute(start=value.start, end=name.end, value=value, attr=name.text)

    def call(self, func: Expr, opening: Token, *rest: Any) -> syntax.Call:
        *inner, closing = rest
        arguments: list[Expr | syntax.Keyword] = inner[0] if inner else []
        return syntax.Call(
            start=func.start,
            end=closing.end,
            func=func,
            args=tuple(self._positional(arguments)),
            keywords=tuple(argument for argument in arguments if isinstance(argument, syntax.Keyword)),
        )

    def _positional(self, arguments: list[Expr | syntax.Keyword]) -> list[Expr]:
        positional: list[Expr] = []
        keyword: syntax.Keyword | None = None
        for argument in arguments:
            if isinstance(argument, syntax.Keyword):
                keyword = argument
                continue
            if keyword is not None and not isinstance(argument, syntax.Starred):
                message = f"positional argument after the named argument `{keyword.name}=…`"
                help = "put positional arguments first"
                self.report(Problem("E0008", message, argument.start, argument.end, help))
            positional.append(argument)
        return positional

    def keyword(self, name: Token, equal: Token, value: Expr) -> syntax.Keyword:
        return syntax.Keyword(start=name.start, end=value.end, name=name.text, value=value)

    def subscript(self, value: Expr, opening: Token, indices: list[Expr], closing: Token) -> syntax.Subscript:
        match indices:
            case [syntax.Tuple(elements=())]:
                indices = []
            case _:
                pass
        return syntax.Subscript(start=value.start, end=closing.end, value=value, indices=tuple(indices))

    def subscript_with_comma(
        self, value: Expr, opening: Token, indices: list[Expr], comma: Token, closing: Token
    ) -> syntax.Subscript:
        return self.subscript(value, opening, indices, closing)

    def slice(
        self,
        lower: Expr | None,
        colon: Token,
        upper: Expr | None,
        second_colon: Token | None = None,
        step: Expr | None = None,
    ) -> syntax.Slice:
        end = (step or second_colon or upper or colon).end
        return syntax.Slice(start=(lower or colon).start, end=end, lower=lower, upper=upper, step=step)

    def name(self, token: Token) -> syntax.Name:
        return syntax.Name(start=token.start, end=token.end, id=token.text)

    def number(self, token: Token) -> syntax.Constant:
        value = self._value(token, number)
        return syntax.Constant(start=token.start, end=token.end, value=0 if value is None else value)

    def string(self, tokens: list[Token]) -> syntax.Constant:
        value = "".join(self._value(token, string) or "" for token in tokens)
        return syntax.Constant(start=tokens[0].start, end=tokens[-1].end, value=value)

    def _value(self, token: Token, read: Callable[[str], Any]) -> Any:
        try:
            return read(token.text)
        except LiteralError as error:
            start = token.start + error.start
            end = token.end if error.end is None else token.start + error.end
            self.report(Problem(error.code, error.message, start, end, error.help))
            return None

    def true(self, token: Token) -> syntax.Constant:
        return syntax.Constant(start=token.start, end=token.end, value=True)

    def false(self, token: Token) -> syntax.Constant:
        return syntax.Constant(start=token.start, end=token.end, value=False)

    def none(self, token: Token) -> syntax.Constant:
        return syntax.Constant(start=token.start, end=token.end, value=None)

    def ellipsis(self, token: Token) -> syntax.Constant:
        return syntax.Constant(start=token.start, end=token.end, value=...)

    def parenthesised(self, opening: Token, value: Expr, closing: Token) -> Expr:
        return replace(value, start=opening.start, end=closing.end)

    def tuple_in_parentheses(self, opening: Token, *rest: Any) -> syntax.Tuple:
        elements, closing = _elements(rest)
        return syntax.Tuple(start=opening.start, end=closing.end, elements=elements)

    def list_display(self, opening: Token, *rest: Any) -> syntax.List:
        elements, closing = _elements(rest)
        return syntax.List(start=opening.start, end=closing.end, elements=elements)

    def dict_display(self, opening: Token, *rest: Any) -> syntax.Dict:
        *inner, closing = rest
        items: list[tuple[Expr, Expr]] = inner[0] if inner else []
        return syntax.Dict(
            start=opening.start,
            end=closing.end,
            keys=tuple(key for key, _ in items),
            values=tuple(value for _, value in items),
        )

    def item(self, key: Expr, colon: Token, value: Expr) -> tuple[Expr, Expr]:
        return key, value


def _elements(rest: tuple[Any, ...]) -> tuple[tuple[Expr, ...], Token]:
    """Split the symbols after an opening bracket, `[elements [, [last]]] closing`, into elements and closing bracket."""
    *elements, closing = rest
    first: list[Expr] = elements[0] if elements else []
    return (*first, *elements[2:]), closing


ESCAPES = {"\\": "\\", "'": "'", '"': '"', "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
ESCAPE = re.compile(r"\\(?:(\r?\n)|([0-7]{1,3})|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([\s\S]))")

MAX_INTEGER = 2**64 - 1
MAX_DIGITS = 1000
"""Maximum length of an integer literal, including zeros and underscores."""


class LiteralError(ValueError):
    """An invalid literal: the reason, and the invalid part of the token."""

    def __init__(self, code: str, message: str, help: str, start: int = 0, end: int | None = None) -> None:
        super().__init__(message)
        self.code, self.message, self.start, self.end, self.help = code, message, start, end, help


def number(text: str) -> int | float:
    """Return the value of a number token; raise LiteralError for one such as `1__0`, `08` or `1e999`."""
    is_integer = text[:2].lower() in ("0x", "0o", "0b") or text.replace("_", "").isdigit()
    try:
        value = (int(text, 0) if len(text) <= MAX_DIGITS else MAX_INTEGER + 1) if is_integer else float(text)
    except ValueError:
        help = "write 42, 0x2a or 4.2e1, without leading zeros and with single underscores between digits"
        raise LiteralError("E0012", f"{_shown(text)} is not a number", help) from None
    if isinstance(value, int) and value > MAX_INTEGER:
        raise LiteralError("E0010", "this integer has more than 64 bits", "write a float for a greater number")
    if isinstance(value, float) and math.isinf(value):
        raise LiteralError("E0010", "this number is larger than any float64", 'write T.float64("inf") for infinity')
    return value


def _shown(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:40]}…"


def string(text: str) -> str:
    """Return the value of a string token; raise LiteralError for an invalid escape."""
    quotes = 3 if text[:3] in ('"""', "'''") else 1
    body = text[quotes:-quotes]
    if quotes == 3:
        body = body.replace("\r\n", "\n")
    return ESCAPE.sub(lambda match: _unescape(match, quotes), body) if "\\" in body else body


def _unescape(match: re.Match[str], offset: int) -> str:
    newline, octal, *hexadecimal, single = match.groups()
    if newline:
        return ""
    point = int(octal, 8) if octal else next((int(digits, 16) for digits in hexadecimal if digits), None)
    if point is not None and point <= 0x10FFFF and not 0xD800 <= point <= 0xDFFF:
        return chr(point)
    if single in ESCAPES:
        return ESCAPES[single]
    start, end = match.start() + offset, match.end() + offset
    if point is not None:
        raise LiteralError(
            "E0011", f"{match.group()} is not a character", "the last character is \\U0010ffff", start, end
        )
    help = "write \\\\ for a backslash"
    raise LiteralError("E0011", f"unknown escape {match.group()}", help, start, end)
