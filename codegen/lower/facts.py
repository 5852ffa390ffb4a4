"""The conditions that hold at a program point: which of them a proof may need, and which a statement keeps valid."""

from __future__ import annotations

from collections.abc import Iterable

from ...ir import tir
from ...ir.base import Node
from ...ir.intern import is_pure_call
from ...ir.visit import children, walk
from .wrapping import Exact

MOST_FACTS = 64
"""Maximum number of conditions passed to a proof."""
_NOTHING = frozenset[tir.Var]()


class Facts:
    """The conditions that hold at a program point, newest last."""

    def __init__(self) -> None:
        self._all: list[Exact] = []
        self._of: dict[tir.Var, list[Exact]] = {}

    @property
    def height(self) -> int:
        """Return the number of facts."""
        return len(self._all)

    def add(self, fact: Exact) -> None:
        """Add a fact."""
        self._all.append(fact)
        for var in _variables(fact.expr):
            self._of.setdefault(var, []).append(fact)

    def forget(self, height: int) -> list[Exact]:
        """Remove and return all but the first `height` facts."""
        forgotten = self._all[height:]
        del self._all[height:]
        for fact in reversed(forgotten):
            for var in _variables(fact.expr):
                self._of[var].pop()
        return forgotten

    def about(self, condition: tir.PrimExpr) -> list[Exact]:
        """Return all facts; if there are more than `MOST_FACTS`, those related to the variables of `condition`, the
        newest first.
        """
        if len(self._all) <= MOST_FACTS:
            return self._all
        found: dict[Exact, None] = {}
        asked = dict.fromkeys(_variables(condition))
        queue = list(asked)
        for var in queue:
            for fact in self._of.get(var, [])[: -MOST_FACTS - 1 : -1]:
                new = [variable for variable in _variables(fact.expr) if variable not in asked]
                found[fact] = None
                asked.update(dict.fromkeys(new))
                queue += new
            if len(found) >= MOST_FACTS:
                break
        return list(found)[:MOST_FACTS]


def _variables(condition: tir.PrimExpr) -> dict[tir.Var, None]:
    return dict.fromkeys(node for node in walk(condition) if isinstance(node, tir.Var))


class Effects:
    """The memory that the statements of a function store to; `overlapping` is the memory that others may also point to."""

    def __init__(self, overlapping: set[tir.Var]) -> None:
        self._overlapping = overlapping
        self._effects_of: dict[Node, frozenset[tir.Var] | None] = {}

    def keep(self, condition: tir.PrimExpr, part: tir.Stmt | tir.PrimExpr) -> bool:
        """Return whether `condition` remains valid at every access in `part`: `part` does not write what it reads."""
        read = memory_read_by(condition)
        is_quiet = are_pure(walk(condition))
        if not (read and is_quiet):
            return is_quiet
        before = (part.value, *part.indices) if isinstance(part, tir.BufferStore) else (part,)
        effects = [self._effects(node) for node in before]
        if None in effects:
            return False
        written = _NOTHING.union(*(effect or () for effect in effects))
        is_apart = written.isdisjoint(self._overlapping) or read.isdisjoint(self._overlapping)
        return is_apart and written.isdisjoint(read)

    def _effects(self, part: Node) -> frozenset[tir.Var] | None:
        """Return the memory that `part` stores to; None if it contains calls with unknown effects."""
        if part not in self._effects_of:
            stored = {part.buffer.data} if isinstance(part, tir.BufferStore) else _NOTHING
            below = [self._effects(child) for child in children(part)]
            is_known = None not in below and not (isinstance(part, tir.Call) and not is_pure_call(part))
            self._effects_of[part] = _NOTHING.union(stored, *(members or () for members in below)) if is_known else None
        return self._effects_of[part]


def memory_read_by(condition: tir.PrimExpr) -> frozenset[tir.Var]:
    """Return the memory that a condition reads."""
    return frozenset(node.buffer.data for node in walk(condition) if isinstance(node, tir.BufferLoad))


def are_pure(nodes: Iterable[Node]) -> bool:
    """Return whether all calls among the nodes are pure."""
    return all(is_pure_call(node) for node in nodes if isinstance(node, tir.Call))
