"""Plain Lark reads `tvms.lark` without our driver, lexer and tables, and builds the same trees of all texts of the repository.

Lark's lexer knows neither comments nor indentation. `lark.indenter.Indenter` turns the white space of its NEWLINE tokens into
INDENT and DEDENT; comments are part of NEWLINE and are not compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from lark import Lark, Token, Tree, UnexpectedInput
from lark.indenter import DedentError, Indenter
from msgspec import Struct
from msgspec.structs import fields
from text_cases import PROGRAMS, cases_of
from text_cases import ROOT as CASES
from tvms.dsl import syntax
from tvms.dsl.parser import lexer, tree
from tvms.dsl.parser.comments import Comments
from tvms.dsl.parser.driver import parse_syntax
from tvms.grammar.tables import GRAMMAR
from tvms.ir.base import Source

ROOT = Path(__file__).parents[2]
FOLDERS = ("samples", "tests", "bench")
PARTS = (*PROGRAMS, "schedule")
"""The parts of test cases that are texts of the language."""


class Layout(Indenter):
    """Indentation as in Python: brackets join lines, and a file may begin with empty lines and comments."""

    NL_type, INDENT_type, DEDENT_type = "NEWLINE", "INDENT", "DEDENT"
    OPEN_PAREN_types, CLOSE_PAREN_types = ["LPAR", "LSQB", "LBRACE"], ["RPAR", "RSQB", "RBRACE"]
    tab_len = 8

    def process(self, stream: Iterator[Token]) -> Iterator[Token]:
        first = next(stream, None)
        if first is not None and first.type != "NEWLINE":
            stream = chain([first], stream)
        return super().process(stream)


@cache
def plain_lark() -> Lark:
    return Lark.open(str(GRAMMAR), parser="lalr", start="file", keep_all_tokens=True, postlex=Layout())


def texts_of(path: Path) -> list[str]:
    """Return the texts of a file; a file of test cases holds several."""
    if path.parent.parent != CASES or path.parent.name == "broken":  # whose files are not cases, and not all are UTF-8
        return [lexer.as_read(path.read_text(encoding="utf-8", errors="replace"))]
    parts = [case.parts[name] for case in cases_of(path) for name in PARTS if name in case.parts]
    return [lexer.as_read(part) for part in parts if part.strip()]


FILES = {
    path.relative_to(ROOT).as_posix(): path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.tvms"))
}


def built_by_lark(text: str) -> tuple[syntax.Stmt, ...] | None:
    """Return the statements that the actions of `parser.tree` build from the tree of Lark; None if either refuses the text."""
    try:
        root = plain_lark().parse(text)
    except (UnexpectedInput, DedentError):
        return None
    reports: list[lexer.Problem] = []
    actions = tree.Tree(Comments(), reports.append)
    values: dict[int, Any] = {}
    for node in root.iter_subtrees():  # children first
        children = [values[id(child)] if isinstance(child, Tree) else token_of(child) for child in node.children]
        action = getattr(actions, node.data, None)
        values[id(node)] = children[0] if action is None else action(*children)
    return None if reports else tuple(values[id(root)])


def token_of(token: Token) -> lexer.Token:
    assert token.start_pos is not None
    assert token.end_pos is not None
    if token.type in ("NEWLINE", "INDENT", "DEDENT"):
        return lexer.Token(token.start_pos, token.start_pos)
    return lexer.Token(token.start_pos, token.end_pos, str(token))


def plain(value: Any) -> Any:
    """Return a syntax tree as tuples of class names and fields, without comments."""
    if isinstance(value, Struct):
        names = [field.name for field in fields(value) if field.name != "trivia"]
        return type(value).__name__, *[plain(getattr(value, name)) for name in names]
    return tuple(map(plain, value)) if isinstance(value, list | tuple) else (type(value).__name__, repr(value))


@pytest.mark.deep(16)
@pytest.mark.parametrize("name", FILES)
def test_plain_lark_builds_the_trees_of_the_driver(name: str) -> None:
    for number, text in enumerate(texts_of(FILES[name])):
        file, errors = parse_syntax(Source(name, text))
        by_lark = built_by_lark(text)
        assert (by_lark is None) == bool(errors), f"only one of them accepts text {number}"
        assert errors or plain(by_lark) == plain(file.body), number


def test_most_texts_are_compared() -> None:
    texts = [text for path in FILES.values() for text in texts_of(path)]
    accepted = [text for text in texts if not parse_syntax(Source("text", text))[1]]
    assert len(accepted) > 0.9 * len(texts) > 1900


def test_names_of_actions_are_not_rules_that_pass_on_their_only_symbol() -> None:
    """Otherwise `built_by_lark` would take a tree of such a rule for that of an action."""
    passing = {rule.origin.name for rule in plain_lark().rules if rule.alias is None}
    assert {name for name in passing if hasattr(tree.Tree, str(name))} == set()
