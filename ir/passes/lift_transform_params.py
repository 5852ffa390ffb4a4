"""Precompute values that depend only on weights (TVM: `LiftTransformParams`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

from msgspec.structs import replace

from .. import relax, tir
from ..base import BaseFunc, IRModule, Node, Op
from ..deep import deep
from ..diagnostics import error
from ..equal import structural_equal
from ..function_table import unused_name
from ..infer import infer_struct_info
from ..purity import is_pure_call
from ..visit import substitute, walk
from .bundle_model_params import NUM_INPUT, bundled, input_count
from .calls import clean_up
from .transform import declare_pass

_STOP = Op("relax.builtin.stop_lift_params")


@declare_pass("LiftTransformParams", opt_level=1)
@deep
def lift_transform_params(mod: IRModule, shared_transform: bool | Sequence[str] = False) -> IRModule:
    """Move computations of a function that depend only on its weights to a function `<name>_transform_params`.

    Weights are the parameters after the first `num_input`. The new function takes them as a tuple. It returns the new
    parameters of the old function: the weights that this still uses, followed by the computed values. Branches and
    values guarded by `R.builtin.stop_lift_params` are not moved. With `shared_transform`, one function
    `transform_params` performs the computations that all functions, or all those listed, have in common.

    Raises TvmsError: E0906 if `num_input` is invalid or shared weights differ, E0905 if one of the listed functions has
    no weights.
    """
    weighted = {
        name: function
        for name, function in mod.functions.items()
        if isinstance(function, relax.Function) and NUM_INPUT in function.attrs
    }
    names = list(weighted) if isinstance(shared_transform, bool) else [*shared_transform] or list(weighted)
    for name in names:
        if name not in weighted:
            reason = f"the module has no function '{name}' with weights"
            raise error("E0905", reason, help="give it the attribute num_input")
    groups = [names] if shared_transform is not False and names else [[name] for name in names]
    functions: dict[str, BaseFunc] = dict(mod.functions)
    for group in groups:
        early, late = _split({name: weighted[name] for name in group}, mod)
        functions |= late
        hint = "transform_params" if shared_transform is not False else f"{group[0]}_transform_params"
        symbol = unused_name(hint, mod.functions)
        functions[symbol] = replace(early, attrs={NUM_INPUT: 0, "global_symbol": symbol})
    return clean_up(replace(mod, functions=functions)) if groups else mod


def known_from_weights(function: relax.Function, mod: IRModule) -> set[Node]:
    """Return the weights of a function and the variables that depend only on them; empty without `num_input`."""
    count = input_count(function)
    if count is None:
        return set()
    weights = function.params[count:]
    return {*weights, *[binding.var for binding in _liftable(function, weights, mod)[0]]}


class _Part:
    """Function that shares a transform; its variables are mapped to those of the first function."""

    def __init__(self, name: str, function: relax.Function, mod: IRModule) -> None:
        count = input_count(function) or 0
        self.name, self.function = name, function
        self.inputs, self.weights = function.params[:count], function.params[count:]
        self.lifted, self.needing = _liftable(function, self.weights, mod)
        self.shared: dict[Node, relax.Var] = {}
        """Corresponding variables of the first function."""

    def match(self, first: _Part, common: Sequence[relax.Binding]) -> list[relax.Binding]:
        """Return those bindings of `common` that this function also computes."""
        mine, theirs = ([infer_struct_info(weight) for weight in part.weights] for part in (self, first))
        if not structural_equal(tuple(mine), tuple(theirs)):
            reason = f"the weights of '{self.name}' differ from those of '{first.name}'"
            raise error(
                "E0906", reason, self.function.span, "share a transform only among functions with the same weights"
            )
        self.shared.update(zip(self.weights, first.weights, strict=True))
        found: list[relax.Binding] = []
        for binding in self.lifted:
            value = substitute(binding.value, self.shared)
            others = (other for other in common if other not in found)
            same = next((other for other in others if structural_equal(other.value, value)), None)
            if same is not None:
                self.shared[binding.var] = same.var
                found.append(same)
        return [other for other in common if other in found]

    def rest(self, gone: Set[Node]) -> relax.SeqExpr:
        """Return the remaining body if `gone` is computed elsewhere."""
        blocks = [
            replace(
                block, bindings=tuple([binding for binding in block.bindings if not self._is_gone(binding.var, gone)])
            )
            for block in self.function.body.blocks
        ]
        return replace(self.function.body, blocks=tuple([block for block in blocks if block.bindings]))

    def _is_gone(self, var: relax.Var, gone: Set[Node]) -> bool:
        return var in self.needing and self.shared.get(var) in gone

    def late(self, body: relax.SeqExpr, given: Sequence[relax.Var]) -> relax.Function:
        """Return the function with `body` and parameters for `given` instead of its weights."""
        own = {
            self.shared[var]: var
            for var in (*self.weights, *[binding.var for binding in self.lifted])
            if var in self.shared
        }
        params = [_plain(own[var]) for var in given]
        taken: dict[Node, Node] = {own[var]: param for var, param in zip(given, params, strict=True)}
        return substitute(replace(self.function, params=(*self.inputs, *params), body=body, struct_info=None), taken)


def _plain(var: relax.Var) -> relax.Var:
    """Return the variable itself, or a plain one for a dataflow variable, as a parameter."""
    return relax.Var(var.name_hint, struct_info=var.struct_info) if isinstance(var, relax.DataflowVar) else var


def _split(group: Mapping[str, relax.Function], mod: IRModule) -> tuple[relax.Function, dict[str, relax.Function]]:
    """Return the transform function, and the remaining functions."""
    parts = [_Part(name, function, mod) for name, function in group.items()]
    first = parts[0]
    common = first.lifted
    for part in parts:
        common = part.match(first, common)
    variables = {binding.var for binding in common}
    bodies = [part.rest(variables) for part in parts]
    used = {part.shared.get(node) for part, body in zip(parts, bodies, strict=True) for node in walk(body)}
    given = [param for param in first.weights if param in used]
    given += [binding.var for binding in common if binding.var in first.needing and binding.var in used]
    late = {part.name: part.late(body, given) for part, body in zip(parts, bodies, strict=True)}
    return _of_weights(first.weights, common, given), late


def _liftable(
    function: relax.Function, weights: Sequence[relax.Var], mod: IRModule
) -> tuple[list[relax.Binding], set[Node]]:
    """Return the bindings that do not depend on inputs, and those of their variables that depend on weights."""
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
            bound = {var for node in nodes if isinstance(node, tir.IndexMap) for var in node.initial_indices}
            sizes = (node for node in (*nodes, *walk(binding.var)) if isinstance(node, tir.Var))
            is_sized = all(node in dims or node in bound for node in sizes)
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
    """Return the function from a tuple of the weights to a tuple of `given`."""
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
