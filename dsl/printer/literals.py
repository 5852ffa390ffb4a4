"""Strings, numbers and names as text."""

from __future__ import annotations

import keyword
import math
import re
import unicodedata

_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_PLAIN = re.compile(r"[ !#-\[\]-~]*")
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_]")
"""Characters that are letters or digits only outside of ASCII, if at all."""


def string(text: str) -> str:
    """Return `text` in double quotes; printable characters are unchanged, the rest is escaped as in Python."""
    if _PLAIN.fullmatch(text):
        return f'"{text}"'
    return f'"{"".join(map(_character, text))}"'


def _character(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def short_float(value: float) -> str:
    """Return the shortest text that reads back as `value`: `0`, `0.5`, `1e-05`; `"inf"`, `"-inf"`, `"nan"` quoted."""
    if not math.isfinite(value):
        return f'"{value}"'
    if value.is_integer() and abs(value) < 1e16 and str(value) != "-0.0":
        return str(int(value))
    return repr(value)


def tvm_float(value: float) -> str:
    """Return `value` as TVM writes it: one decimal for whole numbers, else 17 digits (`PrintTypedDoc(LiteralDoc)`)."""
    if not math.isfinite(value):
        return f'"{value}"'
    return f"{value:.1f}" if value.is_integer() else f"{value:.17g}"


def _in_names(found: re.Match[str]) -> str:
    """Return a letter of any language; `_` for other characters, and for those that Python reads as another one."""
    sign = found[0]
    return sign if f"a{sign}".isidentifier() and unicodedata.normalize("NFKC", sign) == sign else "_"


def identifier(name: str) -> str:
    """Return `name` as an identifier: characters that no name can hold become `_`; keywords and leading digits are changed."""
    text = name if name.isascii() and name.isidentifier() else _NOT_IN_NAMES.sub(_in_names, name)
    if not text or not text[0].isidentifier():
        text = f"v{text}"
    return f"{text}_" if keyword.iskeyword(text) else text
