"""Bring graph-level functions into normal form (TVM: `Normalize`)."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from .. import relax
from ..base import IRModule
from ..deep import deep
from ..visit import walk
from .flatten import flatten
from .grouping import unused_name
from .rewriter import BindingRewriter
from .transform import declare_pass, map_functions


@declare_pass("Normalize")
@deep
def normalize(mod: IRModule) -> IRModule:
    """Bind every nested call to a variable of its own, also where a value is returned, and infer struct info."""
    return map_functions(mod, relax.Function, normalized)


def normalized(function: relax.Function) -> relax.Function:
    """Return `function` in normal form."""
    return _Normalizer(function).function(function)


class _Normalizer(BindingRewriter):
    def __init__(self, function: relax.Function) -> None:
        super().__init__()
        self._names = {node.name_hint for node in walk(function) if isinstance(node, relax.Var)}
        self._new: list[relax.Binding] = []
        self._in_dataflow = False

    def sequence(self, body: relax.SeqExpr) -> relax.SeqExpr:
        """Rewrite a body; what its value needs is bound in a last block."""
        body = super().sequence(body)
        outer, self._new, self._in_dataflow = self._new, [], False
        value = flatten(body.body, self._bind)
        if isinstance(value, relax.Call | relax.TupleGetItem):
            value = self._bind(value)
        if self._new:
            body = replace(body, blocks=(*body.blocks, relax.BindingBlock(tuple(self._new))))
        self._new = outer
        return body if value is body.body else replace(body, body=value)

    def block(self, block: relax.BindingBlock) -> relax.BindingBlock:
        self._in_dataflow = isinstance(block, relax.DataflowBlock)
        return super().block(block)

    def binding(self, binding: relax.Binding) -> Iterable[relax.Binding]:
        outer, self._new = self._new, []
        value = flatten(binding.value, self._bind)
        new, self._new = self._new, outer
        return (*new, binding if value is binding.value else replace(binding, value=value))

    def _bind(self, value: relax.Expr) -> relax.Var:
        kind = relax.DataflowVar if self._in_dataflow else relax.Var
        name = unused_name("lv" if self._in_dataflow else "gv", self._names)
        self._names.add(name)
        var = kind(name, struct_info=value.struct_info, span=value.span)
        self._new.append(relax.VarBinding(var, value, span=value.span))
        return var
