"""Values of number and string tokens. Nothing is evaluated."""

from __future__ import annotations

import math
import re

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
