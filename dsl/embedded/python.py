"""Finds the decorated definitions of Python code."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Sequence

from ..builder.imports import PACKAGES
from .host import Cell, Definition
from .names import CapturedNames, Found, Scope, imported_names

_MACROS = frozenset(("macro", "inline"))
_PROGRAMS = frozenset(("meta_class", "rewriter"))
"""Decorators of `tvm.script` whose classes are part of the program; definitions may be inside."""


def definitions_of(cells: Sequence[tuple[Cell, ast.Module]]) -> Iterator[Definition]:
    """Yield the outermost decorated definitions of cells of one program, in order."""
    trees = [tree for _, tree in cells]
    aliases = _aliases(trees)
    found = [item for cell, tree in cells for item in _decorated(cell, tree, aliases)]
    macros = {item.node.name: item for item in found if item.is_macro}
    reader = CapturedNames(trees, macros)
    for item in found:
        if not item.is_macro:
            yield reader.definition(item)


def parsed(cell: Cell, text: str | None = None) -> ast.Module | None:
    """Return the tree of a cell's code, whose lines count from the first line of its source; None if it is not Python.

    `text` replaces the code where the cell holds lines that are not Python.
    """
    code = cell.source.text[cell.start : cell.end] if text is None else text
    first = cell.source.text.count("\n", 0, cell.start)
    lines = code.split("\n")
    coded = (line for line in lines if line.strip() and not line.lstrip().startswith("#"))
    indentation = next((line[: len(line) - len(line.lstrip())] for line in coded), "")
    if indentation:
        code = "\n".join(line.removeprefix(indentation) for line in lines)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # such as an invalid escape sequence in the program
            tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return ast.increment_lineno(tree, first) if first else tree


def _aliases(trees: Sequence[ast.Module]) -> dict[str, str]:
    """Return the dotted names that imports bind names to; the namespaces of `tvm.script` come before others.

    Without an import, or with one that may pass them on, such as `from .common import T`, the letters are those of `tvm.script`.
    """
    letters = {letter: f"tvm.script.{name}" for name, letter in (("ir", "I"), ("tir", "T"), ("relax", "R"))}
    found: dict[str, str] = {}
    for node in (node for tree in trees for node in ast.walk(tree)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            for name, path in imported_names(node):
                passes_on = name in letters and path.rpartition(".")[2] in ("", name)
                if not passes_on and (name not in found or path.startswith("tvm.script.")):
                    found[name] = path
    return {**letters, **found}


def _decorated(cell: Cell, tree: ast.Module, aliases: dict[str, str]) -> Iterator[Found]:
    """Yield the outermost decorated definitions and macros below a tree in order."""
    pending: list[tuple[ast.AST, tuple[Scope, ...]]] = [(tree, ())]
    while pending:
        node, scopes = pending.pop()
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            for index, decorator in enumerate(node.decorator_list):
                opener = _opener(decorator, aliases)
                if opener is not None and index == len(node.decorator_list) - 1:
                    yield Found(cell, node, scopes, decorator.lineno, opener in _MACROS)
                    break
            else:
                pending.extend((child, (*scopes, node)) for child in reversed(list(ast.iter_child_nodes(node))))
            continue
        inner = (*scopes, node) if isinstance(node, ast.Module | ast.AsyncFunctionDef | ast.Lambda) else scopes
        pending.extend((child, inner) for child in reversed(list(ast.iter_child_nodes(node))))


def _opener(decorator: ast.expr, aliases: dict[str, str]) -> str | None:
    """Return the form that a decorator names, such as "prim_func", known or not; None if it is not of `tvm.script`."""
    node = decorator.func if isinstance(decorator, ast.Call) else decorator
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or node.id not in aliases:
        return None
    path = ".".join([aliases[node.id], *reversed(parts)])
    last = path.rpartition(".")[2]
    return last if path.startswith("tvm.script.") and last not in _PROGRAMS else None


_MENTIONED = re.compile(
    r"^[ \t]*(?:@[\w.]*\b(?:ir_module|prim_func)\b|@R\.function\b|(?:I\.ir_module|T\.prim_func|R\.function)\b)",
    re.MULTILINE,
)


def names_a_definition(code: str) -> bool:
    """Return whether code that is not Python opens a definition, in any dialect."""
    return _MENTIONED.search(code) is not None


def is_script(tree: ast.Module) -> bool:
    """Return whether a Python file is nothing but TVMScript: definitions, and imports and constants for them."""
    aliases = _aliases([tree])
    modules = functions = 0
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            opener = _opener(node.decorator_list[0], aliases) if len(node.decorator_list) == 1 else None
            if opener is None:
                return False
            modules += opener == "ir_module"
            functions += opener not in _MACROS and opener != "ir_module"
        elif isinstance(node, ast.Import | ast.ImportFrom):
            if not _is_known_import(node):
                return False
        elif not (isinstance(node, ast.Assign | ast.AnnAssign) and _is_plain(node)) and not _is_text(node):
            return False
    return bool(modules + functions) and modules + bool(functions) == 1


def _is_known_import(node: ast.Import | ast.ImportFrom) -> bool:
    """Return whether the language accepts an import."""
    if isinstance(node, ast.Import):
        return all(alias.name.partition(".")[0] in PACKAGES for alias in node.names)
    return not node.level and (node.module or "").partition(".")[0] in PACKAGES


def _is_plain(node: ast.Assign | ast.AnnAssign) -> bool:
    """Return whether an assignment calls nothing but what declares type variables and metadata."""
    calls = [call.func for call in ast.walk(node) if isinstance(call, ast.Call)]
    return all(ast.unparse(call).rpartition(".")[2] in ("TypeVar", "load_json") for call in calls)


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
