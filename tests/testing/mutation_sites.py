"""Automatic mutants of the functions of tvms: places that can be changed, and the changes.

A mutant changes one node of one function: a comparison, a connective, a number, the operands of an operator or a call,
a guard, a statement, or a keyword argument. The changed function also records that the changed place was reached.
"""

from __future__ import annotations

import ast
import random
from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from types import CodeType
from typing import NamedTuple

REACHED = "__mutant_reached__"
"""Name of the global that the changed place calls."""
HIT = "__segment_hit__"
"""Name of the global that each segment of an instrumented function calls."""


Segment = tuple[str, str, int]
"""File, function, and first line from that of the function, so that changes of other functions keep it."""


class MutationSite(NamedTuple):
    """A mutant: its file, the outermost function around the node, the number of the node in it, and the change."""

    file: str
    function: str
    node: int
    change: str
    line: int
    before: str
    after: str
    offset: int
    """First line of the segment with the node, from that of the function. A segment is a sequence of statements of a block
    up to the end of its next compound statement."""
    copy: int
    """Number of equal changes before it in the function."""

    @property
    def segment(self) -> Segment:
        """Key of the segment with the node."""
        return self.file, self.function, self.offset

    @property
    def name(self) -> str:
        """Name of the mutant that does not depend on line numbers."""
        copy = f" ({self.copy + 1})" if self.copy else ""
        return f"{self.file} {self.function} {self.change}: {self.before} → {self.after}{copy}"

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.change}: {self.before} → {self.after}"


_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
}  # fmt: skip
_CALLS = {"min": "max", "max": "min", "all": "any", "any": "all"}
_LEAVES = (ast.Raise, ast.Return, ast.Continue, ast.Break)


def _changes(node: ast.AST) -> Iterator[tuple[str, ast.AST | None]]:
    """Yield the name of each change of a node and its replacement, None for a removed statement."""
    match node:
        case ast.Compare(left=left, ops=[kind], comparators=[right]) if type(kind) in _COMPARISONS:
            yield "comparison", ast.Compare(left, [_COMPARISONS[type(kind)]()], [right])
        case ast.BoolOp(op=ast.And(), values=values):
            yield "connective", ast.BoolOp(ast.Or(), values)
        case ast.BoolOp(op=ast.Or(), values=values):
            yield "connective", ast.BoolOp(ast.And(), values)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "negation", operand
        case ast.Constant(value=bool(value)):
            yield "constant", ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield "off by one", ast.Constant(value + 1)
        case ast.BinOp(left=left, op=kind, right=right) if type(kind) in _OPERATORS and not _is_text(left, right):
            yield "operator", ast.BinOp(left, _OPERATORS[type(kind)](), right)
        case ast.If(test=test, body=body, orelse=orelse) if isinstance(body[-1], _LEAVES):
            yield "skipped guard", ast.If(ast.BoolOp(ast.And(), [test, ast.Constant(False)]), body, orelse)
        case ast.Expr(value=ast.Call()) | ast.AugAssign():
            yield "dropped statement", ast.Pass()
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield "dropped statement", ast.Pass()
        case ast.Call():
            yield from _calls(node)
        case _:
            pass


def _calls(call: ast.Call) -> Iterator[tuple[str, ast.AST]]:
    match call.func:
        case ast.Name(id=name) if name in _CALLS:
            yield "function", ast.Call(ast.Name(_CALLS[name], ast.Load()), call.args, call.keywords)
        case ast.Name(id="isinstance" | "getattr" | "setattr" | "hasattr" | "range" | "zip" | "cast" | "map"):
            return
        case _:
            pass
    match call.args:
        case [ast.expr() as first, ast.expr() as second, *others] if not any(
            isinstance(expr, ast.Starred) for expr in (first, second)
        ) and ast.dump(first) != ast.dump(second):
            yield "swapped arguments", ast.Call(call.func, [second, first, *others], call.keywords)
        case _:
            pass
    for index, keyword in enumerate(call.keywords):
        if keyword.arg is not None and keyword.arg not in ("span", "strict", "key", "comments"):
            kept = [*call.keywords[:index], *call.keywords[index + 1 :]]
            yield f"dropped {keyword.arg}=", ast.Call(call.func, call.args, kept)


def _is_text(*nodes: ast.AST) -> bool:
    return any(
        isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))
        for node in nodes
    )


def _functions(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef]]:
    """Yield the functions and methods of a module that are not nested in others."""
    stack: list[tuple[str, ast.stmt]] = [("", stmt) for stmt in reversed(tree.body)]
    while stack:
        prefix, stmt = stack.pop()
        if isinstance(stmt, ast.FunctionDef):
            yield prefix + stmt.name, stmt
        elif isinstance(stmt, ast.ClassDef):
            stack.extend((f"{prefix}{stmt.name}.", statement) for statement in reversed(stmt.body))
        elif isinstance(stmt, ast.If):
            stack.extend((prefix, statement) for statement in reversed(stmt.body))


_COMPOUND = (ast.If, ast.For, ast.While, ast.Try, ast.With, ast.Match)


def _segments(block: list[ast.stmt]) -> Iterator[tuple[ast.stmt, int]]:
    """Yield each statement of a block with the first line of its segment."""
    first, before = 0, None
    for stmt in block:
        if before is None or isinstance(before, _COMPOUND):
            first = stmt.lineno
        before = stmt
        yield stmt, first


