"""Load weights when they are first used, and hand over results as soon as they are known.

`LazyGetInput` and `LazySetOutput` add parameters that do this; `LazyTransformParams` calls registered functions (TVM: the passes of
the same names).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TypeAlias

from msgspec.structs import replace

from .. import relax, tir
from ..base import Attrs, IRModule, Node, Op, StructInfo
from ..deep import deep
from ..diagnostics import error
from ..infer import infer_struct_info, replace_dims
from ..variables import tir_variables
from ..visit import walk
from .bundle_model_params import NUM_INPUT, input_count
from .dead_code import is_public
from .rewriter import merged_blocks
from .to_non_dataflow import plain_blocks
from .transform import declare_pass, map_functions

_OBJECT = relax.ObjectStructInfo()
_INDEX = relax.PrimStructInfo("int64")
_NOTHING = relax.TupleStructInfo(())
_Bindings: TypeAlias = list[relax.Binding]
_Getter: TypeAlias = Callable[[int, relax.Var], relax.Call]
_Setter: TypeAlias = Callable[[int, relax.Expr], relax.Call]


@declare_pass("LazyGetInput")
@deep
def lazy_get_input(mod: IRModule) -> IRModule:
    """Replace the weights of public functions by a parameter, a function that returns a weight given its index and name.

    Weights are the parameters after the first `num_input`. A weight is loaded before its first use.
    """
    return map_functions(mod, relax.Function, lambda function: _getting(function) if is_public(function) else function)


@declare_pass("LazySetOutput")
@deep
def lazy_set_output(mod: IRModule) -> IRModule:
    """Add a parameter to public functions, a function that gets the index and the value of each result once it is known.

    The functions return an empty tuple. Dataflow blocks become plain blocks.
    """
    return map_functions(mod, relax.Function, lambda function: _setting(function) if is_public(function) else function)


@declare_pass("LazyTransformParams")
@deep
def lazy_transform_params(
    mod: IRModule,
    fget_item: str = "get_item",
    fset_item: str | None = "set_item",
    extra_get_item_params: Sequence[relax.Var] = (),
    extra_set_item_params: Sequence[relax.Var] = (),
) -> IRModule:
    """Make functions whose names end in `transform_params` load each weight before its first use and free it after its last.

    `fget_item` and `fset_item` are names of registered functions: `fget_item(*extra, index)` returns a weight, and
    `fset_item(*extra, index, value)` gets a result; if it is None, the results are returned. The variables `extra` become
    parameters. Dataflow blocks become plain blocks. Raises TvmsError E0906 if a tuple of weights is used as a whole.
    """
    getting, setting = tuple(extra_get_item_params or ()), tuple(extra_set_item_params or ())

    def get(index: int, weight: relax.Var) -> relax.Call:
        return _packed(fget_item, (*getting, _number(index)))

    def put(index: int, value: relax.Expr) -> relax.Call:
        assert fset_item is not None
        return _packed(fset_item, (*setting, _number(index), value))

    def changed(function: relax.Function) -> relax.Function:
        return _transforming(function, get, None if fset_item is None else put, (*getting, *setting))

    functions = {
        name: changed(function)
        if name.endswith("transform_params") and isinstance(function, relax.Function)
        else function
        for name, function in mod.functions.items()
    }
    return replace(mod, functions=functions)


# --- The three passes for one function


def _getting(function: relax.Function) -> relax.Function:
    count = input_count(function) or 0
    info = relax.FuncStructInfo((_INDEX, _OBJECT), _OBJECT)
    getter = relax.Var("fget_param", struct_info=info)

    def get(index: int, weight: relax.Var) -> relax.Call:
        name = relax.StringImm(weight.name_hint, struct_info=_OBJECT)
        return relax.Call(getter, (_number(index), name), struct_info=_OBJECT)

    body = _Loader(function.params[count:], get).body(function.body)
    attrs = {**function.attrs, NUM_INPUT: count + 1}
    return _finished(function, (*function.params[:count], getter), body, attrs, function.is_pure)


def _setting(function: relax.Function) -> relax.Function:
    count = input_count(function)
    place = len(function.params) if count is None else count
    info = relax.FuncStructInfo((_INDEX, _OBJECT), _NOTHING, purity=False)
    setter = relax.Var("fset_output", struct_info=info)

    def put(index: int, value: relax.Expr) -> relax.Call:
        return relax.Call(setter, (_number(index), value), struct_info=_NOTHING)

    body = plain_blocks(function).body
    outputs = _outputs(body)
    calls = partial(_calls, outputs, put)
    start = [call for param in function.params for call in calls(param)]
    literals = [value for value in outputs if not isinstance(value, relax.Var)]
    end = [call for value in literals for call in calls(value)]
    kept = _without(body, _output_binding(body))
    body = _expanded(
        kept, lambda binding: [binding, *calls(binding.var)], start, end, relax.Tuple((), struct_info=_NOTHING)
    )
    params = (*function.params[:place], setter, *function.params[place:])
    attrs = {**function.attrs, **({} if count is None else {NUM_INPUT: count + 1})}
    return _finished(function, params, body, attrs, False)


def _transforming(
    function: relax.Function, get: _Getter, put: _Setter | None, extra: tuple[relax.Var, ...]
) -> relax.Function:
    count = input_count(function) or 0
    inputs, weights = function.params[:count], function.params[count:]
    body = plain_blocks(function).body
    whole = weights[0] if len(weights) == 1 and isinstance(weights[0].struct_info, relax.TupleStructInfo) else None
    fields = [] if whole is None else _fields(body, whole)
    if put is not None:
        body = _handing_over(body, put, {field.var for field in fields})
    if whole is None:
        body = _Loader(weights, get).body(body)
    else:
        body = _expanded(body, lambda binding: _field(binding, whole, get))
        if any(node is whole for node in walk(body)):
            help = "read its fields, such as params[0]"
            raise error("E0906", f"the tuple '{whole.name_hint}' of weights is used as a whole", function.span, help)
    infos = [info for weight in weights for info in _leaves(weight.struct_info)]
    scalars = [info for info in infos if isinstance(info, relax.PrimStructInfo | relax.ShapeStructInfo)]
    holders = [relax.Var("symbolic_var_holder", struct_info=info) for info in scalars if tir_variables(info)]
    attrs = {key: value for key, value in function.attrs.items() if key != "relax.force_pure"}
    return _finished(function, (*inputs, *extra, *holders), body, attrs, False)


# --- Loading weights


class _Loader:
    """Loads each weight before the binding that first uses it, or before the result."""

    def __init__(self, weights: Sequence[relax.Var], get: _Getter) -> None:
        self._indices, self._get = {weight: index for index, weight in enumerate(weights)}, get

    def body(self, body: relax.SeqExpr) -> relax.SeqExpr:
        """Return a body with the loads."""
        body = _expanded(body, lambda binding: [*self._loads(binding.value), binding])
        return _expanded(body, lambda binding: [binding], last=self._loads(body.body))

    def _loads(self, value: relax.Expr) -> _Bindings:
        used = dict.fromkeys(node for node in walk(value) if isinstance(node, relax.Var) and node in self._indices)
        return [load for weight in used for load in _load(weight, self._get(self._indices.pop(weight), weight))]


def _load(weight: relax.Var, call: relax.Call) -> _Bindings:
    raw = relax.Var(weight.name_hint, struct_info=_OBJECT)
    return [relax.VarBinding(raw, call), relax.MatchCast(weight, raw, infer_struct_info(weight))]


def _fields(body: relax.SeqExpr, whole: relax.Var) -> _Bindings:
    """Return the bindings of the fields of a tuple."""
    return [binding for block in body.blocks for binding in block.bindings if _is_field(binding, whole)]


def _is_field(binding: relax.Binding, whole: relax.Var) -> bool:
    return isinstance(binding.value, relax.TupleGetItem) and binding.value.tuple_value is whole


def _field(binding: relax.Binding, whole: relax.Var, get: _Getter) -> _Bindings:
    """Return the bindings that load a field, if `binding` reads one."""
    if not _is_field(binding, whole):
        return [binding]
    assert isinstance(binding.value, relax.TupleGetItem)
    checked = relax.Var(binding.var.name_hint, struct_info=infer_struct_info(binding.value))
    return [*_load(checked, get(binding.value.index, checked)), replace(binding, value=checked)]


# --- Handing over results


def _output_binding(body: relax.SeqExpr) -> relax.Binding | None:
    """Return the binding of the returned variable to a tuple, if there is one."""
    bindings = (binding for block in body.blocks for binding in block.bindings)
    return next((b for b in bindings if b.var is body.body and isinstance(b.value, relax.Tuple)), None)


def _outputs(body: relax.SeqExpr) -> dict[relax.Expr, list[int]]:
    """Return the results of a body with their indices in the returned tuple."""
    binding = _output_binding(body)
    value = body.body if binding is None else binding.value
    found: dict[relax.Expr, list[int]] = {}
    for index, field in enumerate(value.fields if isinstance(value, relax.Tuple) else (value,)):
        found.setdefault(field, []).append(index)
    return found


def _calls(outputs: Mapping[relax.Expr, Iterable[int]], put: _Setter, value: relax.Expr) -> _Bindings:
    return [_unnamed(put(index, value)) for index in outputs.get(value, ())]


def _handing_over(body: relax.SeqExpr, put: _Setter, loaded: set[relax.Var]) -> relax.SeqExpr:
    """Return a body that hands its results over after their last uses, and frees the variables `loaded` after theirs."""
    outputs, last = _outputs(body), _output_binding(body)
    ends = _last_uses(body, last)
    done: set[Node] = set()
    nothing = relax.Tuple((), struct_info=_NOTHING)

    def expand(binding: relax.Binding) -> _Bindings:
        if binding is last:
            return [relax.VarBinding(relax.Var(binding.var.name_hint, struct_info=_NOTHING), nothing)]
        new: _Bindings = [binding]
        for var in ends.get(binding, ()):
            done.add(var)
            new += _calls(outputs, put, var)
            if var in loaded:
                new.append(_unnamed(relax.Call(Op("relax.vm.kill_object"), (var,), struct_info=_NOTHING)))
        return new

    body = _expanded(body, expand)
    rest = [call for value in outputs if value not in done for call in _calls(outputs, put, value)]
    return _expanded(body, lambda binding: [binding], last=rest, value=nothing)


def _last_uses(body: relax.SeqExpr, ignored: relax.Binding | None) -> dict[relax.Binding, list[relax.Var]]:
    """Return the variables whose last use, apart from results, is in each binding; its own variable comes last."""
    ended: set[relax.Var] = set()
    found: dict[relax.Binding, list[relax.Var]] = {}
    for binding in reversed([binding for block in body.blocks for binding in block.bindings]):
        if binding is not ignored:
            used = [node for node in walk(binding.value) if isinstance(node, relax.Var)]
            found[binding] = [var for var in dict.fromkeys((*used, binding.var)) if var not in ended]
            ended.update(found[binding])
    return found


# --- Bodies and calls


def _without(body: relax.SeqExpr, binding: relax.Binding | None) -> relax.SeqExpr:
    return _expanded(body, lambda other: [] if other is binding else [other])


def _expanded(
    body: relax.SeqExpr,
    expand: Callable[[relax.Binding], _Bindings],
    first: Sequence[relax.Binding] = (),
    last: Sequence[relax.Binding] = (),
    value: relax.Expr | None = None,
) -> relax.SeqExpr:
    """Return a body with each of its bindings expanded, and with bindings before and after them; `value` is its new result."""
    blocks = [
        replace(block, bindings=tuple([new for binding in block.bindings for new in expand(binding)]))
        for block in body.blocks
    ]
    if first:
        blocks.insert(0, relax.BindingBlock(tuple(first)))
    if last:
        blocks.append(relax.BindingBlock(tuple(last)))
    return replace(body, blocks=merged_blocks(blocks), body=body.body if value is None else value, struct_info=None)


def _finished(
    function: relax.Function,
    params: tuple[relax.Var, ...],
    body: relax.SeqExpr,
    attrs: Attrs,
    is_pure: bool,
) -> relax.Function:
    """Return the function with the type of its new result."""
    body = replace(body, struct_info=infer_struct_info(body.body))
    known = {var: var for param in params for var in tir_variables(infer_struct_info(param))}
    ret = replace_dims(infer_struct_info(body), known, all_known=False)
    return replace(
        function, params=params, body=body, attrs=attrs, is_pure=is_pure, ret_struct_info=ret, struct_info=None
    )


def _leaves(info: StructInfo | None) -> Iterable[StructInfo]:
    if isinstance(info, relax.TupleStructInfo):
        for field in info.fields:
            yield from _leaves(field)
    elif info is not None:
        yield info


def _number(value: int) -> relax.PrimValue:
    return relax.PrimValue(tir.IntImm("int64", value), struct_info=_INDEX)


def _packed(name: str, args: tuple[relax.Expr, ...]) -> relax.Call:
    function = relax.ExternFunc(name, struct_info=relax.FuncStructInfo(None, _OBJECT, purity=False))
    return relax.Call(function, args, {}, (_OBJECT,), struct_info=_OBJECT)


def _unnamed(call: relax.Call) -> relax.VarBinding:
    return relax.VarBinding(relax.Var("_", struct_info=call.struct_info), call)
