"""The tables belong to the grammar, and hold nothing that could be executed."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from tvms.dsl.parser.tree import Tree
from tvms.grammar import generate, tables


def test_tables_are_those_of_the_grammar() -> None:
    assert generate.main(["--check"]) == 0


def test_check_notices_stale_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stale = tmp_path / "tvms.tables"
    monkeypatch.setattr(generate, "TABLES", stale)
    assert generate.main(["--check"]) == 1
    assert capsys.readouterr().err == "grammar/tvms.tables is stale: run python -m tvms.grammar.generate\n"
    assert generate.main([]) == 0
    assert generate.main(["--check"]) == 0
    assert stale.read_bytes() == tables.TABLES.read_bytes()


def test_an_edited_grammar_is_built_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tables.load()  # cached, before the grammar is another one
    edited = tmp_path / "tvms.lark"
    edited.write_text(tables.GRAMMAR.read_text().replace('"lambda"', '"function"'))
    monkeypatch.setattr(tables, "GRAMMAR", edited)
    assert "function" in tables.load.__wrapped__().fixed
    assert "function" not in tables.load().fixed


def test_every_action_has_its_function_and_every_function_its_action() -> None:
    actions = {rule.action for rule in tables.load().rules} - {""}
    functions = {name for name in dir(Tree) if not name.startswith("_")}
    assert actions == functions


def test_an_alternative_without_an_action_is_refused() -> None:
    grammar = tables.GRAMMAR.read_text().replace("-> attribute", "")
    with pytest.raises(ValueError, match="needs the name of its action"):
        generate.build(grammar)


def test_tables_are_plain_data() -> None:
    assert msgspec.json.decode(tables.TABLES.read_bytes()).keys() == {
        "digest",
        "patterns",
        "ignored",
        "fixed",
        "rules",
        "states",
    }
