"""Bring graph-level functions into normal form (TVM: `Normalize`)."""

from __future__ import annotations

from msgspec.structs import replace

from .. import relax
from ..base import IRModule
from ..deep import deep
from .flatten import flatten
from .rewriter import ValueRewriter
from .transform import declare_pass, map_functions


@declare_pass("Normalize")
@deep
def normalize(mod: IRModule) -> IRModule:
    """Bind every nested call to a variable of its own, also where a value is returned, and infer struct info."""
    return map_functions(mod, relax.Function, normalized)


def normalized(function: relax.Function) -> relax.Function:
    """Return `function` in normal form."""
    return _Normalizer(function).function(function)


class _Normalizer(ValueRewriter):
    def sequence(self, body: relax.SeqExpr) -> relax.SeqExpr:
        """Rewrite a body; what its value needs is bound in a last block."""
        body = super().sequence(body)
        with self.collecting() as new:
            value = flatten(body.body, self.emit)
            if isinstance(value, relax.Call | relax.TupleGetItem):
                value = self.emit(value)
        if new:
            body = replace(body, blocks=(*body.blocks, relax.BindingBlock(tuple(new))))
        return body if value is body.body else replace(body, body=value)
