"""Files and their faults; and all mistakes of a text, of every stage, in one report."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
from tvms.dsl.load import load_module, parse, read_source
from tvms.ir.diagnostics import TvmsError


def message_of(path: str) -> str:
    """Return what is said of the file at `path`."""
    with pytest.raises(TvmsError) as caught:
        load_module(path)
    return str(caught.value).rstrip("\n")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "error[E0004]: 'a.tvms' contains no definition\n  = help: write a T.prim_func, an R.function or an I.ir_module"),
        (b"# only a comment\n", "error[E0004]: 'a.tvms' contains no definition\n  = help: write a T.prim_func, an R.function or an I.ir_module"),
        (b"# caf\xe9\n", "error[E0002]: 'a.tvms' is not UTF-8: byte 5 is 0xe9\n  = help: save the file as UTF-8"),
        (b"\xef\xbb\xbf# \xff\n", "error[E0002]: 'a.tvms' is not UTF-8: byte 5 is 0xff\n  = help: save the file as UTF-8"),
        (b"# a\n# \0\n", "error[E0003]: 'a.tvms' contains a NUL character in line 2\n  = help: is it a binary file?"),
    ],
    ids=["empty", "comment", "latin-1", "mark", "nul"],
)  # fmt: skip
def test_unreadable_texts(content: bytes, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.tvms").write_bytes(content)
    assert message_of("a.tvms") == message


def test_unreadable_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    assert message_of("folder") == "error[E0001]: 'folder' is a folder\n  = help: name a file in it"
    absent = "error[E0001]: there is no file 'absent.tvms'\n  = help: check the path; '-' reads standard input"
    assert message_of("absent.tvms") == absent
    assert message_of("a\0b").startswith("error[E0001]: ")


def test_a_mark_and_windows_line_ends_are_no_part_of_the_text(tmp_path: Path) -> None:
    path = tmp_path / "a.tvms"
    path.write_bytes(b'\xef\xbb\xbfT.prim_func f(A: T.Buffer((4,), "int32")):\r\n    A[0] = 1\r\n')
    assert "f" in load_module(str(path))


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    class Standard:
        buffer = io.BytesIO(b"T.prim_func f(A: T.handle):\n    T.evaluate(A)\n")

    monkeypatch.setattr(sys, "stdin", Standard())
    source = read_source("-")
    assert (source.name, source.text[:13]) == ("<stdin>", "T.prim_func f")


def test_syntax_and_meaning_are_reported_together_in_order() -> None:
    text = "T.prim_func f(A: T.handle):\n    T.evaluate(B)\nT.prim_func g(A: T.handle:\n    pass\nT.prim_func h(n: T.int32):\n    T.evaluate(m)\n"
    with pytest.raises(TvmsError) as caught:
        parse(text)
    assert [diagnostic.code for diagnostic in caught.value.diagnostics] == ["E0101", "E0009", "E0101"]


def test_a_path_may_be_a_path(tmp_path: Path) -> None:
    file = tmp_path / "wrong.tvms"
    file.write_text("T.prim_func f():\n    T.evaluate(n)\n")
    with pytest.raises(TvmsError) as raised:
        load_module(file)
    assert f"--> {file}:2:16" in str(raised.value)
