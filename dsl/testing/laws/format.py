"""The formatter changes no program, loses no comment, and is idempotent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from hypothesis import strategies as st

from ....ir.base import Source
from ....ir.equal import structural_equal
from ...formatter import format_text
from ...load import parse
from ...printer import DIALECTS
from ..oracle import Execute
from ..texts import TOKEN, loose_texts
from .law import Law


def _examples(file: Source | None) -> st.SearchStrategy[str]:
    return loose_texts(None if file is None else file.text)


def _comments(text: str) -> list[str]:
    return [token.rstrip() for token in TOKEN.findall(text) if token.startswith("#")]


def _check(text: str, execute: Execute) -> None:
    module = parse(text)
    for width in (None, 60):
        formatted = format_text(text, line_length=width)
        assert format_text(formatted, line_length=width) == formatted, "formatting it again changes it"
        assert _comments(formatted) == _comments(text), "formatting changes the comments"
        assert structural_equal(module, parse(formatted)), "formatting changes the program"
    written = Counter(_comments(text))
    assert Counter(_comments(module.script())) == written, "printing loses or doubles a comment"
    del written["#tvms 1"]
    for dialect in DIALECTS:
        kept = Counter(_comments(module.script(dialect)))
        assert kept >= written, f"printing in {dialect} loses a comment"


def _constructs(text: str) -> Iterable[str]:
    return {
        kind
        for kind, sign in (
            ("comment", "#"),
            ("broken bracket", "(\n"),
            ("blank lines", "\n\n\n"),
            ("kept layout", "# fmt: off"),
            ("tabs", "\n\t"),
        )
        if sign in text
    }


LAW = Law(
    _examples, _check, read=lambda source: source.text, constructs=_constructs,
    expected=frozenset({"comment", "kept layout", "tabs"}),
)  # fmt: skip
