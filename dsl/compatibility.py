"""Laws that Apache TVM does not check: their breach is a warning in texts of its dialects that the user trusts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, TypeAlias

from msgspec.structs import replace

from ..ir.base import Source
from ..ir.diagnostics import Diagnostic

Dialect: TypeAlias = Literal["tvms", "decorated", "tvm-0.21", "tvm-0.27"]
"""What a text is written in; "decorated" where its forms do not say which TVM it is for."""

_DECORATOR = re.compile(r"^[ \t]*@", re.MULTILINE)
_IMPORT = r"^[ \t]*(?:#[ \t]*)?from tvm\.script(?:\.parser)? import [^\n]*"
"""TVM's printer writes its imports as comments."""
_NEWER = re.compile(rf"^[^#\n]*(?:\bT\.sblock|\btirx\b|\bs_tir=|\bT\.let\b|\bout_ty=)|{_IMPORT}\btirx\b", re.MULTILINE)
"""What only texts for TVM after 0.21 have."""
_OLDER = re.compile(rf"^[^#\n]*\bT\.(?:block|allocate|LetStmt)\b|{_IMPORT}\btir\b", re.MULTILINE)
"""What only texts for TVM up to 0.21 have."""
FAULTS = frozenset(("E0414", "E0422"))
"""The laws whose breach is an access outside its memory."""
TRUSTED = FAULTS | frozenset(f"E04{number}" for number in (13, *range(15, 22), 23, 24, 25, 35, 36, 37, 38, 39))
"""The laws that TVM leaves to whoever writes a program: accesses, domains, races, threads, what annotations say."""


def is_tvm_text(source: Source) -> bool:
    """Return whether a text is in one of TVM's dialects, which open definitions by decorators."""
    return _DECORATOR.search(source.text) is not None


def dialect_of(source: Source) -> Dialect:
    """Return what a text is written in, as its forms and imports tell."""
    if not is_tvm_text(source):
        return "tvms"
    if _NEWER.search(source.text):
        return "tvm-0.27"
    return "tvm-0.21" if _OLDER.search(source.text) else "decorated"


def as_tvm_takes_them(diagnostics: Sequence[Diagnostic], trusted: frozenset[str] = TRUSTED) -> tuple[Diagnostic, ...]:
    """Return diagnostics of the verifier; in a text of TVM's dialects those of `trusted` become warnings."""
    decorated: dict[int, bool] = {}
    found: list[Diagnostic] = []
    for each in diagnostics:
        spans = [span for span in (each.span, *(note.span for note in each.notes)) if span is not None]
        if spans and each.code in trusted:
            source = spans[0].source
            if decorated.setdefault(id(source), is_tvm_text(source)):
                each = replace(each, severity="warning")
        found.append(each)
    return tuple(found)
