"""Pass the weights of a model as one tuple (TVM: `BundleModelParams`)."""

from __future__ import annotations

from msgspec.structs import replace

from .. import relax, tir
from ..base import IRModule
from ..deep import deep
from ..diagnostics import error
from ..infer import infer_struct_info
from .transform import declare_pass, map_functions

NUM_INPUT = "num_input"
"""The attribute of a function that says how many of its parameters, the first ones, change from call to call."""


@declare_pass("BundleModelParams", opt_level=1)
@deep
def bundle_model_params(mod: IRModule, param_tuple_name: str = "model_params") -> IRModule:
    """Make one tuple of the parameters after the first `num_input`, in functions that have this attribute.

    Raises TvmsError E0906 where it is not a number of their parameters.
    """
    return map_functions(mod, relax.Function, lambda function: bundled(function, param_tuple_name))


def bundled(function: relax.Function, name: str) -> relax.Function:
    """Return `function` with its weights in a tuple called `name`."""
    count = input_count(function)
    if count is None:
        return function
    inputs, weights = function.params[:count], function.params[count:]
    info = relax.TupleStructInfo(tuple(map(infer_struct_info, weights)))
    whole = relax.Var(name, struct_info=info)
    fields = [
        relax.VarBinding(param, relax.TupleGetItem(whole, index, struct_info=field), span=param.span)
        for index, (param, field) in enumerate(zip(weights, info.fields, strict=True))
    ]
    blocks = (relax.BindingBlock(tuple(fields)), *function.body.blocks) if fields else function.body.blocks
    return replace(function, params=(*inputs, whole), body=replace(function.body, blocks=blocks), struct_info=None)


def input_count(function: relax.Function) -> int | None:
    """Return the attribute `num_input`; None where there is none, E0906 where it makes no sense."""
    given = function.attrs.get(NUM_INPUT)
    if given is None:
        return None
    count = given.value if isinstance(given, tir.IntImm) else given
    if not isinstance(count, int) or not 0 <= count <= len(function.params):
        reason = f"{NUM_INPUT} is {count!r}, but the function has {len(function.params)} parameters"
        raise error("E0906", reason, function.span, "say how many of them, the first ones, are inputs")
    return count
