"""Free objects after their last use (TVM: `KillAfterLastUse`)."""

from __future__ import annotations

from msgspec.structs import replace

from .. import relax
from ..base import IRModule, Node, Op
from ..deep import deep
from ..visit import walk
from .canonicalize_bindings import canonicalize_bindings
from .remove_purity_checking import lowered
from .rewriter import ValueRewriter
from .transform import declare_pass, map_functions

_STORAGES = frozenset(("relax.memory.alloc_storage", "relax.vm.alloc_storage"))
_KILLS = frozenset(("relax.memory.kill_tensor", "relax.memory.kill_storage", "relax.vm.kill_object"))
_NOT_HELD = (relax.FuncStructInfo, relax.ShapeStructInfo, relax.PrimStructInfo)
"""Struct info of values without memory."""


@declare_pass("KillAfterLastUse")
@deep
def kill_after_last_use(mod: IRModule) -> IRModule:
    """Insert `R.memory.kill_tensor`, `R.memory.kill_storage` or `R.vm.kill_object` after the last use of each variable.

    Results of a body and variables used by inner functions are not freed. Memory lives until the last variable that
    holds it is freed: a storage may be killed before the tensors inside it. Dataflow blocks become plain blocks, and
    purity checks are disabled.
    """
    plain = canonicalize_bindings(lowered(mod))
    return map_functions(plain, relax.Function, lambda function: _Killer(function).function(function))


class _Killer(ValueRewriter):
    def __init__(self, function: relax.Function) -> None:
        super().__init__(function)
        nodes = list(walk(function))
        inner = [node for node in nodes if isinstance(node, relax.Function) and node is not function]
        killed = [node for node in nodes if isinstance(node, relax.Call) and _name(node) in _KILLS]
        self._kept = {node for root in (*inner, *killed) for node in walk(root) if isinstance(node, relax.Var)}
        self._ending: dict[relax.Binding, list[relax.Binding]] = {}

    def sequence(self, body: relax.SeqExpr) -> relax.SeqExpr:
        """Find the last uses in a body before it is rewritten."""
        bound: dict[Node, relax.Binding] = {}
        last: dict[Node, relax.Binding] = {}
        for block in body.blocks:
            for binding in block.bindings:
                last.update({node: binding for node in walk(binding.value) if node in bound})
                bound[binding.var] = binding
        returned = set(walk(body.body))
        for var, user in last.items():
            if var not in self._kept and var not in returned and _is_held(bound[var]):
                self._ending.setdefault(user, []).append(bound[var])
        return super().sequence(body)

    def block(self, block: relax.BindingBlock) -> relax.BindingBlock:
        """Rewrite a block, inserting the kills after each binding."""
        bindings: list[relax.Binding] = []
        for old in block.bindings:
            bindings.append(self.visit(old))
            with self.collecting() as kills:
                for ending in sorted(self._ending.get(old, ()), key=_order):
                    self.emit(relax.Call(Op(_kill(ending)), (ending.var,)), "_")
            bindings += kills
        is_same = all(a is b for a, b in zip(bindings, block.bindings, strict=False)) and len(bindings) == len(
            block.bindings
        )
        return block if is_same else replace(block, bindings=tuple(bindings))


def _name(value: relax.Expr) -> str:
    return value.op.name if isinstance(value, relax.Call) and isinstance(value.op, Op) else ""


def _is_held(binding: relax.Binding) -> bool:
    return not isinstance(binding.value, relax.Constant) and not isinstance(binding.var.struct_info, _NOT_HELD)


def _kill(binding: relax.Binding) -> str:
    if _name(binding.value) in _STORAGES:
        return "relax.memory.kill_storage"
    is_tensor = isinstance(binding.var.struct_info, relax.TensorStructInfo)
    return "relax.memory.kill_tensor" if is_tensor else "relax.vm.kill_object"


_ORDER = ("relax.memory.kill_tensor", "relax.memory.kill_storage", "relax.vm.kill_object")


def _order(binding: relax.Binding) -> int:
    return _ORDER.index(_kill(binding))
