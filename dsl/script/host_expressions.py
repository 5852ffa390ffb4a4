"""Python in decorated definitions that the language does not have: f-strings, comparisons by `is`, `nonlocal` and `global`,
comments for Python's tools, and methods of a class derived from `BasePyModule`.

The names of such expressions belong to the Python program, so they are constants of the definition: they are evaluated when it is
read, and a name of their value replaces them. The statements are left out. A text alone has none of them.
"""

from __future__ import annotations

import ast
import builtins
import operator
import re
import tokenize
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeGuard, cast

from ...ir.api.relax.base_py_module import BasePyModule, ModuleFactory
from ...ir.base import Source, Span
from ...ir.diagnostics import error

_UNARY: dict[type, Callable[[Any], Any]] = {
    ast.Not: operator.not_, ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert,
}  # fmt: skip
_BINARY: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: lambda a, b: a / b, ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: operator.mod,
}  # fmt: skip
_COMPARISONS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Is: operator.is_, ast.IsNot: operator.is_not, ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge,
}  # fmt: skip
_CONVERSIONS: dict[int, Callable[[Any], Any]] = {
    -1: lambda value: value,
    ord("s"): str,
    ord("r"): repr,
    ord("a"): ascii,
}
_LINE = re.compile(r"[^\n]*\n|[^\n]+$")


_PRAGMA = re.compile(r"#\s*(type:\s*ignore|noqa\b|nosec\b|pylint:|pyright:|mypy:|ruff:|fmt:|yapf:|isort:|pragma:)")


def without_pragmas(source: Source) -> Source:
    """Return `source` without comments for Python's tools, such as `# type: ignore`, which are not of the program."""
    if not _PRAGMA.search(source.text):
        return source
    lines = source.text.splitlines(keepends=True)
    try:
        tokens = list(tokenize.generate_tokens(iter(lines).__next__))
    except (tokenize.TokenError, SyntaxError):
        return source
    for token in reversed(tokens):
        if token.type == tokenize.COMMENT and _PRAGMA.match(token.string):
            number, column = token.start[0] - 1, token.start[1]
            line = lines[number]
            lines[number] = line[:column].rstrip(" \t") + line[column + len(token.string) :]
    return Source(source.name, "".join(lines))


def with_constants(source: Source, names: Mapping[str, Any]) -> tuple[Source, dict[str, Any]]:
    """Return `source` with names in place of such expressions, which keep their lengths, and the values of these names.

    Spaces replace statements such as `nonlocal name`. An expression that uses a variable of the definition stays, and so does a
    statement that names one: the parser refuses them. Raise TvmsError E0207 if the evaluation raises an exception.
    """
    if not any(sign in source.text for sign in ('f"', "f'", " is ", "nonlocal", "global")):
        return source, {}
    try:
        tree = ast.parse(source.text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return source, {}
    lines = [match.group() for match in _LINE.finditer(source.text)]
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))

    def offset(line: int, column: int) -> int:
        return starts[line - 1] + len(lines[line - 1].encode()[:column].decode())

    own = _bound(tree)
    values: dict[str, Any] = {}
    text = source.text
    for node in _expressions(tree):
        used = {item.id for item in ast.walk(node) if isinstance(item, ast.Name)}
        if used & own or not all(name in names or hasattr(builtins, name) for name in used):
            continue
        start, end = offset(node.lineno, node.col_offset), offset(node.end_lineno or 0, node.end_col_offset or 0)
        name = _unused(text, len(values))
        if len(name) <= end - start:
            values[name] = _evaluated(node, names, Span(source, start, end))
            text = f"{text[:start]}{name}{_blank(text[start + len(name) : end])}{text[end:]}"
    for node in _scope_statements(tree):
        start, end = offset(node.lineno, node.col_offset), offset(node.end_lineno or 0, node.end_col_offset or 0)
        if not own & set(node.names) and all(name in names for name in node.names) and _is_alone(text, start, end):
            text = f"{text[:start]}{_blank(text[start:end])}{text[end:]}"
    return (source, {}) if text == source.text else (Source(source.name, text, source.text), values)


def _scope_statements(tree: ast.AST) -> Iterator[ast.Nonlocal | ast.Global]:
    """Yield the statements `nonlocal` and `global`, without those that are the whole body of a function."""
    for node in ast.walk(tree):
        for child in ast.iter_child_nodes(node):
            is_only = isinstance(node, ast.FunctionDef) and len(node.body) == 1
            if isinstance(child, ast.Nonlocal | ast.Global) and not is_only:
                yield child


