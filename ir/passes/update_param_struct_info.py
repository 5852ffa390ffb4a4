"""Change the struct info of parameters, and infer that of all other values (TVM: `UpdateParamStructInfo`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec.structs import replace

from .. import relax
from ..base import IRModule, StructInfo
from ..deep import deep
from .calls import with_signatures
from .rewriter import ValueRewriter, refined_result
from .transform import declare_pass


@declare_pass("UpdateParamStructInfo")
@deep
def update_param_struct_info(mod: IRModule, sinfo_func: Callable[[relax.Var], StructInfo | None]) -> IRModule:
    """Set the struct info of parameters to the result of `sinfo_func`, unless that is None.

    The struct info of all other values is inferred anew. Raises TvmsError if an operator does not accept it.
    """
    changed: dict[str, relax.Function] = {}
    for name, function in mod.functions.items():
        if isinstance(function, relax.Function):
            infos = {param: info for param in function.params if (info := sinfo_func(param)) is not None}
            if infos:
                changed[name] = _Retyper(function, infos).function(function)
    return with_signatures(mod, changed, lambda name, call: call.args) if changed else mod


class _Retyper(ValueRewriter):
    def __init__(self, function: relax.Function, infos: dict[relax.Var, StructInfo]) -> None:
        super().__init__(function)
        self._is_retyped = True
        self.replaced |= {param: replace(param, struct_info=info) for param, info in infos.items()}

    def function(self, function: relax.Function) -> relax.Function:
        """Return a function with new parameters, and the struct info of its result inferred from them."""
        params = tuple([self.replaced.get(param, param) for param in function.params])
        body = self.sequence(function.body)
        return refined_result(replace(function, params=params, body=body, ret_struct_info=None, struct_info=None))  # type: ignore[reportArgumentType]

    def binding(self, binding: relax.Binding) -> Iterable[relax.Binding]:
        """Return a binding of a variable with the struct info of its new value."""
        return (self.rebound(binding, binding.value),)
