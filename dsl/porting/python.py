"""Changes the imports and names of a Python program for TVM into those for tvms; everything else stays byte for byte."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator

from ...ir.diagnostics import Diagnostic, Source, Span, error
from ..edits import Edit, applied
from .names import ROOTS, dotted, is_of_tvm, missing, renamed

_BYTE_ORDER_MARK = "\ufeff"
_MODULE = re.compile(r"from[\s\\]*([\w.]+(?:[\s\\]*\.[\s\\]*\w+)*)")
_COMMA = re.compile(r"\s*,")
_IMPORTERS = frozenset(("import_module", "importorskip", "find_spec", "__import__"))
"""Functions that import the module that their first argument names."""


_OF_FUNCTIONS = {"items": "functions_items", "keys": "get_global_vars"}
"""Methods of the mapping `mod.functions`, and the methods of modules that return references instead of names."""

_NEWEST = re.compile(r"\b(tirx|tvm_ffi|s_tir)\b")
"""Names that only programs for the newest TVM have."""


def port_python(source: Source) -> tuple[str, tuple[Diagnostic, ...]]:
    """Return the program with the names of tvms, and a warning E0820 for each name that tvms lacks.

    Raises E0821 if the program is not valid Python.
    """
    mark = _BYTE_ORDER_MARK if source.text.startswith(_BYTE_ORDER_MARK) else ""
    text = source.text.removeprefix(mark)
    edits, findings = edits_of(Source(source.name, text))
    return mark + applied(text, edits), findings


def edits_of(source: Source) -> tuple[list[Edit], tuple[Diagnostic, ...]]:
    """Return the edits of `port_python`, and its warnings."""
    porter = _Porter(source)
    return sorted(porter.edits), tuple(porter.findings.values())


def _parsed(source: Source) -> ast.Module:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # such as an invalid escape sequence in the program
            return ast.parse(source.text)
    except SyntaxError as problem:
        line, column = problem.lineno or 1, max(problem.offset or 1, 1)
        lines = source.text.split("\n")
        start = sum(len(row) + 1 for row in lines[: line - 1]) + column - 1
        start = min(start, len(source.text))
        help = "correct the program, or leave the file out"
        raise error("E0821", f"this is not valid Python: {problem.msg}", Span(source, start, start + 1), help) from None
    except (RecursionError, MemoryError):
        raise error("E0821", "expressions are nested too deeply for Python's parser", Span(source, 0, 0)) from None


class _Porter:
    """The edits and findings of one program."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._lines = source.text.split("\n")
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line) + 1)
        self.edits: list[Edit] = []
        self.findings: dict[str, Diagnostic] = {}
        program = _parsed(source)
        nodes = list(ast.walk(program))
        self._imports_tvm = any(map(_imports_of_tvm, nodes))
        self._imported = _imported(program)
        self._bindings = _bindings(nodes)
        inner = {node.value for node in nodes if isinstance(node, ast.Attribute)}
        for node in nodes:
            if isinstance(node, ast.Import):
                self._import(node)
            elif isinstance(node, ast.ImportFrom):
                self._import_from(node)
            elif isinstance(node, ast.Attribute) and node not in inner:
                self._attribute(node)
            elif isinstance(node, ast.Call):
                self._call(node)

    def _offset(self, line: int, column: int) -> int:
        """Return the offset of a position of Python's parser, whose columns count bytes."""
        text = self._lines[line - 1]
        before = column if text.isascii() else len(text.encode()[:column].decode())
        return self._starts[line - 1] + before

    def _start(self, node: ast.stmt | ast.expr | ast.alias) -> int:
        return self._offset(node.lineno, node.col_offset)

    def _end(self, node: ast.stmt | ast.expr | ast.alias) -> int:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._offset(node.end_lineno, node.end_col_offset)

    def _replace(self, start: int, end: int, text: str) -> None:
        if self._source.text[start:end] != text:
            self.edits.append(Edit(start, end, text))

    def _check(self, name: str, start: int, end: int) -> None:
        """Add a finding, unless tvms has the dotted name `name`, which is at `start`."""
        found = missing(name)
        if found is not None and found.name not in self.findings:
            message = f"tvms has no '{found.name.partition('.')[2]}'"
            span = Span(self._source, start, end)
            self.findings[found.name] = Diagnostic("E0820", message, span, found.reason, severity="warning")

    def _import(self, node: ast.Import) -> None:
        for alias in node.names:
            if not is_of_tvm(alias.name):
                continue
            start, end, new = self._start(alias), self._end(alias), renamed(alias.name)
            root = alias.name.partition(".")[0]
            bound = f"{ROOTS[root]} as {root}"
            if alias.asname:
                text = f"{new} as {alias.asname}"
            elif new == ROOTS[root]:
                text = bound
            else:
                text = new if self._imported.get(root, node.lineno) < node.lineno else f"{bound}, {new}"
            self._replace(start, end, text)
            self._check(new, start, end)

    def _import_from(self, node: ast.ImportFrom) -> None:
        if node.level or node.module is None or not is_of_tvm(node.module):
            return
        start, parent = self._start(node), renamed(node.module)
        moved: list[ast.alias] = []
        for alias in node.names:
            new = parent if alias.name == "*" else renamed(f"{node.module}.{alias.name}")
            self._check(new, self._start(alias), self._end(alias))
            if alias.name == "*":
                continue
            if new.rpartition(".")[0] != parent:
                moved.append(alias)
            elif new != f"{parent}.{alias.name}":
                name = f"{new.rpartition('.')[2]} as {alias.asname or alias.name}"
                self._replace(self._start(alias), self._end(alias), name)
        statements = [_statement(f"{node.module}.{alias.name}", alias.asname or alias.name) for alias in moved]
        if len(moved) == len(node.names):
            self._replace(start, self._end(node), "; ".join(statements))
            return
        module = _MODULE.match(self._source.text, start)
        assert module is not None
        self._replace(module.start(1), module.end(1), parent)
        self._remove(node.names, moved, module.end())
        if statements:
            end = self._end(node)
            self.edits.append(Edit(end, end, "".join(f"; {statement}" for statement in statements)))

    def _remove(self, names: list[ast.alias], moved: list[ast.alias], opens: int) -> None:
        """Remove names from the list of an import, of which at least one stays; `opens` is the offset after `import`."""
        text = self._source.text
        last = max(index for index, alias in enumerate(names) if alias not in moved)
        for index, alias in enumerate(names[:last]):
            if alias in moved:
                self._replace(self._start(alias), self._start(names[index + 1]), "")
        if last + 1 == len(names):
            return
        if "(" in text[opens : self._start(names[0])]:
            comma = _COMMA.match(text, self._end(names[-1]))
            self._replace(self._start(names[last + 1]), comma.end() if comma else self._end(names[-1]), "")
        else:
            self._replace(self._end(names[last]), self._end(names[-1]), "")

    def _attribute(self, node: ast.Attribute) -> None:
        """Rename the attributes of a name that an import binds."""
        chain = dotted(node)
        if chain is None or chain[0].id not in self._bindings:
            return
        name, attributes = chain
        candidates = self._bindings[name.id]
        tail = ".".join(attribute.attr for attribute in attributes)
        new = [(renamed(bound), renamed(f"{bound}.{tail}")) for bound in candidates]
        usable = [pair for pair in new if missing(pair[1]) is None]
        module, whole = (usable or new)[0]
        start, end = self._start(name), self._end(node)
        if not usable:
            self._check(whole, start, end)
        if whole.startswith(f"{module}.") and whole != f"{module}.{tail}":
            self._replace(self._end(name), end, whole.removeprefix(module))

    def _call(self, node: ast.Call) -> None:
        """Rename the module that a call such as `importlib.import_module("tvm.relax")` imports, and calls of methods.

        The functions of a module are a mapping from names here, but from references in TVM. The method `script` prints the
        native text here, but TVMScript in TVM, where types have `_relax_script`.
        """
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Attribute(value=module, attr="functions"), attr=attr), args=[]):
                if attr in _OF_FUNCTIONS and self._imports_tvm and not node.keywords:
                    self._replace(self._end(module), self._end(node.func), f".{_OF_FUNCTIONS[attr]}")
                return
            case ast.Call(func=ast.Attribute(attr="script" | "_relax_script" as attr), args=[], keywords=keywords):
                if self._imports_tvm and not {None, "dialect"} & {keyword.arg for keyword in keywords}:
                    if attr != "script":
                        self._replace(self._end(node.func) - len(attr), self._end(node.func), "script")
                    self._print_in_dialect(node)
                return
            case _:
                pass
        function = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", None)
        if function not in _IMPORTERS or not node.args:
            return
        argument = node.args[0]
        if not isinstance(argument, ast.Constant) or not isinstance(argument.value, str):
            return
        start, end = self._start(argument), self._end(argument)
        written = self._source.text[start:end]
        if is_of_tvm(argument.value) and written[1:-1] == argument.value:
            self._replace(start, end, f"{written[0]}{renamed(argument.value)}{written[-1]}")
            self._check(renamed(argument.value), start, end)

    def _print_in_dialect(self, node: ast.Call) -> None:
        """Make a call of the method `script` print TVMScript, which the program expects."""
        dialect = "tvm-0.27" if _NEWEST.search(self._source.text) else "tvm-0.21"
        argument = f'dialect="{dialect}"'
        if node.keywords:
            start = self._offset(node.keywords[0].lineno, node.keywords[0].col_offset)
            self.edits.append(Edit(start, start, f"{argument}, "))
        else:
            end = self._end(node) - 1
            self.edits.append(Edit(end, end, argument))