def _nodes(function: ast.FunctionDef) -> list[tuple[ast.AST, int]]:
    """Return the executed nodes of a function in order, with their segments, without annotations and texts of messages."""
    found: list[tuple[ast.AST, int]] = []

    def visit(node: ast.AST, segment: int) -> None:
        found.append((node, segment))
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list", "pattern", "slice") and not isinstance(
                node, ast.Subscript
            ):
                continue
            parts = value if isinstance(value, list) else [value]
            if parts and isinstance(parts[0], ast.stmt):
                visit_all(parts)
                continue
            for child in parts:
                if isinstance(child, ast.AST) and not isinstance(child, _UNCHANGED) and not _is_check(child):
                    visit(child, segment)

    def visit_all(block: list[ast.stmt]) -> None:
        for stmt, segment in _segments(block):
            if not isinstance(stmt, _UNCHANGED):
                visit(stmt, segment)

    visit_all(function.body)
    return found


_UNCHANGED = (ast.JoinedStr, ast.Raise, ast.Assert)
"""Texts of messages, errors, and assertions."""


def _is_check(node: ast.AST) -> bool:
    """Return whether a node is `strict=True`, which checks that sequences have the same length."""
    return isinstance(node, ast.keyword) and node.arg == "strict"


def sites_in(root: Path, folder: str) -> list[MutationSite]:
    """Return all mutants of the functions in a folder, or in a file, below `root`."""
    paths = [root / folder] if folder.endswith(".py") else sorted((root / folder).rglob("*.py"))
    return [site for path in paths for site in _sites_of(path, str(path.relative_to(root)))]


def _sites_of(path: Path, file: str) -> Iterator[MutationSite]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for name, function in _functions(tree):
        if name.rpartition(".")[2] in ("__repr__", "__str__"):
            continue
        copies = Counter[tuple[str, str, str]]()
        for number, (node, segment) in enumerate(_nodes(function)):
            for change, other in _changes(node):
                before = ast.unparse(node).partition("\n")[0]
                after = "pass" if isinstance(other, ast.Pass) else _shown(other)
                copy = copies[change, before, after]
                copies[change, before, after] += 1
                yield MutationSite(
                    file,
                    name,
                    number,
                    change,
                    getattr(node, "lineno", 0),
                    before,
                    after,
                    segment - function.lineno,
                    copy,
                )


def _shown(node: ast.AST | None) -> str:
    return "" if node is None else ast.unparse(ast.fix_missing_locations(deepcopy(node))).partition("\n")[0]


def sample(sites: list[MutationSite], count: int, seed: int) -> list[MutationSite]:
    """Return `count` mutants, with distinct nodes as far as possible."""
    order = random.Random(seed).sample(sites, len(sites))
    seen: set[tuple[str, str, int]] = set()
    first: list[MutationSite] = []
    rest: list[MutationSite] = []
    for site in order:
        key = site[:3]
        (rest if key in seen else first).append(site)
        seen.add(key)
    return (first + rest)[:count]


class _Replace(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> ast.AST | list[ast.AST]:
        if node is not self.old:
            return self.generic_visit(node)
        note = ast.Call(ast.Name(REACHED, ast.Load()), [], [])
        if isinstance(node, ast.stmt):
            return [ast.copy_location(ast.Expr(note), node), ast.copy_location(self.new, node)]
        return ast.copy_location(ast.BoolOp(ast.Or(), [note, self.new]), node)  # type: ignore[list-item]


def mutated_code(root: Path, site: MutationSite) -> CodeType:
    """Return the code of the function with the change in it."""
    path = root / site.file
    tree = ast.parse(path.read_text(encoding="utf-8"))
    function = dict(_functions(tree))[site.function]
    node, _ = _nodes(function)[site.node]
    new = next(other for change, other in _changes(node) if change == site.change and other is not None)
    _Replace(node, new).visit(function)
    module = compile(ast.fix_missing_locations(tree), str(path), "exec", dont_inherit=True)
    return next(code for code in _codes(module) if code.co_qualname == site.function)


class _Instrument(ast.NodeTransformer):
    """Call `HIT` with the key of each segment."""

    def __init__(self, file: str, function: str, line: int) -> None:
        self.file, self.function, self.line = file, function, line

    def generic_visit(self, node: ast.AST) -> ast.AST:
        for name, value in ast.iter_fields(node):
            if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                block: list[ast.stmt] = []
                last = -1
                for stmt, segment in _segments(value):
                    if segment != last:
                        key = ast.Constant((self.file, self.function, segment - self.line))
                        call = ast.Call(ast.Name(HIT, ast.Load()), [key], [])
                        block.append(ast.copy_location(ast.Expr(call), stmt))
                    block.append(stmt)
                    last = segment
                setattr(node, name, block)
        return super().generic_visit(node)


def instrumented_codes(root: Path, file: str) -> dict[str, CodeType]:
    """Return the codes of the functions of a file by qualified name. Each segment calls `HIT` before it is executed."""
    path = root / file
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = dict(_functions(tree))
    for name, function in functions.items():
        _Instrument(file, name, function.lineno).visit(function)
    module = compile(ast.fix_missing_locations(tree), str(path), "exec", dont_inherit=True)
    return {code.co_qualname: code for code in _codes(module) if code.co_qualname in functions}


def _codes(code: CodeType) -> Iterator[CodeType]:
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield const
            yield from _codes(const)
