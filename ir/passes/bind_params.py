"""Replace parameters of a function by values known at compile time (TVM: `BindParams`, `BindSymbolicVars`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from .. import relax, tir
from ..base import IRModule, Node
from ..building.values import graph_value, plain_nodes
from ..deep import deep
from ..diagnostics import error
from ..infer import Bindings, bind_dims, dimensions_alone, infer_struct_info
from ..visit import substitute, walk
from .rewriter import forgotten, refined_result, refined_variable
from .symbolic_values import with_simple_dims
from .transform import declare_pass


@declare_pass("BindParams")
@deep
def bind_params(mod: IRModule, func_name: str, params: Mapping[str | relax.Var, Any]) -> IRModule:
    """Replace parameters of function `func_name` by constants: `params` maps names, or variables, to arrays.

    Symbolic dimensions that the shapes of the arrays determine are also replaced.

    Raises TvmsError: E0905 if the module has no such function, E0906 if it has no such parameter or an array does not
    match it.
    """
    bound = with_params(_graph_function(mod, func_name), params, f"'{func_name}'")
    return replace(mod, functions={**mod.functions, func_name: bound})


@deep
def with_params(
    function: relax.Function, params: Mapping[str | relax.Var, Any], name: str = "the function"
) -> relax.Function:
    """Return `function` with parameters replaced by constants or other values (TVM: `Function.bind_params`)."""
    by_name = {param.name_hint: param for param in function.params}
    replaced: dict[Node, Node] = {}
    dims: Bindings = {}
    for key, value in params.items():
        param = by_name.get(key) if isinstance(key, str) else key
        if param is None or param not in function.params:
            shown = key if isinstance(key, str) else key.name_hint
            raise error("E0906", f"{name} has no parameter '{shown}'", help=f"it has {', '.join(by_name)}")
        replaced[param] = bound = graph_value(value)
        reason = bind_dims(infer_struct_info(param), infer_struct_info(bound), dims)
        if reason is not None:
            message = f"the value does not match parameter '{param.name_hint}' of {name}: {reason}"
            raise error("E0906", message, param.span, "give an array of the declared shape and dtype")
    kept = tuple([param for param in function.params if param not in replaced])
    return _refined(function, substitute(replace(function, params=kept), {**replaced, **dims}))


def _refined(before: relax.Function, after: relax.Function) -> relax.Function:
    """Return `after` with more precise struct info for the variables whose values differ from those in `before`."""
    refined: dict[Node, Node] = {}
    for old_block, new_block in zip(before.body.blocks, after.body.blocks, strict=True):
        for old, new in zip(old_block.bindings, new_block.bindings, strict=True):
            value = substitute(new.value, refined)
            if value is not old.value and isinstance(new, relax.VarBinding):
                variable = refined_variable(new.var, value)
                refined |= {} if variable is new.var else {new.var: variable}
    return refined_result(forgotten(substitute(after, refined)) if refined else after)


@declare_pass("BindSymbolicVars")
@deep
def bind_symbolic_vars(
    mod: IRModule, binding_map: Mapping[str | tir.Var, int | tir.PrimExpr], func_name: str | None = None
) -> IRModule:
    """Replace symbolic dimensions, given by name or as variables, in `func_name`, or in all graph functions.

    Raises TvmsError: E0905 if the module has no such function, E0906 if no such function has the dimension.
    """
    names = [name for name, function in mod.functions.items() if isinstance(function, relax.Function)]
    functions = dict(mod.functions)
    known = {node: node.name for name in names for node in walk(mod[name]) if isinstance(node, tir.Var)}
    for key in plain_nodes(list(binding_map)) if func_name is None else ():
        if not _named(known, key):
            shown = key if isinstance(key, str) else key.name
            raise error("E0906", f"no function has a symbolic dimension '{shown}'", help=f"there are {_list(known)}")
    for name in names if func_name is None else [func_name]:
        function = _graph_function(mod, name)
        functions[name] = with_symbolic_vars(function, binding_map, f"'{name}'", must_exist=func_name is not None)
    return replace(mod, functions=functions)


@deep
def with_symbolic_vars(
    function: relax.Function,
    binding_map: Mapping[str | tir.Var, int | tir.PrimExpr],
    name: str = "the function",
    must_exist: bool = True,
) -> relax.Function:
    """Return `function` with symbolic dimensions replaced (TVM: `Function.bind_symbolic_vars`)."""
    known = {node: node.name for node in walk(function) if isinstance(node, tir.Var)}
    replaced: dict[Node, Node] = {}
    for given, value in binding_map.items():
        key = plain_nodes(given)
        found = _named(known, key)
        if not found and must_exist:
            shown = key if isinstance(key, str) else key.name
            raise error("E0906", f"{name} has no symbolic dimension '{shown}'", help=f"it has {_list(known)}")
        if isinstance(key, str) and len(found) > 1:
            help = "give the variable itself instead of its name"
            raise error("E0906", f"{name} has {len(found)} symbolic dimensions named '{key}'", help=help)
        if any(var in replaced for var in found):
            raise error(
                "E0906", f"the dimension '{found[0].name}' is given twice", help="give it by name or as a variable"
            )
        node = plain_nodes(value)
        replaced |= {var: tir.IntImm(var.dtype, node) if isinstance(node, int) else node for var in found}
    if not replaced:
        return function
    changed = with_simple_dims(substitute(function, replaced))
    determined = {dim for param in changed.params if param.struct_info for dim in dimensions_alone(param.struct_info)}
    for variable in (node for value in replaced.values() for node in walk(value) if isinstance(node, tir.Var)):
        if variable not in known and variable not in determined:
            reason = f"no argument of {name} determines the dimension '{variable.name}' of a replacement"
            raise error("E0906", reason, help="use a dimension that is the size of a tensor or a shape on its own")
    return changed


def _named(known: Mapping[tir.Var, str], key: str | tir.Var) -> list[tir.Var]:
    return [var for var, name in known.items() if key is var or key == name]


def _list(known: Mapping[tir.Var, str]) -> str:
    return ", ".join(dict.fromkeys(known.values())) or "none"


def _graph_function(mod: IRModule, name: str) -> relax.Function:
    function = mod.functions.get(name)
    if not isinstance(function, relax.Function):
        others = ", ".join(own for own, func in mod.functions.items() if isinstance(func, relax.Function))
        raise error("E0905", f"the module has no graph function '{name}'", help=f"it has {others or 'none'}")
    return function
