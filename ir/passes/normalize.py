"""Convert graph functions to normal form (TVM: `Normalize`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from .. import relax
from ..base import IRModule
from ..building.nested_bodies import unnested
from ..building.values import normal_call, with_written_arguments
from ..deep import deep
from .flatten import flatten
from .rewriter import ValueRewriter, commented_bindings, refined_result
from .transform import declare_pass, map_functions


@declare_pass("Normalize")
@deep
def normalize(mod: IRModule) -> IRModule:
    """Bind every nested call to a new variable, also in results, and infer struct info.

    The blocks of a body that is the value of a binding come before that binding. Adjacent blocks of the same kind are merged.
    """
    return map_functions(mod, relax.Function, normalized)


def normalized(function: relax.Function) -> relax.Function:
    """Return `function` in normal form, and its result with the struct info of the body if that is more precise."""
    return refined_result(_Normalizer(function).function(function))


class _Normalizer(ValueRewriter):
    def __init__(self, function: relax.Function) -> None:
        super().__init__(function)
        self._bound: dict[relax.Var, relax.Expr] = {}

    def value(self, binding: relax.Binding) -> relax.Expr:
        return with_written_arguments(normal_call(binding.value), self._bound)

    def binding(self, binding: relax.Binding) -> Iterable[relax.Binding]:
        """Return a binding whose variable has struct info, preceded by the bindings that it needs."""
        *before, last = super().binding(binding)
        new = last if last.var.struct_info is not None else self.rebound(last, last.value)
        self._bound[new.var] = new.value
        return (*before, new)

    def sequence(self, body: relax.SeqExpr) -> relax.SeqExpr:
        """Rewrite a body; calls in its result are bound in a last block."""
        body = super().sequence(body)
        spread = unnested(body.blocks)
        if spread != body.blocks:
            body = super().sequence(replace(body, blocks=spread))
        with self.collecting() as new:
            value = flatten(body.body, self.emit)
            if isinstance(value, relax.Call | relax.TupleGetItem):
                value = self.emit(value)
        blocks = _merged((*body.blocks, relax.BindingBlock(tuple(new))) if new else body.blocks)
        if value is body.body and blocks == body.blocks:
            return body
        return replace(body, blocks=blocks, body=value)


def _merged(blocks: Sequence[relax.BindingBlock]) -> tuple[relax.BindingBlock, ...]:
    """Return the blocks with adjacent ones of the same kind merged."""
    merged: list[relax.BindingBlock] = []
    for block in blocks:
        if merged and type(merged[-1]) is type(block):
            merged[-1] = replace(merged[-1], bindings=(*merged[-1].bindings, *commented_bindings(block)))
        else:
            merged.append(block)
    return tuple(merged)
