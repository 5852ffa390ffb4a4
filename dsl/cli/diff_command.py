"""`tvms diff A B`: compare two revisions of a program by structure."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from typing import LiteralString

from ...ir.base import IRModule, Source
from ...ir.diagnostics import TvmsError, error
from ...ir.sanitize import Safe, emit, joined, json_text, painted, say, visible, wants_color
from ..diagnostics import BOLD, CYAN, GREEN, RED, YELLOW
from ..load import load_module, parse_source, read_source
from ..revisions.diff import Change, differences
from ..revisions.outline import DEFINITION, Node, outline
from .reporting import UsageError

_SIGNS: dict[str, tuple[LiteralString, LiteralString]] = {
    "added": ("+", GREEN), "removed": ("-", RED), "changed": ("~", YELLOW), "moved": (">", CYAN), "renamed": ("=", CYAN),
}  # fmt: skip
_EMPTY = "/dev/null"
"""The file that git compares a new or deleted file with."""


def run(arguments: argparse.Namespace) -> int:
    """Print the differences; return 0 if there are none, 1 if there are, 2 if a file cannot be compared."""
    try:
        return _run_for_git(arguments.paths) if arguments.git else _run(arguments)
    except TvmsError as problem:
        if all(item.code.startswith("E00") for item in problem.diagnostics):
            raise
        from .reporting import report

        report(problem.diagnostics)
        return 2


def _run(arguments: argparse.Namespace) -> int:
    if len(arguments.paths) != 2:
        raise UsageError("give two files: tvms diff BEFORE AFTER")
    before, after = (_read(path) for path in arguments.paths)
    changes = _compare(before, after, arguments.ignore_comments)
    results = list(_run_both(*arguments.paths)) if arguments.run else []
    if arguments.json:
        rows = [
            {"kind": item.kind, "what": item.what, "path": item.path, "before": item.before, "after": item.after, "lines": item.lines}
            for item in changes
        ]  # fmt: skip
        emit(
            json_text(
                {"changes": rows, "results": [{"function": name, "differs": text} for name, text in results]}, indent=2
            )
        )
    else:
        _show(before.name, after.name, changes)
        for name, text in results:
            say(f"{name}: {text or 'computes the same on random inputs'}")
    return int(bool(changes) or any(text for _, text in results))


def _run_for_git(words: list[str]) -> int:
    """Compare as git calls an external diff: path, old file, its hash and mode, new file, its hash and mode."""
    if len(words) == 1:
        say(f"* {words[0]}: unmerged")
        return 0
    if len(words) < 7:
        raise UsageError("--git takes the seven arguments that git gives: see GIT_EXTERNAL_DIFF in git(1)")
    name, old, _, _, new = words[:5]
    before, after = (Source(name, "" if path == _EMPTY else read_source(path).text) for path in (old, new))
    changes = _compare(before, after, ignores_comments=False)
    _show(
        _EMPTY if old == _EMPTY else f"a/{name}", _EMPTY if new == _EMPTY else f"b/{words[7] if len(words) > 7 else name}",
        changes,
    )  # fmt: skip
    return 0


def _read(path: str) -> Source:
    """Return the text of a file, or of one of its definitions: FILE::NAME."""
    name = ""
    if "::" in path and not os.path.lexists(path):
        path, _, name = path.rpartition("::")
    source = read_source(path)
    if not name:
        return source
    found = [node for node in outline(source).walk() if node.kind == DEFINITION and node.name == name]
    if len(found) != 1:
        known = dict.fromkeys(node.name for node in outline(source).walk() if node.kind == DEFINITION)
        what = f"{len(found)} definitions" if found else "no definition"
        raise error("E0823", f"'{path}' has {what} '{name}'", help=f"it defines {', '.join(known)}")
    return Source(f"{path}::{name}.tvms", "\n".join(found[0].lines(0)) + "\n")


def _compare(before: Source, after: Source, ignores_comments: bool) -> list[Change]:
    if _is_decorated(outline(before)) != _is_decorated(outline(after)):
        before, after = (_printed(source) for source in (before, after))
    changes = differences(before, after)
    return [change for change in changes if change.what != "comment"] if ignores_comments else changes


def _is_decorated(root: Node) -> bool | None:
    """Return whether the definitions of a text have decorators; None for one without definitions."""
    found = [node for node in root.walk() if node.kind == DEFINITION]
    return any(node.tokens[0] in ("@", "class") for node in found) if found else None


def _printed(source: Source) -> Source:
    """Return a text of another dialect in ours; a text without a module stays."""
    try:
        return Source(source.name, parse_source(source).script() + "\n")
    except TvmsError:
        return source


def _show(before: str, after: str, changes: list[Change]) -> None:
    if not changes:
        return
    color = wants_color(sys.stdout)

    def paint(text: Safe, code: LiteralString) -> Safe:
        return painted(text, code) if color else text

    head = [paint(visible(f"--- {before}"), BOLD), paint(visible(f"+++ {after}"), BOLD)]
    emit(joined("\n", [*head, *_lines(changes, paint)]))


def _lines(changes: list[Change], paint: Callable[[Safe, LiteralString], Safe]) -> Iterator[Safe]:
    """Yield the lines of a report: each change below the statements that contain it."""
    shown: tuple[str, ...] = ()
    for change in changes:
        common = 0
        while common < min(len(shown), len(change.path)) and shown[common] == change.path[common]:
            common += 1
        for level in range(common, len(change.path)):
            yield visible(f"{'  ' * level}  {change.path[level]}")
        shown = change.path
        sign, code = _SIGNS[change.kind]
        margin = "  " * len(change.path)
        yield from (
            paint(visible(f"{margin}{row_sign} {text}"), row_code)
            for row_sign, row_code, text in _rows(change, sign, code)
        )


def _rows(
    change: Change, sign: LiteralString, code: LiteralString
) -> Iterator[tuple[LiteralString, LiteralString, str]]:
    """Yield the sign, color and text of the lines that show a change."""
    old, _ = change.lines
    if change.kind == "renamed":
        yield sign, code, f"{change.what} {change.before} is now {change.after}"
    elif change.kind == "moved" and change.what == "parameters":
        yield sign, code, f"{change.what}: {change.before} → {change.after}"
    elif change.kind == "moved":
        yield sign, code, f"{change.after}  (from line {old})"
    elif change.kind in ("added", "removed"):
        text = change.after or change.before
        yield sign, code, f"parameter {text}" if change.what == "parameter" else text
    elif change.what in ("statement", "loop", "block", "line", "comment"):
        yield "-", RED, change.before
        yield "+", GREEN, change.after
    else:
        yield sign, code, f"{change.what}: {change.before} → {change.after}"


def _run_both(first: str, second: str) -> Iterator[tuple[str, str]]:
    """Yield the functions that both files have, each with how their results differ on random inputs, or an empty text."""
    from ..testing.oracle import assert_equivalent

    before, after = load_module(first), load_module(second)
    for name in _entries(before):
        if name not in after.functions:
            continue
        try:
            assert_equivalent(before, after, entry=name)
        except AssertionError as problem:
            yield name, str(problem)
        except TvmsError as problem:
            yield name, f"cannot be compared: {problem.diagnostics[0].message}"
        else:
            yield name, ""


def _entries(module: IRModule) -> list[str]:
    """Return the functions that a caller may run: those with a global symbol or of a graph, or all."""
    public = [name for name, func in module.functions.items() if not getattr(func, "is_private", False)]
    return public or list(module.functions)
