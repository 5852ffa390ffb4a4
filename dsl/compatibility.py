"""What Apache TVM takes on trust: in a text of its dialects, a breach of these laws is a warning."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec.structs import replace

from ..ir.base import Source
from ..ir.diagnostics import Diagnostic

_DECORATOR = re.compile(r"^[ \t]*@", re.MULTILINE)
TRUSTED = frozenset(
    (
        "E0413",
        "E0414",
        "E0415",
        "E0416",
        "E0417",
        "E0418",
        "E0419",
        "E0420",
        "E0421",
        "E0422",
        "E0423",
        "E0424",
        "E0425",
    )
) | frozenset(("E0435", "E0436", "E0437", "E0438"))
"""The laws that TVM leaves to whoever writes a program: accesses, domains, races, threads, what annotations say."""


def is_tvm_text(source: Source) -> bool:
    """Whether a text is in one of TVM's dialects, which open definitions by decorators."""
    return _DECORATOR.search(source.text) is not None


def as_tvm_takes_them(diagnostics: Sequence[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Return what the verifier says, with breaches that TVM would accept as warnings where the text is TVM's."""
    decorated: dict[int, bool] = {}
    found: list[Diagnostic] = []
    for each in diagnostics:
        spans = [span for span in (each.span, *(note.span for note in each.notes)) if span is not None]
        if spans and each.code in TRUSTED:
            source = spans[0].source
            if decorated.setdefault(id(source), is_tvm_text(source)):
                each = replace(each, severity="warning")
        found.append(each)
    return tuple(found)
