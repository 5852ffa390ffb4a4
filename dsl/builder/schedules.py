"""Builds schedules: `S.schedule name(function, target=…):` and its steps."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from msgspec.structs import replace

from ...ir import make, tir
from ...ir.base import Target
from ...ir.schedule.conditions import Refused
from ...ir.schedule.declaration import PRIMITIVES, Primitive, primitive_called
from ...ir.schedule.primitives import load
from ...ir.schedule.text import Element, Name, ScheduleText, Spread, Step
from ...ir.signature import describe
from ...ir.spelling import did_you_mean
from .. import syntax
from ..comments import comments_of, with_comments
from .context import Context, target_names
from .convert import is_dict, is_tuple
from .expressions import evaluate, to_expr
from .forms import Closure

_TARGET = "target"


def build_schedule(context: Context, definition: syntax.Definition, functions: Container[str]) -> ScheduleText:
    """Return the schedule that `definition` defines; `functions` are the loop functions of the module."""
    load()
    function, target = _head(context, definition, functions)
    steps: list[Step] = []
    waiting: tuple[str, ...] = ()
    with context.scope.frame():
        for statement in definition.body:
            names = target_names(statement.target) if isinstance(statement, syntax.Assign) else ()
            with context.recover(names):
                if isinstance(statement, syntax.Pass):
                    waiting += comments_of(statement.trivia)
                else:
                    step = _step(context, statement)
                    steps.append(replace(step, trivia=with_comments(step.trivia, waiting)))
                    waiting = ()
                for name in names:
                    context.scope.define(name, Name("int32", name))
    span, trivia = context.span(definition), with_comments(definition.trivia, end=waiting)
    return ScheduleText(definition.name, function, target, tuple(steps), span=span, trivia=trivia)


def _head(context: Context, definition: syntax.Definition, functions: Container[str]) -> tuple[str, Any]:
    """Return the function that a schedule applies to, and its target."""
    place = syntax.Name(definition.name, start=definition.name_start, end=definition.name_end)
    params = definition.params or ()
    usage = f'write S.schedule {definition.name}(function, target="llvm"); the target is optional'
    if not params or params[0].annotation is not None or params[0].default is not None:
        message = f"schedule '{definition.name}' names no function"
        raise context.error("E0105", message, params[0] if params else place, usage)
    target: Any = None
    for param in params[1:]:
        if param.name != _TARGET or param.default is None:
            raise context.error("E0105", f"a schedule has no parameter '{param.name}'", param, usage)
        target = evaluate(context, param.default)
        target = target.attrs if isinstance(target, Target) else target
        if not (isinstance(target, str) or is_dict(target)):
            raise context.error("E0202", f"expected a target, got {describe(target)}", param.default, usage)
    name = params[0].name
    if name not in functions:
        message = f"the module has no loop function '{name}'"
        raise context.error("E0102", message, params[0], did_you_mean(name, context.globals))
    return name, target


def _step(context: Context, node: syntax.Stmt) -> Step:
    """Return a statement as a step: a call of a primitive, whose results may be named."""
    value = node.value if isinstance(node, syntax.ExprStmt | syntax.Assign) else None
    if not isinstance(value, syntax.Call):
        help = "write S.primitive(…), or names = S.primitive(…)"
        raise context.error("E0207", "a schedule can only contain calls of primitives", node, help)
    primitive = _primitive(context, value.func)
    arguments = [argument for arg in value.args for argument in _positional(context, arg)]
    named = {keyword.name: _argument(context, keyword.value) for keyword in value.keywords}
    try:
        bound = primitive.bind(arguments, named)
    except Refused as refused:
        raise context.error(
            refused.condition.code, f"{primitive.name}: {refused.reason}", value, refused.help
        ) from None
    target = node.target if isinstance(node, syntax.Assign) else None
    unpacks = isinstance(target, syntax.Tuple | syntax.List)
    args, by_name = primitive.as_call(bound)
    names, span = target_names(target), context.span(value)
    return Step(primitive.name, args, by_name, names, unpacks, span=span, trivia=node.trivia)


def _primitive(context: Context, node: syntax.Expr) -> Primitive:
    is_form = isinstance(node, syntax.Attribute) and isinstance(node.value, syntax.Name) and node.value.id == "S"
    if not is_form or not isinstance(node, syntax.Attribute):
        raise context.error("E0207", "a schedule can only call primitives", node, "write S.primitive(…)")
    found = primitive_called(node.attr)
    if found is None:
        place = syntax.Name(node.attr, start=node.end - len(node.attr), end=node.end)
        raise context.error("E0103", f"'S' has no form '{node.attr}'", place, did_you_mean(node.attr, PRIMITIVES))
    return found


def _positional(context: Context, node: syntax.Expr) -> list[Any]:
    if isinstance(node, syntax.Starred):
        value = _argument(context, node.value)
        if not isinstance(value, Name):
            raise context.error("E0202", f"expected a name after '*', got {describe(value)}", node)
        return [Spread(value.name, span=context.span(node))]
    return [_argument(context, node)]


def _argument(context: Context, node: syntax.Expr) -> Any:
    """Return an argument: a value, a reference to a result of an earlier step, or an index map."""
    if isinstance(node, syntax.Tuple | syntax.List):
        return tuple([item for element in node.elements for item in _positional(context, element)])
    if isinstance(node, syntax.Subscript) and len(node.indices) == 1:
        owner, index = _argument(context, node.value), evaluate(context, node.indices[0])
        if isinstance(owner, Name) and isinstance(index, int):
            return Element(owner.name, index, span=context.span(node))
    value = evaluate(context, node)
    return _index_map(context, value, node) if isinstance(value, Closure) else value


def _index_map(context: Context, closure: Closure, node: syntax.Expr) -> tir.IndexMap:
    """Return a lambda as an index map."""
    variables = tuple([tir.Var("int64", param.name, span=context.span(param)) for param in closure.node.params])
    result = closure.call(variables)
    values = result if is_tuple(result) else (result,)
    finals = [
        make.const(value, "int64") if type(value) is int else to_expr(context, value, node, "int64") for value in values
    ]
    return tir.IndexMap(variables, tuple(finals), span=context.span(node))
