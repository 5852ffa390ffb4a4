"""Simplification of whole functions: every expression under the loops and conditions around it."""

from __future__ import annotations

from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from .. import make, tir
from ..base import Node, Op, Trivia
from ..deep import deep
from ..dtype import is_index
from ..equal import structural_equal
from ..idioms import changes_no_byte
from ..int_set import Interval
from ..intern import is_pure_call
from ..visit import distinct, is_larger, rebuilt, substitute, walk
from .core import Simplifier
from .restated import restated

_MOST_ROUNDS = 4
"""Maximum number of times that a function is simplified; the last one usually changes nothing."""
_LARGEST_TRUTH = 100
"""Maximum number of nodes of the value of a boolean variable whose own variables are expanded."""


@deep
def simplify_statements(function: tir.PrimFunc) -> tir.PrimFunc:
    """Return `function` with simplified expressions, without unreachable statements and statements without effect.

    Facts used are the ranges of the enclosing loops and block axes, the values of `let` variables, the enclosing conditions that
    do not read memory, and that sizes of arguments are not negative. A variable whose value is a constant or another variable is
    replaced by it, except in declarations of buffers. What is simpler under a simplified condition is simplified again (TVM:
    `tir.transform.Simplify`).
    """
    declared = {var for node in distinct(function.body) if isinstance(node, tir.Buffer) for var in walk(node)}
    dims = dict.fromkeys(dim for buffer in function.buffer_map.values() for dim in buffer.shape)
    sizes = [make.less_equal(0, dim) for dim in dims if not isinstance(dim, tir.IntImm)]
    body = function.body
    for _ in range(_MOST_ROUNDS):
        simpler = _Visitor(Simplifier(given=sizes), _Lets(declared, {}, {})).visit(body)
        if structural_equal(simpler, body):
            break
        body = simpler
    return function if body is function.body else replace(function, body=body)


def _is_lasting(condition: tir.PrimExpr) -> bool:
    """Return whether a condition stays true until the end of the statement, since it does not read memory."""
    return not any(
        isinstance(node, tir.BufferLoad | tir.ProducerLoad) or (isinstance(node, tir.Call) and not is_pure_call(node))
        for node in walk(condition)
    )


def _has_init(body: tir.Stmt) -> bool:
    """Return whether a body has a `T.init`, which an empty reduction executes too (`ir.empty_reductions`)."""
    return any(isinstance(node, tir.Block) and node.init is not None for node in walk(body))


def _is_trivial(value: tir.PrimExpr) -> bool:
    return isinstance(value, tir.IntImm | tir.FloatImm | tir.Var) and value.dtype != "handle"


class _Lets(Struct, frozen=True):
    """The values of variables met so far, each defined once: trivial ones, which are inlined unless they are in `declared`,
    and boolean ones, which prove conditions.
    """

    declared: set[Node]
    inlined: dict[Node, Node]
    truths: dict[Node, Node]


def _nothing(statement: tir.Stmt) -> tir.Stmt:
    return tir.Evaluate(tir.IntImm("int32", 0), span=statement.span, trivia=statement.trivia)


def _is_nothing(statement: tir.Stmt) -> bool:
    return isinstance(statement, tir.Evaluate) and isinstance(statement.value, tir.IntImm) and not statement.trivia


def _with_comments(statement: tir.Stmt, trivia: Trivia | None) -> tir.Stmt:
    """Return `statement` with the comments of the replaced statement above its own."""
    if trivia is None:
        return statement
    own = statement.trivia or Trivia()
    above = (*trivia.before, *((trivia.after,) if trivia.after else ()))
    return replace(statement, trivia=replace(own, before=(*above, *own.before), end=(*own.end, *trivia.end)))


