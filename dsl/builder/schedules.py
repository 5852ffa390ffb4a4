"""Builds schedules and their functions: `S.schedule name(function, bm=8, target=…):`, `S.function name(loop, factor=4):`."""

from __future__ import annotations

from collections.abc import Container, Sequence
from functools import cache
from typing import Any

from msgspec.structs import replace

from ...ir.base import Target
from ...ir.diagnostics import CallSpan
from ...ir.schedule.declaration import PRIMITIVES, primitive_called
from ...ir.schedule.primitives import load
from ...ir.schedule.text import (
    Assertion,
    Assignment,
    Branch,
    ForEach,
    Name,
    Result,
    ScheduleFunction,
    ScheduleText,
    Statement,
)
from ...ir.signature import describe
from ...ir.spelling import did_you_mean
from .. import syntax
from ..comments import comments_of, with_comments
from .context import Context, target_names
from .convert import is_dict, is_tuple
from .expressions import evaluate
from .forms import Namespace
from .schedule_values import FunctionForm, PrimitiveForm, argument
from .signatures import names_in

_TARGET = "target"
_RANGE = "range"
_LONGEST = 10_000
"""Maximum length of a constant range."""


class _Primitives(dict[str, PrimitiveForm]):
    """The primitives as forms, also under their names since TVM 0.27, and composite steps."""

    def get(self, key: str, default: Any = None) -> Any:
        found = primitive_called(key)
        if found is None:
            return default
        return self.setdefault(found.name, PrimitiveForm.of(found))


@cache
def _namespace() -> Namespace:
    load()
    return Namespace("S", _Primitives({name: PrimitiveForm.of(primitive) for name, primitive in PRIMITIVES.items()}))


def build_schedule(context: Context, definition: syntax.Definition, functions: Container[str]) -> ScheduleText:
    """Return the schedule that `definition` defines; `functions` are the loop functions of the module."""
    function, target, target_span, parameters = _head(context, definition, functions)
    with context.scope.frame():
        context.scope.define("S", _namespace())
        _define(context, tuple(parameters))
        steps, waiting = _Body(context).build(definition.body)
    used = set(names_in(definition.body))
    for param in definition.params or ():
        if param.name in parameters and param.name not in used and not param.name.startswith("_"):
            help = did_you_mean(param.name, (_TARGET,))
            if help is not None:
                context.warn("E0467", f"parameter '{param.name}' is never used", param, help)
    span, trivia = context.span(definition), with_comments(definition.trivia, end=waiting)
    if target_span is not None:
        span = CallSpan(span.source, span.start, span.end, ((_TARGET, target_span),))
    return ScheduleText(definition.name, function, target, steps, parameters, span=span, trivia=trivia)


def build_function(context: Context, definition: syntax.Definition) -> ScheduleFunction:
    """Return the function of schedules that `definition` defines."""
    names: list[str] = []
    defaults: dict[str, Any] = {}
    for param in definition.params or ():
        if param.default is not None:
            defaults[param.name] = _constant(context, param.default)
        elif defaults or param.annotation is not None:
            usage = f"write S.function {definition.name}(loop, factor=4)"
            raise context.error("E0105", f"parameter '{param.name}' has no default value", param, usage)
        names.append(param.name)
    body, result = definition.body, None
    returned = body[-1] if body and isinstance(body[-1], syntax.Return) else None
    with context.scope.frame():
        context.scope.define("S", _namespace())
        _define(context, tuple(names))
        steps, waiting = _Body(context).build(body[:-1] if returned else body)
        if returned is not None and returned.value is not None:
            result = argument(context, evaluate(context, returned.value), returned.value)
            waiting += comments_of(returned.trivia)
    span, trivia = context.span(definition), with_comments(definition.trivia, end=waiting)
    return ScheduleFunction(definition.name, tuple(names), defaults, steps, result, span=span, trivia=trivia)


def define(context: Context, name: str, value: ScheduleFunction | ScheduleText) -> None:
    """Let the following schedules call a schedule or a function."""
    context.scope.define(name, FunctionForm.of(value))


def _define(context: Context, names: Sequence[str]) -> None:
    for name in names:
        context.scope.define(name, Name("int32", name))


def _head(
    context: Context, definition: syntax.Definition, functions: Container[str]
) -> tuple[str, Any, Any, dict[str, Any]]:
    """Return the function that a schedule applies to, its target with its position, and its parameters."""
    place = syntax.Name(definition.name, start=definition.name_start, end=definition.name_end)
    params = definition.params or ()
    usage = f'write S.schedule {definition.name}(function, bn=64, target="llvm"); parameters and target are optional'
    if not params or params[0].annotation is not None or params[0].default is not None:
        message = f"schedule '{definition.name}' names no function"
        raise context.error("E0105", message, params[0] if params else place, usage)
    target, span, parameters = None, None, dict[str, Any]()
    for param in params[1:]:
        if param.default is None:
            raise context.error("E0105", f"parameter '{param.name}' has no value", param, usage)
        if param.name != _TARGET:
            parameters[param.name] = _constant(context, param.default)
            continue
        target, span = evaluate(context, param.default), context.span(param.default)
        target = target.attrs if isinstance(target, Target) else target
        if not (isinstance(target, str) or is_dict(target)):
            raise context.error("E0202", f"expected a target, got {describe(target)}", param.default, usage)
    name = params[0].name
    if name not in functions:
        message = f"the module has no loop function '{name}'"
        raise context.error("E0102", message, params[0], did_you_mean(name, context.globals))
    return name, target, span, parameters


