"""Common subexpression elimination: a repeated computation is bound to a variable before the statement (TVM:
`CommonSubexprElimTIR`).

    B[i * 8 + j] = A[i * 8 + j] + x * y        cse_v1 = i * 8 + j
    C[i * 8 + j] = x * y                →      cse_v2 = x * y
                                               B[cse_v1] = A[cse_v1] + cse_v2
                                               C[cse_v1] = cse_v2

Only scalar arithmetic that does not read memory, call or trap is moved, the largest expressions first. It
is moved only to places where every path through the statement computes it: in front of a branch if both
sides need it, otherwise into the side.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from ...ir import tir
from ...ir.base import Node
from ...ir.dtype import is_float, is_vector
from ...ir.intern import Nodes
from ...ir.variables import defined_variables
from ...ir.visit import children, substitute, walk
from .rewriter import Rewriter

_ATOMS = (tir.Var, tir.IntImm, tir.FloatImm)
_MOVED = (
    tir.Add, tir.Sub, tir.Mul, tir.Min, tir.Max, tir.EQ, tir.NE, tir.LT, tir.LE, tir.GT, tir.GE, tir.And, tir.Or,
    tir.Not, tir.Select, tir.Cast,
)  # fmt: skip
_DIVISIONS = (tir.Div, tir.Mod, tir.FloorDiv, tir.FloorMod)


def eliminate_common_subexpressions(func: tir.PrimFunc) -> tir.PrimFunc:
    """Return `func` with repeated computations bound to variables."""
    return replace(func, body=_Eliminator(func).rewrite(func.body))


class _Eliminator(Rewriter):
    def __init__(self, func: tir.PrimFunc) -> None:
        super().__init__({tir.LetStmt: self._let, tir.Buffer: lambda buffer: buffer})
        self._taken = {node.name for node in walk(func) if isinstance(node, tir.Var)}
        self._nodes = Nodes()
        self._is_moved: dict[tir.PrimExpr, bool] = {}
        self._counted: dict[tir.Stmt, Counter[tir.PrimExpr]] = {}
        self._inner = {var for node in walk(func.body) for var in defined_variables(node)}
        self._number = 0

    def rewrite(self, node: Any) -> Any:
        """Rewrite statements top-down: first bind what a statement repeats, then rewrite its parts."""
        if not isinstance(node, tir.Stmt):
            return node
        node = self._named(node)
        bound = {*defined_variables(node), *(defined_variables(node.node) if isinstance(node, tir.AttrStmt) else ())}
        self._inner -= bound
        result = super().rewrite(node)
        self._inner |= bound
        return result

    def _let(self, stmt: tir.LetStmt) -> tir.Stmt:
        """Use the existing variable for further computations of its value."""
        if self._may_move(stmt.value) and self._nodes.intern_all(stmt.value) in self._counts(stmt.body):
            stmt = replace(stmt, body=self._replaced(stmt.body, {self._nodes.intern_all(stmt.value): stmt.var}))
        return self.rebuild(stmt)

    def _named(self, stmt: tir.Stmt) -> tir.Stmt:
        counts = Counter({expr: count for expr, count in self._counts(stmt).items() if count > 1})
        names: dict[tir.PrimExpr, tir.Var] = {}
        for expr in sorted(counts, key=_size, reverse=True):
            again = counts[expr] - 1
            if again < 1 or any(node in self._inner for node in walk(expr)):
                continue
            names[expr] = self._fresh(expr.dtype)
            for inner in _compound(expr):
                counts[inner] -= again
        result = self._replaced(stmt, names) if names else stmt
        for expr, var in names.items():
            smaller = {other: name for other, name in names.items() if other is not expr}
            result = tir.LetStmt(var, substitute(expr, smaller), result)
        return result

    def _counts(self, stmt: tir.Stmt) -> Counter[tir.PrimExpr]:
        """Return how often each movable expression is computed on every path."""
        found = self._counted.get(stmt)
        if found is None:
            found = Counter[tir.PrimExpr]()
            ways: list[Counter[tir.PrimExpr]] = []
            for child in children(stmt):
                if not isinstance(child, tir.Stmt):
                    found.update(self._computed(child))
                elif isinstance(stmt, tir.IfThenElse):
                    ways.append(self._counts(child))
                else:
                    found.update(self._counts(child))
            if len(ways) == 2:
                found.update({expr: count + ways[1][expr] for expr, count in ways[0].items() if expr in ways[1]})
            self._counted[stmt] = found
        return found

    def _computed(self, node: Node) -> Iterator[tir.PrimExpr]:
        """Yield the movable subexpressions of an expression, one per occurrence."""
        if isinstance(node, tir.PrimExpr) and self._may_move(node):
            yield from _compound(self._nodes.intern_all(node))
        elif not isinstance(node, tir.Buffer):
            for child in children(node):
                yield from self._computed(child)

    def _may_move(self, expr: tir.PrimExpr) -> bool:
        """Return whether `expr` can be computed earlier with the same value and without a fault."""
        if isinstance(expr, _ATOMS):
            return True
        found = self._is_moved.get(expr)
        if found is None:
            is_safe = isinstance(expr, _MOVED) or (
                isinstance(expr, _DIVISIONS)
                and (is_float(expr.dtype) or (isinstance(expr.b, tir.IntImm) and expr.b.value > 0))
            )
            is_plain = is_safe and not is_vector(expr.dtype)
            found = is_plain and all(self._may_move(part) for part in children(expr) if isinstance(part, tir.PrimExpr))
            self._is_moved[expr] = found
        return found

    def _replaced(self, stmt: tir.Stmt, names: dict[tir.PrimExpr, tir.Var]) -> tir.Stmt:
        return _Replacer(self._nodes, self._may_move, names).rewrite(stmt)

    def _fresh(self, dtype: str) -> tir.Var:
        self._number += 1
        name = f"cse_v{self._number}"
        return tir.Var(dtype, name) if name not in self._taken else self._fresh(dtype)


class _Replacer(Rewriter):
    """Replaces expressions by their variables in `names`, modulo the normal form of interning."""

    def __init__(
        self, nodes: Nodes, may_move: Callable[[tir.PrimExpr], bool], names: Mapping[tir.PrimExpr, tir.Var]
    ) -> None:
        super().__init__({tir.Buffer: lambda buffer: buffer})
        self._nodes, self._may_move, self._names = nodes, may_move, names

    def rewrite(self, node: Any) -> Any:
        if not isinstance(node, tir.PrimExpr) or isinstance(node, _ATOMS) or not self._may_move(node):
            return super().rewrite(node)
        interned = self._nodes.intern_all(node)
        named = substitute(interned, self._names)
        return node if named is interned else named


def _compound(expr: tir.PrimExpr) -> Iterator[tir.PrimExpr]:
    """Yield the subexpressions of `expr` that are not variables or constants."""
    return (node for node in walk(expr) if isinstance(node, tir.PrimExpr) and not isinstance(node, _ATOMS))


def _size(expr: tir.PrimExpr) -> int:
    return sum(1 for _ in walk(expr))
