"""Merge consecutive reshapes, and remove those that do not change the shape (TVM: `RemoveRedundantReshape`)."""

from __future__ import annotations

from .. import relax
from ..base import IRModule, Op
from ..building.values import apply
from ..deep import deep
from ..equal import structural_equal
from ..infer import infer_struct_info
from .dead_code import remove_unused_bindings
from .grouping import PRIMITIVE
from .rewriter import ValueRewriter
from .transform import declare_pass, map_functions

_RESHAPE = Op("relax.reshape")


@declare_pass("RemoveRedundantReshape")
@deep
def remove_redundant_reshape(mod: IRModule) -> IRModule:
    """Merge consecutive reshapes into one, and remove reshapes that do not change the shape."""

    def simplified(function: relax.Function) -> relax.Function:
        changed = function if PRIMITIVE in function.attrs else _Reshaper(function).function(function)
        return function if changed is function else remove_unused_bindings(changed, mod)

    return map_functions(mod, relax.Function, simplified)


class _Reshaper(ValueRewriter):
    def __init__(self, function: relax.Function) -> None:
        super().__init__(function)
        self._sources: dict[relax.Expr, relax.Expr] = {}
        """Sources of variables that are bound to reshaped tensors."""

    def value(self, binding: relax.Binding) -> relax.Expr:
        """Return a value that reshapes the original source."""
        call = binding.value
        if not isinstance(call, relax.Call) or call.op != _RESHAPE:
            return call
        given, shape = call.args
        source = self._sources.get(given, given)
        self._sources[binding.var] = source
        info = infer_struct_info(source)
        if isinstance(info, relax.TensorStructInfo) and info.shape is not None and structural_equal(info.shape, shape):
            return source
        return call if source is given else apply("reshape", source, shape)