def _is_alone(text: str, start: int, end: int) -> bool:
    """Return whether no other statement is on the lines of a statement."""
    before = text[text.rfind("\n", 0, start) + 1 : start]
    after = text[end:].partition("\n")[0].partition("#")[0]
    return not before.strip() and not after.strip()


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def _expressions(node: ast.AST) -> Iterator[ast.expr]:
    """Yield the outermost f-strings and comparisons by `is` below `node`."""
    for child in ast.iter_child_nodes(node):
        is_identity = isinstance(child, ast.Compare) and all(isinstance(op, ast.Is | ast.IsNot) for op in child.ops)
        if isinstance(child, ast.JoinedStr) or is_identity:
            assert isinstance(child, ast.expr)
            yield child
        else:
            yield from _expressions(child)


def _bound(tree: ast.AST) -> set[str]:
    """Return the names that a definition binds: parameters, variables, functions."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
    return found


def _unused(text: str, number: int) -> str:
    """Return a short name that does not occur in `text`."""
    name = f"_{number}"
    while name in text:
        number += 1
        name = f"_{number}"
    return name


def _evaluated(node: ast.expr, names: Mapping[str, Any], span: Span) -> Any:
    try:
        return _value(node, names)
    except Exception as problem:
        reason = f"{type(problem).__name__}: {problem}"
        raise error("E0207", f"the Python expression raised {reason}", span) from None


def _value(node: ast.expr, names: Mapping[str, Any]) -> Any:
    """Return the value of an expression of names, attributes, elements, calls, operators and f-strings."""
    match node:
        case ast.Constant():
            return node.value
        case ast.Name():
            return names[node.id] if node.id in names else getattr(builtins, node.id)
        case ast.Attribute() if not node.attr.startswith("__"):
            return getattr(_value(node.value, names), node.attr)
        case ast.Subscript():
            return _value(node.value, names)[_value(node.slice, names)]
        case ast.Call():
            args = [_value(arg, names) for arg in node.args]
            return _value(node.func, names)(
                *args, **{item.arg: _value(item.value, names) for item in node.keywords if item.arg}
            )
        case ast.Tuple() | ast.List():
            elements = [_value(element, names) for element in node.elts]
            return elements if isinstance(node, ast.List) else tuple(elements)
        case ast.UnaryOp():
            return _UNARY[type(node.op)](_value(node.operand, names))
        case ast.BinOp() if type(node.op) in _BINARY:
            return _BINARY[type(node.op)](_value(node.left, names), _value(node.right, names))
        case ast.Compare():
            operands = [_value(operand, names) for operand in (node.left, *node.comparators)]
            pairs = zip(node.ops, operands, operands[1:], strict=False)
            return all(_COMPARISONS[type(op)](left, right) for op, left, right in pairs)
        case ast.IfExp():
            return _value(node.body if _value(node.test, names) else node.orelse, names)
        case ast.JoinedStr():
            return "".join(_value(part, names) for part in node.values)
        case ast.FormattedValue():
            shown = _CONVERSIONS[node.conversion](_value(node.value, names))
            return format(shown, _value(node.format_spec, names) if node.format_spec else "")
        case _:
            raise SyntaxError(f"'{ast.unparse(node)}' is evaluated in the program only; assign it to a name first")


_MARK = "is_function_in_python"
"""An attribute of functions in Python inside a class that becomes a module; they do not belong to its text."""


def pyfunc(func: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a method of a class that becomes a module as a function in Python (TVM: `I.pyfunc`)."""
    setattr(func, _MARK, True)
    return func


def as_factory(definition: Any, read: Any) -> Any:
    """Return what a decorated definition becomes: for a class derived from `BasePyModule`, a `ModuleFactory` of what was read."""
    if not _is_derived(definition):
        return read
    members = cast("dict[str, Any]", vars(definition))
    return ModuleFactory(read, definition, {name: value for name, value in members.items() if hasattr(value, _MARK)})


def without_python_functions(definition: Any, source: Source) -> Source:
    """Return the source of a class derived from `BasePyModule` with blank lines instead of its functions in Python."""
    if not _is_derived(definition):
        return source
    tree = ast.parse(source.text)
    lines = source.text.split("\n")
    members = cast("dict[str, Any]", vars(definition))
    for method in _functions_of(tree.body[0]):
        if not hasattr(members.get(method.name), _MARK):
            continue
        first = min(part.lineno for part in (method, *method.decorator_list)) - 1
        end = method.end_lineno or first
        lines[first:end] = [" " * method.col_offset + "pass"] + [""] * (end - first - 1)
    return Source(source.name, "\n".join(lines))


def _functions_of(definition: ast.stmt) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    body = definition.body if isinstance(definition, ast.ClassDef) else []
    return [part for part in body if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef)]


def _is_derived(definition: Any) -> TypeGuard[type[BasePyModule]]:
    return isinstance(definition, type) and issubclass(definition, BasePyModule)
