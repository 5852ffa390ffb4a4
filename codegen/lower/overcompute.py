"""Removal of conditions around statements that would change nothing where the condition is false.

    for i in range(16):               for i in range(16):
        if i > 0:              →          A[0] = A[0] + i
            A[0] = A[0] + i

(TVM: `ReduceBranchingThroughOvercompute`.)
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from ...ir import make, tir
from ...ir.analysis.proof import prove
from ...ir.equal import structural_equal
from ...ir.idioms import NOTHING
from ...ir.visit import substitute, walk
from .facts_of_memory import is_plain
from .known_contents import Follower, Uses, can_follow
from .overwritten import is_total, without_conditions

_KNOWN = Uses(loads=True, stores=True, simplifies=True)


def overcompute(func: tir.PrimFunc, remove: Callable[[tir.Stmt], tir.Stmt], use_contents: bool = False) -> tir.PrimFunc:
    """Return `func` without conditions that `remove`, which removes statements without effect, shows to be unnecessary. With
    `use_contents`, known contents of memory and stores that are overwritten later count.
    """
    if not can_follow(func):
        return func
    body = _Overcomputer(remove, use_contents).visit(func.body)
    if use_contents:
        body = without_conditions(body)
    return func if structural_equal(body, func.body) else replace(func, body=body)


class _Overcomputer(Follower):
    def __init__(self, remove: Callable[[tir.Stmt], tir.Stmt], use_contents: bool) -> None:
        super().__init__(Uses())
        self._remove, self._use_contents = remove, use_contents

    def _if(self, stmt: tir.IfThenElse) -> tir.Stmt:
        before = self.facts
        found = super()._if(stmt)
        if not isinstance(found, tir.IfThenElse) or not is_plain(found.condition):
            return found
        after, self.facts = self.facts, before
        other = NOTHING if found.else_case is None else found.else_case
        negated = make.logical_not(found.condition)
        for given, general, special in ((found.condition, other, found.then_case), (negated, found.then_case, other)):
            if general is not NOTHING and self._is_special(given, general, special):
                self.facts = []
                return general
        self.facts = after
        return found

    def _is_special(self, given: tir.PrimExpr, general: tir.Stmt, special: tir.Stmt) -> bool:
        """Return whether `general` does what `special` does where `given` holds."""
        if not is_total(general, self.domains, (*self.given, given)):
            return False
        only = self._single_values(given)
        general, special = substitute(general, only), substitute(special, only)
        inner = Follower(_KNOWN)
        inner.facts = list(self.facts) if self._use_contents else []
        inner.domains, inner.given = dict(self.domains), (*self.given, given)
        return structural_equal(self._remove(inner.visit(general)), special)

    def _single_values(self, given: tir.PrimExpr) -> dict[tir.Var, tir.PrimExpr]:
        """Return the variables of loops that have one value where `given` holds, with this value: the first or the last one."""
        used = {node for node in walk(given) if isinstance(node, tir.Var)}
        found: dict[tir.Var, tir.PrimExpr] = {}
        for var, domain in self.domains.items():
            last = make.sub(make.add(domain.min, domain.extent), make.const(1, var.dtype))
            ends = (domain.min, last) if var in used and isinstance(domain.extent, tir.IntImm) else ()
            for end in ends:
                if prove(make.equal(var, end), self.domains, (*self.given, given)).is_proven:
                    found[var] = end
        return found
