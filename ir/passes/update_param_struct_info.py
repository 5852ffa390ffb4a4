"""Say other things of parameters, and what follows from these (TVM: `UpdateParamStructInfo`)."""

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
    """Give parameters the struct info that `sinfo_func` returns for them; those for which it returns None stay.

    What is known of all other values is inferred anew. Raises TvmsError where operators do not take the new ones.
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
        """Return a function with its new parameters, and the result that follows from them."""
        params = tuple([self.replaced.get(param, param) for param in function.params])
        body = self.sequence(function.body)
        return refined_result(replace(function, params=params, body=body, ret_struct_info=None, struct_info=None))  # type: ignore[reportArgumentType]

    def binding(self, binding: relax.Binding) -> Iterable[relax.Binding]:
        """Return a binding of a variable that says what follows from its value now."""
        return (self.rebound(binding, binding.value),)
