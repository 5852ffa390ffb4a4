"""Symbolic sizes: torch's sympy expressions as loop-level expressions."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import Any

from ....ir import make, tir
from ....ir.diagnostics import error
from ....ir.ops import dims as d
from .library import library

_RELATIONS = {
    "Equality": make.equal,
    "Unequality": make.not_equal,
    "StrictLessThan": make.less,
    "LessThan": make.less_equal,
    "StrictGreaterThan": make.greater,
    "GreaterThan": make.greater_equal,
}
_QUOTIENTS = ("FloorDiv", "CleanDiv", "IntTrueDiv")


class Symbols:
    """The variables of a model's symbolic sizes, by torch's names."""

    def __init__(self) -> None:
        self._variables: dict[str, tir.Var] = {}
        self._bound: set[str] = set()

    def rename(self, value: Any, variable: tir.Var) -> None:
        """Use `variable` for a torch size that is a plain symbol."""
        if is_symbolic(value) and value.node.expr.is_Symbol:
            self._variables[value.node.expr.name] = variable

    def bind(self, value: Any) -> None:
        """Record that the symbols in a torch size are known from here on."""
        self._bound.update(symbol.name for symbol in symbols_of(value))

    def has(self, name: str) -> bool:
        """Return whether the size called `name` is known."""
        return name in self._bound

    def is_bound(self, value: Any) -> bool:
        """Return whether every symbol in a torch size is known: a dimension of an input or of a computed tensor."""
        return all(symbol.name in self._bound for symbol in symbols_of(value))

    def variable(self, name: str) -> tir.Var:
        """Return the variable called `name`."""
        return self._variables.setdefault(name, tir.Var("int64", name))

    def size(self, value: Any) -> int | tir.PrimExpr:
        """Return a size as an expression; integers are returned unchanged."""
        if isinstance(value, int):
            return value
        made = self.expression(value.node.expr)
        number = d.value_of(made)
        return made if number is None or made.dtype != "int64" else number

    def dims(self, shape: Any) -> tuple[tir.PrimExpr, ...]:
        """Return the shape of a torch tensor."""
        return tuple(d.as_dim(self.size(size)) for size in shape)

    def expression(self, value: Any) -> tir.PrimExpr:
        """Convert a sympy expression of integers, or a condition; E1004 if programs cannot express it."""
        kind = type(value).__name__
        if value.is_Symbol:
            return self.variable(value.name)
        if value.is_Integer:
            return d.dim(int(value))
        if kind in ("BooleanTrue", "BooleanFalse"):
            return make.const(kind == "BooleanTrue", "bool")
        args = [self.expression(arg) for arg in value.args]
        match kind:
            case "Add":
                return reduce(d.add, args)
            case "Mul":
                return reduce(d.multiply, args)
            case "Max":
                return reduce(d.maximum, args)
            case "Min":
                return reduce(d.minimum, args)
            case "Mod" | "PythonMod":
                return make.floormod(args[0], args[1])
            case "ModularIndexing":
                return make.floormod(d.floordiv(args[0], args[1]), args[2])
            case "Pow" | "PowByNatural" if (exponent := d.value_of(args[1])) is not None and exponent > 0:
                return reduce(d.multiply, [args[0]] * exponent)
            case "And" | "Or":
                return reduce(make.logical_and if kind == "And" else make.logical_or, args)
            case "Not":
                return make.logical_not(args[0])
            case _ if kind in _QUOTIENTS:
                return d.floordiv(args[0], args[1])
            case "CeilDiv":
                return make.ceildiv(args[0], args[1])
            case _ if kind in _RELATIONS:
                return _RELATIONS[kind](args[0], args[1])
            case _:
                raise error("E1004", f"the size '{value}' has no meaning in a program", None, "make the size static")


def is_symbolic(value: Any) -> bool:
    """Return whether a value of torch is a number that is known only at run time."""
    torch = library()
    return isinstance(value, torch.SymInt | torch.SymBool | torch.SymFloat)


def symbols_of(value: Any) -> Iterable[Any]:
    """Return the free symbols of a size."""
    return value.node.expr.free_symbols if is_symbolic(value) else ()