def _statement(name: str, bound: str) -> str:
    """Return the import of the dotted name `name` of TVM as the name `bound`."""
    parent, _, last = renamed(name).rpartition(".")
    if not parent:
        return f"import {last} as {bound}"
    return f"from {parent} import {last}" + (f" as {bound}" if bound != last else "")


def _imports_of_tvm(node: ast.AST) -> bool:
    """Return whether a node imports a module of TVM, or a name of one."""
    if isinstance(node, ast.ImportFrom):
        return node.level == 0 and is_of_tvm(node.module or "")
    return isinstance(node, ast.Import) and any(is_of_tvm(alias.name) for alias in node.names)


def _imported(program: ast.Module) -> dict[str, int]:
    """Return the first line of a program that always imports each package of TVM under its own name."""
    found: dict[str, int] = {}
    for node in program.body:
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name in ROOTS and alias.asname in (None, alias.name):
                    found.setdefault(alias.name, node.lineno)
    return found


def _bindings(nodes: list[ast.AST]) -> dict[str, tuple[str, ...]]:
    """Return the names that only imports of TVM bind in a program, with the dotted names that they are bound to."""
    found: dict[str, dict[str, None]] = {}
    others: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.name if alias.asname else alias.name.partition(".")[0]
                _bind(alias.asname or name, name, found, others)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                bound = alias.asname or alias.name
                _bind(bound, f"{node.module}.{alias.name}" if not node.level else "", found, others)
        else:
            others.update(_names_bound_by(node))
    return {name: tuple(paths) for name, paths in found.items() if name not in others}


def _bind(bound: str, name: str, found: dict[str, dict[str, None]], others: set[str]) -> None:
    if is_of_tvm(name):
        found.setdefault(bound, {})[name] = None
    else:
        others.add(bound)


def _names_bound_by(node: ast.AST) -> Iterator[str]:
    """Yield the names that a node other than an import binds."""
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        yield node.id
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.arg):
        yield node.arg
    elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
        yield node.name
