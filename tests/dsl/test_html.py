"""Programs as HTML: well-formed, nothing of a text becomes markup, and the text of the page is the text of the program."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import tvms
from hypothesis import given, settings
from text_cases import programs
from tvms.dsl import html
from tvms.dsl.testing.modules import all_modules
from tvms.ir.base import IRModule
from tvms.ir.diagnostics import TvmsError
from tvms.ir.sanitize import visible
from tvms.ir.tir import Evaluate, IntImm

SAMPLES = Path(__file__).parents[2] / "samples"
PERCEPTRON = SAMPLES / "04_perceptron.tvms"


class Page(HTMLParser):
    """Reads a page, asserts that its elements are closed in order, and keeps its elements and its text without styles."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1] in ("pre", "span", "code"):
            self.texts.append(data)

    @property
    def text(self) -> str:
        return "".join(self.texts)

    def names(self) -> set[str]:
        return {name for name, _ in self.elements}


def assert_shows(program: Any) -> None:
    page = Page(program._repr_html_())
    assert page.text == f"{visible(program.script())}\n"
    assert page.names() <= {"div", "style", "pre", "span", "details", "summary", "code"}


@pytest.mark.parametrize("kind", ["forms", "passes", "relax", "schedule", "tir"])
def test_pages_show_the_whole_text(kind: str) -> None:
    count = 0
    for text in programs(kind):
        try:
            module = tvms.parse(text)
        except TvmsError:
            continue
        assert_shows(module)
        count += 1
    assert count > 10


@settings(max_examples=50, deadline=None)
@given(all_modules())
def test_pages_of_generated_modules_show_the_whole_text(module: IRModule) -> None:
    assert_shows(module)
    for function in module.functions.values():
        assert_shows(function)


@pytest.mark.parametrize(
    "text", ["</pre><script>alert(1)</script>", "&amp;<!--", "'\"><img onerror=x>", "\x1b[31m\u202e"]
)
def test_texts_are_not_markup(text: str) -> None:
    module = tvms.parse(
        f"# {visible(text)}\nT.prim_func f(A: T.Buffer((4,), 'float32')):\n    with T.block({visible(text)!r}):\n        A[0] = T.float32(0)\n"
    )
    assert_shows(module)
    assert_shows(module["f"])
    tables = Page(html.page(text, [[text, text], [text, text]]))
    assert tables.names() == {"div", "style", "p", "table", "thead", "tbody", "tr", "th", "td"}


def test_each_function_can_be_folded(monkeypatch: pytest.MonkeyPatch) -> None:
    module = tvms.load(PERCEPTRON)
    monkeypatch.setattr(html, "OPEN_LINES", 100)
    page = Page(module._repr_html_())
    assert [dict(at) for name, at in page.elements if name == "details"] == [{"open": None}] * len(module.functions)
    titles = [at["title"] for name, at in page.elements if name == "summary"]
    assert titles == ["13 lines", "16 lines", "9 lines", "7 lines"]
    monkeypatch.setattr(html, "OPEN_LINES", 10)
    folded = Page(module._repr_html_())
    assert [dict(at) for name, at in folded.elements if name == "details"] == [{}] * len(module.functions)
    assert folded.text == page.text
    assert ("details", {"open": None}) in Page(module["main"]._repr_html_()).elements


@pytest.mark.parametrize(("lines", "characters"), [(10, 10**6), (10**6, 1000)])
def test_long_programs_are_cut(lines: int, characters: int, monkeypatch: pytest.MonkeyPatch) -> None:
    module = tvms.load(PERCEPTRON)
    whole = module.script()
    monkeypatch.setattr(html, "MAX_LINES", lines)
    monkeypatch.setattr(html, "MAX_CHARACTERS", characters)
    page = module._repr_html_()
    shown = Page(page).text.removesuffix("\n")
    assert whole.startswith(shown)
    assert shown.count("\n") < lines
    assert len(shown) <= characters
    more = whole.count("\n") - shown.count("\n")
    note = f"{more:,} more lines ({len(whole) - len(shown):,} characters) are not shown: print(mod.script()) shows all."
    assert re.findall("<p>(.*)</p>", page) == [note]


def test_long_tables_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html, "MAX_ROWS", 2)
    page = html.page([["Name"], ["a"], ["b"], ["c"], ["d"]])
    assert re.findall("<td>(.*?)</td>", page) == ["a", "b"]
    assert "<p>2 more rows are not shown.</p>" in page


def test_pages_load_nothing() -> None:
    page = tvms.load(PERCEPTRON)._repr_html_()
    assert re.findall(r"https?:|url\(|@import|<script|<link|\son\w+=|src=", page) == []


def test_every_theme_has_every_color() -> None:
    used = set(re.findall(r"var\((--\w+)\)", html._STYLE))
    for theme in (html._LIGHT, html._DARK):
        assert set(re.findall(r"(--\w+):", theme)) == used


def test_a_schedule_shows_the_module_and_its_steps() -> None:
    sch = tvms.Schedule(tvms.load(SAMPLES / "02_matmul.tvms"))
    sch.split(sch.get_loops("matmul")[0], factors=[None, 8])
    page = Page(sch._repr_html_())
    assert page.text == f"{sch.mod.script()}\n{sch.script()}\n"
    assert sum(name == "details" for name, _ in page.elements) == 2


def test_an_executable_shows_its_functions() -> None:
    exe = tvms.compile(tvms.load(PERCEPTRON))
    page = exe._repr_html_()
    assert Page(page).text == f"{exe.module.script()}\n"
    assert re.findall("<p>(.*)</p>", page) == ["Executable for llvm"]
    names = re.findall("<tr><td>(.*?)</td><td>(.*?)</td>", page)
    assert [name for name, _ in names] == list(exe.entry_names)
    assert ("main", "graph function") in names
    assert ("dense", "loop function") in names


def test_a_profile_shows_its_tables() -> None:
    from tvms.codegen.profiling.report import KernelCalls, Report

    report = Report((KernelCalls("f<1>", 2, 0.5),), 1.0, lines=(KernelCalls("a.tvms:3", 2, 0.5),))
    page = report._repr_html_()
    assert Page(page).names() == {"div", "style", "p", "table", "thead", "tbody", "tr", "th", "td"}
    cells = [row for rows in (report.cells(), report.cells(by_line=True)) for row in rows[1:]]
    rows = [re.findall("<td>(.*?)</td>", row) for row in re.findall("<tr>(.*?)</tr>", page)]
    expected = [[cell.replace("<", "&lt;").replace(">", "&gt;") for cell in row] for row in cells]
    assert [row for row in rows if row] == expected


def test_other_nodes_are_shown() -> None:
    assert_shows(Evaluate(IntImm("int32", 1)))


def test_words_are_colored() -> None:
    page = tvms.load(SAMPLES / "02_matmul.tvms")._repr_html_()
    for kind, word in (("k", "for"), ("ow", "in"), ("kd", "T.prim_func"), ("nf", "matmul"), ("nb", "T.grid")):
        assert f'<span class="tvms-{kind}">{word}</span>' in page
