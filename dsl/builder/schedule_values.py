"""Values of schedules: calls of primitives and of functions as forms, and arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...ir import make, tir
from ...ir.diagnostics import CallSpan, Span, TvmsError
from ...ir.schedule.conditions import Refused
from ...ir.schedule.declaration import Primitive
from ...ir.schedule.running import bound
from ...ir.schedule.text import Result, ScheduleFunction, ScheduleText, Step
from ...ir.signature import Signature, describe
from ...ir.spelling import did_you_mean
from .. import syntax
from .context import Context
from .convert import is_dict, is_tuple
from .expressions import to_expr
from .forms import Closure, Form, FormUse, Named


def _nothing(*args: Any) -> None: ...


class PrimitiveForm(Form, frozen=True, eq=False):
    """A primitive as a form: the value of a call is the result of a step."""

    primitive: Primitive

    @staticmethod
    def of(primitive: Primitive) -> PrimitiveForm:
        """Return the form of a primitive."""
        return PrimitiveForm(f"S.{primitive.name}", _nothing, Signature([]), primitive)

    def call(self, site: FormUse, values: Sequence[Any], nodes: Sequence[syntax.Expr], named: Named = ()) -> Result:
        """Return the result of the step that a call is; a wrong argument is E0105."""
        args, by_name = _arguments(site.context, values, nodes, named)
        try:
            given = self.primitive.bind(args, by_name)
        except Refused as refused:
            reason = f"{self.primitive.name}: {refused.reason}"
            at, names = refused.at, {keyword.name: keyword for keyword, _ in named}
            node = site.node if at is None else nodes[at] if isinstance(at, int) else names[at]
            raise site.context.error(refused.condition.code, reason, node, refused.help) from None
        declared = self.primitive.arguments
        plain = next((index + 1 for index, parameter in enumerate(declared) if parameter.variadic), len(declared))
        parameters = [parameter.name for parameter in declared[:plain]]
        span = _span(site, nodes, named, parameters)
        return Result("int32", Step(self.primitive.name, *self.primitive.as_call(given), span=span), span=span)


class FunctionForm(Form, frozen=True, eq=False):
    """A function of schedules, or a schedule, as a form."""

    function: ScheduleFunction | ScheduleText

    @staticmethod
    def of(function: ScheduleFunction | ScheduleText) -> FunctionForm:
        """Return the form of a function or schedule."""
        return FunctionForm(function.name, _nothing, Signature([]), function)

    def call(self, site: FormUse, values: Sequence[Any], nodes: Sequence[syntax.Expr], named: Named = ()) -> Result:
        """Return the result of the step that a call is; a wrong argument is E0105."""
        args, by_name = _arguments(site.context, values, nodes, named)
        function, span = self.function, _span(site, nodes, named, ())
        if isinstance(function, ScheduleText):
            self._check_parameters(site, function, nodes, named)
        else:
            try:
                bound(function, args, by_name, span)
            except TvmsError as wrong:
                raise site.context.report(wrong, site.node) from None
        return Result("int32", Step(function.name, args, by_name, function=function, span=span), span=span)

    def _check_parameters(
        self, site: FormUse, function: ScheduleText, nodes: Sequence[syntax.Expr], named: Named
    ) -> None:
        help = f"write {function.name}({', '.join(f'{name}=…' for name in function.parameters)})"
        if nodes:
            raise site.context.error(
                "E0105", f"schedule '{function.name}' takes arguments by name only", nodes[0], help
            )
        for keyword, _ in named:
            if keyword.name not in function.parameters:
                reason = f"schedule '{function.name}' has no parameter '{keyword.name}'"
                help = did_you_mean(keyword.name, function.parameters) or help
                raise site.context.error("E0105", reason, keyword, help)


def _arguments(
    context: Context, values: Sequence[Any], nodes: Sequence[syntax.Expr], named: Named
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    args = tuple([argument(context, value, node) for value, node in zip(values, nodes, strict=True)])
    return args, {keyword.name: argument(context, value, keyword.value) for keyword, value in named}


def _span(site: FormUse, nodes: Sequence[syntax.Expr], named: Named, parameters: Sequence[str]) -> CallSpan:
    """Return the position of a call, with those of its arguments; `parameters` name the positional ones, the last one the rest."""
    context, whole = site.context, site.span
    names = [parameters[min(index, len(parameters) - 1)] if parameters else "" for index in range(len(nodes))]
    places = [(name, _place(context, node)) for name, node in zip(names, nodes, strict=True)]
    places += [(keyword.name, _place(context, keyword.value)) for keyword, _ in named]
    return CallSpan(whole.source, whole.start, whole.end, tuple(places))


def _place(context: Context, node: syntax.Expr) -> Span:
    """Return the position of an argument; that of a list has those of its elements, unless some are starred."""
    span = context.span(node)
    if not isinstance(node, syntax.List | syntax.Tuple) or any(isinstance(e, syntax.Starred) for e in node.elements):
        return span
    elements = tuple([("", context.span(element)) for element in node.elements])
    return CallSpan(span.source, span.start, span.end, elements)


def argument(context: Context, value: Any, node: syntax.Expr) -> Any:
    """Return an evaluated argument: a plain value, an expression, a list of these, or an index map for a lambda."""
    if isinstance(value, Closure):
        return _index_map(context, value, node)
    if is_tuple(value):
        return tuple([argument(context, item, node) for item in value])
    if is_dict(value):
        return {key: argument(context, item, node) for key, item in value.items()}
    if isinstance(value, Form):
        raise context.error("E0207", f"{describe(value)} has to be called", node, f"write {value.name}(…)")
    return value


def _index_map(context: Context, closure: Closure, node: syntax.Expr) -> tir.IndexMap:
    """Return a lambda as an index map; numbers on their own are int32, as everywhere in the language."""
    variables = tuple([tir.Var("int64", param.name, span=context.span(param)) for param in closure.node.params])
    result = closure.call(variables)
    values = result if is_tuple(result) else (result,)
    finals = [make.const(value) if type(value) is int else to_expr(context, value, node, "int64") for value in values]
    return tir.IndexMap(variables, tuple(finals), span=context.span(node))
