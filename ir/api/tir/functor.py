"""Visitors and mutators of statements and expressions, by methods for kinds of nodes (TVM: `tvm.tir.functor`).

    @tir.functor.mutator
    class Halve(tir.PyStmtExprMutator):
        def visit_mul_(self, op):
            return op.a / 2.0 if str(op.b) == "0.5" else super().visit_mul_(op)

Buffers, and variables where they are defined, are not visited.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar, cast

from ... import idioms, tir
from ...base import Node
from ...variables import defined_variables
from ...visit import children, substitute
from ..constructor import plain_node

_Class = TypeVar("_Class", bound=type)
_KINDS: tuple[type[Node], ...] = (
    tir.AttrStmt, tir.IfThenElse, tir.LetStmt, tir.For, tir.While, tir.Allocate, tir.AllocateConst, tir.DeclBuffer,
    tir.BufferStore, tir.BufferRealize, tir.AssertStmt, tir.SeqStmt, tir.Evaluate, tir.Block, tir.BlockRealize, tir.Var,
    tir.SizeVar, tir.BufferLoad, tir.ProducerLoad, tir.Let, tir.Call, tir.Add, tir.Sub, tir.Mul, tir.Div, tir.Mod,
    tir.FloorDiv, tir.FloorMod, tir.Min, tir.Max, tir.EQ, tir.NE, tir.LT, tir.LE, tir.GT, tir.GE, tir.And, tir.Or,
    tir.Reduce, tir.Cast, tir.Not, tir.Select, tir.Ramp, tir.Broadcast, tir.Shuffle, tir.IntImm, tir.FloatImm,
    tir.StringImm,
)  # fmt: skip
"""The kinds of nodes that have a method."""


def _method(kind: type) -> str:
    """Return the name of the method of a kind: `visit_floor_div_` of FloorDiv, `visit_eq_` of EQ."""
    return f"visit_{re.sub(r'(?<=[a-z])(?=[A-Z])', '_', kind.__name__).lower()}_"


class _Dispatcher:
    def _dispatch(self, node: Any) -> Any:
        value = plain_node(node)
        return getattr(self, _method(cast("type[Node]", type(value))))(value)


class PyStmtExprVisitor(_Dispatcher):
    """Visits every part of a program. A method `visit_add_(op)` of a subclass is called for each node of its kind; the
    inherited one visits the parts.
    """

    def visit_stmt(self, stmt: tir.Stmt) -> None:
        """Visit a statement."""
        self._dispatch(stmt)

    def visit_expr(self, expr: Any) -> None:
        """Visit an expression."""
        self._dispatch(expr)

    def _visit_parts(self, op: Node) -> None:
        own = set(defined_variables(op))
        for part in children(op):
            if isinstance(part, tir.Stmt):
                self.visit_stmt(part)
            elif isinstance(part, tir.PrimExpr):
                if part not in own:
                    self.visit_expr(part)
            elif not isinstance(part, tir.Buffer):
                self._visit_parts(part)


class PyStmtExprMutator(_Dispatcher):
    """Rewrites a program. A method `visit_add_(op)` of a subclass returns the replacement of each node of its kind; the
    inherited one rewrites the parts, and returns the same node if none changes.
    """

    def visit_stmt(self, stmt: tir.Stmt) -> tir.Stmt:
        """Return the replacement of a statement."""
        return self._dispatch(stmt)

    def visit_expr(self, expr: Any) -> tir.PrimExpr:
        """Return the replacement of an expression."""
        return self._dispatch(expr)

    def _with_parts(self, op: Any) -> Any:
        own = set(defined_variables(op))
        changed: dict[Any, Any] = {part: part if part in own else self._part(part) for part in children(op)}
        made = substitute(op, changed)
        return idioms.sequence(made.seq) if isinstance(made, tir.SeqStmt) and made is not op else made

    def _part(self, part: Any) -> Any:
        if isinstance(part, tir.Stmt):
            return self.visit_stmt(part)
        if isinstance(part, tir.PrimExpr):
            return self.visit_expr(part)
        return part if isinstance(part, tir.Buffer) else self._with_parts(part)


def _visits(default: str) -> Callable[[Any, Any], Any]:
    def visit(self: Any, op: Any) -> Any:
        return getattr(self, default)(op)

    return visit


for _kind in _KINDS:
    for _class, _default in ((PyStmtExprVisitor, "_visit_parts"), (PyStmtExprMutator, "_with_parts")):
        _visit = _visits(_default)
        _visit.__name__, _visit.__qualname__ = _method(_kind), f"{_class.__name__}.{_method(_kind)}"
        _visit.__doc__ = f"Visit a node of kind `{_kind.__name__}`."
        setattr(_class, _method(_kind), _visit)


def visitor(cls: _Class) -> _Class:
    """Return `cls`, a subclass of `PyStmtExprVisitor` (TVM's decorator)."""
    return cls


def mutator(cls: _Class) -> _Class:
    """Return `cls`, a subclass of `PyStmtExprMutator` (TVM's decorator)."""
    return cls
