"""Macros: `T.macro f(…):` holds statements that replace each statement `f(…)`, with its arguments as parameters;
`R.macro f(…):` is a macro of graph functions.

A macro is not part of the program: the printed text has its statements at each use, with its comments at the first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from ...ir import relax
from ...ir.signature import Parameter, Signature
from .. import syntax
from ..comments import comments_in, comments_of, without_comments
from . import relax_values as values
from .budget import TEXT
from .context import POISON, Context, Scope, TooManyErrors
from .convert import CONVERTERS, Flag
from .expressions import evaluate, opener
from .forms import Form, FormParameter, FormUse, form
from .relax_arguments import bind
from .relax_blocks import BlockBuilder
from .relax_calls import GraphMacro
from .relax_statements import build_statements as build_bindings
from .signatures import names_in
from .tir_frames import Expansion
from .tir_statements import STATEMENTS, build_statements

MAX_NESTED = 200


@form("T.macro", "T.inline")
def macro(site: FormUse, func: Any = None, *, hygienic: Flag = True) -> bool:
    """`T.macro f(A, i):` opens a macro, whose statements replace each statement `f(…)`.

    Its names are resolved where it is defined or, with `hygienic=False`, where it is used. Its value: whether hygienic.
    """
    return hygienic


@form("R.macro")
def graph_macro(site: FormUse, func: Any = None, *, hygienic: Flag = True) -> bool:
    """`R.macro f(x):` opens a macro of graph functions: bindings and a return, whose value replaces each call `f(…)`.

    Its names are resolved as those of `T.macro`.
    """
    return hygienic


MACROS = ("T.macro", "T.inline", "R.macro")


class Captured(Struct, frozen=True, eq=False):
    """What the name of a macro of a Python program means until its text is read: the values of the names around its definition."""

    values: Mapping[str, Any]


def is_macro(opener: Any) -> bool:
    """Return whether the head of a definition opens a macro."""
    return isinstance(opener, Form) and opener.name in MACROS


def define_macro(context: Context, definition: syntax.Definition) -> None:
    """Define the name of `definition`, whose head is `T.macro` or `R.macro`, as a macro."""
    hygienic, scope, depth = _is_hygienic(context, definition), context.scope, context.scope.depth
    around = scope.get(definition.name)
    captured = dict(around.values) if isinstance(around, Captured) and hygienic else {}

    def names() -> Scope:
        return scope.outer(depth) if hygienic else context.scope

    head: Any = definition.head
    if opener(context, head).name == "R.macro":
        return _define_graph_macro(context, definition, names, captured)
    params = definition.params or ()
    defaults = {param.name: evaluate(context, param.default) for param in params if param.default is not None}
    parameters = [FormParameter(param.name, param.name not in defaults, convert=CONVERTERS["Any"]) for param in params]
    source = context.source
    unused = context.unused_comments
    unused[definition.start] = comments_in(definition.body)

    def use(site: FormUse, *values: Any, **named: Any) -> Expansion:
        arguments = defaults | dict(zip((param.name for param in params), values, strict=False)) | named

        def build() -> None:
            _check_limits(context, site.node, definition)
            is_first = unused.pop(definition.start, None) is not None
            body = definition.body if is_first else without_comments(definition.body)
            inside = names()
            with context.expanding(site.node, source, inside), inside.frame():
                for name, value in {**captured, **arguments}.items():
                    inside.define(name, value)
                build_statements(context, body)

        return Expansion(definition.name, build)

    return scope.define(definition.name, Form(definition.name, use, Signature(parameters)))


def _define_graph_macro(
    context: Context, definition: syntax.Definition, scope: Callable[[], Scope], captured: dict[str, Any]
) -> None:
    """Define the name of `definition`, whose head is `R.macro`, as a macro. Its names are those of `scope()`, and `captured`."""
    params = definition.params or ()
    expected = Signature([Parameter(param.name, param.default is None) for param in params])
    defaults = {param.name: _default(context, param.default) for param in params if param.default is not None}
    source, unused = context.source, context.unused_comments
    unused[definition.start] = comments_in(definition.body)

    def expand(builder: BlockBuilder, call: syntax.Call) -> Any:
        given = bind(context, definition.name, expected, call).values
        arguments = defaults | {name: values.operand(builder, node) for name, node in given.items()}
        _check_limits(context, call, definition)
        is_first = unused.pop(definition.start, None) is not None
        body = definition.body if is_first else without_comments(definition.body)
        builder.reserve(names_in(definition))
        names = scope()
        with context.expanding(call, source, names), names.frame():
            for name, value in {**captured, **arguments}.items():
                names.define(name, value)
            return _value(builder, definition, body)

    context.scope.define(definition.name, GraphMacro(definition.name, expand))


def _default(context: Context, node: syntax.Expr) -> Any:
    builder = BlockBuilder(context, set())
    builder.begin()
    return values.evaluate(builder, node)


def _value(builder: BlockBuilder, definition: syntax.Definition, body: tuple[syntax.Stmt, ...]) -> Any:
    """Add the bindings of a macro to the open block, and return the value of its return."""
    *statements, last = body
    if not isinstance(last, syntax.Return) or last.value is None:
        place = syntax.Name(definition.name, start=definition.name_start, end=definition.name_end)
        message = f"macro '{definition.name}' has no value"
        raise builder.context.error("E0306", message, place, "end it with `return value`")
    build_bindings(builder, statements, None if builder.leaving else frozenset())
    builder.comments.extend(comments_of(last.trivia))
    value = values.evaluate(builder, last.value)
    if isinstance(last.value, syntax.Tuple) and any(isinstance(element, relax.Expr) for element in value):
        return values.to_expr(builder, value, last.value)
    return value


def _is_hygienic(context: Context, definition: syntax.Definition) -> bool:
    head: Any = definition.head
    call = head if isinstance(head, syntax.Call) else syntax.Call(head, (), (), start=head.start, end=head.end)
    return evaluate(context, call)


def _check_limits(context: Context, use: syntax.Syntax, definition: syntax.Definition) -> None:
    if len(context.uses) >= MAX_NESTED:
        message = f"macros are nested more than {MAX_NESTED} deep"
        context.error("E0010", message, use, "break the recursion")
        raise TooManyErrors
    context.pay((definition.end - definition.start) // TEXT, use)


def _definition(context: Context, node: syntax.Definition) -> None:
    if node.head is not None and is_macro(opener(context, node.head)):
        context.tir.body.keep(node.trivia)
        return define_macro(context, node)
    context.scope.define(node.name, POISON)
    help = "move it out of the function, or make it a macro with @T.macro"
    raise context.error("E0207", f"'{node.name}' is defined inside a loop function", node, help)


STATEMENTS[syntax.Definition] = _definition
