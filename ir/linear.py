"""Fast linear forms of integer expressions: equal terms cancel; subexpressions of terms are not simplified.

`tvms.ir.simplify` knows more rules; this module serves queries while a text is parsed.
"""

from __future__ import annotations

from . import tir
from .intern import Nodes
from .sums import Sum, render
from .visit import children


def linear(expr: tir.PrimExpr, nodes: Nodes | None = None) -> Sum:
    """Return `expr` as a sum; each part that is not linear is a term, interned in `nodes`."""
    return _Reader(Nodes() if nodes is None else nodes).read(expr)


class _Reader:
    def __init__(self, nodes: Nodes) -> None:
        self.nodes = nodes

    def read(self, expr: tir.PrimExpr) -> Sum:
        match expr:
            case tir.IntImm():
                return Sum({}, expr.value)
            case tir.Add():
                return self.read(expr.a).plus(self.read(expr.b))
            case tir.Sub():
                return self.read(expr.a).plus(self.read(expr.b), -1)
            case tir.Mul():
                a, b = self.read(expr.a), self.read(expr.b)
                if a.is_constant or b.is_constant:
                    return a.scaled(b.constant) if b.is_constant else b.scaled(a.constant)
            case tir.FloorDiv(b=tir.IntImm(value=divisor)) | tir.FloorMod(b=tir.IntImm(value=divisor)) if divisor > 0:
                return self._divide(expr, self.read(expr.a), divisor)
            case _:
                pass
        return self._term(expr)

    def _term(self, expr: tir.PrimExpr) -> Sum:
        return Sum({self.nodes.intern_all(expr): 1})

    def _divide(self, expr: tir.FloorDiv | tir.FloorMod, dividend: Sum, divisor: int) -> Sum:
        """Divide a sum: if the divisor divides all factors, the quotient is linear, and the remainder is that of the constant."""
        if dividend.content % divisor:
            return self._term(expr)
        return dividend.divided(divisor) if isinstance(expr, tir.FloorDiv) else Sum({}, dividend.constant % divisor)


def difference(a: tir.PrimExpr, b: tir.PrimExpr) -> int | None:
    """Return `a - b` if it is known to be a constant, or None."""
    if a is b:
        return 0
    nodes = Nodes()
    result = linear(a, nodes).plus(linear(b, nodes), -1)
    return result.constant if result.is_constant else None


def simplify(expr: tir.PrimExpr) -> tir.PrimExpr:
    """Return `expr` as a sum if that is shorter, otherwise unchanged."""
    if isinstance(expr, tir.Var | tir.IntImm):
        return expr
    nodes = Nodes()
    shorter = render(linear(expr, nodes), expr.dtype, nodes.intern)
    return expr if shorter is None or _size(shorter) >= _size(expr) else shorter


def _size(expr: tir.PrimExpr) -> int:
    return 1 + sum(_size(child) for child in children(expr) if isinstance(child, tir.PrimExpr))
