"""Known contents of integer memory: what stores and assumptions tell of the elements that are read later.

    for i in range(16):                      for i in range(16):
        A[i] = i                                 A[i] = i
    for j in range(16):               →      for j in range(16):
        if A[j] < 20:                            B[j] = 1
            B[j] = 1

Different parameters are taken to be different memory, as `tir.noalias` says. Only passes that are asked to do this use it: the
options `propagate_knowns_to_prove_conditional` and `propagate_knowns_to_simplify_expressions` of `tir.Simplify`, and
`use_dataflow_analysis` of `tir.RemoveNoOp`. (TVM: `ControlFlowGraph`.)
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ...ir import make, tir
from ...ir.analysis.proof import prove
from ...ir.base import Node
from ...ir.dtype import is_bool, is_int
from ...ir.equal import structural_equal
from ...ir.idioms import NOTHING, conjuncts
from ...ir.intern import has_effects, may_fault
from ...ir.jumps import has_jump
from ...ir.simplify import simplify
from ...ir.visit import distinct, rewrite, substitute, walk
from .assumed_values import parsed_assumption
from .facts_of_memory import ASSUME, Fact, Written, inside, is_plain, mentions, solved
from .rewriter import sequence

_FALSE = tir.IntImm("bool", 0)
_MOST_FACTS = 64
"""Maximum number of facts at one point; the oldest are forgotten."""


class Uses(Struct, frozen=True):
    """What known contents replace: conditions that they prove, loads, and stores that change nothing. With `simplifies`, values that
    are stored are simplified under the conditions around them.
    """

    conditions: bool = False
    loads: bool = False
    stores: bool = False
    simplifies: bool = False


def can_follow(func: tir.PrimFunc) -> bool:
    """Return whether the contents of memory can be followed: statements execute in the order of the text, and without blocks."""
    for node in distinct(func.body):
        is_thread = isinstance(node, tir.For) and node.kind is tir.ForKind.THREAD_BINDING
        is_scope = isinstance(node, tir.AttrStmt) and isinstance(node.node, tir.IterVar)
        is_pointer = isinstance(node, tir.LetStmt | tir.Let) and node.var.dtype == "handle"
        if is_thread or is_scope or is_pointer or isinstance(node, tir.Block | tir.While):
            return False
    return not has_jump(func.body)


def use_known_contents(func: tir.PrimFunc, uses: Uses) -> tir.PrimFunc:
    """Return `func` with known contents of memory used as `uses` says."""
    if not can_follow(func):
        return func
    body = Follower(uses).visit(func.body)
    return func if body is func.body else replace(func, body=body)


class Follower:
    """Visits statements in order; `facts` are those before the next statement, `domains` and `given` those of the loops and conditions
    around it.
    """

    def __init__(self, uses: Uses) -> None:
        self.facts: list[Fact] = []
        self._uses = uses
        self.domains: dict[tir.Var, tir.Range] = {}
        self.given: tuple[tir.PrimExpr, ...] = ()

    def visit(self, stmt: tir.Stmt) -> tir.Stmt:
        """Return `stmt` rewritten with the known contents, and update them to those after it."""
        self.facts = self.facts[-_MOST_FACTS:]
        match stmt:
            case tir.SeqStmt():
                return sequence([self.visit(part) for part in stmt.seq])
            case tir.For():
                return self._for(stmt)
            case tir.IfThenElse():
                return self._if(stmt)
            case tir.BufferStore():
                return self._store(stmt)
            case tir.LetStmt():
                return self._let(stmt)
            case tir.Evaluate(value=tir.Call(op=op, args=(tir.PrimExpr() as given,))) if op == ASSUME:
                self.facts += self._facts_of(given)
                return stmt
            case tir.Evaluate():
                return replace(stmt, value=self._expr(stmt.value))
            case tir.Allocate() | tir.AttrStmt() | tir.DeclBuffer() | tir.AssertStmt():
                return replace(stmt, body=self.visit(stmt.body))
            case _:
                self.facts = []
                return stmt

    # --- Reading ---

    def _expr(self, expr: tir.PrimExpr) -> tir.PrimExpr:
        """Return an expression that a statement evaluates; its effects may change any memory."""
        new = self._simplified(self._known(expr)) if self._uses.loads else expr
        if has_effects(expr):
            self.facts = []
            return expr
        return expr if structural_equal(new, self._simplified(expr)) else new

    def _simplified(self, expr: tir.PrimExpr) -> tir.PrimExpr:
        return simplify(expr, self.domains, self.given)

    def _known(self, expr: tir.PrimExpr) -> tir.PrimExpr:
        """Return `expr` with known elements replaced by their values."""

        def value(node: Node) -> Node | None:
            return self._value(node) if isinstance(node, tir.BufferLoad) else None

        return rewrite(expr, value)  # type: ignore[no-any-return]

    def _value(self, load: tir.BufferLoad) -> tir.PrimExpr | None:
        if load.predicate is not None or not all(map(is_plain, load.indices)):
            return None
        values = (self._value_by(fact, load.indices) for fact in reversed(self.facts) if fact.buffer is load.buffer)
        return next((value for value in values if value is not None), None)

    def _value_by(self, fact: Fact, indices: Sequence[tir.PrimExpr]) -> tir.PrimExpr | None:
        """Return the value that `fact` tells of the element at `indices`; None if it may be about others."""
        places = solved([var for var, _ in fact.variables], fact.indices, indices)
        if places is None:
            return None
        needed = [make.equal(a, b) for a, b in zip(fact.indices, indices, strict=True)]
        needed += [part for var, domain in fact.variables for part in inside(var, domain)]
        holds = all(self._proves(substitute(part, places)) for part in (*needed, *fact.conditions))
        return substitute(fact.value, places) if holds else None

    def _proves(self, condition: tir.PrimExpr) -> bool:
        return prove(condition, self.domains, self.given).is_proven

    def _facts_of(self, given: tir.PrimExpr) -> list[Fact]:
        """Return what a condition that holds tells of elements."""
        found = [parsed_assumption(part) for part in conjuncts(given)]
        facts = [Fact(load.buffer, own.indices, own.value, (own.condition,)) for load, own in filter(None, found)]
        return [fact for fact in facts if is_int(fact.buffer.dtype) and all(map(is_plain, (*fact.indices, fact.value)))]

    # --- Statements ---

    def _store(self, stmt: tir.BufferStore) -> tir.Stmt:
        value, indices, buffer = stmt.value, stmt.indices, stmt.buffer
        if any(map(has_effects, (value, *indices))):
            self.facts = []
            return stmt
        known = self._simplified(self._known(value))
        is_scalar = len(indices) == len(buffer.shape) and stmt.predicate is None and all(map(is_plain, indices))
        own = self._stored(buffer, indices, known) if is_scalar else None
        if self._uses.stores and own is not None and not own.variables:
            before = self._value(tir.BufferLoad(buffer.dtype, buffer, indices))
            if before is not None and self._proves(make.equal(before, known)) and not any(map(may_fault, walk(value))):
                return NOTHING
        self.facts = [fact for fact in map(self._after(stmt, is_scalar), self.facts) if fact is not None]
        if own is not None:
            self.facts.append(own)
        is_new = self._uses.simplifies or (self._uses.loads and not structural_equal(known, self._simplified(value)))
        return replace(stmt, value=known) if is_new else stmt

    def _stored(self, buffer: tir.Buffer, indices: tuple[tir.PrimExpr, ...], value: tir.PrimExpr) -> Fact | None:
        """Return what a store tells of its elements: one, or those of a vector."""
        if not (is_int(buffer.dtype) or is_bool(buffer.dtype)) or any(
            isinstance(node, tir.BufferLoad) for node in walk(value)
        ):
            return None
        if any(map(may_fault, walk(value))):
            return None
        match indices, value:
            case (*_, tir.Ramp(lanes=tir.IntImm() as lanes) as last), tir.Ramp() | tir.Broadcast():
                lane = tir.Var(last.base.dtype, "lane")
                scalar = value.value if isinstance(value, tir.Broadcast) else _at_lane(value, lane)
                domain = tir.Range(make.const(0, lane.dtype), make.const(lanes.value, lane.dtype))
                return Fact(buffer, (*indices[:-1], _at_lane(last, lane)), scalar, variables=((lane, domain),))
            case _ if any(
                isinstance(node, tir.Ramp | tir.Broadcast) for part in (*indices, value) for node in walk(part)
            ):
                return None
            case _:
                return Fact(buffer, indices, value)

    def _after(self, stmt: tir.BufferStore, is_scalar: bool) -> Any:
        """Return a function that restricts a fact to what holds after a store."""

        def kept(fact: Fact) -> Fact | None:
            if fact.buffer.data is not stmt.buffer.data:
                return fact
            is_vector = any(isinstance(node, tir.Ramp) for index in stmt.indices for node in walk(index))
            if fact.buffer is not stmt.buffer or not is_scalar or is_vector:
                return None
            differ = [make.not_equal(a, b) for a, b in zip(fact.indices, stmt.indices, strict=True)]
            domains = {**self.domains, **dict(fact.variables)}
            other = simplify(reduce(make.logical_or, differ, _FALSE), domains, (*self.given, *fact.conditions))
            if isinstance(other, tir.IntImm):
                return fact if other.value else None
            return fact.where(other)

        return kept

    def _if(self, stmt: tir.IfThenElse) -> tir.Stmt:
        if has_effects(stmt.condition):
            self.facts = []
            return stmt
        condition = self._condition(stmt.condition)
        if isinstance(condition, tir.IntImm):
            taken = stmt.then_case if condition.value else stmt.else_case
            return NOTHING if taken is None else self.visit(taken)
        before, is_lasting = self.facts, is_plain(condition)
        found: list[tir.Stmt] = []
        after: list[list[Fact]] = []
        negated = make.logical_not(condition)
        for holds, branch in ((condition, stmt.then_case), (negated, stmt.else_case)):
            own = self._facts_of(holds)
            self.facts = [*before, *own]
            given, self.given = self.given, (*self.given, holds) if is_lasting else self.given
            found.append(NOTHING if branch is None else self.visit(branch))
            self.given = given
            after.append(
                [fact for fact in self.facts if fact not in own and (fact.origin is None or fact.origin not in own)]
            )
        same = [fact for fact in before if all(fact in facts for facts in after)]
        both = zip((condition, negated), after, strict=True) if is_lasting else ()
        self.facts = [*same, *(fact.where(holds) for holds, facts in both for fact in facts if fact not in same)]
        else_case = None if found[1] is NOTHING else found[1]
        return replace(stmt, condition=condition, then_case=found[0], else_case=else_case)

    def _condition(self, condition: tir.PrimExpr) -> tir.PrimExpr:
        if not (self._uses.conditions or self._uses.loads):
            return condition
        known = self._simplified(self._known(condition))
        is_used = isinstance(known, tir.IntImm) or self._uses.loads
        return known if is_used and not structural_equal(known, self._simplified(condition)) else condition

    def _let(self, stmt: tir.LetStmt) -> tir.Stmt:
        value = self._expr(stmt.value)
        body = self.visit(stmt.body)
        about = [fact for fact in self.facts if not mentions(fact, stmt.var)]
        if is_plain(value):
            about = [fact.replaced({stmt.var: value}) if mentions(fact, stmt.var) else fact for fact in self.facts]
        self.facts = about
        return replace(stmt, value=value, body=body)

    def _for(self, loop: tir.For) -> tir.Stmt:
        if any(map(has_effects, (loop.min, loop.extent))) or not all(map(is_plain, (loop.min, loop.extent))):
            self.facts = []
            return loop
        written = Written(loop)
        before = self.facts
        self.facts = [fact for fact in map(written.during, before) if fact is not None]
        entered = self.facts
        self.domains[loop.loop_var] = tir.Range(loop.min, loop.extent)
        body = self.visit(loop.body)
        new = [
            fact for fact in self.facts if not any(fact is old or fact.origin is (old.origin or old) for old in entered)
        ]
        self.domains.pop(loop.loop_var)
        kept = [*map(written.after, before), *map(written.in_all, new)]
        self.facts = [fact for fact in kept if fact is not None]
        return replace(loop, body=body)


def _at_lane(ramp: tir.Ramp, lane: tir.Var) -> tir.PrimExpr:
    return make.add(ramp.base, make.mul(make.cast(lane, ramp.base.dtype), ramp.stride))
