"""Loop partitioning that a program asks for: by the annotation "pragma_loop_partition_hint", or by conditions in `T.likely`.

    for i in T.serial(128, annotations={"pragma_loop_partition_hint": 1}):      for i in range(64):
        if i < 64:                                                                  C[i] = A[i]
            C[i] = A[i]                                                   →     for i in range(64):
        else:                                                                       C[i + 64] = B[i]
            C[i] = B[i - 64]

The loop is cut where a comparison becomes true or false for all values of the other variables. (TVM: `LoopPartition`.)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ...ir import make, tir
from ...ir.analysis.const_bounds import Bounds, const_bounds
from ...ir.base import Op
from ...ir.intern import Nodes, has_effects, may_fault
from ...ir.jumps import has_jump
from ...ir.linear import linear
from ...ir.sums import Sum
from ...ir.visit import distinct, is_larger, walk
from .rewriter import Rewriter, copy_of, sequence
from .wrapping import Arithmetic

HINT = "pragma_loop_partition_hint"
_LIKELY, _IGNORE, _CHOICE = Op("tir.likely"), Op("tir.ignore_loop_partition"), Op("tir.if_then_else")
_CUT = (tir.ForKind.SERIAL, tir.ForKind.PARALLEL, tir.ForKind.VECTORIZED, tir.ForKind.UNROLLED)
_MOST_PARTS, _MOST_NODES, _MOST_VALUES = 16, 2000, 1024
"""Maximum numbers of parts of a loop, of nodes of a body that is cut, and of values of a variable that are tried."""
_Truths = dict[tir.CmpOp, bool]
_Domains = dict[tir.Var, tir.Range]


class PartitionOptions(Struct, frozen=True, forbid_unknown_fields=True):
    """The option "tir.LoopPartition" of passes: whether loops of constant length with `T.likely` are cut, whether a part of one
    iteration remains a loop, and whether parts with a hint in which a condition is still unknown are unrolled.
    """

    partition_const_loop: bool = False
    no_unroll_loop_with_extent_one: bool = False
    unroll_loop_with_partition_hint_no_interval: bool = False


def asks_for_parts(func: tir.PrimFunc) -> bool:
    """Return whether a loop or a condition of `func` is marked for partitioning."""
    marks = (_LIKELY, _IGNORE)
    return any(
        (isinstance(node, tir.For) and HINT in node.annotations) or (isinstance(node, tir.Call) and node.op in marks)
        for node in distinct(func.body)
    )


def partition_at_points(func: tir.PrimFunc, options: PartitionOptions) -> tir.PrimFunc:
    """Return `func` with its marked loops cut, and without marks. Their conditions must not wrap around, nor have effects."""
    body = _Cutter(options, {}).rewrite(func.body)
    return replace(func, body=_Unmarked().rewrite(body))


class _Cutter(Rewriter):
    def __init__(self, options: PartitionOptions, domains: _Domains) -> None:
        super().__init__({tir.For: self._for, tir.Buffer: lambda buffer: buffer})
        self._options = options
        self._domains = domains

    def _for(self, loop: tir.For) -> tir.Stmt:
        parts = self._parts(loop)
        return sequence([self._inside(part) if is_loop else self.rewrite(part) for part, is_loop in parts])

    def _inside(self, part: tir.Stmt) -> tir.Stmt:
        """Return a loop that is not cut further, with the loops inside it cut."""
        assert isinstance(part, tir.For)
        self._domains[part.loop_var] = tir.Range(part.min, part.extent)
        return replace(part, body=self.rewrite(part.body))

    def _parts(self, loop: tir.For) -> list[tuple[tir.Stmt, bool]]:
        """Return the parts of a loop, the loop itself if it is not cut, and whether each is a loop rather than one iteration."""
        is_hinted = bool(loop.annotations.get(HINT))
        plain = replace(loop, annotations={key: value for key, value in loop.annotations.items() if key != HINT})
        if not (is_hinted or self._options.partition_const_loop) or not _may_cut(loop):
            return [(plain, True)]
        conditions = _comparisons(loop, is_hinted)
        arithmetic = Arithmetic()
        for inner in self._loops(loop):
            arithmetic.enter(inner)
        known = [part for part in conditions if _is_pure(part) and arithmetic.exact(part).is_whole]
        segments = _segments(loop, known, {**self._domains, **_inner_domains(loop)})
        if not segments or len(segments) > _MOST_PARTS:
            segments = [(0, _extent(loop), _Truths())]
        return [
            self._part(plain, start, end, truths, is_hinted and len(truths) < len(conditions))
            for start, end, truths in segments
        ]

    def _loops(self, loop: tir.For) -> Iterator[tir.For]:
        for var, domain in self._domains.items():
            yield tir.For(var, domain.min, domain.extent, tir.ForKind.SERIAL, loop.body)
        yield from (node for node in walk(loop) if isinstance(node, tir.For))

    def _part(self, loop: tir.For, start: int, end: int, truths: _Truths, is_unknown: bool) -> tuple[tir.Stmt, bool]:
        body = _Decided(truths).rewrite(loop.body) if truths else loop.body
        dtype = loop.loop_var.dtype
        first = make.add(loop.min, make.const(start, dtype))
        if end - start == 1 and not self._options.no_unroll_loop_with_extent_one and _is_plain(loop):
            return copy_of(body, {loop.loop_var: first}), False
        is_unrolled = is_unknown and self._options.unroll_loop_with_partition_hint_no_interval
        kind = tir.ForKind.UNROLLED if is_unrolled and loop.kind is tir.ForKind.SERIAL else loop.kind
        if (start, end) == (0, _extent(loop)):
            return replace(loop, kind=kind, body=body), True
        var = replace(loop.loop_var)
        moved = copy_of(body, {loop.loop_var: make.add(var, first)})
        domain = {"min": make.const(0, dtype), "extent": make.const(end - start, dtype)}
        return replace(loop, loop_var=var, **domain, kind=kind, body=moved), True


def _is_plain(loop: tir.For) -> bool:
    return loop.kind in (tir.ForKind.SERIAL, tir.ForKind.UNROLLED) and not loop.annotations


def _extent(loop: tir.For) -> int:
    assert isinstance(loop.extent, tir.IntImm)
    return loop.extent.value


def _may_cut(loop: tir.For) -> bool:
    is_constant = isinstance(loop.min, tir.IntImm) and isinstance(loop.extent, tir.IntImm) and loop.extent.value > 0
    variables = [node.loop_var for node in walk(loop) if isinstance(node, tir.For)]
    is_clear = is_constant and len({*variables}) == len(variables)
    return is_clear and loop.kind in _CUT and not has_jump(loop.body) and not is_larger(loop.body, _MOST_NODES)


def _inner_domains(loop: tir.For) -> _Domains:
    return {node.loop_var: tir.Range(node.min, node.extent) for node in walk(loop.body) if isinstance(node, tir.For)}


def _comparisons(loop: tir.For, is_hinted: bool) -> list[tir.CmpOp]:
    """Return the comparisons of the variable of a loop: in the conditions of statements if it has a hint, and in `T.likely`."""
    found: dict[tir.CmpOp, None] = {}

    def collect(node: Any, counts: bool) -> None:
        if isinstance(node, tir.CmpOp):
            if counts and any(inner is loop.loop_var for inner in walk(node)):
                found[node] = None
        elif isinstance(node, tir.And | tir.Or):
            collect(node.a, counts)
            collect(node.b, counts)
        elif isinstance(node, tir.Not):
            collect(node.a, counts)
        elif isinstance(node, tir.Call) and node.op == _LIKELY:
            collect(node.args[0], True)

    for node in walk(loop.body):
        if isinstance(node, tir.IfThenElse | tir.Select):
            collect(node.condition, is_hinted and isinstance(node, tir.IfThenElse))
        elif isinstance(node, tir.Call) and node.op == _CHOICE:
            collect(node.args[0], False)
    return [*found]


def _is_pure(condition: tir.CmpOp) -> bool:
    return condition.a.dtype in ("int32", "int64") and not (
        has_effects(condition)
        or any(may_fault(node) or isinstance(node, tir.BufferLoad) for node in distinct(condition))
    )


def _segments(loop: tir.For, conditions: list[tir.CmpOp], domains: _Domains) -> list[tuple[int, int, _Truths]]:
    """Return the parts of the iterations of `loop` in which the same `conditions` are true or false, with these."""
    extent = _extent(loop)
    judges = [_Judge(loop, condition, domains) for condition in conditions]
    cuts = sorted({0, extent}.union(*(judge.cuts() for judge in judges)))
    found: list[tuple[int, int, _Truths]] = []
    for start, end in pairwise(cuts):
        judged = {judge.condition: judge.truth(start, end) for judge in judges}
        truths = {condition: truth for condition, truth in judged.items() if truth is not None}
        if found and found[-1][2] == truths:
            found[-1] = (found[-1][0], end, truths)
        else:
            found.append((start, end, truths))
    return found


class _Judge:
    """Finds where a comparison is true or false for all values of the other variables."""

    def __init__(self, loop: tir.For, condition: tir.CmpOp, domains: _Domains) -> None:
        self.condition = condition
        self._loop, self._domains = loop, domains
        nodes = Nodes()
        self._excess: Sum = linear(condition.a, nodes).plus(linear(condition.b, nodes), -1)
        assert isinstance(loop.min, tir.IntImm)
        self._min = loop.min.value

    def cuts(self) -> set[int]:
        """Return the iterations from which on the comparison may have another truth."""
        var, extent = self._loop.loop_var, _extent(self._loop)
        factor = self._excess.terms.get(var, 0)
        if not any(inner is var for term in self._excess.terms if term is not var for inner in walk(term)):
            rest = self._bounds(
                Sum({t: f for t, f in self._excess.terms.items() if t is not var}, self._excess.constant), 0, 1
            )
            ends = {-(value // factor) - self._min for value in (rest.min, rest.max)} if factor else set[int]()
            ends |= {(-value) // factor + 1 - self._min for value in (rest.min, rest.max)} if factor else set[int]()
            return {end for end in ends if 0 < end < extent}
        if extent > _MOST_VALUES:
            return set()
        truths = [self.truth(value, value + 1) for value in range(extent)]
        found = {value for value in range(1, extent) if truths[value] is not truths[value - 1]}
        return found if len(found) < _MOST_PARTS else set()

    def truth(self, start: int, end: int) -> bool | None:
        """Return whether the comparison is true, or false, in these iterations; None if it may be both."""
        bounds = self._bounds(self._excess, start, end)
        match self.condition:
            case tir.LT():
                return _judged(bounds.max < 0, bounds.min >= 0)
            case tir.LE():
                return _judged(bounds.max <= 0, bounds.min > 0)
            case tir.GT():
                return _judged(bounds.min > 0, bounds.max <= 0)
            case tir.GE():
                return _judged(bounds.min >= 0, bounds.max < 0)
            case _:
                is_equal = _judged(bounds == Bounds(0, 0), not bounds.contains(0))
                return is_equal if isinstance(self.condition, tir.EQ) or is_equal is None else not is_equal

    def _bounds(self, total: Sum, start: int, end: int) -> Bounds:
        var = self._loop.loop_var
        first = make.const(self._min + start, var.dtype)
        domains = {**self._domains, var: tir.Range(first, make.const(end - start, var.dtype))}
        bounds = Bounds(total.constant, total.constant)
        for term, factor in total.terms.items():
            bounds = bounds.plus(const_bounds(term, domains), factor)
        return bounds


def _judged(is_true: bool, is_false: bool) -> bool | None:
    return True if is_true else False if is_false else None


class _Decided(Rewriter):
    """Replaces conditions by their truths, and leaves out what never executes."""

    def __init__(self, truths: Mapping[tir.CmpOp, bool]) -> None:
        kinds = dict.fromkeys((tir.EQ, tir.NE, tir.LT, tir.LE, tir.GT, tir.GE), self._comparison)
        super().__init__(
            {
                **kinds, tir.And: self.folded(make.logical_and), tir.Or: self.folded(make.logical_or), tir.Not: self._not,
                tir.IfThenElse: self._if, tir.Select: self._select, tir.Call: self._call, tir.Buffer: lambda buffer: buffer,
            }
        )  # fmt: skip
        self._truths = truths

    def _comparison(self, node: tir.CmpOp) -> tir.PrimExpr:
        truth = self._truths.get(node)
        return self.rebuild(node) if truth is None else tir.IntImm("bool", int(truth))

    def _not(self, node: tir.Not) -> tir.PrimExpr:
        a = self.rewrite(node.a)
        return make.logical_not(a) if isinstance(a, tir.IntImm) else replace(node, a=a)

    def _if(self, stmt: tir.IfThenElse) -> tir.Stmt:
        condition = self.rewrite(stmt.condition)
        if isinstance(condition, tir.IntImm):
            taken = stmt.then_case if condition.value else stmt.else_case
            return tir.Evaluate(tir.IntImm("int32", 0)) if taken is None else self.rewrite(taken)
        else_case = None if stmt.else_case is None else self.rewrite(stmt.else_case)
        return replace(stmt, condition=condition, then_case=self.rewrite(stmt.then_case), else_case=else_case)

    def _select(self, node: tir.Select) -> tir.PrimExpr:
        node = self.rebuild(node)
        if isinstance(node.condition, tir.IntImm) and not any(map(has_effects, (node.true_value, node.false_value))):
            return node.true_value if node.condition.value else node.false_value
        return node

    def _call(self, node: tir.Call) -> tir.PrimExpr:
        node = self.rebuild(node)
        first = node.args[0] if node.args else None
        if not isinstance(first, tir.IntImm) or first.dtype != "bool":
            return node
        if node.op in (_LIKELY, _IGNORE):
            return first
        return node.args[1 if first.value else 2] if node.op == _CHOICE else node  # type: ignore[return-value]


class _Unmarked(Rewriter):
    """Removes the marks of conditions and loops."""

    def __init__(self) -> None:
        super().__init__({tir.Call: self._call, tir.For: self._for, tir.Buffer: lambda buffer: buffer})

    def _call(self, node: tir.Call) -> tir.PrimExpr:
        node = self.rebuild(node)
        return node.args[0] if node.op in (_LIKELY, _IGNORE) else node  # type: ignore[return-value]

    def _for(self, loop: tir.For) -> tir.For:
        annotations = {key: value for key, value in loop.annotations.items() if key != HINT}
        return replace(loop, annotations=annotations, body=self.rewrite(loop.body))
