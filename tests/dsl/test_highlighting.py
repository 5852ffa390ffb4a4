"""Colors for programs: nothing is lost, nothing is an error, and what the words mean is told apart."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from pygments.token import Comment, Error, Keyword, Name, Number, String
from text_cases import PROGRAMS, read_cases
from tvms.dsl.highlighting import TvmsLexer
from tvms.grammar import tables

ROOT = Path(__file__).parents[2]
KINDS = ("bounds", "forms", "passes", "printed_by_tvm", "regressions", "relax", "schedule", "tir")
TEXTS = [
    *(pytest.param(path.read_text(encoding="utf-8"), id=path.stem) for path in sorted(ROOT.glob("samples/*.tvms"))),
    *(
        pytest.param("".join(text for name, text in case.parts.items() if name in PROGRAMS), id=case.id)
        for kind in KINDS
        for case in read_cases(kind)
    ),
]
TEXTMATE: dict[str, Any] = json.loads((ROOT / "grammar/tvms.tmLanguage.json").read_text(encoding="utf-8"))


def tokens(text: str) -> list[tuple[Any, str]]:
    return list(TvmsLexer(stripnl=False, ensurenl=False).get_tokens(text))


@pytest.mark.parametrize("text", TEXTS)
def test_texts_lex_whole_and_without_errors(text: str) -> None:
    found = tokens(text)
    assert "".join(value for _, value in found) == text
    assert [value for kind, value in found if kind in Error] == []


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("# why", Comment.Single, "# why"),
        ('"a # b"', String, '"a # b"'),
        ('"float32x4"', Keyword.Type, '"float32x4"'),
        ("T.float16", Keyword.Type, "T.float16"),
        ("T.grid(4)", Name.Builtin, "T.grid"),
        ("for i in range(4):", Keyword, "for"),
        ("x + 0x1F", Number, "0x1F"),
        ("    T.prim_func(private=True) f(x: T.int32):", Name.Function, "f"),
        ("I.ir_module Module:", Keyword.Declaration, "I.ir_module"),
        ("@T.prim_func", Name.Decorator, "T.prim_func"),
        ("def main(x):", Name.Function, "main"),
        ("None", Keyword.Constant, "None"),
    ],
)
def test_words_are_told_apart(text: str, kind: Any, value: str) -> None:
    assert (kind, value) in tokens(text)


def test_pygments_knows_the_files() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    module, name = project["entry-points"]["pygments.lexers"]["tvms"].split(":")
    assert (module, name) == (TvmsLexer.__module__, TvmsLexer.__name__)
    assert TvmsLexer.filenames == ["*.tvms"]


def scope(text: str) -> dict[str, str]:
    """Return what each pattern of the TextMate grammar makes of a line: the scope of the leftmost, then first, match."""
    found: dict[str, str] = {}
    place = 0
    while place < len(text):
        matches = [(re.compile(_pattern(rule)).search(text, place), rule) for rule in TEXTMATE["patterns"]]
        hits = [(match, rule) for match, rule in matches if match and match.end() > match.start()]
        if not hits:
            break
        match, rule = min(hits, key=lambda hit: hit[0].start())
        end = match.end()
        if "end" in rule:
            closed = re.compile(rule["end"]).search(text, end)
            end = closed.end() if closed else len(text)
        if "name" in rule:
            found[text[match.start() : end]] = rule["name"]
        for group, capture in rule.get("captures", {}).items():
            if "name" in capture and match[int(group)]:
                found[match[int(group)]] = capture["name"]
        place = end
    return found


def _pattern(rule: dict[str, Any]) -> str:
    """Return a pattern as Python writes it: named groups are spelt differently."""
    return re.sub(r"\(\?<(?=[a-z])", "(?P<", rule.get("match") or rule["begin"])


def test_the_grammar_for_editors_tells_words_apart() -> None:
    found = scope('T.prim_func(private=True) f(A: T.Buffer((4,), "float32")):  # why')
    assert found["T.prim_func"] == "storage.type.tvms"
    assert found["f"] == "entity.name.function.tvms"
    assert found["T.Buffer"] == "support.function.tvms"
    assert found['"float32"'] == "string.quoted.dtype.tvms support.type.tvms"
    assert found["# why"] == "comment.line.number-sign.tvms"
    assert found["4"] == "constant.numeric.tvms"
    found = scope('with T.block("a b"): x = T.float32x4(1) + R.nn.relu(y) if True else "text" and T.nothing(z)')
    assert found["with"] == found["if"] == found["else"] == "keyword.control.tvms"
    assert found['"a b"'] == "string.quoted.double.tvms entity.name.section.tvms"
    assert found["T.float32x4"] == "support.type.tvms"
    assert found["R.nn.relu"] == "support.function.tvms"
    assert found["True"] == "constant.language.tvms"
    assert found["and"] == "keyword.control.word.tvms"
    assert found['"text"'] == "string.quoted.double.tvms"
    assert "T.nothing" not in found
    found = scope("i0, i1 = S.split(i, factors=[None, 8]); S.nothing(i0)")
    assert found["S.split"] == "support.function.tvms"
    assert "S.nothing" not in found


def test_the_grammar_for_editors_knows_every_word() -> None:
    for word in tables.load().fixed:
        assert word in scope(word) or not word.isidentifier(), word
