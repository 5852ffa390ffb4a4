"""Patterns without nested patterns: variables, functions, constants, shapes."""

from __future__ import annotations

from collections.abc import Sequence

from .. import relax, tir
from ..base import GlobalVar, Node
from ..building.values import dimension
from ..ops.dims import is_equal
from .pattern import DFPattern, Matcher


class _NamedPattern(DFPattern):
    """Pattern of a value by its name unless that is empty."""

    def __init__(self, name_hint: str = "") -> None:
        self.name = name_hint

    def has_name(self, name: str) -> bool:
        return self.name in ("", name)


class VarPattern(_NamedPattern):
    """Pattern of a variable, by its name unless that is empty."""

    wants_variable = True

    def accepts(self, matcher: Matcher, expr: Node) -> bool:
        return isinstance(expr, relax.Var) and self.has_name(expr.name_hint)


class DataflowVarPattern(VarPattern):
    """Pattern of a variable of a dataflow block, by its name unless that is empty."""

    def accepts(self, matcher: Matcher, expr: Node) -> bool:
        return isinstance(expr, relax.DataflowVar) and self.has_name(expr.name_hint)


class GlobalVarPattern(_NamedPattern):
    """Pattern of a function of the module, by its name unless that is empty."""

    def accepts(self, matcher: Matcher, expr: Node) -> bool:
        return isinstance(expr, GlobalVar) and self.has_name(expr.name_hint)


class ExternFuncPattern(DFPattern):
    """Pattern of an external function, by its name unless that is empty."""

    def __init__(self, global_symbol: str = "") -> None:
        self.global_symbol = global_symbol

    def accepts(self, matcher: Matcher, expr: Node) -> bool:
        return isinstance(expr, relax.ExternFunc) and self.global_symbol in ("", expr.global_symbol)


class ConstantPattern(DFPattern):
    """Pattern of a constant tensor."""

    def accepts(self, matcher: Matcher, expr: Node) -> bool:
        return isinstance(expr, relax.Constant)


class PrimArrPattern(DFPattern):
    """Pattern of a shape by its dimensions."""

    def __init__(self, shape: Sequence[int | tir.PrimExpr]) -> None:
        self.shape = tuple(shape)

    def __getitem__(self, index: int) -> int | tir.PrimExpr:
        return self.shape[index]

    def __len__(self) -> int:
        return len(self.shape)

    def accepts(self, matcher: Matcher, expr: Node) -> bool:
        if not isinstance(expr, relax.ShapeExpr) or len(expr.values) != len(self.shape):
            return False
        return all(map(is_equal, expr.values, map(dimension, self.shape)))
