"""Diagnostics as people see them: the whole text of each kind."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tvms.dsl.diagnostics import render, summary
from tvms.ir.base import Source, Span
from tvms.ir.diagnostics import Diagnostic, Note

TEXT = "first line\nsecond\tline\nlast line"


def at(text: str, piece: str, name: str = "a.tvms") -> Span:
    return Span(Source(name, text), text.index(piece), text.index(piece) + len(piece))


def shown(text: str, piece: str) -> tuple[str, str]:
    """Return the source line and the line of carets."""
    lines = render([Diagnostic("E0001", "reason", at(text, piece))]).split("\n")
    return lines[3].partition("|")[2][1:], lines[4].partition("|")[2][1:]


def test_nothing() -> None:
    assert render([]) == ""
    assert summary([]) == ""


def test_the_whole_of_it() -> None:
    text = "\n" * 98 + "one\ntwo three\n"
    notes = (Note("a reason"), Note("a place", at(text, "one")))
    diagnostic = Diagnostic("E0203", "the reason", at(text, "three"), "first do this\nthen that", notes)
    assert render([diagnostic]) == (
        "error[E0203]: the reason\n"
        "    --> a.tvms:100:5\n"
        "     |\n"
        " 100 | two three\n"
        "     |     ^^^^^\n"
        "     = note: a reason\n"
        "     = help: first do this\n"
        "             then that\n"
        "note: a place\n"
        "    --> a.tvms:99:1\n"
        "     |\n"
        "  99 | one\n"
        "     | ^^^"
    )


def test_without_a_place() -> None:
    diagnostic = Diagnostic("E0801", "there is no target", None, "give one", severity="warning")
    assert render([diagnostic]) == "warning[E0801]: there is no target\n  = help: give one"


def test_order_duplicates_and_summary() -> None:
    source = Source("a.tvms", TEXT)
    early, late = (
        Diagnostic("E0001", message, Span(source, *span)) for message, span in [("a", (0, 5)), ("b", (6, 7))]
    )
    nowhere = Diagnostic("E0001", "c", severity="warning")
    assert render([late, early, late, nowhere]) == "\n\n".join(map(render, ([nowhere], [early], [late])))
    assert summary([late, early, late, nowhere]) == "2 errors, 1 warning"
    assert summary([late]) == "1 error"


@pytest.mark.parametrize(
    ("text", "piece", "line", "carets"),
    [
        ("a\tbc", "bc", "a   bc", "    ^^"),
        ("\t\tx", "\t\tx", "        x", "^" * 9),
        ("变量 = x", "x", "变量 = x", "       ^"),
        ("x = 变量", "变量", "x = 变量", "    ^^^^"),
        ("e\u0301 x", "x", "e\u0301 x", "  ^"),
        ("\x1b[31m x", "x", "\\x1b[31m x", "         ^"),
        ("a\u202eb", "b", "a\\u202eb", "       ^"),
        ("a\u00a0b", "b", "a b", "  ^"),
        ("a\rb", "b", "a\\rb", "   ^"),
        ("one (\n  two)\n", "(\n  two)", "one (", "    ^"),
        ("one\r\ntwo", "one\r\n", "one", "^^^"),
        ("one  \ntwo", "  \ntwo", "one", "   ^"),
        ("one", "", "one", "^"),
        ("a" * 50 + "!" + "b" * 100, "!", "..." + "a" * 40 + "!" + "b" * 79 + "...", " " * 43 + "^"),
        ("a" * 200 + "!", "!", "..." + "a" * 119 + "!", " " * 122 + "^"),
        ("!" * 200, "!" * 200, "!" * 120 + "...", "^" * 120),
    ],
)
def test_carets_stand_under_what_they_mean(text: str, piece: str, line: str, carets: str) -> None:
    if text.startswith("a" * 50 + "!"):
        line = "..." + text[10:130] + "..."
    assert shown(text, piece) == (line.rstrip(), carets)


def test_columns_count_code_points() -> None:
    text = "\t变é\U0001f600 x"
    assert " --> a.tvms:1:6\n" in render([Diagnostic("E0001", "reason", at(text, "x"))])


def test_messages_are_escaped() -> None:
    diagnostic = Diagnostic("E0001", "a\x1b[2Jb", at("x", "x", "a\x07.tvms"), "\u202e")
    assert render([diagnostic]).split("\n") == [
        "error[E0001]: a\\x1b[2Jb",
        "  --> a\\x07.tvms:1:1",
        "   |",
        " 1 | x",
        "   | ^",
        "   = help: \\u202e",
    ]


def test_places_outside_the_text_are_shown_at_its_end() -> None:
    assert "--> a.tvms:2:1\n" in render([Diagnostic("E0001", "reason", Span(Source("a.tvms", "x\n"), 7, 9))])


def test_color_adds_nothing_but_codes() -> None:
    diagnostic = Diagnostic(
        "E0001", "reason", at(TEXT, "line"), "help", (Note("note"), Note("place", at(TEXT, "last")))
    )
    colored = render([diagnostic], color=True)
    assert colored.startswith("\x1b[1;31merror[E0001]\x1b[0m\x1b[1m: reason\x1b[0m\n")
    assert "\x1b[1;31m^^^^\x1b[0m" in colored
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == render([diagnostic])


@given(st.text(), st.integers(-5, 50), st.integers(-5, 50))
def test_any_span_of_any_text_is_shown(text: str, start: int, end: int) -> None:
    lines = render([Diagnostic("E0001", "reason", Span(Source("a.tvms", text), start, end))]).split("\n")
    assert len(lines) == 5
    assert all(line.isprintable() for line in lines)
    assert "^" in lines[4]
