"""The formatter changes no program, loses no comment, and is idempotent; in host files, it changes definitions only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from hypothesis import strategies as st

from ....ir.base import Source
from ....ir.equal import structural_equal
from ...formatter import format_host, format_text
from ...load import parse
from ...printer import DIALECTS
from ..choices import Choices, drawn
from ..hosts import TVM_DIALECTS, HostText, hosted, module_of, outside
from ..oracle import Execute
from ..texts import TOKEN, loose_texts
from .law import Law

WIDTHS = (None, 60)


def _example(choose: Choices, file: Source | None) -> HostText:
    text = choose.draw(loose_texts(None if file is None else file.text))
    if not choose.rarely(3):
        return HostText(text)
    if choose.rarely(3) or file is not None:
        return hosted(choose, text, is_python=False)
    printed = parse(text).script(choose.pick(TVM_DIALECTS))
    return hosted(choose, choose.draw(loose_texts(printed + "\n")), is_python=True)


def _examples(file: Source | None) -> st.SearchStrategy[HostText]:
    return drawn(lambda choose: _example(choose, file))


def _comments(text: str) -> list[str]:
    return [token.rstrip() for token in TOKEN.findall(text) if token.startswith("#")]


def _check(example: HostText, execute: Execute) -> None:
    if example.suffix:
        return _check_host(example)
    text = example.text
    module = parse(text)
    for width in WIDTHS:
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
    return None


def _check_host(example: HostText) -> None:
    host = example.host()
    for width in WIDTHS:
        formatted = HostText(format_host(host, width), example.suffix)
        again = formatted.host()
        assert format_host(again, width) == formatted.text, "formatting it again changes it"
        assert outside(again) == outside(host), "formatting changes what is not a definition"
        for before, after in zip(host.definitions, again.definitions, strict=True):
            assert _comments(before.text()) == _comments(after.text()), "formatting changes the comments"
        if host.definitions:
            assert structural_equal(module_of(host), module_of(again)), "formatting changes the program"


def _constructs(example: HostText) -> Iterable[str]:
    return {
        kind
        for kind, sign in (
            ("comment", "#"),
            ("broken bracket", "(\n"),
            ("blank lines", "\n\n\n"),
            ("kept layout", "# fmt: off"),
            ("tabs", "\n\t"),
        )
        if sign in example.text
    } | ({f"host {example.suffix}"} if example.suffix else set[str]())


LAW = Law(
    _examples, _check, read=lambda source: HostText.read(source.text), constructs=_constructs,
    expected=frozenset({"comment", "kept layout", "tabs", "host .py", "host .md", "host .ipynb"}),
)  # fmt: skip
