"""Run-time safety: an index that is not known to be inside its buffer says so before it is used.

`T.checked_index(i, "A", 0, i, j, 16, 32)` is the index `i` of `A[i, j]`, whose dimensions are 16 and 32; where it is
outside dimension 0, the function stops with the fault E0707. In mode "prove" only what is not proven is checked
(`tvms.ir.analysis.proof`), in mode "check" everything, in mode "trust" nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, TypeAlias, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from ...ir import make, tir
from ...ir.base import Node, Op
from ...ir.dtype import lanes_of, with_lanes
from ...ir.intern import is_pure_call
from ...ir.visit import walk
from .rewriter import Rewriter

Bounds: TypeAlias = Literal["check", "prove", "trust"]

CHECKED_INDEX = Op("tir.checked_index")
_IF_THEN_ELSE, _ADDRESS_OF = Op("tir.if_then_else"), Op("tir.address_of")
_Access = TypeVar("_Access", tir.BufferLoad, tir.BufferStore)


class Safety(Struct, frozen=True):
    """How many indices of a function were proven to be inside, and how many are checked as it runs."""

    proven: int
    checked: int
    places: frozenset[tuple[str, int]] = frozenset()
    """The names of the buffers that are checked, and in which dimension."""

    def __str__(self) -> str:
        return f"{self.proven} indices proven, {self.checked} checked at run time"


def guard_indices(func: tir.PrimFunc, mode: Bounds) -> tuple[tir.PrimFunc, Safety]:
    """Return `func`, whose blocks are loops, with its indices guarded, and what was proven."""
    if mode == "trust":
        return func, Safety(0, 0)
    guard = _Guard(func, mode)
    body = guard.rewrite(func.body)
    return replace(func, body=body), Safety(guard.proven, guard.checked, frozenset(guard.places))


class _Guard(Rewriter):
    def __init__(self, func: tir.PrimFunc, mode: Bounds) -> None:
        super().__init__(
            {
                tir.For: self._for, tir.IfThenElse: self._if, tir.Call: self._call, tir.BufferLoad: self._load,
                tir.BufferStore: self._store, tir.LetStmt: self._let, tir.AssertStmt: self._assert,
                tir.And: self._and, tir.Buffer: lambda buffer: buffer,
            }
        )  # fmt: skip
        self._is_proving = mode == "prove"
        self.proven = self.checked = 0
        self.places: set[tuple[str, int]] = set()
        self._domains: dict[tir.Var, tir.Range] = {}
        self._facts: list[tir.PrimExpr] = []
        arguments = {*func.params, *(buffer.data for buffer in func.buffer_map.values())}
        self._overlapping = set[tir.Var]() if func.attrs.get("tir.noalias") else arguments

    # --- What is known where

    def _for(self, stmt: tir.For) -> tir.Stmt:
        self._domains[stmt.loop_var] = tir.Range(stmt.min, stmt.extent)
        result = self.rebuild(stmt)
        del self._domains[stmt.loop_var]  # beyond the loop, nothing says that it has an iteration
        return result

    def _let(self, stmt: tir.LetStmt) -> tir.Stmt:
        if lanes_of(stmt.var.dtype) > 1 or stmt.var.dtype not in ("int32", "int64"):
            return self.rebuild(stmt)
        value = self.rewrite(stmt.value)
        body = self._where(tir.EQ("bool", stmt.var, stmt.value), stmt.body)
        return replace(stmt, value=value, body=body)

    def _assert(self, stmt: tir.AssertStmt) -> tir.Stmt:
        return replace(stmt, condition=self.rewrite(stmt.condition), body=self._where(stmt.condition, stmt.body))

    def _if(self, stmt: tir.IfThenElse) -> tir.Stmt:
        condition = self.rewrite(stmt.condition)
        then = self._where(stmt.condition, stmt.then_case)
        other = None if stmt.else_case is None else self._where(make.logical_not(stmt.condition), stmt.else_case)
        return replace(stmt, condition=condition, then_case=then, else_case=other)

    def _and(self, node: tir.And) -> tir.PrimExpr:
        return replace(node, a=self.rewrite(node.a), b=self._where(node.a, node.b))

    def _call(self, call: tir.Call) -> tir.PrimExpr:
        if call.op == _ADDRESS_OF:
            return call
        return self._choice(call) if call.op == _IF_THEN_ELSE else self.rebuild(call)

    def _choice(self, call: tir.Call) -> tir.PrimExpr:
        condition, yes, no = (arg for arg in call.args if isinstance(arg, tir.PrimExpr))
        sides = self._where(condition, yes), self._where(make.logical_not(condition), no)
        return replace(call, args=(self.rewrite(condition), *sides))

    def _where(self, condition: tir.PrimExpr, part: Any) -> Any:
        is_usable = condition.dtype == "bool" and self._lasts(condition, part)
        if is_usable:
            self._facts.append(condition)
        result = self.rewrite(part)
        if is_usable:
            self._facts.pop()
        return result

    def _lasts(self, condition: tir.PrimExpr, part: tir.Stmt | tir.PrimExpr) -> bool:
        """Whether `condition` still says the same where an access in `part` is: nothing was written that it reads."""
        asked = list(walk(condition))
        read = {node.buffer.data for node in asked if isinstance(node, tir.BufferLoad)}
        if not (read and _is_quiet(asked)):
            return _is_quiet(asked)
        before = (part.value, *part.indices) if isinstance(part, tir.BufferStore) else (part,)
        done = [node for each in before for node in walk(each)]
        written = {node.buffer.data for node in done if isinstance(node, tir.BufferStore)}
        is_apart = written.isdisjoint(self._overlapping) or read.isdisjoint(self._overlapping)
        return _is_quiet(done) and is_apart and written.isdisjoint(read)

    # --- Accesses

    def _load(self, load: tir.BufferLoad) -> tir.PrimExpr:
        result: tir.PrimExpr
        result, named = self._access(load)
        for var, index in reversed(named.items()):
            result = tir.Let(result.dtype, var, index, result)
        return result

    def _store(self, store: tir.BufferStore) -> tir.Stmt:
        result: tir.Stmt
        result, named = self._access(store)
        for var, index in reversed(named.items()):
            result = tir.LetStmt(var, index, result)
        return result

    def _access(self, access: _Access) -> tuple[_Access, dict[tir.Var, tir.PrimExpr]]:
        """Return `access` with its indices guarded, and names for those with checks in them: each check tells all indices,
        so that without names what is read by what was read would double with each level."""
        changed = self.rebuild(access)
        extents = access.buffer.shape
        is_open = [
            not (self._is_proving and self._is_inside(*each)) for each in zip(access.indices, extents, strict=False)
        ]
        self.checked += sum(is_open)
        self.proven += len(is_open) - sum(is_open)
        if not any(is_open):
            return changed, {}
        said, named = list(changed.indices), dict[tir.Var, tir.PrimExpr]()
        for axis, (index, before) in enumerate(zip(changed.indices, access.indices, strict=True)):
            if index is not before:
                var = said[axis] = tir.Var(index.dtype, "index")
                named[var] = index
        indices = list(said)
        for axis, (index, is_checked) in enumerate(zip(said, is_open, strict=False)):
            if not is_checked:
                continue
            self.places.add((access.buffer.name, axis))
            what = tir.StringImm("handle", access.buffer.name), tir.IntImm("int32", axis)
            args = (_where_on(index, changed.predicate), *what, *said, *extents)
            indices[axis] = tir.Call(index.dtype, CHECKED_INDEX, args, span=access.span)
        return replace(changed, indices=tuple(indices)), named

    def _is_inside(self, index: tir.PrimExpr, extent: tir.PrimExpr) -> bool:
        from ...ir.analysis.const_bounds import const_bounds
        from ...ir.analysis.proof import prove

        first, last = _ends(index)
        if isinstance(extent, tir.IntImm):
            low, high = const_bounds(first, self._domains), const_bounds(last, self._domains)
            if low.min >= 0 and high.max < extent.value:
                return True
        zero = make.const(0, first.dtype)
        conditions = (make.greater_equal(first, zero), make.less(last, extent))
        return all(prove(condition, self._domains, self._facts).is_proven for condition in conditions)


def _is_quiet(nodes: Iterable[Node]) -> bool:
    """Whether no call among them has an effect, or depends on one."""
    return all(is_pure_call(node) for node in nodes if isinstance(node, tir.Call))


def _where_on(index: tir.PrimExpr, predicate: tir.PrimExpr | None) -> tir.PrimExpr:
    """Return `index` with 0 in the lanes that are not accessed."""
    if predicate is None or lanes_of(index.dtype) != lanes_of(predicate.dtype):
        return index
    lanes = tir.IntImm("int32", lanes_of(index.dtype))
    zero = tir.Broadcast(index.dtype, make.const(0, with_lanes(index.dtype, 1)), lanes)
    return tir.Select(index.dtype, predicate, index, zero)


def _ends(index: tir.PrimExpr) -> tuple[tir.PrimExpr, tir.PrimExpr]:
    """Return the least and the greatest lane."""
    match index:
        case tir.Ramp(base=base, stride=tir.IntImm(value=step), lanes=tir.IntImm(value=lanes)):
            last = make.add(base, make.const(step * (lanes - 1), base.dtype))
            return (base, last) if step >= 0 else (last, base)
        case tir.Broadcast(value=value):
            return value, value
        case _:
            return index, index
