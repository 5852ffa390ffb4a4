"""Compute once what depends on weights only (TVM: `LiftTransformParams`)."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from .. import relax, tir
from ..base import BaseFunc, IRModule, Node, Op
from ..deep import deep
from ..function_table import unused_name
from ..purity import is_pure_call
from ..visit import substitute, walk
from .bundle_model_params import NUM_INPUT, bundled, input_count
from .calls import clean_up
from .transform import declare_pass

_STOP = Op("relax.builtin.stop_lift_params")


@declare_pass("LiftTransformParams", opt_level=1)
@deep
def lift_transform_params(mod: IRModule) -> IRModule:
    """Move what a function computes from its weights alone into a function `<name>_transform_params`.

    Weights are the parameters after the first `num_input`. The new function takes them as a tuple and returns what the
    old one then takes in their place: the weights that it still uses, then what was computed of them. Branches, and what
    `R.builtin.stop_lift_params` guards, stay.

    Raises TvmsError E0906 where `num_input` makes no sense.
    """
    functions: dict[str, BaseFunc] = {}
    for name, function in mod.functions.items():
        count = input_count(function) if isinstance(function, relax.Function) else None
        if count is None or not isinstance(function, relax.Function):
            functions[name] = function
            continue
        early, late = _split(function, count, mod)
        symbol = unused_name(f"{name}_transform_params", mod.functions)
        functions[name] = late
        functions[symbol] = replace(early, attrs={NUM_INPUT: 0, "global_symbol": symbol})
    return mod if not functions.keys() - mod.functions.keys() else clean_up(replace(mod, functions=functions))


def known_from_weights(function: relax.Function, mod: IRModule) -> set[Node]:
    """Return the weights of a function and the variables that follow from them alone; none without `num_input`."""
    count = input_count(function)
    if count is None:
        return set()
    weights = function.params[count:]
    return {*weights, *[binding.var for binding in _liftable(function, weights, mod)[0]]}


def _split(function: relax.Function, count: int, mod: IRModule) -> tuple[relax.Function, relax.Function]:
    """Return the function of the weights, and what is left of the old one."""
    inputs, weights = function.params[:count], function.params[count:]
    lifted, needing = _liftable(function, weights, mod)
    rest = [
        replace(block, bindings=tuple([each for each in block.bindings if each.var not in needing]))
        for block in function.body.blocks
    ]
    body = replace(function.body, blocks=tuple([block for block in rest if block.bindings]))
    used = set(walk(body))
    given = [param for param in weights if param in used]
    given += [binding.var for binding in lifted if binding.var in needing and binding.var in used]
    plain: dict[Node, Node] = {
        var: relax.Var(var.name_hint, struct_info=var.struct_info)
        for var in given
        if isinstance(var, relax.DataflowVar)
    }
    late = substitute(replace(function, params=(*inputs, *given), body=body, struct_info=None), plain)
    return _of_weights(weights, lifted, given), late


def _liftable(
    function: relax.Function, weights: Sequence[relax.Var], mod: IRModule
) -> tuple[list[relax.Binding], set[Node]]:
    """The bindings that can be computed before any input is known, and the variables of those that weights are used for."""
    known: set[Node] = set(weights)
    dims = {node for param in weights for node in walk(param) if isinstance(node, tir.Var)}
    lifted: list[relax.Binding] = []
    needing: set[Node] = set()
    for block in function.body.blocks:
        for binding in block.bindings:
            nodes = list(walk(binding.value))
            is_plain = isinstance(binding, relax.VarBinding) and not isinstance(
                binding.value, relax.If | relax.Function | relax.Var
            )
            is_known = all(node in known for node in nodes if isinstance(node, relax.Var))
            is_sized = all(node in dims for node in (*nodes, *walk(binding.var)) if isinstance(node, tir.Var))
            calls = [node for node in nodes if isinstance(node, relax.Call)]
            is_pure = all(is_pure_call(call, mod) and call.op != _STOP for call in calls)
            if is_plain and is_known and is_sized and is_pure:
                known.add(binding.var)
                lifted.append(binding)
                if any(node in needing or node in weights for node in nodes):
                    needing.add(binding.var)
    return lifted, needing


def _of_weights(
    weights: Sequence[relax.Var], lifted: Sequence[relax.Binding], given: Sequence[relax.Var]
) -> relax.Function:
    """Return the function from a tuple of the weights to a tuple of what is `given` to the old function."""
    copies: dict[Node, Node] = {var: relax.Var(var.name_hint, struct_info=var.struct_info) for var in weights}
    copies |= {
        binding.var: relax.DataflowVar(binding.var.name_hint, struct_info=binding.var.struct_info) for binding in lifted
    }
    info = relax.TupleStructInfo(tuple([var.struct_info for var in given]))  # type: ignore[reportArgumentType]
    result = relax.Var("gv", struct_info=info)
    whole = relax.VarBinding(result, relax.Tuple(tuple(given), struct_info=info))
    block = relax.DataflowBlock((*lifted, whole))
    function = relax.Function(tuple(weights), relax.SeqExpr((block,), result, struct_info=info), info)
    function = substitute(function, copies)
    dims = {node: replace(node) for node in walk(function) if isinstance(node, tir.Var)}
    return bundled(replace(substitute(function, dims), attrs={NUM_INPUT: 0}), "params")