class _Visitor:
    """Simplifies the statements at one point of a function."""

    def __init__(self, simplifier: Simplifier, lets: _Lets) -> None:
        self.simplifier = simplifier
        self.lets = lets

    def run(self, expr: tir.PrimExpr) -> tir.PrimExpr:
        """Return the normal form of `expr`, with comparisons as the program states them."""
        expr = substitute(expr, self.lets.inlined) if self.lets.inlined else expr
        return restated(self.simplifier, self.simplifier.run(expr), expr)

    def where(self, condition: tir.PrimExpr, holds: bool = True) -> _Visitor:
        if not _is_lasting(condition):
            return self
        inner = self.simplifier.assuming(condition, holds)
        meaning = self._meaning(condition)
        return _Visitor(inner if meaning is condition else inner.assuming(meaning, holds), self.lets)

    def within(self, variable: tir.Var, domain: tir.Range | Interval) -> _Visitor:
        inner = self.simplifier.inside()
        inner.bind(variable, domain)
        return _Visitor(inner, self.lets)

    def condition(self, condition: tir.PrimExpr) -> tir.PrimExpr:
        """Return the normal form of a condition: a constant if the values of its variables prove it."""
        found = self.run(condition)
        meaning = found if isinstance(found, tir.IntImm) else self._meaning(found)
        proven = found if meaning is found else self.run(meaning)
        return proven if isinstance(proven, tir.IntImm) else found

    def _meaning(self, condition: tir.PrimExpr) -> tir.PrimExpr:
        return substitute(condition, self.lets.truths) if self.lets.truths else condition

    def visit(self, statement: tir.Stmt) -> tir.Stmt:
        """Return the normal form of `statement`, the same object if nothing changes."""
        match statement:
            case tir.For():
                return self._visit_for(statement)
            case tir.IfThenElse():
                return self._visit_if(statement)
            case tir.AssertStmt():
                condition = self.condition(statement.condition)
                if isinstance(condition, tir.IntImm) and condition.value:
                    return _with_comments(self.visit(statement.body), statement.trivia)
                body = self.where(condition).visit(statement.body)
                return _changed(statement, condition=condition, body=body)
            case tir.LetStmt():
                return self._visit_let(statement)
            case tir.SeqStmt():
                return self._visit_sequence(statement)
            case tir.BufferStore():
                return self._visit_store(statement)
            case tir.BlockRealize():
                return self._visit_realize(statement)
            case tir.AttrStmt(node=tir.IterVar() as axis, attr_key="thread_extent" | "virtual_thread"):
                value = self.run(statement.value)
                domain = tir.Range(tir.IntImm(axis.var.dtype, 0), value)
                return _changed(statement, value=value, body=self.within(axis.var, domain).visit(statement.body))
            case _:
                return rebuilt(statement, self.visit_part)

    def _visit_for(self, loop: tir.For) -> tir.Stmt:
        start, extent = self.run(loop.min), self.run(loop.extent)
        if self.simplifier.bounds(extent).max <= 0:
            return _changed(loop, min=start, extent=extent) if _has_init(loop.body) else _nothing(loop)
        body = self.within(loop.loop_var, tir.Range(start, extent)).visit(loop.body)
        return _changed(loop, min=start, extent=extent, body=body)

    def _visit_if(self, choice: tir.IfThenElse) -> tir.Stmt:
        condition = self.condition(choice.condition)
        if isinstance(condition, tir.IntImm):
            taken = choice.then_case if condition.value else choice.else_case
            return _nothing(choice) if taken is None else _with_comments(self.visit(taken), choice.trivia)
        then_case = self.where(condition).visit(choice.then_case)
        else_case = None if choice.else_case is None else self.where(condition, False).visit(choice.else_case)
        if else_case is not None and _is_nothing(else_case):
            else_case = None
        return _changed(choice, condition=condition, then_case=then_case, else_case=else_case)

    def _visit_let(self, let: tir.LetStmt) -> tir.Stmt:
        value = self.run(let.value)
        if _is_trivial(value) and let.var not in self.lets.declared:
            self.lets.inlined[let.var] = value
            return _with_comments(self.visit(let.body), let.trivia)
        inner = self
        if is_index(value.dtype) and _is_lasting(value):
            inner = self.within(let.var, Interval(value, value))
        elif value.dtype == "bool" and _is_lasting(value):
            meaning = self._meaning(value)
            self.lets.truths[let.var] = value if is_larger(meaning, _LARGEST_TRUTH) else meaning
        return _changed(let, value=value, body=inner.visit(let.body))

    def _visit_sequence(self, sequence: tir.SeqStmt) -> tir.Stmt:
        found: list[tir.Stmt] = []
        place = self
        for stmt in sequence.seq:
            new = place.visit(stmt)
            place = place._after(new)
            if not _is_nothing(new) or new is stmt:
                found.extend(new.seq if isinstance(new, tir.SeqStmt) else (new,))
        if len(found) == len(sequence.seq) and all(a is b for a, b in zip(found, sequence.seq, strict=True)):
            return sequence
        if len(found) > 1:
            return replace(sequence, seq=tuple(found))
        return _with_comments(found[0], sequence.trivia) if found else _nothing(sequence)

    def _after(self, statement: tir.Stmt) -> _Visitor:
        """Return the visitor of the statements that follow `statement` in a sequence: they rely on a `T.assume`."""
        match statement:
            case tir.Evaluate(value=tir.Call(op=Op(name="tir.assume"), args=(tir.PrimExpr() as condition,))):
                return self.where(condition)
            case _:
                return self

    def _visit_store(self, store: tir.BufferStore) -> tir.Stmt:
        new = rebuilt(store, self.visit_part)
        match new:
            case tir.BufferStore(value=tir.BufferLoad() as load) if load.buffer is new.buffer:
                is_same = _same(load.indices, new.indices) and load.predicate is new.predicate
                return _nothing(store) if is_same and changes_no_byte(load.dtype) else new
            case _:
                return new

    def _visit_realize(self, realize: tir.BlockRealize) -> tir.Stmt:
        values = tuple([self.run(iter_value) for iter_value in realize.iter_values])
        predicate = self.run(realize.predicate)
        inner = self.where(predicate)
        block = realize.block
        for axis in block.iter_vars:
            if axis.dom is not None:
                domain = tir.Range(self.run(axis.dom.min), self.run(axis.dom.extent))
                inner = inner.within(axis.var, domain)
        body, init = inner.visit(block.body), None if block.init is None else inner.visit(block.init)
        parts = {
            name: tuple(map(inner.visit_part, getattr(block, name))) for name in ("reads", "writes", "match_buffers")
        }
        axes = tuple(map(self.visit_part, block.iter_vars))
        block = _changed(block, iter_vars=axes, body=body, init=init, **parts)
        return _changed(realize, iter_values=values, predicate=predicate, block=block)

    def visit_part(self, part: Any) -> Any:
        """Return a part of a statement with its expressions and statements simplified."""
        match part:
            case tir.PrimExpr() if not isinstance(part, tir.Var) or part.dtype == "bool" or part in self.lets.inlined:
                new = self.run(part)
                return part if _same(part, new) else new
            case tir.Stmt():
                return self.visit(part)
            case tir.Range() | tir.BufferRegion() | tir.IterVar() | tir.MatchBufferRegion():
                return rebuilt(part, self.visit_part)
            case _:
                return part


def _changed(node: Any, /, **fields: Any) -> Any:
    """Return `node` with these fields, the same object if all are unchanged. Integers are compared by value."""
    new = {name: value for name, value in fields.items() if not _same(getattr(node, name), value)}
    return replace(node, **new) if new else node


def _same(old: object, new: object) -> bool:
    if isinstance(old, tuple) and isinstance(new, tuple):
        return len(old) == len(new) and all(map(_same, old, new))  # type: ignore[reportUnknownArgumentType]
    if isinstance(old, tir.IntImm) and isinstance(new, tir.IntImm):
        return old.value == new.value and old.dtype == new.dtype
    return old is new
