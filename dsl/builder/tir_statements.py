"""Statements of a loop function; assignments are in `tir_assignments`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from msgspec.structs import replace

from ...ir import tir
from ...ir.base import Op, Trivia
from ...ir.diagnostics import TvmsError
from ...ir.signature import describe
from .. import syntax
from ..comments import comments_in, comments_of
from . import operators
from .context import POISON, Context, Failed, target_names
from .convert import Mismatch, condition, is_tuple
from .expressions import evaluate, to_expr
from .forms import Form
from .shadowing import check_bound
from .tir_assignments import assign, assign_annotated, assign_augmented, define, evaluate_for
from .tir_blocks import close_block
from .tir_frames import BlockFrame, Body, Expansion, Frame, InitFrame, LoopFrame, assert_frame, is_message


def build_body(
    context: Context, statements: Sequence[syntax.Stmt], declares: bool = False
) -> tuple[tir.Stmt, Trivia | None]:
    """Return `statements` as one statement, and the comments that belong to the body as a whole.

    A statement that fails is left out, and the names that it defines are poisoned.
    """
    bodies: list[Body] = context.tir.bodies
    bodies.append(Body(declares))
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
            STATEMENTS[type(statement)](context, statement)
        except Failed:
            for name in _defined_names(statement):
                context.scope.define(name, POISON)
        except TvmsError as error:
            context.report(error, statement)


def _defined_names(statement: syntax.Stmt) -> tuple[str, ...]:
    if isinstance(statement, syntax.Assign | syntax.AnnAssign | syntax.AugAssign):
        return target_names(statement.target)
    return ()


def joined(trivia: Trivia | None, body: Trivia | None) -> Trivia | None:
    """Return the trivia of a statement joined with those of its body as a whole."""
    if body is None or trivia is None:
        return trivia or body
    return replace(trivia, end=body.end + trivia.end, parts=body.parts)


def _expression(context: Context, node: syntax.ExprStmt) -> None:
    body: Body = context.tir.body
    value = evaluate(context, node.value)
    if isinstance(node.value, syntax.Binary) and node.value.op in operators.COMPARISONS:
        raise context.error("E0207", "a comparison is not a statement", node, "assign with `=`, or check with `assert`")
    if isinstance(value, Frame):
        body.open(value, context.span(node), node.trivia)
    elif isinstance(value, Expansion):
        body.keep(node.trivia)
        value.build()
    elif isinstance(value, tir.PrimExpr | bool | int):
        value, span = to_expr(context, value, node.value), context.span(node)
        value = value if value.span is not None else replace(value, span=span)  # all uses of `break` share one node
        body.add(tir.Evaluate(value, span=span, trivia=node.trivia))
    elif isinstance(value, tir.Stmt):
        body.add(replace(value, span=context.span(node), trivia=node.trivia))
    elif value is None or isinstance(value, str | tir.Buffer | tuple):
        body.keep(node.trivia, node)
    else:
        help = "write it after 'with', with a body" if isinstance(value, BlockFrame | InitFrame) else None
        raise context.error("E0207", f"{describe(value)} is not a statement", node, help)


# --- Statements with bodies -----------------------------------------------------------------------------------


def _for(context: Context, node: syntax.For) -> None:
    iterable = node.iterable
    try:
        text = context.source.text[iterable.start : iterable.end]
        if isinstance(iterable, syntax.Subscript) and text.startswith(("range[", "T.")):
            head, _, sizes = text.partition("[")
            message = f"{head} is called with parentheses"
            raise context.error("E0207", message, iterable, f"write {head}({sizes.removesuffix(']')})")
        loop = evaluate_for(context, iterable, node.target)
        if not isinstance(loop, LoopFrame):
            help = "loop over range, T.serial, T.grid, T.parallel, T.vectorized, T.unroll or T.thread_binding"
            if isinstance(loop, tir.PrimExpr | int):
                help = f"write range({text})"
            raise context.error("E0207", f"expected a loop, got {describe(loop)}", iterable, help)
        check_bound(context, "loop variable", node.target)
    except Failed:
        _check_body(context, node.target, node.body)
        raise
    with context.scope.frame():
        define(context, node.target, loop.value, kind="loop variable")
        body, comments = build_body(context, node.body)
    context.tir.body.add(loop.wrap(body, context.span(node), joined(node.trivia, comments)))


def _with(context: Context, node: syntax.With) -> None:
    opener = node.context
    try:
        frame = evaluate_for(context, opener, node.target)
        if not isinstance(frame, Frame | BlockFrame | InitFrame):
            help = f"give it its arguments: {frame.name}(…)" if isinstance(frame, Form) else None
            raise context.error("E0207", f"{describe(frame)} does not open a body", opener, help)
        check_bound(context, "variable", node.target)
    except Failed:
        _check_body(context, node.target, node.body)
        raise
    span = context.span(node)
    if isinstance(frame, BlockFrame):
        context.tir.blocks.append(frame)
        try:
            body, comments = build_body(context, node.body, declares=True)
        finally:
            context.tir.blocks.pop()
        return close_block(context, frame, body, node, joined(node.trivia, comments))
    if isinstance(frame, InitFrame):
        body, comments = build_body(context, node.body)
        context.tir.blocks[-1].init = body
        return context.tir.body.keep(joined(node.trivia, comments), node)
    with context.scope.frame():
        define(context, node.target, frame.value)
        body, comments = build_body(context, node.body)
    return context.tir.body.add(frame.wrap(body, span, joined(node.trivia, comments)))


def _check_body(context: Context, target: syntax.Expr | None, body: Sequence[syntax.Stmt]) -> None:
    """Check the body of a statement that failed for further errors."""
    context.tir.blocks.append(BlockFrame("", True))
    with context.scope.frame():
        for name in target_names(target):
            context.scope.define(name, POISON)
        build_body(context, body)
    context.tir.blocks.pop()


def _while(context: Context, node: syntax.While) -> None:
    test = _condition(context, evaluate(context, node.condition), node.condition)
    body, comments = build_body(context, node.body)
    trivia = joined(node.trivia, comments)
    context.tir.body.add(tir.While(test, body, span=context.span(node), trivia=trivia))


def _if(context: Context, node: syntax.If) -> None:
    test = evaluate(context, node.condition)
    if isinstance(test, bool):
        with context.scope.frame():
            taken, dropped = (node.body, node.orelse) if test else (node.orelse, node.body)
            context.tir.body.keep(Trivia((*comments_of(node.trivia), *comments_in(dropped))))
            return build_statements(context, taken)
    test = _condition(context, test, node.condition)
    then_case, comments = build_body(context, node.body)
    else_case, more = build_body(context, node.orelse) if node.orelse else (None, None)
    trivia = joined(node.trivia, joined(more, comments))
    context.tir.body.add(tir.IfThenElse(test, then_case, else_case, span=context.span(node), trivia=trivia))
    return None


def _condition(context: Context, value: Any, node: syntax.Expr) -> tir.PrimExpr:
    try:
        result = condition(value, context.span(node))
    except Mismatch as mismatch:
        raise context.error("E0202", f"expected {mismatch.expected}, got {describe(value)}", node) from None
    if not operators.is_condition(result):
        raise context.error("E0406", f"expected a bool condition, got {result.dtype}", node, "compare it with a value")
    return result


def _assert(context: Context, node: syntax.Assert) -> None:
    if isinstance(node.condition, syntax.Tuple) and node.message is None:
        help = "remove the parentheses: `assert condition, message`"
        raise context.error("E0202", "expected a condition, got a tuple", node.condition, help)
    test = _condition(context, evaluate(context, node.condition), node.condition)
    message = "" if node.message is None else evaluate(context, node.message)
    if not is_message(message):
        is_pair = is_tuple(message)
        help = 'write "wrong size", or ("ValueError", ["wrong ", "size"])' if is_pair else "write it in quotes"
        raise context.error("E0202", f"expected a string, got {describe(message)}", node.message or node, help)
    context.tir.body.open(assert_frame(test, message), context.span(node), node.trivia)


def _return(context: Context, node: syntax.Return) -> None:
    if node.value is None:
        raise context.error("E0207", "this return has no value", node, "remove it")
    value = evaluate(context, node.value)
    if isinstance(value, tir.Buffer):
        message = f"a loop function returns a scalar or nothing, not {describe(value)}"
        help = "store results in buffer parameters, and remove this"
        raise context.error("E0207", message, node, help)
    value = to_expr(context, value, node.value)
    span = context.span(node)
    call = tir.Call(value.dtype, Op("tir.ret"), (value,), span=span)
    context.tir.body.add(tir.Evaluate(call, span=span, trivia=node.trivia))


def _import(context: Context, node: syntax.Import) -> None:
    raise context.error("E0207", "imports are not allowed in a function", node, "move it to the top of the file")


STATEMENTS: dict[type, Callable[[Context, Any], None]] = {
    syntax.ExprStmt: _expression,
    syntax.Assign: assign,
    syntax.AnnAssign: assign_annotated,
    syntax.AugAssign: assign_augmented,
    syntax.Return: _return,
    syntax.Assert: _assert,
    syntax.Pass: lambda context, node: context.tir.body.keep(node.trivia),
    syntax.Import: _import,
    syntax.With: _with,
    syntax.For: _for,
    syntax.While: _while,
    syntax.If: _if,
}
