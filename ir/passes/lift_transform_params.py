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
from ..infer import bind_dims, dimensions_alone, infer_struct_info
from ..purity import is_pure_call
from ..variables import with_new_variables
from ..visit import substitute, walk
from .bundle_model_params import NUM_INPUT, bundled, input_count
from .calls import clean_up
from .transform import declare_pass

_STOP = Op("relax.builtin.stop_lift_params")
_SHARED = "transform_params"


@declare_pass("LiftTransformParams", opt_level=1)
@deep
def lift_transform_params(mod: IRModule, shared_transform: bool | Sequence[str] = False) -> IRModule:
    """Move computations of a function that depend only on its weights to a function `<name>_transform_params`.

    Weights are the parameters after the first `num_input`. The new function takes them as a tuple. It returns the new
    parameters of the old function: the weights that this still uses, followed by the computed values. Branches and
    values guarded by `R.builtin.stop_lift_params` are not moved. With `shared_transform`, one function
    `transform_params` performs the computations that all functions, or all those listed, have in common. If the module has
    a transform of that name, the new one follows it.

    Raises TvmsError: E0906 if `num_input` is invalid, shared weights differ, or the weights are not the result of the
    transform that the module has, E0905 if one of the listed functions has no weights.
    """
    weighted = {
        name: function
        for name, function in mod.functions.items()
        if isinstance(function, relax.Function) and NUM_INPUT in function.attrs
    }
    is_shared = shared_transform is not False
    for transform in [_SHARED] if is_shared else [f"{name}_{_SHARED}" for name in weighted]:
        weighted.pop(transform, None)
    names = list(weighted) if isinstance(shared_transform, bool) else [*shared_transform] or list(weighted)
    for name in names:
        if name not in weighted:
            reason = f"the module has no function '{name}' with weights"
            raise error("E0905", reason, help="give it the attribute num_input")
    groups = [names] if is_shared and names else [[name] for name in names]
    functions: dict[str, BaseFunc] = dict(mod.functions)
    for group in groups:
        early, late = _split({name: weighted[name] for name in group}, mod)
        functions |= late
        symbol = _SHARED if is_shared else f"{group[0]}_{_SHARED}"
        known = mod.functions.get(symbol)
        if isinstance(known, relax.Function) and input_count(known) == 0:
            early = _following(early, known, symbol)
        else:
            symbol = unused_name(symbol, mod.functions)
        functions[symbol] = replace(early, attrs={NUM_INPUT: 0, "global_symbol": symbol})
    return clean_up(replace(mod, functions=functions)) if groups else mod


def _following(early: relax.Function, known: relax.Function, name: str) -> relax.Function:
    """Return the transform `known` followed by the transform `early` of its results."""
    known = with_new_variables(known)
    is_bundled = len(known.params) == 1 and isinstance(known.params[0].struct_info, relax.TupleStructInfo)
    known = known if is_bundled else bundled(known, "params")
    (weights,), result = early.params, infer_struct_info(known.body.body)
    dims: dict[tir.Var, tir.PrimExpr] = {}
    reason = bind_dims(infer_struct_info(weights), result, dims)
    if reason is not None:
        raise error("E0906", f"the weights are not the result of '{name}': {reason}", known.span)
    early = substitute(early, dims)
    given = relax.DataflowVar(weights.name_hint, struct_info=result)
    early = substitute(early, {early.params[0]: given})
    handed = relax.VarBinding(given, known.body.body)
    first = relax.SeqExpr((*known.body.blocks, relax.DataflowBlock((handed,)), *early.body.blocks), early.body.body)
    bindings = [binding for block in first.blocks for binding in block.bindings]
    local: dict[Node, Node] = {
        binding.var: relax.DataflowVar(binding.var.name_hint, struct_info=binding.var.struct_info)
        for binding in bindings
        if binding.var is not first.body
    }
    block = substitute(relax.DataflowBlock(tuple(bindings)), local)
    body = replace(first, blocks=(block,), struct_info=early.body.struct_info)
    return replace(early, params=known.params, body=body, struct_info=None)


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
        self.dims = tuple(
            dict.fromkeys(node for weight in self.weights for node in walk(weight) if isinstance(node, tir.Var))
        )
        """The symbolic dimensions of the weights."""

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

    def lost(self, body: relax.SeqExpr, given: Sequence[relax.Var]) -> set[int]:
        """Return the numbers of the dimensions that `body` uses, but neither the inputs nor `given` define."""
        defined = {dim for var in (*self.inputs, *self._own(given)) for dim in dimensions_alone(infer_struct_info(var))}
        used = {node for node in walk(body) if isinstance(node, tir.Var)}
        return {place for place, dim in enumerate(self.dims) if dim in used and dim not in defined}

    def _own(self, given: Sequence[relax.Var]) -> list[relax.Var]:
        """Return the variables of this function that correspond to `given`."""
        lifted = [binding.var for binding in self.lifted]
        own = {self.shared[var]: var for var in (*self.weights, *lifted) if var in self.shared}
        return [own[var] for var in given]

    def late(self, body: relax.SeqExpr, given: Sequence[relax.Var], places: Sequence[int]) -> relax.Function:
        """Return the function with `body` and parameters for `given` instead of its weights, the first one for dimensions."""
        own = self._own(given)
        params = [_plain(var) for var in own]
        taken: dict[Node, Node] = dict(zip(own, params, strict=True))
        if places:
            sizes = relax.ShapeStructInfo(tuple([self.dims[place] for place in places]), len(places))
            params.insert(0, relax.Var("shape", struct_info=sizes))
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
    lost = [part.lost(body, given) for part, body in zip(parts, bodies, strict=True)]
    places = sorted(set[int]().union(*lost))
    late = {part.name: part.late(body, given, places) for part, body in zip(parts, bodies, strict=True)}
    return _of_weights(first.weights, common, given, [first.dims[place] for place in places]), late


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
    weights: Sequence[relax.Var], lifted: Sequence[relax.Binding], given: Sequence[relax.Var], dims: Sequence[tir.Var]
) -> relax.Function:
    """Return the function from a tuple of the weights to a tuple of `given`, after the shape `dims` if there are any."""
    copies: dict[Node, Node] = {var: relax.Var(var.name_hint, struct_info=var.struct_info) for var in weights}
    copies |= {
        binding.var: relax.DataflowVar(binding.var.name_hint, struct_info=binding.var.struct_info) for binding in lifted
    }
    shape = [relax.ShapeExpr(tuple(dims), struct_info=relax.ShapeStructInfo(tuple(dims), len(dims)))] if dims else []
    info = relax.TupleStructInfo(tuple([infer_struct_info(value) for value in (*shape, *given)]))
    result = relax.Var("gv", struct_info=info)
    whole = relax.VarBinding(result, relax.Tuple((*shape, *given), struct_info=info))
    block = relax.DataflowBlock((*lifted, whole))
    function = relax.Function(tuple(weights), relax.SeqExpr((block,), result, struct_info=info), info)
    function = substitute(function, copies)
    renewed = {node: replace(node) for node in walk(function) if isinstance(node, tir.Var)}
    return bundled(replace(substitute(function, renewed), attrs={NUM_INPUT: 0}), "params")
