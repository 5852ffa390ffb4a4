"""Remove results of private functions that no caller uses (TVM: `RemoveUnusedOutputs`)."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from .. import relax
from ..base import BaseFunc, GlobalVar, IRModule, Node, StructInfo
from ..deep import deep
from ..infer import function_struct_info, infer_struct_info
from ..visit import children, rewrite, walk
from .calls import clean_up, functions_only_called
from .rewriter import refined_result
from .transform import declare_pass

Used = Mapping[str, frozenset[int]]
"""Fields of the result of each function that some caller uses."""


@declare_pass("RemoveUnusedOutputs")
@deep
def remove_unused_outputs(mod: IRModule) -> IRModule:
    """Remove fields of results of private functions that no caller uses; a single field is returned without a tuple."""
    counts = {
        name: len(function.ret_struct_info.fields)
        for name, function in functions_only_called(mod).items()
        if isinstance(function.ret_struct_info, relax.TupleStructInfo)
    }
    used: dict[str, set[int]] = {name: set() for name in counts}
    results = {name: _results(function, counts) for name, function in mod.functions.items()}
    for name, function in mod.functions.items():
        for callee, index in _uses(function, results[name], counts):
            used[callee].update(range(counts[callee]) if index is None else (index,))
    kept = {name: frozenset(indices) for name, indices in used.items() if len(indices) < counts[name]}
    if not kept:
        return mod
    functions = {
        name: _with_results(function, kept[name]) if name in kept and isinstance(function, relax.Function) else function
        for name, function in mod.functions.items()
    }
    callees = {
        name: GlobalVar(name, struct_info=function_struct_info(function))
        for name, function in functions.items()
        if name in kept
    }
    rewritten = {name: _with_calls(function, kept, results[name], callees) for name, function in functions.items()}
    return clean_up(replace(mod, functions=rewritten))


def _results(function: BaseFunc, counts: Mapping[str, int]) -> dict[Node, str]:
    """Return the calls of these functions, and the variables bound to them, each with the callee."""
    found: dict[Node, str] = {}
    for node in walk(function):
        if isinstance(node, relax.Call) and isinstance(node.op, GlobalVar) and node.op.name_hint in counts:
            found[node] = node.op.name_hint
    for node in walk(function):
        if isinstance(node, relax.VarBinding) and node.value in found:
            found[node.var] = found[node.value]
    return found


def _uses(function: BaseFunc, results: Mapping[Node, str], counts: Mapping[str, int]) -> list[tuple[str, int | None]]:
    """Yield the uses of results: a function and the used field, or None if the whole tuple is used."""
    found: list[tuple[str, int | None]] = []
    for node in walk(function):
        for child in children(node):
            if child in results and not (isinstance(node, relax.VarBinding) and node.var in results):
                found.append((results[child], node.index if isinstance(node, relax.TupleGetItem) else None))
    return found


def _with_results(function: relax.Function, kept: frozenset[int]) -> relax.Function:
    """Return `function` with only these fields of its result."""
    value, info = function.body.body, function.ret_struct_info
    assert isinstance(info, relax.TupleStructInfo)
    fields = [
        value.fields[index] if isinstance(value, relax.Tuple) else relax.TupleGetItem(value, index, struct_info=field)
        for index, field in enumerate(info.fields)
        if index in kept
    ]
    selected = _select(info, kept)
    result = fields[0] if len(fields) == 1 else relax.Tuple(tuple(fields), struct_info=selected)
    body = replace(function.body, body=result, struct_info=selected)
    return refined_result(replace(function, body=body, ret_struct_info=selected, struct_info=None))


def _select(info: StructInfo | None, kept: frozenset[int]) -> StructInfo:
    assert isinstance(info, relax.TupleStructInfo)
    fields = tuple([info.fields[index] for index in sorted(kept)])
    return fields[0] if len(fields) == 1 else relax.TupleStructInfo(fields)


def _field(info: StructInfo, index: int) -> StructInfo:
    """Return the struct info of a kept field; a single one is not in a tuple."""
    return info.fields[index] if isinstance(info, relax.TupleStructInfo) else info


def _with_calls(
    function: BaseFunc, kept: Used, results: Mapping[Node, str], callees: Mapping[str, GlobalVar]
) -> BaseFunc:
    """Return `function` with calls that return only the kept fields, and accesses to these at their new indices."""
    made: dict[Node, frozenset[int]] = {}
    infos: dict[Node, StructInfo] = {
        node.var: infer_struct_info(relax.Call(callees[results[node.var]], node.value.args))
        for node in walk(function)
        if isinstance(node, relax.VarBinding) and results.get(node.var) in kept and isinstance(node.value, relax.Call)
    }
    for node in walk(function):
        if isinstance(node, relax.VarBinding) and isinstance(node.value, relax.TupleGetItem):
            whole = node.value.tuple_value
            if whole in infos and node.value.index in kept[results[whole]]:
                infos[node.var] = _field(infos[whole], sorted(kept[results[whole]]).index(node.value.index))

    def new(node: Node) -> Node | None:
        match node:
            case relax.Call(op=GlobalVar(name_hint=name)) if name in kept:
                info = infer_struct_info(relax.Call(callees[name], node.args))
                call = replace(node, op=callees[name], struct_info=info)
                made[call] = kept[name]
                return call
            case relax.Var() if node in infos:
                var = replace(node, struct_info=infos[node])
                if node in results:
                    made[var] = kept[results[node]]
                return var
            case relax.TupleGetItem() if node.tuple_value in made:
                fields = made[node.tuple_value]
                if len(fields) == 1:
                    return node.tuple_value
                return replace(node, index=sorted(fields).index(node.index))
            case relax.SeqExpr():
                return replace(node, struct_info=infer_struct_info(node.body))
            case relax.Tuple():
                return replace(node, struct_info=relax.TupleStructInfo(tuple(map(infer_struct_info, node.fields))))
            case _:
                return None

    if not infos and not any(node in results for node in walk(function)):
        return function
    changed = rewrite(function, new)
    return refined_result(changed) if isinstance(changed, relax.Function) else changed
