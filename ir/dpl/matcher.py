"""The state of matching a pattern: what its parts matched, and the sizes of its symbolic dimensions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from .. import relax, tir
from ..base import StructInfo
from ..equal import structural_equal
from ..infer import bind_dims, join, replace_dims
from ..visit import walk

Bindings: TypeAlias = Mapping[relax.Var, relax.Expr]


class Matcher:
    """State of one match; `found` maps the patterns matched so far to their expressions."""

    def __init__(self, var2val: Bindings) -> None:
        self._values = var2val
        self.found: dict[Any, Any] = {}
        self._sizes: dict[tir.Var, tir.PrimExpr] = {}
        """Sizes of the symbolic dimensions in patterns."""
        self._open: list[tuple[StructInfo, StructInfo]] = []
        """Struct info of expressions, and of patterns whose dimensions were not all known when they matched."""

    def match(self, pattern: Any, expr: Any) -> bool:
        """Return whether `expr` matches `pattern`. If it does not, `found` is unchanged."""
        value = expr if pattern.wants_variable else self.value(expr)
        if pattern in self.found:
            return self.found[pattern] is value
        before = self.state()
        if pattern.accepts(self, value):
            self.found[pattern] = value
            return True
        self.restore(before)
        return False

    def state(self) -> Any:
        """Return what was matched so far, for `restore`."""
        return dict(self.found), dict(self._sizes), list(self._open)

    def restore(self, state: Any) -> None:
        """Return to an earlier state."""
        self.found, self._sizes, self._open = state

    def implies(self, info: StructInfo, wanted: StructInfo) -> bool:
        """Return whether `info` may imply `wanted`, for the sizes of symbolic dimensions that the match determines."""
        if bind_dims(wanted, info, self._sizes) is not None:
            return False
        if any(isinstance(node, tir.Var) and node not in self._sizes for node in walk(wanted)):
            self._open.append((info, wanted))
            return True
        return self._implies(info, wanted)

    def _implies(self, info: StructInfo, wanted: StructInfo) -> bool:
        wanted = replace_dims(wanted, self._sizes)
        return structural_equal(join(wanted, info), wanted)

    def holds(self) -> bool:
        """Return whether the conditions hold that depended on symbolic dimensions that were matched later."""
        return all(self._implies(info, wanted) for info, wanted in self._open)

    def value(self, expr: Any) -> Any:
        """Return the value of a variable, or the variable if its value is unknown."""
        while isinstance(expr, relax.Var) and expr in self._values:
            expr = self._values[expr]
        return expr

    def match_all(self, patterns: Sequence[Any], exprs: Sequence[Any]) -> bool:
        """Return whether there are as many patterns as expressions and each matches. If not, the state is unchanged."""
        before = self.state()
        if len(patterns) == len(exprs) and all(map(self.match, patterns, exprs)):
            return True
        self.restore(before)
        return False
