"""Bindings of an imported function: names, positions, and the operands of calls."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Generator
from contextlib import contextmanager

from msgspec.structs import replace

from ...ir import relax, tir
from ...ir.base import BaseFunc, GlobalVar, Span
from ...ir.building.block_builder import BlockBuilder
from ...ir.building.values import apply
from .values import dtype_of


class Bindings(ABC):
    """Binds the values of a model's nodes in the function that `block_builder` builds."""

    def __init__(self, block_builder: BlockBuilder, names: set[str] | None = None) -> None:
        self.block_builder = block_builder
        self._names: set[str] = set() if names is None else names
        self._emitted: dict[int, tuple[relax.Expr, relax.Var]] = {}

    @abstractmethod
    def value_name(self) -> str:
        """Return the name of the values of the current node."""

    def value_span(self) -> Span | None:
        """Return the position of the current node in the source of the model, if it has one."""
        return None

    def start_node(self) -> None:
        """Forget the expressions that the rows of earlier nodes emitted."""
        self._emitted = {}

    @contextmanager
    def own_variables(self) -> Generator[None]:
        """Within this context, bind expressions anew, as a branch cannot see variables that are bound outside of it."""
        outer, self._emitted = self._emitted, {}
        try:
            yield
        finally:
            self._emitted = outer

    def emit(self, expr: relax.Expr, suffix: str = "") -> relax.Var:
        """Bind `expr`, and the calls that are its arguments, to variables named after the current node."""
        if isinstance(expr, relax.Var):
            return expr
        known = self._emitted.get(id(expr))
        if known is None:
            name = self.value_name() + suffix
            bound = self._with_arguments(expr)
            variable = self.block_builder.emit(replace(bound, span=self.value_span()), self.unique(name))
            known = self._emitted[id(expr)] = (expr, variable)
        return known[1]

    def _with_arguments(self, expr: relax.Expr) -> relax.Expr:
        match expr:
            case relax.Call():
                return replace(expr, args=tuple(self._argument(arg) for arg in expr.args))
            case relax.Tuple():
                return replace(expr, fields=tuple(self._argument(field) for field in expr.fields))
            case relax.TupleGetItem():
                return replace(expr, tuple_value=self._argument(expr.tuple_value))
            case _:
                return expr

    def _argument(self, arg: relax.Expr) -> relax.Expr:
        if isinstance(arg, relax.Tuple):
            return self._with_arguments(arg)
        if isinstance(arg, relax.Call):
            op = getattr(arg.op, "name", None) or getattr(arg.op, "name_hint", "value")
            return self.emit(arg, f"_{op.rpartition('.')[2]}")
        return self.emit(arg) if isinstance(arg, relax.TupleGetItem) else arg

    def unique(self, name: str) -> str:
        """Return `name`, with a number if it is already used."""
        chosen, number = name, 0
        while chosen in self._names:
            number += 1
            chosen = f"{name}_{number}"
        self._names.add(chosen)
        return chosen

    def cast(self, value: relax.Expr, dtype: str) -> relax.Expr:
        """Return a tensor as `dtype`, unchanged if it has that dtype; bool means that an element is not zero."""
        if dtype_of(value) == dtype:
            return value
        return apply("not_equal", value, 0) if dtype == "bool" else apply("astype", value, dtype)

    def full(self, value: tir.PrimExpr, dtype: str) -> relax.Expr:
        """Return a symbolic size as a tensor of `dtype` without dimensions."""
        return self.cast(apply("full", (), relax.PrimValue(value), value.dtype), dtype)

    def add_function(self, function: BaseFunc, name: str) -> GlobalVar:
        """Add a function to the module and return the reference to it."""
        return self.block_builder.add_func(function, name)


def identifier(text: str) -> str:
    """Return `text` with everything but letters, digits and underscores replaced by underscores."""
    return re.sub(r"\W+", "_", text).strip("_")
