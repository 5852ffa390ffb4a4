"""Bottom-up rewriting of trees for the lowering passes, with rules for some kinds of nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from operator import is_
from typing import Any, TypeVar

from msgspec.structs import replace

from ...ir import idioms, tir
from ...ir.base import Node
from ...ir.intern import has_effects, may_fault
from ...ir.variables import defined_variables
from ...ir.visit import ByKind, distinct, part_names, rebuilt, substitute

Rule = Callable[[Any], Any]
_NodeT = TypeVar("_NodeT", bound=Node)


def sequence(parts: Iterable[tir.Stmt]) -> tir.Stmt:
    """Return the statement that executes `parts` in order: flattened, without empty statements."""
    return idioms.sequence([stmt for stmt in idioms.flattened(parts) if not _is_empty(stmt)])


def _is_empty(stmt: tir.Stmt) -> bool:
    return isinstance(stmt, tir.Evaluate) and isinstance(stmt.value, tir.IntImm)


def _loses_a_fault(expr: tir.BinaryOp, folded: tir.PrimExpr) -> bool:
    """Return whether `folded` is a constant, as that of `x * 0`, where `expr` checks an index or may fault otherwise."""
    if not isinstance(folded, tir.IntImm) or (isinstance(expr, tir.And | tir.Or) and folded is expr.a):
        return False
    return any(may_fault(node) for node in distinct(expr)) or has_effects(expr)


def _keep(node: Any) -> Any:
    return node


class Rewriter:
    """Rewrites statements and expressions; `rules` maps kinds of nodes to methods, and other nodes are rebuilt
    from their parts.

    Variables are replaced according to `values`. A buffer whose variables change is replaced by one new buffer
    everywhere.
    """

    def __init__(self, rules: dict[type[Node], Rule]) -> None:
        self.values: dict[tir.Var, tir.PrimExpr] = {}
        self.buffers: dict[tir.Buffer, tir.Buffer] = {}
        self._rules: dict[type[Any], Rule] = ByKind(lambda kind: self.rebuild if part_names(kind) else _keep)
        self._rules |= {
            tir.Var: self._variable, tir.SizeVar: self._variable, tir.Buffer: self.buffer, tir.SeqStmt: self._sequence,
            tuple: self._tuple, **rules,
        }  # fmt: skip

    def rewrite(self, node: Any) -> Any:
        """Return the rewritten `node`, a node or a tuple of nodes; the same object if nothing changes."""
        return self._rules[node.__class__](node)

    def rebuild(self, node: Any) -> Any:
        """Return `node` with its parts rewritten."""
        return rebuilt(node, self.rewrite)

    def folded(self, make_one: Callable[[tir.PrimExpr, tir.PrimExpr], tir.PrimExpr]) -> Rule:
        """Return the rule of an operator that is folded if its operands become constants and no fault is lost."""

        def rule(node: tir.BinaryOp) -> tir.PrimExpr:
            rebuilt = self.rebuild(node)
            if rebuilt is node:
                return node
            folded = make_one(rebuilt.a, rebuilt.b)
            return rebuilt if _loses_a_fault(rebuilt, folded) else folded

        return rule

    def _tuple(self, parts: tuple[Any, ...]) -> tuple[Any, ...]:
        rewritten = tuple(map(self.rewrite, parts))
        return parts if all(map(is_, parts, rewritten)) else rewritten

    def _variable(self, var: tir.Var) -> tir.PrimExpr:
        return self.values.get(var, var)

    def buffer(self, buffer: tir.Buffer) -> tir.Buffer:
        """Return the replacement of `buffer`, the same one for every use."""
        if buffer not in self.buffers:
            self.buffers[buffer] = self.rebuild(buffer)
        return self.buffers[buffer]

    def _sequence(self, stmt: tir.SeqStmt) -> tir.Stmt:
        return sequence([self.rewrite(part) for part in stmt.seq])


def copy_of(stmt: _NodeT, values: Mapping[tir.Var, tir.PrimExpr]) -> _NodeT:
    """Return a copy of a statement or an expression with `values` substituted, and with fresh variables and declared buffers
    where it defines them.
    """
    own = {var: replace(var) for node in distinct(stmt) for var in defined_variables(node)}
    changed: dict[Node, Node] = {**own, **values}
    for node in distinct(stmt):
        if isinstance(node, tir.DeclBuffer):
            moved = substitute(node.buffer, changed)
            changed[node.buffer] = replace(moved) if moved is node.buffer else moved
    return substitute(stmt, changed)


def uses(parts: Iterable[Node], variables: set[tir.Var]) -> bool:
    """Return whether any of `variables` occurs in `parts`, including the declarations of accessed buffers."""
    return any(node in variables for part in parts for node in distinct(part))
