"""Laws that Apache TVM does not check: their breach is a warning in texts of its dialects that the user trusts."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec.structs import replace

from ..ir.base import Source
from ..ir.diagnostics import Diagnostic

_DECORATOR = re.compile(r"^[ \t]*@", re.MULTILINE)
FAULTS = frozenset(("E0414", "E0422"))
"""The laws whose breach is an access outside its memory."""
TRUSTED = FAULTS | frozenset(f"E04{number}" for number in (13, *range(15, 22), 23, 24, 25, 35, 36, 37, 38))
"""The laws that TVM leaves to whoever writes a program: accesses, domains, races, threads, what annotations say."""


def is_tvm_text(source: Source) -> bool:
    """Whether a text is in one of TVM's dialects, which open definitions by decorators."""
    return _DECORATOR.search(source.text) is not None


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
