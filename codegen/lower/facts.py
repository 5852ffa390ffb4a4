"""The conditions that hold at a program point, and the selection of those that a proof may need."""

from __future__ import annotations

from ...ir import tir
from ...ir.visit import walk
from .wrapping import Exact

MOST_FACTS = 64
"""Maximum number of conditions passed to a proof."""


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
