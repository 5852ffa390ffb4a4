"""The names in a syntax tree, and what they mean: the symbol that each occurrence defines or uses.

The rules are those of the builder: a loop function has a scope per block of statements, a graph function and a schedule have one
scope each. Names that no scope defines are those of the module: its functions, schedules, macros and constants.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal, NamedTuple, cast

from ...ir.deep import deep
from ...ir.dtype import is_dtype
from .. import syntax

Kind = Literal[
    "function", "schedule", "macro", "constant", "module", "namespace",
    "parameter", "variable", "loop", "axis", "buffer", "handle", "dimension", "block",
]  # fmt: skip
NAMESPACES = frozenset("ITRS")
_HEADS: dict[str, Kind] = {
    "prim_func": "function",
    "function": "function",
    "ir_module": "module",
    "schedule": "schedule",
}
_BUFFERS = (
    "alloc_buffer",
    "sblock_alloc_buffer",
    "match_buffer",
    "decl_buffer",
    "Buffer",
    "alloc_shared",
    "alloc_local",
)
_WORD = re.compile(r"[^\W\d]\w*")
_QUOTED = re.compile(r"([rR]?)(\"|')([^\"'\\]*)\2")


class Symbol:
    """A thing with a name; `key` is the same in all chunks for what belongs to the module, else it is the symbol itself."""

    def __init__(self, name: str, kind: Kind, start: int = -1, end: int = -1, owner: str | None = None) -> None:
        self.name = name
        self.kind: Kind = kind
        self.start, self.end = start, end
        self.owner = owner
        """The function that a block belongs to; None in a schedule, where it is that of `Names.scheduled`."""

    @property
    def is_global(self) -> bool:
        """Whether it belongs to the module, not to one function."""
        return self.kind in ("function", "schedule", "macro", "constant", "module")

    @property
    def is_shared(self) -> bool:
        """Whether other definitions may mention it: it belongs to the module, or is a block that schedules name."""
        return self.is_global or self.kind == "block"

    @property
    def key(self) -> object:
        """What occurrences of the same symbol share."""
        return (
            ("module", self.name)
            if self.is_global
            else ("block", self.owner, self.name)
            if self.kind == "block"
            else self
        )


class Occurrence(NamedTuple):
    """A name in the text."""

    start: int
    end: int
    symbol: Symbol
    is_definition: bool = False


class Names:
    """All occurrences of names in a chunk, in order."""

    def __init__(self, occurrences: Iterable[Occurrence], inner: Iterable[tuple[int, int, dict[str, Symbol]]]) -> None:
        self.occurrences = sorted(occurrences, key=lambda occurrence: occurrence[:2])
        self._scopes = list(inner)

    @cached_property
    def _starts(self) -> list[int]:
        return [occurrence.start for occurrence in self.occurrences]

    @cached_property
    def globals(self) -> list[Occurrence]:
        """The definitions of what belongs to the module."""
        return [found for found in self.occurrences if found.is_definition and found.symbol.is_global]

    @cached_property
    def blocks(self) -> list[str]:
        """The names of its blocks."""
        return [found.symbol.name for found in self.occurrences if found.is_definition and found.symbol.kind == "block"]

    def at(self, offset: int) -> Occurrence | None:
        """Return the occurrence at an offset, or that ends there."""
        index = bisect_right(self._starts, offset) - 1
        if index < 0:
            return None
        found = self.occurrences[index]
        if found.start <= offset <= found.end:
            return found
        return None

    def of(self, key: object) -> Iterator[Occurrence]:
        """Yield the occurrences of a symbol by its key."""
        return (occurrence for occurrence in self.occurrences if occurrence.symbol.key == key)

    def visible(self, offset: int) -> dict[str, Symbol]:
        """Return the local names that are defined before an offset, in the scopes around it."""
        found: dict[str, Symbol] = {}
        for start, end, names in self._scopes:
            if start <= offset <= end:
                found.update((name, symbol) for name, symbol in names.items() if symbol.start <= offset)
        return found


@deep
def names_of(file: syntax.File) -> Names:
    """Return the names in a tree."""
    resolver = _Resolver(file)
    resolver.body(file.body)
    return Names(resolver.found, resolver.closed)


class _Resolver:
    def __init__(self, file: syntax.File) -> None:
        self.text = file.source.text
        self.found: list[Occurrence] = []
        self.scopes: list[dict[str, Symbol]] = []
        self.closed: list[tuple[int, int, dict[str, Symbol]]] = []
        self.modules = {"cls"}
        self.function: str | None = None
        """The function around, or that the schedule around is for."""
        self.ends = _ends(file)
        self.has_blocks = False
        """Whether each body of statements is a scope: in a loop function."""

    # --- Symbols

    def define(self, name: str, kind: Kind, start: int, end: int) -> None:
        """Define a name in the innermost scope, or again."""
        scope = self.scopes[-1] if self.scopes else None
        outer = None if self.has_blocks and scope is not None else self.look_up(name)
        symbol = (scope.get(name) if scope is not None else None) or outer
        if symbol is None:
            symbol = Symbol(name, kind if scope is not None else "constant", start, end)
            if scope is not None:
                scope[name] = symbol
        self.found.append(Occurrence(start, end, symbol, True))

    def look_up(self, name: str) -> Symbol | None:
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return None

    def use(self, name: str, start: int, end: int) -> None:
        """Note the use of a name."""
        symbol = self.look_up(name)
        if symbol is None:
            kind: Kind = "namespace" if name in NAMESPACES else "module" if name in self.modules else "function"
            symbol = Symbol(name, kind)
        self.found.append(Occurrence(start, end, symbol))

    def enter(self) -> None:
        self.scopes.append({})

    def leave(self, start: int, end: int) -> None:
        self.closed.append((start, end, self.scopes.pop()))

    # --- Statements

    def body(self, statements: Iterable[syntax.Stmt]) -> None:
        for statement in statements:
            self.statement(statement)

    def statement(self, node: syntax.Stmt) -> None:
        match node:
            case syntax.Definition():
                self.definition(node)
            case syntax.Assign(target=target, value=value):
                self.expression(value)
                self.target(target, _kind_of(value, self.function is None and bool(self.scopes)))
            case syntax.AnnAssign(target=target, annotation=annotation, value=value):
                self.annotation(annotation)
                if value is not None:
                    self.expression(value)
                self.target(target, _kind_of(value or annotation, False))
            case syntax.AugAssign(target=target, value=value):
                self.expression(target)
                self.expression(value)
            case syntax.For(target=target, iterable=iterable, body=body):
                self.expression(iterable)
                self.block(node, body, target, "loop")
            case syntax.With(context=value, target=target, body=body):
                self.expression(value)
                self.block(node, body, target, "variable")
            case syntax.While(condition=condition, body=body):
                self.expression(condition)
                self.block(node, body)
            case syntax.If(condition=condition, body=body, orelse=orelse):
                self.expression(condition)
                self.block(node, body)
                self.block(node, orelse)
            case syntax.Import():
                pass
            case _:
                for child in children(node):
                    self.expression(child)

    def block(
        self, node: syntax.Stmt, body: Iterable[syntax.Stmt], target: syntax.Expr | None = None, kind: Kind = "variable"
    ) -> None:
        """Resolve a body with the names that its head defines."""
        if self.has_blocks:
            self.enter()
        if target is not None:
            self.target(target, kind)
        self.body(body)
        if self.has_blocks:
            self.leave(node.start, node.end)

    def target(self, target: syntax.Expr, kind: Kind) -> None:
        match target:
            case syntax.Name(id=name):
                self.define(name, kind, target.start, target.end)
            case syntax.Tuple(elements=elements) | syntax.List(elements=elements):
                for element in elements:
                    self.target(element, kind)
            case syntax.Starred(value=value):
                self.target(value, kind)
            case _:
                self.expression(target)

    def definition(self, node: syntax.Definition) -> None:
        form = _form(node.head)
        if node.head is not None:
            self.expression(node.head)
        kind: Kind = _HEADS.get(form, "macro")
        if self.scopes:
            self.define(node.name, "variable", node.name_start, node.name_end)
        else:
            symbol = Symbol(node.name, kind, node.name_start, node.name_end)
            self.found.append(Occurrence(node.name_start, node.name_end, symbol, True))
        if kind == "module":
            self.modules.add(node.name)
            return self.body(node.body)
        outer, self.function = self.function, node.name
        had_blocks, self.has_blocks = self.has_blocks, form in ("prim_func", "macro", "inline")
        self.enter()
        self.signature(node, is_schedule=kind == "schedule")
        self.body(node.body)
        self.leave(node.start, max(node.end, self.ends.get(node.start, 0)))
        self.function, self.has_blocks = outer, had_blocks
        return None

    def signature(self, node: syntax.Definition, is_schedule: bool) -> None:
        for param in node.type_params:
            self.define(param.name, "dimension", param.start, param.start + len(param.name))
        for index, param in enumerate(node.params or ()):
            end = param.start + len(param.name)
            if is_schedule and not index and param.default is None:
                self.function = param.name
                self.use(param.name, param.start, end)
                continue
            if param.annotation is not None:
                self.annotation(param.annotation)
            if param.default is not None:
                self.expression(param.default)
            self.define(param.name, "parameter", param.start, end)
        if node.returns is not None:
            self.annotation(node.returns)

    # --- Expressions

    def annotation(self, node: syntax.Expr) -> None:
        """Resolve struct info, whose strings in lists name dimensions."""
        self.expression(node, names_dimensions=True)

    def expression(self, node: syntax.Syntax, names_dimensions: bool = False, in_list: bool = False) -> None:
        match node:
            case syntax.Name(id=name):
                self.use(name, node.start, node.end)
            case syntax.Constant(value=str() as value):
                if names_dimensions and in_list and not is_dtype(value):
                    self.dimensions(node)
            case syntax.Attribute(value=syntax.Name(id=owner), attr=attr) if owner in self.modules or self.is_module(
                owner
            ):
                self.expression(node.value)
                self.found.append(Occurrence(node.end - len(attr), node.end, Symbol(attr, "function")))
            case syntax.Call(func=func, args=args):
                self.block_name(func, args)
                self.expression(func)
                for argument in (*args, *node.keywords):
                    shape = isinstance(argument, syntax.Keyword) and argument.name in ("value", "shape")
                    self.expression(argument, names_dimensions, shape)
            case syntax.Lambda(params=params, body=body):
                self.enter()
                for param in params:
                    self.define(param.name, "parameter", param.start, param.start + len(param.name))
                self.expression(body)
                self.leave(node.start, node.end)
            case _:
                inside = in_list or isinstance(node, syntax.Tuple | syntax.List)
                for child in children(node):
                    self.expression(child, names_dimensions, inside)

    def is_module(self, name: str) -> bool:
        """Return whether a name is spelled like a module's, and no local name: `Module.matmul` in a chunk without the module's head."""
        return name not in NAMESPACES and name[:1].isupper() and self.look_up(name) is None

    def dimensions(self, node: syntax.Syntax) -> None:
        """Define the dimensions that a string names."""
        quoted = _QUOTED.fullmatch(self.text, node.start, node.end)
        if quoted is None:
            return
        for word in _WORD.finditer(self.text, quoted.start(3), quoted.end(3)):
            self.define(word[0], "dimension", word.start(), word.end())

    def block_name(self, func: syntax.Expr, args: tuple[syntax.Expr, ...]) -> None:
        """Note the name of a block in `T.block("matmul")` and `S.get_block("matmul")`."""
        if not isinstance(func, syntax.Attribute) or not args or not isinstance(args[0], syntax.Constant):
            return
        quoted = _QUOTED.fullmatch(self.text, args[0].start, args[0].end)
        if quoted and quoted[3] and func.attr in ("block", "sblock", "get_block", "get_sblock"):
            symbol = Symbol(quoted[3], "block", quoted.start(3), quoted.end(3), self.function)
            self.found.append(Occurrence(quoted.start(3), quoted.end(3), symbol, not func.attr.startswith("get")))


def _ends(file: syntax.File) -> dict[int, int]:
    """Return where the text of each definition ends by its start: its names are known in an unfinished line below it."""
    found: dict[int, int] = {}
    definitions = [node for node in file.body if isinstance(node, syntax.Definition)]
    for outer in definitions:
        definitions += [node for node in outer.body if isinstance(node, syntax.Definition)]
    ends = [*sorted(node.start for node in definitions), len(file.source.text) + 1]
    for start, end in pairwise(ends):
        found[start] = end - 1
    return found


def children(node: syntax.Syntax) -> Iterator[syntax.Syntax]:
    """Yield the direct parts of a node of the tree."""
    for field in node.__struct_fields__:
        value = getattr(node, field)
        if isinstance(value, syntax.Syntax):
            yield value
        elif isinstance(value, tuple):
            yield from (part for part in cast("tuple[Any, ...]", value) if isinstance(part, syntax.Syntax))


def _form(head: syntax.Expr | None) -> str:
    """Return the last name of the form that opens a definition."""
    while isinstance(head, syntax.Call):
        head = head.func
    return head.attr if isinstance(head, syntax.Attribute) else head.id if isinstance(head, syntax.Name) else ""


def _kind_of(value: syntax.Expr, in_schedule: bool) -> Kind:
    """Return the kind of a name by the form that gives its value."""
    func = (
        value.func if isinstance(value, syntax.Call) else value.value if isinstance(value, syntax.Subscript) else None
    )
    if isinstance(func, syntax.Attribute):
        if func.attr in _BUFFERS:
            return "buffer"
        if isinstance(func.value, syntax.Attribute) and func.value.attr == "axis":
            return "axis"
        if isinstance(func.value, syntax.Name) and func.value.id == "S":
            return "handle"
    return "handle" if in_schedule else "variable"
