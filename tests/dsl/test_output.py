"""Nothing that a program holds reaches a terminal, or another language, as it is."""

from __future__ import annotations

import ast
import io
import json
import re
import sys
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse
from xml.etree import ElementTree

import pytest
import tvms
from tvms.codegen import aot
from tvms.dsl.cli import main
from tvms.dsl.reports import FORMATS
from tvms.dsl.view import picture
from tvms.ir.base import Source, Span
from tvms.ir.diagnostics import Diagnostic, Note
from tvms.ir.sanitize import Safe, c_comment, emit, json_text, markup, visible, workflow_value

ROOT = Path(__file__).parents[2]
HOSTILE = (
    "\x1b[2J", "\x1b]0;title\x07", "\x9b31m", "\r", "\b", "\x00", "\x7f", "\u202e", "\u2066", "\u200b", "\ufeff", "\u2028",
    "\ud800", "\udc80", "\ufffe", "\U000e0041", "\x85",
)  # fmt: skip
PROGRAM = (
    "# \x1b]0;title\x07 \u202e comment\n"
    'T.prim_func main(A: T.Buffer((4,), "float32")):\n'
    "    for i in range(4):  # \x9b31m\n"
    '        with T.block("b\\x1b[31m\\u202e"):\n'
    "            vi = T.axis.spatial(4, i)\n"
    "            A[vi] = T.float32(1)\n"
)


def is_clean(text: str) -> bool:
    return all(character.isprintable() or character in "\n\t" for character in text)


@pytest.mark.parametrize("text", HOSTILE)
def test_every_sink_is_safe(text: str) -> None:
    hostile = f"a{text}b"
    source = Source(f"file{text}.tvms", f"x = {text}\n")
    found = (
        Diagnostic("E0101", hostile, Span(source, 0, 5), hostile, (Note(hostile, Span(source, 0, 1)), Note(hostile))),
        Diagnostic("E0001", hostile, file=f"file{text}"),
    )
    for name, report in FORMATS.items():
        said = report(found)
        assert isinstance(said, Safe)
        assert is_clean(said), name
        said.encode()
    for sink in (visible, markup, c_comment, json_text, workflow_value):
        assert is_clean(sink(hostile))
    ElementTree.fromstring(f"<a b='{markup(hostile)}'>{markup(hostile)}</a>")
    json.loads(FORMATS["sarif"](found)), json.loads(FORMATS["json"](found))


class Terminal(io.TextIOWrapper):
    def isatty(self) -> bool:
        return True


