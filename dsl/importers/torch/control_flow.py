"""Rows for conditions, loops and maps, whose bodies become functions of the module."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from ....ir import relax
from ....ir.api.relax import op
from ....ir.base import GlobalVar, StructInfo
from ....ir.infer import infer_struct_info
from ....ir.ops import dims as d
from ..values import dims_of
from .converter import Convert, Converter

OPERATORS = ("cond", "while_loop", "map_impl")
"""Operators that need branches, which dataflow blocks cannot contain."""


def has_control_flow(graph_module: Any) -> bool:
    """Return whether a graph has a condition, a loop or a map."""
    return any(str(node.target) in OPERATORS for node in graph_module.graph.nodes)


def _function(
    c: Converter, graph_module: Any, operands: Sequence[Any], name: str
) -> tuple[GlobalVar, tuple[relax.Expr, ...]]:
    """Add the function of a graph; return a reference to it, and to those operands that are its arguments."""
    inner = c.inner(graph_module)
    params: list[relax.Var] = []
    arguments: list[relax.Expr] = []
    placeholders = [node for node in graph_module.graph.nodes if node.op == "placeholder"]
    for node, operand in zip(placeholders, operands, strict=True):
        inner.env[node] = operand
        if isinstance(operand, relax.Expr) and not isinstance(operand, relax.Constant):
            params.append(relax.Var(inner.unique(node.name), struct_info=infer_struct_info(operand)))
            arguments.append(operand)
            inner.env[node] = params[-1]
    builder = c.block_builder
    with builder.function(name, params, private=True):
        values = inner.run(graph_module)
        several = cast("Sequence[Any]", values) if isinstance(values, list) else [values]
        fields = tuple(c.tensor(value, "int64") if isinstance(value, int) else value for value in several)
        function = builder.emit_func_output(builder.emit(relax.Tuple(fields)))
    return function, tuple(arguments)


def _call(function: GlobalVar, arguments: Sequence[relax.Expr]) -> relax.Call:
    info = function.struct_info
    assert isinstance(info, relax.FuncStructInfo)
    return relax.Call(function, tuple(arguments), struct_info=info.ret)


def _branch(call: relax.Expr, info: StructInfo) -> relax.SeqExpr:
    """Return the branch of a condition that returns `call`."""
    variable = relax.Var("branch", struct_info=info)
    block = relax.BindingBlock((relax.VarBinding(variable, call),))
    return relax.SeqExpr((block,), variable, struct_info=info)


def _elements(c: Converter, value: relax.Expr) -> list[Any]:
    """Return the fields of a tuple, after binding it to a variable."""
    bound: Any = c.emit(value)
    return [bound[number] for number in range(len(c.node.meta["val"]))]


def _condition(c: Converter, a: Any) -> list[Any]:
    predicate, holds, fails, operands = a.args
    calls = [_call(*_function(c, branch, operands, name)) for branch, name in ((holds, "if_true"), (fails, "if_false"))]
    info = infer_struct_info(calls[0])
    test = c.emit(c.tensor(predicate, "bool"), "_predicate")
    return _elements(c, relax.If(test, _branch(calls[0], info), _branch(calls[1], info), struct_info=info))


def _loop(c: Converter, a: Any) -> list[Any]:
    """Add a recursive function for a loop: it returns its state, or calls itself with the next state that the body computes."""
    test, body, carried, extra = a.args
    builder = c.block_builder
    state = [c.tensor(value, "int64") if not isinstance(value, relax.Expr) else value for value in carried]
    infos = [infer_struct_info(value) for value in state]
    result = relax.TupleStructInfo(tuple(infos))
    outer = [value for value in extra if isinstance(value, relax.Expr) and not isinstance(value, relax.Constant)]
    name = builder.get_unique_name("while_loop")
    kept = [relax.Var(f"extra_{number}", struct_info=infer_struct_info(value)) for number, value in enumerate(outer)]
    params = [relax.Var(f"state_{number}", struct_info=info) for number, info in enumerate(infos)]
    inner_extra = [kept[outer.index(value)] if value in outer else value for value in extra]
    takes = tuple(infer_struct_info(param) for param in (*params, *kept))
    itself = GlobalVar(f"{name}_step", struct_info=relax.FuncStructInfo(takes, result))
    tested = _function(c, test, [*params, *inner_extra], f"{name}_test")
    moved = _function(c, body, [*params, *inner_extra], f"{name}_body")
    with builder.function(itself.name_hint, [*params, *kept], private=True):
        holds: Any = builder.emit(_call(*tested))
        again = _again(itself, _call(*moved), kept, len(params), result)
        done = _branch(relax.Tuple(tuple(params), struct_info=result), result)
        chosen = relax.If(builder.emit(holds[0]), again, done, struct_info=result)
        builder.emit_func_output(builder.emit(chosen))
    return _elements(c, _call(itself, [*state, *outer]))


def _again(
    itself: GlobalVar, moved: relax.Call, kept: Sequence[relax.Var], count: int, result: StructInfo
) -> relax.SeqExpr:
    """Return the branch that calls the function `itself` with the next state."""
    state = relax.Var("next", struct_info=result)
    fields: Any = state
    parts = [relax.Var(f"next_{number}", struct_info=infer_struct_info(fields[number])) for number in range(count)]
    value = relax.Var("branch", struct_info=result)
    bindings = [relax.VarBinding(state, moved)]
    bindings += [relax.VarBinding(part, fields[number]) for number, part in enumerate(parts)]
    bindings.append(relax.VarBinding(value, _call(itself, [*parts, *kept])))
    return relax.SeqExpr((relax.BindingBlock(tuple(bindings)),), value, struct_info=result)


def _map(c: Converter, a: Any) -> list[Any]:
    """Apply the body to every slice along the first dimension, and concatenate the results."""
    body, mapped, extra = a.args
    length = d.value_of(dims_of(mapped[0])[0])
    if length is None:
        raise c.unsupported("maps over a dimension of unknown size", "make the size static")
    rows: list[Any] = []
    for place in range(length):
        parts = [c.emit(op.squeeze(op.strided_slice(x, [0], [place], [place + 1]), [0]), "_slice") for x in mapped]
        rows.append(c.emit(_call(*_function(c, body, [*parts, *extra], "map_body")), "_row"))
    return [op.stack([row[number] for row in rows], 0) for number in range(len(c.node.meta["val"]))]


ROWS: dict[str, Convert] = {"cond": _condition, "while_loop": _loop, "map_impl": _map}
