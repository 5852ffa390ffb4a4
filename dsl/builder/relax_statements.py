"""Statements of a graph function: assignments, dataflow blocks, branches, and calls without a value."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, cast

from ...ir import relax, tir
from ...ir.base import Attrs, GlobalVar, StructInfo
from ...ir.signature import describe
from .. import syntax
from . import relax_values as values
from .context import POISON, Context, Failed
from .convert import Attributes
from .forms import FormUse, form
from .relax_annotations import struct_info
from .relax_arguments import bind as bind_arguments
from .relax_arguments import parameters
from .relax_bindings import Target, assign, bind, unpack
from .relax_blocks import BlockBuilder, is_void
from .relax_dataflow import defined_names, last_definitions, output_names
from .shadowing import check_branches


def build_statements(builder: BlockBuilder, body: Iterable[syntax.Stmt], outputs: frozenset[int] | None = None) -> None:
    """Build statements other than the final return; the names of a statement that fails are poisoned.

    `outputs` are, in a dataflow block, the identities of the statements whose variables are used after it.
    """
    for statement in body:
        bindings = builder.bindings
        with builder.context.recover(defined_names(statement)):
            _build(builder, statement, outputs is None or id(statement) in outputs)
        if builder.bindings == bindings and not isinstance(statement, syntax.With):
            builder.keep_comments(statement)


LOCAL_FUNCTION: list[Callable[[BlockBuilder, syntax.Definition, bool], None]] = []
"""The meaning of a nested function; `relax_function` adds it."""


def _build(builder: BlockBuilder, statement: syntax.Stmt, leaves: bool) -> None:
    context = builder.context
    match statement:
        case syntax.Assign():
            _assign(builder, statement, leaves)
        case syntax.AnnAssign(value=value) if value is not None:
            said = struct_info(builder, statement.annotation)
            target = _target(builder, statement.target, statement, leaves, said)
            assign(builder, target, values.evaluate(builder, value), value)
        case syntax.ExprStmt():
            _expression(builder, statement)
        case syntax.With():
            _dataflow(builder, statement)
        case syntax.If():
            _branches(builder, statement, leaves)
        case syntax.Definition():
            LOCAL_FUNCTION[0](builder, statement, leaves)
        case syntax.Import():
            help = "move it to the top of the file"
            raise builder.context.error("E0207", "imports are not allowed in a function", statement, help)
        case syntax.Pass():
            pass
        case syntax.Return():
            help = "end the function with one return, outside of if and else"
            if builder.in_dataflow:
                help = "write R.output(…) at the end of the dataflow block, and return after the block"
            raise context.error("E0306", "return is only allowed at the end of a function", statement, help)
        case _:
            what = _NAMES_OF_STATEMENTS.get(type(statement), "this statement")
            help = "use assignments, R.dataflow blocks, if and else, nested functions and a return"
            if isinstance(statement, syntax.For | syntax.While):
                help = "write it in a T.prim_func that R.call_tir calls, or as a nested function that calls itself"
            raise context.error("E0207", f"a graph function cannot contain {what}", statement, help)


_NAMES_OF_STATEMENTS: dict[type, str] = {
    syntax.For: "a loop", syntax.While: "a loop", syntax.Assert: "an assertion", syntax.AugAssign: "an update",
    syntax.AnnAssign: "an annotation without a value",
}  # fmt: skip


def _target(
    builder: BlockBuilder, node: syntax.Expr, statement: syntax.Statement, leaves: bool, said: StructInfo | None = None
) -> Target:
    if not isinstance(node, syntax.Name):
        help = "graph-level values are immutable: bind the result to a name"
        raise builder.context.error("E0207", "only a name can be assigned", node, help)
    return Target(node.id, node, leaves, said, statement.trivia)


def _assign(builder: BlockBuilder, statement: syntax.Assign, leaves: bool) -> None:
    target, value = statement.target, statement.value
    evaluated = values.evaluate(builder, value)
    if not isinstance(target, syntax.Tuple | syntax.List):
        assign(builder, _target(builder, target, statement, leaves), evaluated, value)
        return
    targets = [_target(builder, element, statement, leaves) for element in target.elements]
    comments = [
        target if index == 0 else Target(target.name, target.node, leaves) for index, target in enumerate(targets)
    ]
    unpack(builder, comments, evaluated, value, target)


def _expression(builder: BlockBuilder, statement: syntax.ExprStmt) -> None:
    """Build a call for its effect, R.func_attr, R.output, or a docstring."""
    node, context = statement.value, builder.context
    name = values.dotted(builder, node.func) if isinstance(node, syntax.Call) else None
    if name == "R.func_attr" and isinstance(node, syntax.Call):
        function_attributes(builder, node)
        return
    if name == "R.output" and builder.in_dataflow:
        return  # `output_names` has read it
    if name == "R.output":
        help = "move it to the end of a block `with R.dataflow():`"
        raise context.error("E0309", "R.output is outside a dataflow block", node, help)
    value = values.evaluate(builder, node)
    if isinstance(value, str) or value is ...:
        return
    if not isinstance(value, relax.Expr):
        raise context.error("E0311", f"{describe(value)} is not a statement", node, "remove it, or bind it to a name")
    expr = builder.inferred(value)
    if not is_void(expr.struct_info):
        help = f"bind it to a name, or to _ if it is not needed: _ = {_source_of(builder, node)}"
        raise context.error("E0311", "the value of this expression is not used", node, help)
    bind(builder, Target("_", node, is_output=False, trivia=statement.trivia), expr)


def _source_of(builder: BlockBuilder, node: syntax.Expr) -> str:
    text = builder.context.source.text[node.start : node.end]
    return text if len(text) < 40 and "\n" not in text else "…"


def _branches(builder: BlockBuilder, statement: syntax.If, leaves: bool) -> None:
    """Build `if` and `else`: both bind the same variable last, which is bound to the whole (TVM: `R.If`)."""
    context = builder.context
    if builder.in_dataflow:
        help = "end the dataflow block before it"
        raise context.error("E0310", "a dataflow block cannot contain a branch", statement.condition, help)
    condition = values.to_expr(builder, values.evaluate(builder, statement.condition), statement.condition)
    _check_condition(builder, builder.inferred(condition), statement.condition)
    then = _branch(builder, statement.body, "_then", statement)
    if not statement.orelse:
        help = "write an else that binds the same variable"
        raise context.error("E0310", "an if without an else has no value", statement.condition, help)
    otherwise = _branch(builder, statement.orelse, "_else", statement)
    if then is None or otherwise is None:
        raise Failed
    (then_var, then_body), (else_var, else_body) = then, otherwise
    if then_var.name_hint != else_var.name_hint:
        message = f"the branches bind different variables last: '{then_var.name_hint}' and '{else_var.name_hint}'"
        raise context.error("E0310", message, statement.condition, "end both with an assignment to the same name")
    for body in (statement.body, statement.orelse):
        check_branches(context, body, defined_names, then_var.name_hint)
    span = context.span(statement)
    name = syntax.Name(then_var.name_hint, start=statement.condition.start, end=statement.condition.end)
    value = relax.If(condition, then_body, else_body, span=span)
    bind(builder, Target(then_var.name_hint, name, leaves, None, statement.trivia), value)
    result = then_var.name_hint
    for body in (statement.body, statement.orelse):
        _hide(
            builder,
            body,
            lambda _: f"use '{result}', which both branches bind last: their other names are not visible here",
        )


def _check_condition(builder: BlockBuilder, condition: relax.Expr, node: syntax.Expr) -> None:
    """Refuse a tensor that is known to have other than one element."""
    shape = getattr(condition.struct_info, "shape", None)
    extents = shape.values if isinstance(shape, relax.ShapeExpr) else ()
    if any(isinstance(extent, tir.IntImm) and extent.value != 1 for extent in extents):
        message = "the condition is a tensor of several elements"
        raise builder.context.error("E0326", message, node, 'compute a tensor of shape () and dtype "bool"')


def _branch(
    builder: BlockBuilder, body: tuple[syntax.Stmt, ...], suffix: str, statement: syntax.If
) -> tuple[relax.Var, relax.SeqExpr] | None:
    context = builder.context
    errors = len(context.diagnostics)
    builder.begin()
    with context.scope.frame():
        build_statements(builder, body)
        names = (name for inner in body for name in defined_names(inner))
        has_failed = any(context.scope.get(name) is POISON for name in names)
    branch = builder.end_branch(suffix)
    if has_failed or len(context.diagnostics) > errors:
        return None
    if branch is None or isinstance(branch[0], relax.DataflowVar):
        help = "end it with an assignment to a name that both branches bind"
        raise context.error("E0310", "a branch does not end with a binding", statement.condition, help)
    return branch


def _dataflow(builder: BlockBuilder, statement: syntax.With) -> None:
    """Build `with R.dataflow():` with its R.output, if it has one.

    All its names stay defined after it, also those that are not outputs: TVM prints such programs. The verifier warns.
    """
    context = builder.context
    check_dataflow(builder, statement)
    outputs = output_names(builder, statement.body)
    leaving: dict[str, Any] = {}
    with builder.dataflow(statement.trivia), context.scope.frame():
        build_dataflow_body(builder, statement.body, {node.id for node in outputs})
        names = {name for inner in statement.body for name in defined_names(inner)} | {node.id for node in outputs}
        leaving.update((name, context.scope.get(name)) for name in names if name in context.scope)
    for name, value in leaving.items():
        context.scope.define(name, value)


def _hide(builder: BlockBuilder, body: tuple[syntax.Stmt, ...], help: Callable[[str], str]) -> None:
    """Define the names that only `body` binds as `Hidden`, so that a use after it gets an explanation."""
    for name in {name for statement in body for name in defined_names(statement)}:
        if name not in builder.context.scope:
            builder.context.scope.define(name, values.Hidden(help(name)))


def check_dataflow(builder: BlockBuilder, statement: syntax.With) -> None:
    """Raise E0207 if `statement` opens anything but `R.dataflow()`."""
    opened = statement.context
    is_dataflow = isinstance(opened, syntax.Call) and values.dotted(builder, opened.func) == "R.dataflow"
    if not is_dataflow or statement.target is not None:
        raise builder.context.error(
            "E0207", "only R.dataflow() opens a block in a graph function", opened, "write with R.dataflow():"
        )


def build_dataflow_body(builder: BlockBuilder, body: tuple[syntax.Stmt, ...], outputs: set[str]) -> None:
    """Build the statements of a dataflow block whose outputs are the variables named `outputs`."""
    build_statements(builder, body, last_definitions(body, outputs))


# --- Forms that are statements: read above, and mistakes anywhere else ---------------------------------------------


@form("R.dataflow")
def dataflow(site: FormUse) -> None:
    """`with R.dataflow():`, bindings without side effects; `R.output` lists those that are visible after it."""
    raise site.error("E0201", "R.dataflow opens a block", "write with R.dataflow():")


@form("R.output")
def output(site: FormUse, *variables: Any) -> None:
    """`R.output(a, b)` at the end of a dataflow block: the variables that are visible after it."""
    raise site.error("E0201", "R.output is a statement, not a value", "write it at the end of a dataflow block")


@form("R.func_attr")
def func_attr(site: FormUse, attrs: Attributes) -> None:
    """`R.func_attr({"key": value})`: attributes of the function."""
    raise site.error("E0201", "R.func_attr is a statement, not a value", "write it at the start of a function")


_CONSTANTS = (
    relax.Constant, relax.ShapeExpr, relax.PrimValue, relax.StringImm, relax.DataTypeImm, relax.ExternFunc, relax.Tuple, GlobalVar,
)  # fmt: skip
"""Graph-level values that attributes can hold."""


def function_attributes(builder: BlockBuilder, call: syntax.Call) -> None:
    """Add the attributes of `R.func_attr({…})`; report E0209 if an attribute is given twice."""
    given = bind_arguments(builder.context, "R.func_attr", parameters("attrs"), call)
    for key, value in _attributes(builder, given["attrs"], "R.func_attr").items():
        if key in builder.attrs:
            builder.context.error("E0209", f"attribute '{key}' is given twice", given["attrs"])
        builder.attrs[key] = value


def module_attributes(context: Context, call: syntax.Call) -> Attrs:
    """Return the attributes of `I.module_attrs({…})`."""
    given = bind_arguments(context, "I.module_attrs", parameters("attrs"), call)
    builder = BlockBuilder(context, set())
    builder.begin()
    return _attributes(builder, given["attrs"], "I.module_attrs")


def _attributes(builder: BlockBuilder, node: syntax.Expr, form_name: str) -> Attrs:
    """Return a dict of attributes, which may hold graph-level constants; raise E0321 if a value is computed."""
    bound, attrs = builder.bindings, values.evaluate(builder, node)
    if not isinstance(attrs, dict):
        help = f'write {form_name}({{"key": value}})'
        raise builder.context.error("E0321", f"{describe(attrs)} is not a dict of attributes", node, help)
    for key, value in cast("Attrs", attrs).items():
        if builder.bindings > bound or not _is_constant(value):
            help = "write constants, such as R.const(…), R.prim_value(…) or I.constant(…)"
            raise builder.context.error("E0321", f"attribute '{key}' is computed", node, help)
    return cast("Attrs", attrs)


def _is_constant(value: Any) -> bool:
    if isinstance(value, tuple | list):
        return all(map(_is_constant, cast("list[Any]", value)))
    if isinstance(value, dict):
        return all(map(_is_constant, cast("Attrs", value).values()))
    if isinstance(value, relax.Tuple):
        return all(map(_is_constant, value.fields))
    return not isinstance(value, relax.Expr) or isinstance(value, _CONSTANTS)