COMMANDS = (
    ["print"], ["convert", "--to", "tvm-0.21"], ["opt", "--passes", "Normalize"], ["opt", "--passes", "Normalize", "--print-after-all"],
    ["compile", "--emit", "tir"], ["compile", "--emit", "llvm"], ["compile", "--emit", "header"], ["run", "--interpret"],
    ["bench", "--seconds", "0.01"], ["profile", "--seconds", "0"], ["check"], ["fmt", "--diff"],
)  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_command_sends_control_characters_to_a_terminal(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "pro\x1b[31mgram\u202e.tvms"
    path.write_text(PROGRAM.replace("range(4)", "range( 4 )"))
    screen = io.BytesIO()
    for name in ("stdout", "stderr"):
        monkeypatch.setattr(sys, name, Terminal(screen, encoding="utf-8", write_through=True))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    assert main([*command, str(path)]) in (0, 1)
    assert is_clean(screen.getvalue().decode().replace("\x1b[?25h", ""))


def test_programs_are_written_to_pipes_byte_by_byte(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    path = tmp_path / "program.tvms"
    path.write_text(PROGRAM)
    assert main(["print", str(path)]) == 0
    printed = capfdbinary.readouterr().out
    assert "# \x1b]0;title\x07 \u202e comment\n".encode() in printed
    assert tvms.structural_equal(tvms.parse(printed.decode()), tvms.load(path))


def test_a_file_that_is_not_there_is_named_safely(capsys: pytest.CaptureFixture[str]) -> None:
    for text in ("\x1b[31m", "\udc80", "\u202e", "\r"):
        assert main(["check", f"no{text}file"]) == 2
        assert main([f"no{text}command"]) == 2
        assert main(["run", "--dim", f"x{text}", "y"]) == 2
    assert is_clean(capsys.readouterr().err)


def test_pictures_are_xml(tmp_path: Path) -> None:
    module = tvms.parse(PROGRAM)
    ElementTree.fromstring(picture(module, "title"))
    assert is_clean(picture(module, "a\x1b\u202e</title>", as_html=True))


def test_headers_and_messages_of_libraries_are_safe() -> None:
    assert c_comment("*/ int x; /*") == "* / int x; / *"
    assert c_comment("a\n#define x") == "a\\n#define x"
    assert is_clean(aot.header(tvms.parse(PROGRAM)))


def test_only_safe_text_is_emitted() -> None:
    with pytest.raises(TypeError):
        emit("text")  # type: ignore[arg-type]


SINKS = re.compile(r"^(sys\.)?std(out|err)\.(buffer\.)?write$|^print$")
MAY_WRITE = {
    "ir/sanitize.py": "the sinks",
    "dsl/cli/files.py": "machine code",
    "codegen/trial.py": "numbers, to its parent process",
    "dsl/reference/__main__.py": "what it generated of our own sources",
    "grammar/generate.py": "what it generated of our own sources",
}


def test_only_the_sanitizer_writes_and_makes_safe_text() -> None:
    wrong: list[str] = []
    for room in ("grammar", "dsl", "ir", "codegen"):
        for path in (ROOT / room).rglob("*.py"):
            name = path.relative_to(ROOT).as_posix()
            for node in ast.walk(ast.parse(path.read_text())):
                called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
                if SINKS.match(called) and name not in MAY_WRITE:
                    wrong.append(f"{name}:{node.lineno} calls {called}")  # type: ignore[attr-defined]
                if called in ("Safe", "sanitize.Safe") and name != "ir/sanitize.py":
                    wrong.append(f"{name}:{node.lineno} makes Safe text")  # type: ignore[attr-defined]
    assert wrong == []


# --- SARIF ----------------------------------------------------------------------------------------------------


def check_sarif(log: dict[str, Any]) -> None:
    """Check what the schema of SARIF 2.1.0 asks of the parts that we write."""
    assert set(log) <= {"$schema", "version", "runs", "inlineExternalProperties", "properties"}
    assert log["version"] == "2.1.0"
    for run in log["runs"]:
        assert set(run) <= {"tool", "columnKind", "results", "artifacts", "invocations", "properties"}
        assert run["columnKind"] in ("utf16CodeUnits", "unicodeCodePoints")
        driver = run["tool"]["driver"]
        assert set(driver) <= {"name", "version", "semanticVersion", "informationUri", "rules"}
        assert isinstance(driver["name"], str)
        assert isinstance(driver.get("version", ""), str)
        ids = [rule["id"] for rule in driver["rules"]]
        assert len(set(ids)) == len(ids)
        for result in run["results"]:
            assert set(result) <= {"ruleId", "ruleIndex", "level", "message", "locations", "relatedLocations"}
            assert result["level"] in ("none", "note", "warning", "error")
            assert ids[result["ruleIndex"]] == result["ruleId"]
            assert isinstance(result["message"]["text"], str)
            for location in [*result.get("locations", ()), *result.get("relatedLocations", ())]:
                check_location(location)


def check_location(location: dict[str, Any]) -> None:
    assert set(location) <= {"id", "physicalLocation", "message"}
    assert location.get("id", 0) >= 0
    physical = location["physicalLocation"]
    uri = physical["artifactLocation"]["uri"]
    assert re.fullmatch(r"(file:///)?[A-Za-z0-9._~/%!$&'()*+,;=@-]*", uri), uri
    assert not re.search(r"%(?![0-9A-F]{2})", uri)
    if region := physical.get("region"):
        assert set(region) <= {"startLine", "startColumn", "endLine", "endColumn"}
        assert all(type(value) is int and value >= 1 for value in region.values())
        assert (region["startLine"], region["startColumn"]) <= (region["endLine"], region["endColumn"])


@pytest.mark.parametrize(
    "name", ["a,b:c.tvms", "/abs/ü x.tvms", "<stdin>", "a%b#c?d", "x\udc80", "\x1b", "a\\b", "\ud800"]
)
def test_sarif_keeps_its_schema(name: str) -> None:
    source = Source(name, "first\nsecond line\n")
    found = (
        Diagnostic("E0101", "message", Span(source, 13, 17), "help", (Note("there", Span(source, 0, 5)), Note("why"))),
        Diagnostic("E0001", "no such file", file=name),
        Diagnostic("E0203", "a warning", Span(source, 18, 18), severity="warning"),
        Diagnostic("E0801", "about nothing"),
    )
    log = json.loads(FORMATS["sarif"](found))
    check_sarif(log)
    first, second, _, fourth = log["runs"][0]["results"]
    assert first["relatedLocations"][0]["message"] == {"text": "there"}
    assert first["message"]["text"] == "message\nhelp: help\nnote: why"
    uri = second["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    if name.isprintable():
        assert unquote(urlparse(uri).path if name.startswith("/") else uri) == name
    assert "locations" not in fourth


def test_errors_of_whole_files_have_a_location(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing, binary = tmp_path / "missing file.tvms", tmp_path / "binary.tvms"
    binary.write_bytes(b"\xff\xfe\0")
    assert main(["check", str(missing), str(binary), "--output-format", "sarif"]) == 2
    log = json.loads(capsys.readouterr().out)
    check_sarif(log)
    uris = [r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for r in log["runs"][0]["results"]]
    assert uris == [f"file://{tmp_path}/binary.tvms", f"file://{tmp_path}/missing%20file.tvms"]
    assert log["runs"][0]["tool"]["driver"]["version"]
    assert main(["check", str(missing), "--output-format", "github"]) == 2
    assert f",file={missing}::there is no file" in capsys.readouterr().out
    assert main(["check", str(missing), "--output-format", "json"]) == 2
    assert json.loads(capsys.readouterr().out)[0]["location"]["file"] == str(missing)
