"""Assignments in a graph-level function: which variable a name becomes, and with what struct info."""

from __future__ import annotations

from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ...ir import relax, tir
from ...ir.base import GlobalVar, Metadata, Span, StructInfo, Trivia
from ...ir.building.call_te import is_known
from ...ir.contradiction import contradiction
from ...ir.diagnostics import Note
from .. import syntax
from . import relax_values as values
from .relax_arguments import count
from .relax_blocks import BlockBuilder, is_leaf
from .relax_calls import MatchCastRequest
from .relax_constants import constant


class Target(Struct, frozen=True):
    """What is on the left of an assignment: a name, its place, whether it leaves its dataflow block, its comments."""

    name: str
    node: syntax.Expr
    is_output: bool = True
    annotation: StructInfo | None = None
    trivia: Trivia | None = None


def assign(builder: BlockBuilder, target: Target, value: Any, node: syntax.Expr) -> None:
    """Let the target's name stand for `value`, which `node` writes.

    Graph-level values are bound to a variable. Other values, such as a function of the module or a symbolic
    dimension, are only named (TVM: `bind_assign_value`).
    """
    if values.is_tuple(value) and isinstance(node, syntax.Tuple):
        value = values.to_expr(builder, value, node)
    elif isinstance(value, bool | int | float):
        value = constant(builder, node, "", node)
    match value:
        case tir.Var(name=name) if name in ("", target.name):
            define_symbolic(builder, target, value)
        case MatchCastRequest():
            _bind_match_cast(builder, target, value)
        case relax.Expr() if not isinstance(value, GlobalVar):
            bind(builder, target, value)
        case _:
            builder.context.scope.define(target.name, value)


def bind(builder: BlockBuilder, target: Target, value: relax.Expr) -> relax.Var:
    """Bind `value` to a variable called as the target says, and let the name stand for it."""
    said = target.annotation
    if said is not None and isinstance(value, relax.Constant) and isinstance(value.data, Metadata):
        value = value if is_known(value.struct_info) else replace(value, struct_info=said)
    if isinstance(value, relax.Var | relax.Tuple):
        value = builder.operand(value)
    value = builder.inferred(value)
    if said is not None and not is_leaf(value):
        value = replace(value, struct_info=said)
    info = said or value.struct_info
    assert info is not None
    if isinstance(info, relax.TupleStructInfo):
        builder.context.pay(builder.context.budget.size(info), target.node)
    var = new_var(builder, target, info)
    builder.append(relax.VarBinding(var, value, span=_statement_span(var, value), trivia=target.trivia))
    builder.context.scope.define(target.name, var)
    return var


def new_var(builder: BlockBuilder, target: Target, info: StructInfo) -> relax.Var:
    """Return the variable for a target: a dataflow variable where it does not leave its dataflow block."""
    kind = relax.DataflowVar if builder.in_dataflow and not target.is_output else relax.Var
    return kind(target.name, struct_info=info, span=builder.context.span(target.node))


def _bind_match_cast(builder: BlockBuilder, target: Target, cast: MatchCastRequest) -> None:
    said = target.annotation
    if said is not None:
        reason = contradiction(said, cast.struct_info)
        if reason:
            message = f"the annotation of '{target.name}' contradicts its match_cast: {reason}"
            raise builder.context.error(
                "E0308", message, target.node, "drop the annotation: match_cast says it already"
            )
    value = builder.operand(cast.value)
    var = new_var(builder, target, cast.struct_info)
    span = _statement_span(var, value)
    builder.append(relax.MatchCast(var, value, cast.struct_info, span=span, trivia=target.trivia))
    builder.context.scope.define(target.name, var)


def define_symbolic(builder: BlockBuilder, target: Target, var: tir.Var) -> None:
    """`n = T.int64()`: the symbolic dimension of that name, which a signature may have named before."""
    context = builder.context
    known = context.scope.get(target.name)
    if not isinstance(known, tir.Var):
        named = replace(var, name=target.name, span=context.span(target.node))
        context.scope.define(target.name, named)
    elif known.dtype != var.dtype:
        message = f"'{target.name}' is a variable of dtype {known.dtype} already, not {var.dtype}"
        notes = (Note("it is first named here", known.span),) if known.span else ()
        raise context.error("E0313", message, target.node, f"write {target.name} = T.{known.dtype}()", *notes)


def unpack(builder: BlockBuilder, targets: list[Target], value: Any, node: syntax.Expr, whole: syntax.Expr) -> None:
    """`a, b = value`: bind every element of a tuple; E0312 where there are more or fewer names than elements."""
    if isinstance(value, relax.Expr):
        value = builder.operand(builder.inferred(value))
    elements = values.tuple_fields(value) if isinstance(value, tuple | relax.Expr) else None
    if elements is None:
        help = "only a tuple is unpacked; bind the value to one name"
        raise builder.context.error("E0312", "the value has no elements that are known", node, help)
    if len(elements) != len(targets):
        message = f"{count(len(targets), 'name')} for a tuple of {count(len(elements), 'element')}"
        raise builder.context.error("E0312", message, whole)
    nodes = node.elements if isinstance(node, syntax.Tuple | syntax.List) else (node,) * len(targets)
    for index, (target, place) in enumerate(zip(targets, nodes, strict=True)):
        assign(builder, target, values.tuple_item(builder, value, index, place), place)


def _statement_span(var: relax.Var, value: relax.Expr) -> Span | None:
    if var.span is None or value.span is None:
        return var.span
    return Span(var.span.source, var.span.start, max(var.span.end, value.span.end))
