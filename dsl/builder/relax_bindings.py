"""Assignments in a graph function: the variable that a name becomes, and its struct info."""

from __future__ import annotations

from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ...ir import make, relax, tir
from ...ir.base import GlobalVar, Metadata, Span, StructInfo, Trivia
from ...ir.building.call_te import is_known
from ...ir.contradiction import contradiction
from ...ir.diagnostics import Note, count
from .. import syntax
from . import relax_values as values
from .relax_blocks import BlockBuilder, is_leaf
from .relax_calls import MatchCastRequest
from .relax_constants import constant


class Target(Struct, frozen=True):
    """The left side of an assignment. `is_output` says that the name is used after its dataflow block."""

    name: str
    node: syntax.Expr
    is_output: bool = True
    annotation: StructInfo | None = None
    trivia: Trivia | None = None


def assign(builder: BlockBuilder, target: Target, value: Any, node: syntax.Expr) -> None:
    """Define the target's name as `value`, whose expression in the text is `node`.

    Graph-level values are bound to a variable. Other values, such as a function of the module or a symbolic
    dimension, only get the name (TVM: `bind_assign_value`).
    """
    if values.is_tuple(value) and isinstance(node, syntax.Tuple):
        value = values.to_expr(builder, value, node)
    elif (scalar := _annotated_scalar(target, value)) is not None:
        target, value = replace(target, annotation=None), relax.PrimValue(scalar, span=builder.context.span(node))
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


def _annotated_scalar(target: Target, value: Any) -> tir.PrimExpr | None:
    """Return the value of `x: R.Prim("int64") = n + 1`, which the newest TVM binds; None for another assignment."""
    said = target.annotation
    if not isinstance(said, relax.PrimStructInfo) or (isinstance(value, tir.Var) and value.name in ("", target.name)):
        return None
    scalar = make.const(value, said.dtype) if isinstance(value, bool | int | float) else value
    return scalar if isinstance(scalar, tir.PrimExpr) and scalar.dtype == said.dtype else None


def bind(builder: BlockBuilder, target: Target, value: relax.Expr) -> relax.Var:
    """Bind `value` to a variable with the target's name, and define the name as that variable."""
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
    """Return the variable of a target: a dataflow variable if it is not used after its dataflow block."""
    kind = relax.DataflowVar if builder.in_dataflow and not target.is_output else relax.Var
    return kind(target.name, struct_info=info, span=builder.context.span(target.node))


def _bind_match_cast(builder: BlockBuilder, target: Target, cast: MatchCastRequest) -> None:
    said = target.annotation
    if said is not None:
        reason = contradiction(said, cast.struct_info)
        if reason:
            message = f"the annotation of '{target.name}' contradicts its match_cast: {reason}"
            raise builder.context.error(
                "E0308", message, target.node, "remove the annotation: match_cast declares the struct info"
            )
    value = builder.operand(cast.value)
    var = new_var(builder, target, cast.struct_info)
    span = _statement_span(var, value)
    builder.append(relax.MatchCast(var, value, cast.struct_info, span=span, trivia=target.trivia))
    builder.context.scope.define(target.name, var)


def define_symbolic(builder: BlockBuilder, target: Target, var: tir.Var) -> None:
    """Define the symbolic dimension of `n = T.int64()`, or check it if a signature has defined it before."""
    context = builder.context
    known = values.known_scalar(context.scope.get(target.name))
    if not isinstance(known, tir.Var):
        named = replace(var, name=target.name, span=context.span(target.node))
        context.scope.define(target.name, named)
    elif known.dtype != var.dtype:
        message = f"'{target.name}' already has dtype {known.dtype}, not {var.dtype}"
        notes = (Note("it is defined here", known.span),) if known.span else ()
        raise context.error("E0313", message, target.node, f"write {target.name} = T.{known.dtype}()", *notes)


def unpack(builder: BlockBuilder, targets: list[Target], value: Any, node: syntax.Expr, whole: syntax.Expr) -> None:
    """Bind each element of a tuple, as in `a, b = value`; raise E0312 if the numbers of names and elements differ."""
    if isinstance(value, relax.Expr):
        value = builder.operand(builder.inferred(value))
    elements = values.tuple_fields(value) if isinstance(value, tuple | relax.Expr) else None
    if elements is None:
        help = "bind the value to one name: only a tuple can be unpacked"
        raise builder.context.error("E0312", "the elements of the value are not known", node, help)
    if len(elements) != len(targets):
        message = f"cannot unpack a tuple of {count(len(elements), 'element')} into {count(len(targets), 'name')}"
        raise builder.context.error("E0312", message, whole)
    nodes = node.elements if isinstance(node, syntax.Tuple | syntax.List) else (node,) * len(targets)
    for index, (target, place) in enumerate(zip(targets, nodes, strict=True)):
        assign(builder, target, values.tuple_item(builder, value, index, place), place)


def _statement_span(var: relax.Var, value: relax.Expr) -> Span | None:
    if var.span is None or value.span is None:
        return var.span
    return Span(var.span.source, var.span.start, max(var.span.end, value.span.end))
