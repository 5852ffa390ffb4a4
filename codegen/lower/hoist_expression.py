"""Hoisting of conditions and variables to the outermost loop in which they are known (TVM: `HoistExpression`).

    for i in range(4):                               for i in range(4):
        for j in range(4):                               if i < 2:
            A[i, j] = T.if_then_else(i < 2, x, y)  →         for j in range(4):
                                                                 A[i, j] = x
                                                         else:
                                                             …

Only pure values that cannot fault are moved. A condition inside a loop duplicates it, so at most `_MOST` conditions leave one loop.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from enum import IntFlag
from typing import Any

from msgspec.structs import replace

from ...ir import make, tir
from ...ir.base import Node, Op
from ...ir.equal import structural_equal
from ...ir.intern import has_effects, may_fault
from ...ir.simplify.core import Simplifier
from ...ir.variables import defined_variables
from ...ir.visit import children, walk
from .rewriter import Rewriter, copy_of

_MOST = 4
_IF_THEN_ELSE = Op("tir.if_then_else")


class HoistedConditionals(IntFlag):
    """The conditions that `HoistExpression` moves (TVM: `tir.transform.HoistedConditionals`)."""

    Never = 0
    IfElseStmt = 1
    IfElseExpr = 2
    BooleanExpression = 4
    UsingBlockVar = 8
    All = 15


class HoistedLetBindings(IntFlag):
    """The variables that `HoistExpression` moves (TVM: `tir.transform.HoistedLetBindings`)."""

    Never = 0
    RequiredByCondition = 1
    LetStmt = 2
    LetExpr = 4
    All = 7


def hoist_conditions_and_names(
    func: tir.PrimFunc, conditionals: HoistedConditionals, bindings: HoistedLetBindings
) -> tir.PrimFunc:
    """Return `func` with the conditions and variables of these kinds moved out of loops that do not define what they use."""
    return replace(func, body=_Hoister(conditionals, bindings).rewrite(func.body))


class _Hoister(Rewriter):
    def __init__(self, conditionals: HoistedConditionals, bindings: HoistedLetBindings) -> None:
        super().__init__({tir.For: self._loop, tir.AttrStmt: self._attribute})
        self._conditionals, self._bindings = conditionals, bindings
        self._block_variables = set[tir.Var]()

    def _attribute(self, stmt: tir.AttrStmt) -> tir.Stmt:
        if stmt.attr_key not in ("thread_extent", "virtual_thread") or not isinstance(stmt.node, tir.IterVar):
            return self.rebuild(stmt)
        self._block_variables.add(stmt.node.var)
        if HoistedConditionals.UsingBlockVar in self._conditionals:
            return self._loop(stmt)
        return self.rebuild(stmt)

    def _loop(self, loop: tir.For | tir.AttrStmt) -> tir.Stmt:
        return self._hoisted(loop, _MOST)

    def _hoisted(self, loop: tir.For | tir.AttrStmt, most: int) -> tir.Stmt:
        own = {var for node in walk(loop) for var in defined_variables(node)}
        if isinstance(loop, tir.AttrStmt):
            own.add(loop.node.var)
        for found in self._candidates(loop.body):
            if isinstance(found, tir.LetStmt | tir.Let):
                if self._may_leave(found.value, own) and self._is_bound_outside(found, loop, own):
                    rest = _Remover(found).rewrite(loop)
                    return tir.LetStmt(found.var, found.value, self._hoisted(rest, most))
            elif most and self._may_leave(found, own):
                return self._split(loop, found, most - 1)
        return self.rebuild(loop)

    def _split(self, loop: tir.For | tir.AttrStmt, condition: tir.PrimExpr, most: int) -> tir.Stmt:
        """Return `loop` under `condition`, and for the other case unless nothing is left of it."""
        then = self._hoisted(_Decider(condition, True).rewrite(loop), most)
        other = _Decider(condition, False).rewrite(loop)
        if _is_nothing(other):
            return tir.IfThenElse(condition, then)
        return tir.IfThenElse(condition, then, self._hoisted(copy_of(other, {}), most))

    def _may_leave(self, value: tir.PrimExpr, own: Set[Node]) -> bool:
        if isinstance(value, tir.IntImm):
            return False
        for node in walk(value):
            if node in own or isinstance(node, tir.BufferLoad) or may_fault(node):
                return False
            if node in self._block_variables and HoistedConditionals.UsingBlockVar not in self._conditionals:
                return False
        return not has_effects(value)

    def _is_bound_outside(self, let: tir.LetStmt | tir.Let, loop: tir.Stmt, own: Set[Node]) -> bool:
        kind = HoistedLetBindings.LetStmt if isinstance(let, tir.LetStmt) else HoistedLetBindings.LetExpr
        if kind in self._bindings:
            return True
        if HoistedLetBindings.RequiredByCondition not in self._bindings:
            return False
        conditions = (found for found in self._candidates(loop) if not isinstance(found, tir.LetStmt | tir.Let))
        return any(let.var in walk(found) and self._may_leave(found, own - {let.var}) for found in conditions)

    def _candidates(self, node: Any) -> Iterator[Any]:
        """Yield the conditions and bindings in `node`, outer ones first."""
        match node:
            case tir.Block():
                return
            case tir.LetStmt() | tir.Let():
                yield node
            case tir.IfThenElse(condition=condition) if HoistedConditionals.IfElseStmt in self._conditionals:
                yield from self._parts(condition)
            case tir.Call(op=op, args=(tir.PrimExpr() as condition, *_)) if op == _IF_THEN_ELSE:
                if HoistedConditionals.IfElseExpr in self._conditionals:
                    yield from self._parts(condition)
            case tir.Select(condition=condition) if HoistedConditionals.IfElseExpr in self._conditionals:
                yield from self._parts(condition)
            case _:
                pass
        for child in children(node):
            yield from self._candidates(child)

    def _parts(self, condition: tir.PrimExpr) -> Iterator[tir.PrimExpr]:
        """Yield `condition`, or its parts, the smallest of which may be known in more loops."""
        yield condition
        if HoistedConditionals.BooleanExpression in self._conditionals and isinstance(condition, tir.And | tir.Or):
            yield from self._parts(condition.a)
            yield from self._parts(condition.b)


class _Decider(Rewriter):
    """Decides conditions where `condition` is known to hold, or not to hold."""

    def __init__(self, condition: tir.PrimExpr, holds: bool) -> None:
        super().__init__({tir.IfThenElse: self._if, tir.Call: self._call, tir.Select: self._select})
        self._condition, self._holds = condition, holds
        self._facts = Simplifier().assuming(condition, holds)

    def decided(self, condition: tir.PrimExpr) -> tir.PrimExpr:
        """Return `condition` with its known parts replaced."""
        if structural_equal(condition, self._condition):
            return make.const(self._holds, "bool")
        match condition:
            case tir.And(a=a, b=b):
                return make.logical_and(self.decided(a), self.decided(b))
            case tir.Or(a=a, b=b):
                return make.logical_or(self.decided(a), self.decided(b))
            case tir.CmpOp():
                known = self._facts.run(condition)
                return known if isinstance(known, tir.IntImm) else condition
            case _:
                return condition

    def _if(self, stmt: tir.IfThenElse) -> tir.Stmt:
        condition = self.decided(stmt.condition)
        if isinstance(condition, tir.IntImm):
            taken = stmt.then_case if condition.value else stmt.else_case
            return tir.Evaluate(tir.IntImm("int32", 0)) if taken is None else self.rewrite(taken)
        return self.rebuild(replace(stmt, condition=condition))

    def _call(self, call: tir.Call) -> tir.PrimExpr:
        first = call.args[0] if call.op == _IF_THEN_ELSE else None
        if not isinstance(first, tir.PrimExpr):
            return self.rebuild(call)
        condition = self.decided(first)
        if isinstance(condition, tir.IntImm):
            return self.rewrite(call.args[1 if condition.value else 2])
        return self.rebuild(replace(call, args=(condition, *call.args[1:])))

    def _select(self, select: tir.Select) -> tir.PrimExpr:
        condition = self.decided(select.condition)
        if isinstance(condition, tir.IntImm):
            return self.rewrite(select.true_value if condition.value else select.false_value)
        return self.rebuild(replace(select, condition=condition))


class _Remover(Rewriter):
    """Replaces one binding by its body."""

    def __init__(self, let: tir.LetStmt | tir.Let) -> None:
        super().__init__({type(let): lambda node: self.rewrite(node.body) if node is let else self.rebuild(node)})


def _is_nothing(stmt: tir.Stmt) -> bool:
    """Return whether `stmt` has no statement with an effect."""
    leaves = [
        node
        for node in walk(stmt)
        if isinstance(node, tir.BufferStore | tir.Evaluate | tir.AssertStmt | tir.While | tir.Block)
    ]
    return all(isinstance(leaf, tir.Evaluate) and isinstance(leaf.value, tir.IntImm) for leaf in leaves)
