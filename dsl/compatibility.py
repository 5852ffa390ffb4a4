"""Laws that Apache TVM does not check: breaking one is only a warning in trusted texts of TVM's dialects."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, TypeAlias

from msgspec.structs import replace

from ..ir.base import Source
from ..ir.diagnostics import Diagnostic

Dialect: TypeAlias = Literal["tvms", "decorated", "tvm-0.21", "tvm-0.27"]
"""Dialect of a text; "decorated" if its forms do not determine the version of TVM."""

_DECORATOR = re.compile(r"^[ \t]*@", re.MULTILINE)
_IMPORT = r"^[ \t]*(?:#[ \t]*)?from tvm\.script(?:\.parser)? import [^\n]*"
"""Pattern of imports, which TVM's printer writes as comments."""
_NEWER = re.compile(rf"^[^#\n]*(?:\bT\.sblock|\btirx\b|\bs_tir=|\bT\.let\b|\bout_ty=)|{_IMPORT}\btirx\b", re.MULTILINE)
"""Pattern of forms that occur only in texts for TVM after 0.21."""
_OLDER = re.compile(rf"^[^#\n]*\bT\.(?:block|allocate|LetStmt)\b|{_IMPORT}\btir\b", re.MULTILINE)
"""Pattern of forms that occur only in texts for TVM up to 0.21."""
_TILES = re.compile(
    r"^[^#\n]*(?:\bT\.(?:device_entry|(?:cta|warp|lane|thread|cluster|warpgroup)_id|nki\.|tile\.|local_scalar)|\bTx\.|\blayout=)",
    re.MULTILINE,
)
"""Pattern of forms of the tile level, which texts for TVM after 0.21 have, and their printed form for 0.21."""
FAULTS = frozenset(("E0414", "E0422"))
"""Codes of accesses outside their memory."""
TRUSTED = FAULTS | frozenset(f"E04{number}" for number in (13, *range(15, 22), 23, 24, 25, 35, 36, 37, 38, 39, 45))
"""Codes of laws that TVM leaves to the author: accesses, domains, races, threads, annotations; and of what only TVM compiles."""


def has_tiles(source: Source) -> bool:
    """Return whether a text uses the tile level of TIRX."""
    return _TILES.search(source.text) is not None


def is_tvm_text(source: Source) -> bool:
    """Return whether a text is in one of TVM's dialects, which open definitions by decorators."""
    return _DECORATOR.search(source.text) is not None


def dialect_of(source: Source) -> Dialect:
    """Return the dialect of a text, determined by its forms and imports."""
    if not is_tvm_text(source):
        return "tvms"
    if _NEWER.search(source.text):
        return "tvm-0.27"
    if _OLDER.search(source.text):
        return "tvm-0.21"
    return "tvm-0.27" if has_tiles(source) else "decorated"


def as_tvm_takes_them(diagnostics: Sequence[Diagnostic], trusted: frozenset[str] = TRUSTED) -> tuple[Diagnostic, ...]:
    """Return diagnostics of the verifier; those with a code in `trusted` become warnings in texts of TVM's dialects."""
    decorated: dict[int, bool] = {}
    found: list[Diagnostic] = []
    for diagnostic in diagnostics:
        spans = [span for span in (diagnostic.span, *(note.span for note in diagnostic.notes)) if span is not None]
        if spans and diagnostic.code in trusted:
            source = spans[0].source
            if decorated.setdefault(id(source), is_tvm_text(source)):
                diagnostic = replace(diagnostic, severity="warning")
        found.append(diagnostic)
    return tuple(found)
