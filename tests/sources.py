"""The files of the source, and what they import: read once per process, however many tests ask.

Tests import this module by its plain name, `sources`, since pytest gives each file of tests a name of its own.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
ROOMS = ("grammar", "dsl", "ir", "codegen")
SOURCES = sorted([*ROOT.glob("*.py"), *(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))])


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), name_of(path))


@cache
def imports_in(path: Path) -> tuple[tuple[str, bool, int], ...]:
    """Return what a file imports, as absolute names: `tvms.ir.tir`, whether at import time, and the line."""

    def visit(node: ast.AST, at_import: bool) -> Iterator[tuple[str, bool, int]]:
        for child in ast.iter_child_nodes(node):
            now = at_import and not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
            if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
                now = False
            if isinstance(child, ast.Import):
                yield from ((alias.name, now, child.lineno) for alias in child.names)
            elif isinstance(child, ast.ImportFrom):
                yield from ((name, now, child.lineno) for name in absolute(path, child))
            elif not isinstance(child, ast.expr):
                yield from visit(child, now)

    return tuple(visit(tree_of(path), True))


def absolute(path: Path, node: ast.ImportFrom) -> list[str]:
    """Return the absolute names that `from … import a, b` means."""
    if not node.level:
        return [node.module or ""]
    package = ("tvms", *path.relative_to(ROOT).parent.parts)
    base = [*package[: len(package) - node.level + 1], *(node.module or "").split(".")]
    return [".".join(filter(None, [*base, alias.name])) for alias in node.names]
