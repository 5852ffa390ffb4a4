"""Put sequences of pure bindings into dataflow blocks (TVM: `ConvertToDataflow`)."""

from __future__ import annotations

from itertools import groupby

from msgspec.structs import replace

from .. import relax
from ..base import IRModule
from ..deep import deep
from ..purity import is_pure_call
from ..visit import walk
from .canonicalize_bindings import canonicalize_bindings
from .rewriter import BindingRewriter
from .transform import declare_pass, map_functions


@declare_pass("ConvertToDataflow")
@deep
def convert_to_dataflow(mod: IRModule, min_size: int = 2) -> IRModule:
    """Put each sequence of at least `min_size` bindings without side effects or branches into a dataflow block.

    An existing dataflow block is extended by adjacent pure bindings, regardless of their number.
    """
    converted = map_functions(mod, relax.Function, lambda function: _Converter(mod, min_size).function(function))
    return mod if converted is mod else canonicalize_bindings(converted)


class _Converter(BindingRewriter):
    def __init__(self, mod: IRModule, min_size: int) -> None:
        super().__init__()
        self._mod, self._min_size = mod, min_size

    def sequence(self, body: relax.SeqExpr) -> relax.SeqExpr:
        """Return a body with its blocks formed anew."""
        body = super().sequence(body)
        entries = [(binding, block) for block in body.blocks for binding in block.bindings]
        blocks: list[relax.BindingBlock] = []
        plain: list[relax.Binding] = []
        for is_pure, run in groupby(entries, key=lambda entry: self._is_dataflow(*entry)):
            members = list(run)
            bindings = [binding for binding, _ in members]
            has_block = any(isinstance(block, relax.DataflowBlock) for _, block in members)
            if is_pure and (has_block or len(bindings) >= self._min_size):
                if plain:
                    blocks.append(relax.BindingBlock(tuple(plain)))
                blocks.append(relax.DataflowBlock(tuple(bindings)))
                plain = []
            else:
                plain += bindings
        if plain:
            blocks.append(relax.BindingBlock(tuple(plain)))
        is_same = [(type(block), block.bindings) for block in blocks] == [
            (type(block), block.bindings) for block in body.blocks
        ]
        return body if is_same else replace(body, blocks=tuple(blocks))

    def _is_dataflow(self, binding: relax.Binding, block: relax.BindingBlock) -> bool:
        if isinstance(block, relax.DataflowBlock):
            return True
        if isinstance(binding.value, relax.If):
            return False
        calls = () if isinstance(binding.value, relax.Function) else walk(binding.value)
        return all(is_pure_call(node, self._mod) for node in calls if isinstance(node, relax.Call))
