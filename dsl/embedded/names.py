"""What is known of the names that definitions capture from their Python program: constants, macros, the dialects."""

from __future__ import annotations

import ast
import operator
import re
import symtable
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

from ...ir.diagnostics import Source, Span
from ..builder.forms import Namespace
from ..builder.imports import DIALECTS, base_names
from .host import Cell, Definition

Scope: TypeAlias = "ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda"


class Found(NamedTuple):
    """A decorated definition: its cell, its node, the scopes around it, and the line of the decorator that opens it."""

    cell: Cell
    node: ast.FunctionDef | ast.ClassDef
    scopes: tuple[Scope, ...]
    first_line: int
    is_macro: bool


class _Unknown(Exception):
    """A value that only the running program knows."""


class CapturedNames:
    """What is known of the names that definitions of one program capture."""

    def __init__(self, trees: Sequence[ast.Module], macros: dict[str, Found]) -> None:
        self._trees = trees
        self._macros = macros
        self._base = base_names()
        self._bound: dict[int, dict[str, list[ast.AST]]] = {}
        self._starts: dict[Source, list[int]] = {}
        """Offsets of the lines of each source."""

    def definition(self, item: Found) -> Definition:
        """Return a definition with the names that it captures."""
        start, end = self._lines(item)
        used: dict[str, Found] = {}
        captured = self._free(item, used)
        names: dict[str, Any] = {}
        missing: dict[str, Span] = {}
        code: set[str] = set()
        for name in captured:
            binding = self._binding(name, item.scopes)
            if binding is None:
                continue
            try:
                names[name] = self._value(name, binding, item.scopes)
            except _Unknown:
                missing[name] = self._span(item.cell.source, binding[0])
                if isinstance(binding[0], ast.FunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom):
                    code.add(name)
        macros = sorted(self._lines(macro) for macro in used.values())
        return Definition(item.node.name, item.cell.source, start, end, tuple(macros), names, missing, frozenset(code))

    def _free(self, item: Found, used: dict[str, Found]) -> list[str]:
        """Return the names that a definition and its macros, which are added to `used`, take from the program."""
        names = dict.fromkeys(_free_names(item))
        for name in list(names):
            macro = self._macros.get(name)
            if macro is not None and macro.cell.source is item.cell.source:
                del names[name]
                if name not in used:
                    used[name] = macro
                    names |= dict.fromkeys(self._free(macro, used))
        return [name for name in names if name not in used]

    def _binding(self, name: str, scopes: Sequence[Scope]) -> list[ast.AST] | None:
        """Return what binds a name in the innermost scope that does; None for a name of the language or an unbound one."""
        for scope in reversed(scopes):
            bindings = self._bindings_of(scope).get(name)
            if bindings:
                return bindings
        return None

    def _line_starts(self, source: Source) -> list[int]:
        """Return the offsets of the lines of a text, and its length."""
        if source not in self._starts:
            starts = [0, *(match.end() for match in re.finditer("\n", source.text))]
            self._starts[source] = starts if starts[-1] == len(source.text) else [*starts, len(source.text)]
        return self._starts[source]

    def _lines(self, item: Found) -> tuple[int, int]:
        """Return the range of the whole lines of a definition."""
        starts = self._line_starts(item.cell.source)
        return starts[item.first_line - 1], starts[item.node.end_lineno or item.first_line]

    def _span(self, source: Source, node: ast.AST) -> Span:
        """Return the span of a node of one line in a program, or else of the whole line."""
        line: int = getattr(node, "lineno", 1)
        starts = self._line_starts(source)
        start, text = starts[line - 1], source.text[starts[line - 1] : starts[line]]
        is_plain = text.isascii() and not source.name.endswith(".md")  # whose blocks may be indented
        if is_plain and isinstance(node, ast.expr | ast.stmt | ast.arg) and node.end_lineno == line:
            return Span(source, start + node.col_offset, start + (node.end_col_offset or 0))
        return Span(source, start + len(text) - len(text.lstrip()), start + len(text.rstrip()))

    def _bindings_of(self, scope: Scope) -> dict[str, list[ast.AST]]:
        found = self._bound.get(id(scope))
        if found is None:
            trees: Sequence[ast.AST] = self._trees if isinstance(scope, ast.Module) else (scope,)
            found = self._bound[id(scope)] = {}
            for tree in trees:
                for name, node in _bound_in(tree):
                    found.setdefault(name, []).append(node)
        return found

    def _value(self, name: str, binding: list[ast.AST], scopes: Sequence[Scope], depth: int = 0) -> Any:
        """Return the value of a name: a dialect, or a constant that is assigned once; raise _Unknown for others."""
        node = binding[0]
        if isinstance(node, ast.Import | ast.ImportFrom):
            paths = {
                dict(imported_names(node)).get(name)
                for node in binding
                if isinstance(node, ast.Import | ast.ImportFrom)
            }
            return self._imported_value(name, paths.pop() or "" if len(paths) == 1 else "")
        if len(binding) == 1 and isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None and depth < 20:
            return self._constant(node.value, scopes, depth + 1)
        raise _Unknown

    def _imported_value(self, name: str, path: str) -> Any:
        """Return the namespace or form of the language that an import binds; raise _Unknown for any other."""
        found: Any = Namespace("", {"tvm": self._base["tvm"]})
        for part in path.split("."):
            found = found.members.get(part) if isinstance(found, Namespace) else None
        if found is None and name in self._base and path in ("tvm.ir", "tvm.tir", "tvm.relax"):
            found = self._base[name]
        if found is None:
            raise _Unknown
        return found

    def _constant(self, node: ast.expr, scopes: Sequence[Scope], depth: int) -> Any:
        """Return the value of an expression of constants; raise _Unknown for another."""
        if isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float | str | None):
            return node.value
        if isinstance(node, ast.Tuple | ast.List):
            return tuple(self._constant(element, scopes, depth) for element in node.elts)
        if isinstance(node, ast.Name) and (binding := self._binding(node.id, scopes)):
            return self._value(node.id, binding, scopes, depth)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            operand = self._constant(node.operand, scopes, depth)
            if isinstance(operand, int | float):
                return -operand
        if isinstance(node, ast.BinOp):
            left, right = self._constant(node.left, scopes, depth), self._constant(node.right, scopes, depth)
            return _computed(node.op, left, right)
        raise _Unknown


