"""Build the LALR tables and the tree-sitter grammar from `tvms.lark`.

`python -m tvms.grammar.generate` writes them, `--check` compares them.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import msgspec
from lark import Lark

from . import tree_sitter
from .automaton import GRAMMAR, TABLES, Rule, Tables, digest


def build(grammar: str) -> Tables:
    """Return the tables of a grammar text; lark raises GrammarError if it is not LALR(1)."""
    lark: Any = Lark(grammar, parser="lalr", lexer="basic", start="file", keep_all_tokens=True)
    patterns = {terminal.name: terminal.pattern for terminal in lark.terminals}
    text_of = {name: pattern.value for name, pattern in patterns.items() if pattern.type == "str"}
    (ignored,) = lark.ignore_tokens
    order = sorted(
        (name for name in patterns if name not in (*text_of, ignored)), key=lambda name: grammar.index(f"\n{name}:")
    )
    rules = sorted(lark.rules, key=lambda rule: (rule.origin.name, [symbol.name for symbol in rule.expansion]))
    return Tables(
        digest=digest(grammar),
        patterns={name: patterns[name].to_regexp() for name in order},
        ignored=patterns[ignored].to_regexp(),
        fixed=sorted(text_of.values()),
        rules=[Rule(str(rule.origin.name), len(rule.expansion), _action(rule)) for rule in rules],
        states=_states(lark.parser.parser._parse_table, text_of, {rule: index for index, rule in enumerate(rules)}),
    )


def _states(automaton: Any, text_of: dict[str, str], number: dict[Any, int]) -> list[dict[str, int]]:
    """Renumber lark's states in the order of a walk from the start, so that the tables are reproducible."""
    start, end = automaton.start_states["file"], automaton.end_states["file"]
    queue, order = [start], {start: 0}
    states: list[dict[str, int]] = []
    for state in queue:
        row: dict[str, int] = {}
        for symbol, (what, argument) in sorted(automaton.states[state].items()):
            shifts = str(what) == "Shift"
            if shifts and argument not in order:
                order[argument] = len(queue)
                queue.append(argument)
            row[text_of.get(symbol, str(symbol))] = order[argument] if shifts else ~number[argument]
        if state == end:
            row["$END"] = order[state]
        states.append(row)
    return states


def _action(rule: Any) -> str:
    if rule.alias is None and len(rule.expansion) != 1:
        raise ValueError(f"the alternative {rule} needs the name of its action")
    return str(rule.alias or "")


def main(arguments: list[str]) -> int:
    """Write `tvms.tables` and the tree-sitter grammar; with `--check`, return 1 if a file is out of date."""
    tables = msgspec.json.encode(build(GRAMMAR.read_text(encoding="utf-8"))) + b"\n"
    files = {TABLES: tables, **{path: text.encode() for path, text in tree_sitter.sources().items()}}
    stale = [path for path, data in files.items() if not path.exists() or path.read_bytes() != data]
    for path in stale:
        if "--check" not in arguments:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(files[path])
        else:
            print(f"{_shown(path)} is stale: run python -m tvms.grammar.generate", file=sys.stderr)
    return int(bool(stale) and "--check" in arguments)


def _shown(path: Path) -> str:
    root = Path(__file__).parents[1]
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else f"grammar/{path.name}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
