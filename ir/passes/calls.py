"""Changes of the signatures of private functions, together with their calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec.structs import replace

from .. import relax
from ..base import BaseFunc, GlobalVar, IRModule, Node
from ..function_table import mentions_of
from ..infer import function_struct_info
from ..visit import rewrite, walk
from .canonicalize_bindings import canonicalize_bindings
from .dead_code import eliminate_dead_code, is_public
from .normalize import normalize


def functions_only_called(mod: IRModule) -> dict[str, relax.Function]:
    """Return the private graph functions of `mod` that are only called, and not used as values."""
    passed = {name for function in mod.functions.values() for name in mentions_of(function).passed}
    return {
        name: function
        for name, function in mod.functions.items()
        if isinstance(function, relax.Function) and not is_public(function) and name not in passed
    }


def calls_of(mod: IRModule, name: str) -> list[relax.Call]:
    """Return all calls of function `name` in the module."""
    return [
        node
        for function in mod.functions.values()
        if name in mentions_of(function).called
        for node in walk(function)
        if isinstance(node, relax.Call) and isinstance(node.op, GlobalVar) and node.op.name_hint == name
    ]


def with_signatures(
    mod: IRModule,
    changed: Mapping[str, relax.Function],
    arguments: Callable[[str, relax.Call], tuple[relax.Expr, ...]],
) -> IRModule:
    """Return `mod` with functions replaced by namesakes with other parameters, and new arguments in all calls."""
    callees = {name: GlobalVar(name, struct_info=function_struct_info(func)) for name, func in changed.items()}

    def update(node: Node) -> Node | None:
        if isinstance(node, relax.Call) and isinstance(node.op, GlobalVar) and node.op.name_hint in callees:
            name = node.op.name_hint
            return replace(node, op=callees[name], args=arguments(name, node))
        return None

    functions = {name: rewrite(changed.get(name, function), update) for name, function in mod.functions.items()}
    return replace(mod, functions=functions)


def with_names(mod: IRModule, names: Mapping[str, str]) -> IRModule:
    """Return `mod` with functions renamed; if several get the same name, the first one is kept."""

    def update(node: Node) -> Node | None:
        if isinstance(node, GlobalVar) and names.get(node.name_hint, node.name_hint) != node.name_hint:
            return replace(node, name_hint=names[node.name_hint])
        return None

    functions: dict[str, BaseFunc] = {}
    for name, function in mod.functions.items():
        functions.setdefault(names.get(name, name), rewrite(function, update))
    return replace(mod, functions=functions)


def clean_up(mod: IRModule) -> IRModule:
    """Return `mod` without the bindings that become unused by a change of signatures."""
    return eliminate_dead_code(canonicalize_bindings(normalize(mod)))
