"""Symbolic sizes: torch's sympy expressions as loop-level expressions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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
_QUOTIENTS = ("FloorDiv", "CleanDiv")
_ROUNDED = ("TruncToInt", "FloorToInt", "CeilToInt")


class Symbols:
    """The sizes of a model that vary: variables, or expressions of variables, by torch's names."""

    def __init__(self) -> None:
        self._variables: dict[str, tir.PrimExpr] = {}
        self._dimensions: dict[Any, tir.Var] = {}
        self._declared: dict[str, str] = {}
        self._bound: set[str] = set()

    def declare(self, names: Mapping[str, str]) -> None:
        """Name the variables of torch's symbols as the user did."""
        self._declared.update(names)

    def rename(self, value: Any, variable: tir.Var) -> None:
        """Use `variable` for a torch size that is a plain symbol."""
        if is_symbolic(value) and value.node.expr.is_Symbol:
            self._variables[value.node.expr.name] = variable

    def solve(self, value: Any, name: str) -> tir.PrimExpr | None:
        """Make a torch size a·s + b a variable called `name`, and s the expression (name - b) / a of it.

        Return the condition that the division is exact, or None if the size does not have this form.
        """
        expression = value.node.expr
        (symbol, *others) = expression.free_symbols
        factor, rest = expression.coeff(symbol), expression.subs(symbol, 0)
        if others or not (factor.is_Integer and rest.is_Integer) or expression != factor * symbol + rest:
            return None
        variable = self._dimensions[expression] = tir.Var("int64", name)
        scaled = d.subtract(variable, int(rest))
        self._variables[symbol.name] = d.floordiv(scaled, int(factor))
        return make.equal(make.floormod(scaled, d.dim(int(factor))), d.dim(0))

    def name(self, symbol: str) -> str:
        """Return the user's name of a symbol of torch, or torch's own."""
        return self._declared.get(symbol, symbol)

    def bind(self, value: Any) -> None:
        """Record that the symbols in a torch size are known from here on."""
        self._bound.update(symbol.name for symbol in symbols_of(value))

    def has(self, name: str) -> bool:
        """Return whether the size called `name` is known."""
        return name in self._bound

    def is_bound(self, value: Any) -> bool:
        """Return whether every symbol in a torch size is known: a dimension of an input or of a computed tensor."""
        return all(symbol.name in self._bound for symbol in symbols_of(value))

    def variable(self, name: str) -> tir.PrimExpr:
        """Return the value of the symbol that torch calls `name`."""
        return self._variables.setdefault(name, tir.Var("int64", self.name(name)))

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
        if value in self._dimensions:
            return self._dimensions[value]
        if value.is_Symbol:
            return self.variable(value.name)
        if value.is_Integer:
            return d.dim(int(value))
        if kind in ("BooleanTrue", "BooleanFalse"):
            return make.const(kind == "BooleanTrue", "bool")
        if kind in _ROUNDED and type(value.args[0]).__name__ == "IntTrueDiv":
            return self._rounded(kind, value.args[0])
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

    def _rounded(self, kind: str, quotient: Any) -> tir.PrimExpr:
        """Return `int(a / b)`, `math.floor(a / b)` or `math.ceil(a / b)`."""
        a, b = (self.expression(arg) for arg in quotient.args)
        if kind == "TruncToInt":
            return make.truncdiv(a, b)
        return d.floordiv(a, b) if kind == "FloorToInt" else make.ceildiv(a, b)


def is_symbolic(value: Any) -> bool:
    """Return whether a value of torch is a number that is known only at run time."""
    torch = library()
    return isinstance(value, torch.SymInt | torch.SymBool | torch.SymFloat)


def symbols_of(value: Any) -> Iterable[Any]:
    """Return the free symbols of a size."""
    return value.node.expr.free_symbols if is_symbolic(value) else ()


def declared_names(values: Iterable[Any]) -> dict[str, str]:
    """Return the names that `torch.export.Dim` gave to the symbols in torch sizes."""
    names: dict[str, str] = {}
    for value in filter(is_symbolic, values):
        environment: Any = value.node.shape_env
        given: Mapping[str, str] = getattr(environment, "source_name_to_debug_name", {})
        for source, variable in getattr(environment, "source_to_var", {}).items():
            symbol = environment.replace(variable)
            name = given.get(source, source)
            if symbol.is_Symbol and name.isidentifier():
                names.setdefault(symbol.name, name)
    return names