def _constant(context: Context, node: syntax.Expr) -> Any:
    """Return the value of a parameter: a number, a string, a flag, None, or a list of these."""
    value = evaluate(context, node)
    if not _is_constant(value):
        help = "write a number, a string, True, False, None, or a list of these"
        raise context.error("E0202", f"expected a constant, got {describe(value)}", node, help)
    return value


def _is_constant(value: Any) -> bool:
    return (
        value is None
        or isinstance(value, bool | int | float | str)
        or (is_tuple(value) and all(map(_is_constant, value)))
    )


class _Body:
    """Builds the statements of a body; comments of `pass` move to the next statement."""

    def __init__(self, context: Context) -> None:
        self.context = context

    def build(self, statements: Sequence[syntax.Stmt]) -> tuple[tuple[Statement, ...], tuple[str, ...]]:
        """Return statements, and comments that no statement follows."""
        context, waiting = self.context, ()
        found: list[Statement] = []
        for node in statements:
            names = target_names(node.target) if isinstance(node, syntax.Assign) else ()
            with context.recover(names):
                if isinstance(node, syntax.Pass):
                    waiting += comments_of(node.trivia)
                    continue
                statement = self.statement(node)
                found.append(replace(statement, trivia=with_comments(statement.trivia, waiting)))
                waiting = ()
                _define(context, names)
        return tuple(found), waiting

    def statement(self, node: syntax.Stmt) -> Statement:
        """Return a statement: a step, an assignment, a loop over a list, a condition, or an assertion."""
        match node:
            case syntax.ExprStmt() | syntax.Assign():
                return self.step(node)
            case syntax.For():
                return self.loop(node)
            case syntax.If():
                return self.branch(node)
            case syntax.Assert():
                message = "" if node.message is None else evaluate(self.context, node.message)
                if not isinstance(message, str):
                    raise self.context.error(
                        "E0202", f"expected a message, got {describe(message)}", node.message or node
                    )
                return Assertion(self.value(node.condition), message, span=self.context.span(node), trivia=node.trivia)
            case _:
                help = "write S.primitive(…), names = value, 'for', 'if' or 'assert'"
                raise self.context.error("E0207", "a schedule cannot contain this statement", node, help)

    def step(self, node: syntax.ExprStmt | syntax.Assign) -> Statement:
        """Return a call, whose results may be named, as a step, and other values with names as an assignment."""
        context, value = self.context, self.value(node.value)
        target = node.target if isinstance(node, syntax.Assign) else None
        names, unpacks = target_names(target), isinstance(target, syntax.Tuple | syntax.List)
        if isinstance(value, Result):
            return replace(value.step, results=names, unpacks=unpacks, trivia=node.trivia)
        if not names:
            help = "write S.primitive(…), or names = S.primitive(…)"
            raise context.error("E0207", "this value has no effect", node, help)
        return Assignment(names, unpacks, value, span=context.span(node), trivia=node.trivia)

    def loop(self, node: syntax.For) -> ForEach:
        """Return a loop over a list; names that its body binds first end with it."""
        context, values = self.context, self.values(node.iterable)
        names, unpacks = target_names(node.target), isinstance(node.target, syntax.Tuple | syntax.List)
        with context.scope.frame():
            _define(context, names)
            body, waiting = self.build(node.body)
        trivia = with_comments(node.trivia, end=waiting)
        return ForEach(names, unpacks, values, body, span=context.span(node), trivia=trivia)

    def values(self, node: syntax.Expr) -> Any:
        """Return what a loop runs over: a list, or `range` of constants."""
        is_range = isinstance(node, syntax.Call) and isinstance(node.func, syntax.Name) and node.func.id == _RANGE
        if not is_range or not isinstance(node, syntax.Call):
            return self.value(node)
        bounds = [evaluate(self.context, arg) for arg in node.args]
        if not 1 <= len(bounds) <= 3 or not all(type(bound) is int for bound in bounds) or bounds[2:] == [0]:
            raise self.context.error("E0202", "expected constant bounds", node, "write range(4), or loop over a list")
        found = range(*bounds)
        if len(found) > _LONGEST:
            raise self.context.error("E0597", f"the range has {len(found)} elements", node, f"write at most {_LONGEST}")
        return tuple(found)

    def branch(self, node: syntax.If) -> Branch:
        """Return a condition with its two bodies; names that both bind stay."""
        context, condition = self.context, self.value(node.condition)
        with context.scope.frame():
            then, ends = self.build(node.body)
        with context.scope.frame():
            otherwise, waiting = self.build(node.orelse)
        _define(context, [name for name in _bound(then) if name in _bound(otherwise)])
        trivia = with_comments(node.trivia, end=(*ends, *waiting))
        return Branch(condition, then, otherwise, span=context.span(node), trivia=trivia)

    def value(self, node: syntax.Expr) -> Any:
        """Return an expression: a plain value, or one with names and calls."""
        return argument(self.context, evaluate(self.context, node), node)


def _bound(statements: Sequence[Statement]) -> list[str]:
    """Return the names that statements certainly bind, in order."""
    found: list[str] = []
    for statement in statements:
        match statement:
            case Assignment(names=names):
                found += names
            case Branch(then=then, otherwise=otherwise):
                found += [name for name in _bound(then) if name in _bound(otherwise)]
            case _:
                found += getattr(statement, "results", ())
    return found
