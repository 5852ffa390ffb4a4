"""The examples of `tvms explain`: each code has one, or a reason why not; each wrong text raises its code, each right one none."""

from __future__ import annotations

import pytest
from tvms.dsl.cli import main
from tvms.dsl.cli.check_command import check_schedules
from tvms.dsl.diagnostics import render
from tvms.dsl.load import parse_source
from tvms.dsl.reference.examples import FOLDER, Case, cases_of, reason
from tvms.ir.base import Source
from tvms.ir.codes import CODES
from tvms.ir.diagnostics import Diagnostic, TvmsError
from tvms.ir.lints import lint
from tvms.ir.verify import verify

ALL = [case for path in sorted(FOLDER.glob("*.tvms")) for case in cases_of(path)]


def found_in(text: str) -> list[Diagnostic]:
    """What `tvms check` finds."""
    warnings: list[Diagnostic] = []
    try:
        module = parse_source(Source("example.tvms", text), warnings=warnings)
    except TvmsError as problem:
        return list(problem.diagnostics)
    found = [*warnings, *verify(module, "races")]
    if any(diagnostic.severity == "error" for diagnostic in found):
        return found
    return [*found, *check_schedules(module), *lint(module)]


@pytest.mark.parametrize("case", ALL, ids=lambda case: case.title)
def test_a_wrong_example_raises_its_code_and_a_right_one_nothing(case: Case) -> None:
    found = found_in(case.parts["given"])
    assert [diagnostic.code for diagnostic in found] == [case.title]
    assert str(render(found)) == case.parts["says"].strip("\n")
    assert found_in(case.parts["right"]) == []


def test_each_code_has_one_example_or_a_reason() -> None:
    titles = [case.title for case in ALL]
    assert len(set(titles)) == len(titles)
    assert set(titles) <= set(CODES)
    assert [code for code in CODES if (code in titles) == (reason(code) is not None)] == []


def test_explain_shows_both_and_the_right_one_without_what_they_share(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "E0527"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("E0527: an annotation that does not exist\n\nWrong:\n\n    T.prim_func add_one(")
    assert "\n    error[E0527]: " in shown
    assert shown.endswith("""
Right:

    S.schedule tuned(add_one):
        i, j = S.get_loops("B")
        S.annotate(i, "hint", 1)
        S.unannotate(i, ann_key="hint")
""")


def test_explain_says_why_there_is_no_example(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "E0804"]) == 0
    assert capsys.readouterr().out == (
        "E0804: a code that does not exist\n\nNo example: it depends on the command line.\n"
    )
