"""Diagnostics for machines: every format holds the code, the place and the reason, and is well formed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tvms.dsl.cli import main
from tvms.dsl.reports import FORMATS
from tvms.ir.base import Source, Span
from tvms.ir.diagnostics import Diagnostic, Edit, Note

SOURCE = Source("a,b:c.tvms", "first\nsecond line\n")
FOUND = (
    Diagnostic(
        "E0101", "name 'x' is\nnot defined", Span(SOURCE, 13, 17), "50% help", (Note("here", Span(SOURCE, 0, 5)),)
    ),
    Diagnostic("E0001", "no such file"),
)


def test_concise_is_one_line_each() -> None:
    assert FORMATS["concise"](FOUND) == (
        "a,b:c.tvms:2:8: error[E0101]: name 'x' is\\nnot defined\nerror[E0001]: no such file"
    )


def test_github_escapes_what_it_reads_as_syntax() -> None:
    assert FORMATS["github"](FOUND) == (
        "::error title=tvms (E0101),file=a%2Cb%3Ac.tvms,line=2,col=8,endLine=2::name 'x' is%0Anot defined%0Ahelp: 50%25 help\n"
        "::error title=tvms (E0001)::no such file"
    )


def test_json_holds_everything() -> None:
    first, second = json.loads(FORMATS["json"](FOUND))
    assert first["location"] == {"file": "a,b:c.tvms", "line": 2, "column": 8, "end_line": 2, "end_column": 12}
    assert first["notes"] == [
        {"message": "here", "location": {"file": "a,b:c.tvms", "line": 1, "column": 1, "end_line": 1, "end_column": 6}}
    ]
    assert second == {
        "code": "E0001", "severity": "error", "message": "no such file", "location": None, "help": None, "notes": [],
        "edit": None,
    }  # fmt: skip


def test_sarif_names_rules_and_regions() -> None:
    log = json.loads(FORMATS["sarif"](FOUND))
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["E0001", "E0101"]
    region = run["results"][0]["locations"][0]["physicalLocation"]["region"]
    assert region == {"startLine": 2, "startColumn": 8, "endLine": 2, "endColumn": 12}
    assert "locations" not in run["results"][1]


def test_edits_are_places_and_texts() -> None:
    text = "a = 1\nb = 2\n"
    source = Source("a.tvms", text)
    found = [
        Diagnostic("E0461", "unused", Span(source, 6, 7), "remove it", edit=Edit(Span(source, 6, 11))),
        Diagnostic("E0508", "too few", Span(source, 4, 5), "write None", edit=Edit(Span(source, 4, 5), "None")),
    ]
    rows = json.loads(FORMATS["json"](found))
    place = {"file": "a.tvms", "line": 2, "column": 1, "end_line": 3, "end_column": 1}
    assert [row["edit"]["text"] for row in rows] == ["", "None"]
    assert rows[0]["edit"]["location"] == place
    (run,) = json.loads(FORMATS["sarif"](found))["runs"]
    (fix,) = run["results"][1]["fixes"]
    assert fix["description"] == {"text": "write None"}
    (replacement,) = fix["artifactChanges"][0]["replacements"]
    region = {"startLine": 1, "startColumn": 5, "endLine": 1, "endColumn": 6}
    assert replacement == {"deletedRegion": region, "insertedContent": {"text": "None"}}


@pytest.mark.parametrize("kind", ["json", "sarif"])
def test_a_fine_file_gives_an_empty_report(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "fine.tvms"
    file.write_text("T.prim_func f():\n    T.evaluate(0)\n")
    assert main(["check", str(file), "--output-format", kind]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report if kind == "json" else report["runs"][0]["results"]) == []
