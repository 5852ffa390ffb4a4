"""Composition of networks and losses (TVM: `relax.training.utils`)."""

from __future__ import annotations

from msgspec.structs import replace

from .... import relax
from ....base import IRModule
from ....diagnostics import TvmsError, error
from ....infer import infer_struct_info
from ....passes.te_gradients import register_te_gradient as register_te_gradient
from ....passes.transform import Pass, PassContext, module_pass
from ....variables import with_new_variables
from ....visit import substitute, walk


def AppendLoss(
    func_name: str, loss_function: relax.Function, num_backbone_outputs: int = 1, new_func_name: str | None = None
) -> Pass:
    """Return the pass that adds the function `new_func_name`, by default `<func_name>_loss`: the network `func_name` followed by the
    loss of its first `num_backbone_outputs` results.

    Its parameters are those of the network, then the other ones of the loss; it returns the loss, or the loss and the other
    results of the network. Both functions have one dataflow block. Raises TvmsError: E0905 if the module has no graph function
    `func_name`, E0906 if the functions do not fit.
    """

    def append(mod: IRModule, ctx: PassContext) -> IRModule:
        network = mod.functions.get(func_name)
        if not isinstance(network, relax.Function):
            raise error(
                "E0905", f"the module has no graph function '{func_name}'", help="name the function of the network"
            )
        name = new_func_name or f"{func_name}_loss"
        function = _joined(with_new_variables(network), with_new_variables(loss_function), num_backbone_outputs)
        return replace(
            mod, functions={**mod.functions, name: replace(function, attrs={**network.attrs, "global_symbol": name})}
        )

    return module_pass(append, opt_level=0, name="AppendLoss")


def _joined(network: relax.Function, loss: relax.Function, count: int) -> relax.Function:
    result = network.body.body
    outputs = list(result.fields) if isinstance(result, relax.Tuple) else [result]
    if count > len(outputs) or count > len(loss.params):
        have = f"the network has {len(outputs)} results, the loss {len(loss.params)} parameters"
        raise _misfit(f"the loss is to take {count} results, but {have}")
    if any(not isinstance(output, relax.Var) for output in outputs):
        raise _misfit("the network returns a value that is not a variable or a tuple of variables")
    result = loss.body.body
    if getattr(result.struct_info, "ndim", None) != 0:
        raise _misfit(f"the loss returns {result.struct_info}, which is not a tensor without dimensions")
    predictions, states = outputs[:count], outputs[count:]
    for param, value in zip(loss.params, predictions, strict=False):
        expected, found = param.struct_info, infer_struct_info(value)
        if expected is not None and str(expected) != str(found):
            raise _misfit(f"the loss takes {expected} as '{param.name_hint}', but the network returns {found}")
    taken = dict(zip(loss.params, predictions, strict=False))
    bindings = [*_bindings(network, "network"), *(substitute(binding, taken) for binding in _bindings(loss, "loss"))]
    value = substitute(result, taken)
    returned = relax.Tuple((value, *states)) if states else value
    kept = {node for node in walk(returned) if isinstance(node, relax.Var)}
    local = {
        binding.var: relax.DataflowVar(binding.var.name_hint, struct_info=binding.var.struct_info)
        for binding in bindings
        if binding.var not in kept and not isinstance(binding.var, relax.DataflowVar)
    }
    block = relax.DataflowBlock(tuple(substitute(binding, local) for binding in bindings))
    infos = [infer_struct_info(part) for part in (value, *states)]
    info = relax.TupleStructInfo(tuple(infos)) if states else infos[0]
    returned = replace(returned, struct_info=info) if isinstance(returned, relax.Tuple) else returned
    params = (*network.params, *loss.params[count:])
    return relax.Function(params, relax.SeqExpr((block,), returned), info, network.is_pure)


def _bindings(function: relax.Function, what: str) -> tuple[relax.Binding, ...]:
    blocks = function.body.blocks
    if len(blocks) != 1 or not isinstance(blocks[0], relax.DataflowBlock):
        raise _misfit(f"the {what} has {len(blocks)} blocks, or one that is not a dataflow block")
    return blocks[0].bindings


def _misfit(reason: str) -> TvmsError:
    return error("E0906", reason, help="give a network and a scalar loss that fit, each with one dataflow block")
