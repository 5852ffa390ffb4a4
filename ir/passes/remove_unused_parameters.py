"""Remove parameters that private functions do not use (TVM: `RemoveUnusedParameters`)."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from .. import relax, tir
from ..base import IRModule
from ..deep import deep
from ..infer import Bindings, bind_dims, dimensions_alone, infer_struct_info
from ..visit import walk
from .calls import calls_of, functions_only_called, with_signatures
from .dead_code import remove_unused_bindings
from .transform import declare_pass, map_functions


@declare_pass("RemoveUnusedParameters")
@deep
def remove_unused_parameters(mod: IRModule) -> IRModule:
    """Remove unused parameters of private functions, and computations of callers that are only used for them.

    A symbolic dimension determined only by such a parameter is passed as a separate number, `param_<name>`. If a call
    does not know it, the function is kept.
    """
    changes: dict[str, _Change] = {}
    for name, function in functions_only_called(mod).items():
        change = _change_of(function)
        if change is not None and all(change.arguments(call) is not None for call in calls_of(mod, name)):
            changes[name] = change
    if not changes:
        return mod
    changed = {name: change.function for name, change in changes.items()}
    mod = with_signatures(mod, changed, lambda name, call: changes[name].arguments(call) or ())
    return map_functions(mod, relax.Function, lambda function: remove_unused_bindings(function, mod))


class _Change(Struct):
    """Function with fewer parameters."""

    function: relax.Function
    old: tuple[relax.Var, ...]
    used: tuple[bool, ...]
    dims: tuple[tir.Var, ...]
    """Dimensions that only the removed parameters determined."""

    def arguments(self, call: relax.Call) -> tuple[relax.Expr, ...] | None:
        """Return the arguments of the new function for `call`; None if a dimension is unknown."""
        bound: Bindings = {}
        for param, arg in zip(self.old, call.args, strict=True):
            bind_dims(infer_struct_info(param), infer_struct_info(arg), bound)
        if any(dim not in bound for dim in self.dims):
            return None
        kept = [arg for arg, is_used in zip(call.args, self.used, strict=True) if is_used]
        return (*kept, *[relax.PrimValue(bound[dim]) for dim in self.dims])


def _change_of(function: relax.Function) -> _Change | None:
    """Return the reduction of a function; None if it uses all its parameters."""
    mentioned = dict.fromkeys(node for node in walk(function.body) if isinstance(node, relax.Var | tir.Var))
    used = tuple([param in mentioned for param in function.params])
    if all(used):
        return None
    kept = [param for param, is_used in zip(function.params, used, strict=True) if is_used]
    told = {dim for param in kept for dim in _told_by(param)}
    infos = [info for info in (*[param.struct_info for param in kept], function.ret_struct_info) if info is not None]
    needed = dict.fromkeys((*mentioned, *[node for info in infos for node in walk(info)]))
    lost = {dim for param in function.params for dim in _told_by(param)} - told
    dims = tuple([dim for dim in needed if isinstance(dim, tir.Var) and dim in lost])
    numbers = [relax.Var(f"param_{dim.name}", struct_info=relax.PrimStructInfo(dim.dtype, dim)) for dim in dims]
    return _Change(replace(function, params=(*kept, *numbers), struct_info=None), function.params, used, dims)


def _told_by(param: relax.Var) -> tuple[tir.Var, ...]:
    """Return the dimensions that an argument for `param` determines."""
    return () if param.struct_info is None else dimensions_alone(param.struct_info)
