"""Compute equal values once (TVM: `EliminateCommonSubexpr`)."""

from __future__ import annotations

from collections.abc import Iterable, Set

from .. import relax
from ..base import IRModule, Op
from ..deep import deep
from ..equal import structural_equal, structural_hash
from ..purity import is_pure_call
from ..visit import walk
from .memory_order import MemoryOrder
from .rewriter import BindingRewriter
from .transform import declare_pass, map_functions

_MAKERS = frozenset(
    ("relax.builtin.alloc_tensor", "relax.memory.alloc_storage", "relax.memory.alloc_tensor", "relax.vm.alloc_storage",
     "relax.vm.alloc_tensor")
)  # fmt: skip
"""Operators that return new memory at each call, so that two calls are never equal."""


@declare_pass("EliminateCommonSubexpr", opt_level=1)
@deep
def eliminate_common_subexpr(mod: IRModule, call_only: bool = False) -> IRModule:
    """Replace variables whose values were computed before by the earlier variables.

    With `call_only`, only calls are considered. Values with side effects, allocations, and values that are overwritten
    are kept.
    """
    memory = MemoryOrder(mod)

    def eliminate(function: relax.Function) -> relax.Function:
        return _Eliminator(mod, call_only, memory.overwritten(function)).function(function)

    return map_functions(mod, relax.Function, eliminate)


class _Eliminator(BindingRewriter):
    def __init__(self, mod: IRModule, call_only: bool, overwritten: Set[relax.Var]) -> None:
        super().__init__()
        self._mod, self._call_only, self._overwritten = mod, call_only, overwritten
        self._known: dict[int, list[relax.Binding]] = {}

    def sequence(self, body: relax.SeqExpr) -> relax.SeqExpr:
        """Rewrite a branch or an inner function; its values are only known inside of it."""
        outer = {key: list(found) for key, found in self._known.items()}
        body = super().sequence(body)
        self._known = outer
        return body

    def block(self, block: relax.BindingBlock) -> relax.BindingBlock:
        """Rewrite a block; values of dataflow variables are forgotten at its end."""
        outer = dict(self.replaced)
        new = super().block(block)
        if isinstance(block, relax.DataflowBlock):
            self.replaced = outer
        for found in self._known.values():
            found[:] = [binding for binding in found if not isinstance(binding.var, relax.DataflowVar)]
        return new

    def binding(self, binding: relax.Binding) -> Iterable[relax.Binding]:
        if binding.var in self._overwritten or not self._may_be_shared(binding.value):
            return (binding,)
        alike = self._known.setdefault(structural_hash(binding.value), [])
        for earlier in alike:
            if _is_same(earlier, binding):
                self.replaced[binding.var] = earlier.var
                alike.append(binding)
                return (relax.VarBinding(binding.var, earlier.var, span=binding.span, trivia=binding.trivia),)
        alike.append(binding)
        return (binding,)

    def _may_be_shared(self, value: relax.Expr) -> bool:
        if isinstance(value, relax.Function) or (self._call_only and not isinstance(value, relax.Call)):
            return False
        calls = [node for node in walk(value) if isinstance(node, relax.Call)]
        return all(is_pure_call(call, self._mod) and not _is_new(call) for call in calls)


def _is_new(call: relax.Call) -> bool:
    return isinstance(call.op, Op) and call.op.name in _MAKERS


def _is_same(a: relax.Binding, b: relax.Binding) -> bool:
    if isinstance(a, relax.MatchCast) != isinstance(b, relax.MatchCast) or not structural_equal(a.value, b.value):
        return False
    if isinstance(a, relax.MatchCast) and isinstance(b, relax.MatchCast):
        return structural_equal(a.struct_info, b.struct_info)
    return True
