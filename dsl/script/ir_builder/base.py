"""The builder: its open and finished parts, and calls of the language's forms from Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

from msgspec.structs import replace

from ....ir import relax, tir
from ....ir.base import Attrs, BaseFunc, IRModule, Node, Source
from ....ir.building.place import with_place
from ....ir.building.values import plain_nodes
from ....ir.diagnostics import TvmsError
from ....ir.operators import symbolic_equality
from ....ir.visit import substitute
from ... import syntax
from ...builder.context import Context, Failed, Scope
from ...builder.forms import Form, FormUse
from ...builder.tir_frames import FunctionFrame

PLACE = syntax.Name("")
"""Syntax node of every call from Python, which has no source text."""
_Named = TypeVar("_Named")


class IRBuilder:
    """Builds one statement, function or module from the calls inside its `with`."""

    _open: ClassVar[list[IRBuilder]] = []

    def __init__(self) -> None:
        self.context = Context(Source("<IRBuilder>", ""), Scope({}))
        self.context.tir = FunctionFrame(0)
        self.functions: dict[str, BaseFunc] | None = None
        """Functions of the module under construction; None if there is none."""
        self.attrs: Attrs = {}
        """Attributes of the module."""
        self.result: Node | None = None
        self._names: dict[Any, str] = {}
        self._comparisons = symbolic_equality()

    def __enter__(self) -> IRBuilder:
        IRBuilder._open.append(self)
        self._comparisons.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._comparisons.__exit__(None, None, None)
        IRBuilder._open.pop()

    @staticmethod
    def current() -> IRBuilder:
        """Return the innermost builder; raise ValueError if none is open."""
        if not IRBuilder._open:
            raise ValueError("no builder is open; open one: with IRBuilder() as builder:")
        return IRBuilder._open[-1]

    @staticmethod
    def is_in_scope() -> bool:
        """Return whether a builder is open."""
        return bool(IRBuilder._open)

    @staticmethod
    def name(s: str, v: _Named) -> _Named:
        """Name the variable or buffer `v` `s`; return it."""
        IRBuilder.current()._names[plain_nodes(v)] = s
        return v

    def name_of(self, variable: relax.Var) -> str:
        """Return the name of a variable."""
        return self._names.get(variable, variable.name_hint)

    def get(self) -> Any:
        """Return the result: a function or module, else the statements."""
        made = self.result if self.result is not None else self.context.tir.body.close()[0]
        renamed: dict[Any, Node] = {}
        for node, name in self._names.items():
            renamed.update(_renamed(node, name))
        return substitute(made, renamed)

    def finish(self, name: str, made: BaseFunc | IRModule) -> None:
        """Add a function to the module under construction, or store the result."""
        if self.functions is not None and isinstance(made, BaseFunc):
            self.functions[name] = made
        else:
            self.result = made

    def call(self, form: Form, args: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
        """Return the value of a form for the given arguments; raise TvmsError, located at the call in the program."""
        values = [plain_nodes(value) for value in args]
        named = [(syntax.Keyword(key, PLACE), plain_nodes(value)) for key, value in keywords.items()]
        return self.attempt(
            lambda: form.call(FormUse(self.context, PLACE, form.name), values, [PLACE] * len(values), named)
        )

    def attempt(self, build: Callable[[], Any]) -> Any:
        """Return the result of `build`; raise its errors as a TvmsError, located at the call in the program."""
        try:
            with symbolic_equality(False):
                return build()
        except (Failed, TvmsError) as problem:
            found = problem.diagnostics if isinstance(problem, TvmsError) else self.context.diagnostics
            placeless = tuple(replace(diagnostic, span=None, notes=()) for diagnostic in found)
            self.context.diagnostics.clear()
            raise with_place(TvmsError(placeless)) from None


def _renamed(node: Any, name: str) -> Iterator[tuple[Any, Node]]:
    match node:
        case tir.Buffer():
            data = replace(node.data, name=name)
            yield from ((node.data, data), (node, replace(node, name=name, data=data)))
        case relax.Var():
            yield node, replace(node, name_hint=name)
        case _:
            yield node, replace(node, name=name)


class Opened:
    """A context manager: `enter` returns the value after `as`, `leave` closes it."""

    def __init__(self, enter: Callable[[], Any], leave: Callable[[], None]) -> None:
        self._enter, self._leave = enter, leave

    def __enter__(self) -> Any:
        with symbolic_equality(False):
            return self._enter()

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            with symbolic_equality(False):
                self._leave()