_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "Add": operator.add,
    "Sub": operator.sub,
    "Mult": operator.mul,
    "FloorDiv": lambda left, right: left // right,
    "Mod": operator.mod,
}
"""The operators that constants may be computed with."""
_MOST = 2**63
"""Numbers from here on are not computed with."""


def _computed(sign: ast.operator, left: Any, right: Any) -> Any:
    """Return a result of two numbers; raise _Unknown for other values."""
    function = _OPERATORS.get(type(sign).__name__)
    if function and all(isinstance(value, int | float) and abs(value) < _MOST for value in (left, right)):
        try:
            return function(left, right)
        except ZeroDivisionError:
            pass
    raise _Unknown


def _bound_in(scope: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Yield the names that a scope binds, each with the node that binds it, without those of scopes in it."""
    if isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        arguments = scope.args
        every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg)
        yield from ((argument.arg, argument) for argument in every if argument is not None)
    pending = list(ast.iter_child_nodes(scope))
    while pending:
        node = pending.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name, node
            continue
        if isinstance(node, ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            continue
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from ((name, node) for name, _ in imported_names(node))
        elif isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            yield node.targets[0].id, node
            pending.append(node.value)
            continue
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id, node
            continue
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id, node
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            yield node.name, node
        pending.extend(ast.iter_child_nodes(node))


def _free_names(item: Found) -> list[str]:
    """Return the names that a definition mentions and does not define, in alphabetical order."""
    try:
        table = symtable.symtable(ast.unparse(item.node), item.node.name, "exec")
    except (SyntaxError, ValueError, RecursionError):
        return []
    own = {item.node.name}
    if isinstance(item.node, ast.ClassDef):
        own |= {child.name for child in item.node.body if isinstance(child, ast.FunctionDef | ast.ClassDef)}
        own |= {name for name, _ in _bound_in(item.node)}
    found: set[str] = set()
    tables = [table]
    while tables:
        table = tables.pop()
        tables.extend(table.get_children())
        for symbol in table.get_symbols():
            is_free = symbol.is_global() or (table.get_type() == "module" and not symbol.is_assigned())
            if is_free and symbol.is_referenced():
                found.add(symbol.get_name())
    return sorted(found - own)


def imported_names(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, str]]:
    """Yield the names that an import binds, with the dotted names of what they denote."""
    for alias in node.names:
        if isinstance(node, ast.Import):
            name = alias.asname or alias.name.partition(".")[0]
            yield name, _of_tvm(alias.name if alias.asname else name)
        elif node.module and not node.level:
            path = _of_tvm(node.module)
            names = DIALECTS if alias.name == "*" and path == "tvm.script" else (alias.name,)
            yield from ((alias.asname or name, f"{path}.{name}") for name in names)
        else:
            yield alias.asname or alias.name, ""


def _of_tvm(name: str) -> str:
    """Return a dotted name, with the one package name for TVM and tvms, and without `parser`."""
    root, dot, rest = name.partition(".")
    return f"{'tvm' if root == 'tvms' else root}{dot}{rest}".replace("tvm.script.parser", "tvm.script")
