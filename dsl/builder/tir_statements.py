"""Statements of a loop-level function."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from msgspec.structs import replace

from ...ir import tir
from ...ir.base import Op, Trivia
from ...ir.diagnostics import TvmsError
from .. import syntax
from . import operators
from .context import POISON, Context, Failed, target_names
from .convert import Mismatch, condition, describe
from .expressions import build_expr, evaluate, evaluate_call, evaluate_indices, to_expr
from .forms import Form, Site
from .imports import define_imports
from .tir_access import check_rank, element_indices, store
from .tir_blocks import close_block
from .tir_frames import BlockFrame, Body, Frame, InitFrame, LoopFrame


def build_body(context: Context, statements: Sequence[syntax.Stmt]) -> tuple[tir.Stmt, tuple[str, ...]]:
    """Return `statements` as one statement, and the comments below the last one that became a node.

    A statement that fails is left out, and the names it defines are poisoned.
    """
    bodies: list[Body] = context.tir.bodies
    bodies.append(Body())
    try:
        with context.scope.frame():
            build_statements(context, statements)
    finally:
        body = bodies.pop()
    return body.close()


def build_statements(context: Context, statements: Iterable[syntax.Stmt]) -> None:
    """Add `statements` to the innermost body."""
    for statement in statements:
        try:
            _STATEMENTS[type(statement)](context, statement)
        except Failed:
            for name in _defined_names(statement):
                context.scope.define(name, POISON)
        except TvmsError as error:
            context.report(error, statement)


def _defined_names(statement: syntax.Stmt) -> tuple[str, ...]:
    if isinstance(statement, syntax.Assign | syntax.AnnAssign | syntax.AugAssign):
        return target_names(statement.target)
    return ()


def _with_end(trivia: Trivia | None, comments: tuple[str, ...]) -> Trivia | None:
    """Return `trivia` with `comments`, found at the end of the body, before those that stand there already."""
    if not comments:
        return trivia
    return Trivia(end=comments) if trivia is None else replace(trivia, end=comments + trivia.end)


# --- Expressions and assignments ------------------------------------------------------------------------------


def _expression(context: Context, node: syntax.ExprStmt) -> None:
    body: Body = context.tir.body
    value = evaluate(context, node.value)
    if isinstance(value, Frame):
        body.open(value, context.span(node), node.trivia)
    elif isinstance(value, tir.PrimExpr | bool | int):
        value = to_expr(context, value, node.value)
        body.add(tir.Evaluate(value, span=context.span(node), trivia=node.trivia))
    elif isinstance(value, tir.Stmt):
        body.add(replace(value, span=context.span(node), trivia=node.trivia))
    elif value is None or isinstance(value, str | tir.Buffer | tuple):
        body.keep(node.trivia)
    else:
        help = "write it after 'with', with a body" if isinstance(value, BlockFrame | InitFrame) else None
        raise context.error("E0207", f"{describe(value)} is no statement", node, help)


def _assign(context: Context, node: syntax.Assign) -> None:
    target = node.target
    if isinstance(target, syntax.Subscript):
        return _store(context, target, evaluate(context, node.value), node)
    return _bind(context, target, _evaluate_for(context, node.value, target), node)


def _evaluate_for(context: Context, node: syntax.Expr, target: syntax.Expr | None) -> Any:
    """Return the value of `node`; what forms make in it is named after `target`, element by element."""
    if isinstance(node, syntax.Call):
        return evaluate_call(context, node, target)
    if isinstance(node, syntax.Tuple) and isinstance(target, syntax.Tuple):
        if len(node.elements) == len(target.elements):
            pairs = zip(node.elements, target.elements, strict=True)
            return tuple([_evaluate_for(context, element, name) for element, name in pairs])
    return evaluate(context, node)


def _bind(context: Context, target: syntax.Expr, value: Any, node: syntax.Assign | syntax.AugAssign) -> None:
    """Let `target` stand for `value`: what a form made is only named, an expression is bound by a LetStmt."""
    body: Body = context.tir.body
    if isinstance(value, Frame):
        body.open(value, context.span(node), node.trivia)
        return define(context, target, value.value)
    if isinstance(target, syntax.Tuple | syntax.List) and isinstance(value, tuple):
        return define(context, target, value, lambda name, element: _let(context, name, element, node))
    body_item = not isinstance(value, tir.Var) and isinstance(
        value, tir.PrimExpr | bool | int | float | tir.BufferRegion
    )
    is_known = isinstance(value, tir.Var) and context.scope.holds(value)
    if body_item or is_known:
        if not isinstance(target, syntax.Name):
            raise context.error("E0207", "an expression is bound to one name", target)
        return _let(context, target, value, node)
    body.keep(node.trivia)
    return define(context, target, value)


def _let(context: Context, target: syntax.Expr, value: Any, node: syntax.Assign | syntax.AugAssign) -> None:
    name = target_names(target)[0]
    is_new = isinstance(value, tir.Var) and not context.scope.holds(value)
    if is_new or not isinstance(value, tir.PrimExpr | bool | int | float | tir.BufferRegion):
        return context.scope.define(name, value)
    value = to_expr(context, value, node.value)
    var = tir.Var(
        value.dtype, name, value.type_annotation if isinstance(value, tir.Var) else None, span=context.span(target)
    )
    context.tir.body.open(let_frame(var, value), context.span(node), node.trivia)
    return context.scope.define(name, var)


def let_frame(var: tir.Var, value: tir.PrimExpr) -> Frame:
    """Return the frame of `LetStmt(var, value, …)`."""
    return Frame(var, lambda body, span, trivia: tir.LetStmt(var, value, body, span=span, trivia=trivia))


def define(
    context: Context,
    target: syntax.Expr | None,
    value: Any,
    bind: Callable[[syntax.Expr, Any], None] | None = None,
) -> None:
    """Let the names in `target` stand for `value` or its elements; E0204 where their numbers differ."""
    if isinstance(target, syntax.Parenthesised):
        return define(context, target.value, value, bind)
    if isinstance(target, syntax.Name):
        return context.scope.define(target.id, value) if bind is None else bind(target, value)
    if target is None:
        return None
    elements = target.elements if isinstance(target, syntax.Tuple | syntax.List) else None
    if elements is None:
        raise context.error("E0207", "only a name, a tuple of names or an element of a buffer can be assigned", target)
    values: tuple[Any, ...] = value if isinstance(value, tuple) else (value,)
    starred = next((index for index, each in enumerate(elements) if isinstance(each, syntax.Starred)), None)
    if starred is not None and len(values) >= len(elements) - 1:
        spread = len(values) - len(elements) + 1
        values = (*values[:starred], values[starred : starred + spread], *values[starred + spread :])
    if len(values) != len(elements):
        message = f"{len(values)} value{'s' * (len(values) != 1)} cannot be bound to {len(elements)} names"
        raise context.error("E0204", message, target)
    for element, each in zip(elements, values, strict=True):
        define(context, element.value if isinstance(element, syntax.Starred) else element, each, bind)
    return None


def _store(context: Context, target: syntax.Subscript, value: Any, node: syntax.Assign | syntax.AugAssign) -> None:
    buffer = evaluate(context, target.value)
    if not isinstance(buffer, tir.Buffer):
        raise context.error("E0202", f"expected a buffer, got {describe(buffer)}", target.value)
    indices = evaluate_indices(context, target)
    check_rank(context, buffer, len(indices), target)
    elements = element_indices(context, buffer, target, indices)
    hint = "bool" if isinstance(value, bool) and buffer.dtype == "bool" else None
    stored = to_expr(context, value, node.value, hint)
    span = context.span(node)
    try:
        context.tir.body.add(replace(store(buffer, stored, elements, None, span), trivia=node.trivia))
    except TvmsError as error:
        raise context.report(error, node) from None


def _annotated(context: Context, node: syntax.AnnAssign) -> None:
    """`x: T.int32 = value`, `x: T.let[T.int32] = value` and `x: T.let = value` bind `x` by a LetStmt."""
    if not isinstance(node.target, syntax.Name):
        raise context.error("E0207", "only a name is declared with a type", node.target)
    if node.value is None:
        raise context.error("E0207", f"'{node.target.id}' is declared without a value", node)
    annotation = node.annotation
    if isinstance(annotation, syntax.Subscript) and _is_let(context, annotation.value) and len(annotation.indices) == 1:
        annotation = annotation.indices[0]
    value = evaluate(context, node.value)
    if _is_let(context, annotation):
        return _let(
            context,
            node.target,
            value,
            syntax.Assign(node.target, node.value, start=node.start, end=node.end, trivia=node.trivia),
        )
    var = build_annotation(context, annotation, node.target)
    if not isinstance(var, tir.Var):
        raise context.error("E0202", f"expected the type of a variable, got {describe(var)}", annotation)
    hint = var.dtype if isinstance(value, bool | int | float) else None
    bound = to_expr(context, value, node.value, hint)
    context.tir.body.open(let_frame(var, bound), context.span(node), node.trivia)
    return context.scope.define(node.target.id, var)


def _is_let(context: Context, node: syntax.Expr) -> bool:
    if not isinstance(node, syntax.Attribute) or node.attr not in ("let", "Let"):
        return False
    value = evaluate(context, node)
    return isinstance(value, Form) and value.name == "T.let"


def build_annotation(context: Context, node: syntax.Expr, target: syntax.Name) -> Any:
    """Return the variable or buffer named `target` that an annotation such as `T.int32` or `T.Buffer(…)` declares."""
    if isinstance(node, syntax.Call):
        return evaluate_call(context, node, target)
    value = evaluate(context, node)
    if isinstance(value, Form):
        return value.call(Site(context, node, value.name, target), (), ())
    if isinstance(node, syntax.Subscript) and isinstance(value, tir.Var):
        return replace(value, name=target.id)
    if isinstance(node, syntax.Subscript) and isinstance(value, tir.Buffer):
        return replace(value, name=target.id, data=replace(value.data, name=target.id))
    return value


def _augmented(context: Context, node: syntax.AugAssign) -> None:
    target = node.target
    operation = syntax.Binary(node.op, target, node.value, start=node.start, end=node.end)
    value = operators.binary(context, operation, evaluate(context, target), evaluate(context, node.value))
    if isinstance(target, syntax.Subscript):
        return _store(context, target, value, node)
    return _bind(context, target, value, node)


# --- Statements with bodies -----------------------------------------------------------------------------------


def _for(context: Context, node: syntax.For) -> None:
    iterable = node.iterable
    try:
        loop = _evaluate_for(context, iterable, node.target)
        if not isinstance(loop, LoopFrame):
            help = "loop over range, T.serial, T.grid, T.parallel, T.vectorized, T.unroll or T.thread_binding"
            raise context.error("E0207", f"{describe(loop)} is no loop", iterable, help)
    except Failed:
        _check_body(context, node.target, node.body)
        raise
    with context.scope.frame():
        define(context, node.target, loop.value)
        body, comments = build_body(context, node.body)
    context.tir.body.add(loop.wrap(body, context.span(node), _with_end(node.trivia, comments)))


def _with(context: Context, node: syntax.With) -> None:
    opener = node.context
    try:
        frame = _evaluate_for(context, opener, node.target)
        if not isinstance(frame, Frame | BlockFrame | InitFrame):
            raise context.error("E0207", f"{describe(frame)} opens no body", opener)
    except Failed:
        _check_body(context, node.target, node.body)
        raise
    span = context.span(node)
    if isinstance(frame, BlockFrame):
        context.tir.blocks.append(frame)
        try:
            body, comments = build_body(context, node.body)
        finally:
            context.tir.blocks.pop()
        return close_block(context, frame, body, node, _with_end(node.trivia, comments))
    if isinstance(frame, InitFrame):
        body, comments = build_body(context, node.body)
        context.tir.blocks[-1].init = body
        return context.tir.body.keep(_with_end(node.trivia, comments))
    with context.scope.frame():
        define(context, node.target, frame.value)
        body, comments = build_body(context, node.body)
    return context.tir.body.add(frame.wrap(body, span, _with_end(node.trivia, comments)))


def _check_body(context: Context, target: syntax.Expr | None, body: Sequence[syntax.Stmt]) -> None:
    """Look for further mistakes in the body of a statement that failed."""
    context.tir.blocks.append(BlockFrame("", True))
    with context.scope.frame():
        for name in target_names(target):
            context.scope.define(name, POISON)
        build_body(context, body)
    context.tir.blocks.pop()


def _while(context: Context, node: syntax.While) -> None:
    test = _condition(context, evaluate(context, node.condition), node.condition)
    body, comments = build_body(context, node.body)
    trivia = _with_end(node.trivia, comments)
    context.tir.body.add(tir.While(test, body, span=context.span(node), trivia=trivia))


def _if(context: Context, node: syntax.If) -> None:
    test = evaluate(context, node.condition)
    if isinstance(test, bool):
        with context.scope.frame():
            context.tir.body.keep(node.trivia)
            return build_statements(context, node.body if test else node.orelse)
    test = _condition(context, test, node.condition)
    then_case, comments = build_body(context, node.body)
    else_case, more = build_body(context, node.orelse) if node.orelse else (None, ())
    trivia = _with_end(node.trivia, comments + more)
    context.tir.body.add(tir.IfThenElse(test, then_case, else_case, span=context.span(node), trivia=trivia))
    return None


def _condition(context: Context, value: Any, node: syntax.Expr) -> tir.PrimExpr:
    try:
        result = condition(value, context.span(node))
    except Mismatch as mismatch:
        raise context.error("E0202", f"expected {mismatch.expected}, got {describe(value)}", node) from None
    if not operators.is_condition(result):
        raise context.error("E0206", f"a condition is bool, not {result.dtype}", node, "compare it with a value")
    return result


def _assert(context: Context, node: syntax.Assert) -> None:
    test = _condition(context, evaluate(context, node.condition), node.condition)
    message = "" if node.message is None else evaluate(context, node.message)
    if isinstance(message, tuple):
        message = "".join(_strings(message))
    if not isinstance(message, str):
        raise context.error("E0202", f"expected a string, got {describe(message)}", node.message or node)
    text = tir.StringImm("handle", message)

    def wrap(body: tir.Stmt, span: Any, trivia: Trivia | None) -> tir.Stmt:
        return tir.AssertStmt(test, text, body, span=span, trivia=trivia)

    context.tir.body.open(Frame(None, wrap), context.span(node), node.trivia)


def _strings(message: tuple[Any, ...]) -> list[str]:
    """Return the texts in the message of an assertion, which newer TVM writes `("ValueError", ["part", …])`."""
    parts = message[1] if len(message) == 2 and isinstance(message[1], tuple) else message
    return [str(part) for part in parts]


def _return(context: Context, node: syntax.Return) -> None:
    if node.value is None:
        raise context.error("E0207", "a loop-level function returns a value or nothing: leave this out", node)
    value = build_expr(context, node.value)
    span = context.span(node)
    call = tir.Call(value.dtype, Op("tir.ret"), (value,), span=span)
    context.tir.body.add(tir.Evaluate(call, span=span, trivia=node.trivia))


def _definition(context: Context, node: syntax.Definition) -> None:
    raise context.error("E0207", f"'{node.name}' is defined inside a loop-level function", node, "define it beside it")


_STATEMENTS: dict[type, Callable[[Context, Any], None]] = {
    syntax.ExprStmt: _expression,
    syntax.Assign: _assign,
    syntax.AnnAssign: _annotated,
    syntax.AugAssign: _augmented,
    syntax.Return: _return,
    syntax.Assert: _assert,
    syntax.Pass: lambda context, node: context.tir.body.keep(node.trivia),
    syntax.Import: define_imports,
    syntax.With: _with,
    syntax.For: _for,
    syntax.While: _while,
    syntax.If: _if,
    syntax.Definition: _definition,
}
