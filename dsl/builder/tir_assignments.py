"""Assignments in a loop function: names for the values of forms, LetStmts for expressions, stores to buffers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from ...ir import make, tir
from ...ir.base import Trivia
from ...ir.buffers import data_pointer
from ...ir.diagnostics import TvmsError
from ...ir.dtype import is_dtype
from ...ir.signature import describe
from .. import syntax
from . import operators
from .context import Context
from .convert import is_tuple
from .expressions import evaluate, evaluate_call, evaluate_indices, to_expr
from .forms import Form, FormUse, Meta
from .shadowing import check_assigned
from .tir_access import check_rank, element_indices, no_buffer, store
from .tir_buffers import declaration
from .tir_frames import Body, Expansion, Frame, let_frame

_Assignment = syntax.Assign | syntax.AnnAssign | syntax.AugAssign


def evaluate_for(context: Context, node: syntax.Expr, target: syntax.Expr | None) -> Any:
    """Return the value of `node`; objects that its forms create are named after `target`, element by element."""
    if isinstance(node, syntax.Call):
        return evaluate_call(context, node, target)
    if isinstance(node, syntax.Tuple) and isinstance(target, syntax.Tuple) and _size(node) == _size(target):
        pairs = zip(node.elements, target.elements, strict=True)
        return tuple([evaluate_for(context, element, name) for element, name in pairs])
    return evaluate(context, node)


def _size(node: syntax.Tuple) -> int:
    return len(node.elements)


def assign(context: Context, node: syntax.Assign) -> None:
    """Build `target = value`."""
    if isinstance(node.target, syntax.Subscript):
        return _store(context, node.target, evaluate(context, node.value), node, node.value)
    return _bind(context, node.target, evaluate_for(context, node.value, node.target), node, node.value)


def assign_augmented(context: Context, node: syntax.AugAssign) -> None:
    """Build `target += value`: a store, or a new variable of the same name."""
    target = node.target
    operation = syntax.Binary(node.op, target, node.value, start=node.start, end=node.end)
    value = operators.binary(context, operation, evaluate(context, target), evaluate(context, node.value))
    if isinstance(target, syntax.Subscript):
        return _store(context, target, value, node, node.value)
    return _bind(context, target, value, node, node.value)


def assign_annotated(context: Context, node: syntax.AnnAssign) -> None:
    """Build `x: T.int32 = value`, `x: T.let[T.int32] = value` or `x: T.let = value`, which bind `x` by a LetStmt.

    In a text of TVM 0.27 the first declares a mutable variable, with or without a value.
    """
    target, annotation = node.target, node.annotation
    if not isinstance(target, syntax.Name):
        raise context.error("E0207", "only a name can be declared with a type", target)
    is_let = isinstance(annotation, syntax.Subscript) and _is_let(context, annotation.value)
    if isinstance(annotation, syntax.Subscript) and is_let and len(annotation.indices) == 1:
        annotation = annotation.indices[0]
    if node.value is None and (is_let or not context.is_newer_tvm):
        raise context.error("E0207", f"'{target.id}' is declared without a value", node)
    value = None if node.value is None else evaluate(context, node.value)
    if node.value is not None and _is_let(context, annotation):
        check_assigned(context, target, value, node)
        return _let(context, target, to_expr(context, value, node.value), node, node.trivia)
    if context.is_newer_tvm and isinstance(annotation, syntax.Subscript) and node.value is None:
        form, shape = evaluate(context, annotation.value), evaluate_indices(context, annotation)
        if isinstance(form, Form) and is_dtype(form.name.removeprefix("T.")):
            extents = tuple([to_expr(context, extent, annotation) for extent in shape])
            _declare_local(context, target, form.name.removeprefix("T."), extents, node)
            return None
    var = build_annotation(context, annotation, target)
    if not isinstance(var, tir.Var):
        raise context.error("E0202", f"expected the type of a variable, got {describe(var)}", annotation)
    if context.is_newer_tvm and not is_let and var.dtype != "handle":
        _declare_scalar(context, target, var.dtype, node)
        return (
            None if node.value is None else _assign_scalar(context, target, to_expr(context, value, node.value), node)
        )
    check_assigned(context, target, value, node)
    return _bind_typed(context, var, value, node)


def _bind_typed(context: Context, var: tir.Var, value: Any, node: syntax.AnnAssign) -> None:
    """Bind `var` to a value of its dtype."""
    assert node.value is not None
    assert isinstance(node.target, syntax.Name)
    bound = to_expr(context, value, node.value, var.dtype if isinstance(value, bool | int | float) else None)
    if bound.dtype != var.dtype:
        help = f'write T.Cast("{var.dtype}", …) around the value'
        raise context.error("E0230", f"'{var.name}' is {var.dtype}, but its value is {bound.dtype}", node.value, help)
    context.tir.body.open(let_frame(var, bound), context.span(node), node.trivia)
    return context.scope.define(node.target.id, var)


def _is_let(context: Context, node: syntax.Expr) -> bool:
    if not isinstance(node, syntax.Attribute) or node.attr != "let":
        return False
    value = evaluate(context, node)
    return isinstance(value, Form) and value.name == "T.let"


def build_annotation(context: Context, node: syntax.Expr, target: syntax.Name) -> Any:
    """Return the variable or buffer named `target` that an annotation such as `T.int32` or `T.Buffer(…)` declares."""
    value = evaluate_for(context, node, target)
    if isinstance(value, Form):
        return value.call(FormUse(context, node, value.name, target), (), ())
    if isinstance(node, syntax.Subscript) and isinstance(value, tir.Var):
        return replace(value, name=target.id)
    if isinstance(node, syntax.Subscript) and isinstance(value, tir.Buffer):
        return replace(value, name=target.id, data=replace(value.data, name=target.id))
    return value


def _bind(context: Context, target: syntax.Expr, value: Any, node: _Assignment, source: syntax.Expr) -> None:
    """Define `target` as `value`, written as `source`: a LetStmt binds an expression, other values get a name."""
    body: Body = context.tir.body
    if isinstance(value, Expansion):
        raise context.error("E0207", f"macro {describe(value)} has no value", source, "use it as a statement")
    if isinstance(target, syntax.Name) and _is_scalar(context, value):
        return _assign_scalar(context, target, to_expr(context, value, source), node)
    _check_alias(context, target, value, node)
    check_assigned(context, target, value, node)
    if isinstance(value, Meta):
        body.keep(node.trivia)
        return define(context, target, value.value)
    if isinstance(value, Frame):
        body.open(value, context.span(node), node.trivia)
        return define(context, target, value.value)
    if isinstance(target, syntax.Name) and _is_computed(context, value):
        return _let(context, target, to_expr(context, value, source), node, node.trivia)
    body.keep(node.trivia, node)

    def name_or_let(name: syntax.Name, element: Any) -> None:
        if isinstance(element, Meta):
            context.scope.define(name.id, element.value)
        elif _is_computed(context, element):
            _let(context, name, to_expr(context, element, source), node, None)
        else:
            context.scope.define(name.id, _declared(context, name, element))

    return define(context, target, value, name_or_let)


def _check_alias(context: Context, target: syntax.Expr, value: Any, node: _Assignment) -> None:
    """Raise E0207 for `B = A` of two buffers: B would be renamed, and nothing would be stored."""
    if not isinstance(target, syntax.Name) or not isinstance(value, tir.Buffer) or not context.scope.holds(value):
        return
    known = context.scope.get(target.id)
    if isinstance(known, tir.Buffer) and known is not value:
        message = f"this stores nothing: it makes '{target.id}' another name of buffer '{value.name}'"
        raise context.error("E0207", message, node, f"store elements, as in {target.id}[i] = {value.name}[i]")


def _declared(context: Context, name: syntax.Name, value: Any) -> Any:
    """Return what `name = value` declares: the dimension of that name in the signature, if there is one."""
    known = context.tir.dimensions.get(name.id)
    if known is None or not isinstance(value, tir.Var):
        return value
    if known.dtype != value.dtype:
        help = f"write {name.id} = T.{known.dtype}()"
        raise context.error("E0230", f"'{name.id}' is {known.dtype}, but is declared as {value.dtype}", name, help)
    return known


def _is_computed(context: Context, value: Any) -> bool:
    """Return whether `value` is the value of an expression, not a variable that a form just created."""
    if isinstance(value, tir.Var):
        return context.scope.holds(value)
    return isinstance(value, tir.PrimExpr | bool | int | float | tir.BufferRegion)


def _is_scalar(context: Context, value: Any) -> bool:
    """Return whether `x = value` declares or changes a mutable variable of TVM 0.27."""
    if not context.is_newer_tvm or isinstance(value, tir.BufferRegion | tir.StringImm):
        return False
    return _is_computed(context, value) and getattr(value, "dtype", "") != "handle"


def _let(context: Context, target: syntax.Name, value: tir.PrimExpr, node: _Assignment, trivia: Trivia | None) -> None:
    kind = value.type_annotation if isinstance(value, tir.Var) else None
    var = tir.Var(value.dtype, target.id, kind, span=context.span(target))
    context.tir.body.open(let_frame(var, value), context.span(node), trivia)
    context.scope.define(target.id, var)


def define(
    context: Context,
    target: syntax.Expr | None,
    value: Any,
    bind: Callable[[syntax.Name, Any], None] | None = None,
    kind: str = "variable",
) -> None:
    """Define the names in `target`, each a `kind`, as `value` or its elements; raise E0204 if their numbers differ.

    `bind` defines a single name, if that takes more than a definition in the scope.
    """
    match target:
        case None:
            return None
        case syntax.Starred():
            return define(context, target.value, value, bind, kind)
        case syntax.Name():
            return context.scope.define(target.id, value, kind) if bind is None else bind(target, value)
        case syntax.Tuple() | syntax.List():
            values: tuple[Any, ...] = value if is_tuple(value) else (value,)
            for element, item in zip(target.elements, _spread(context, target, values), strict=True):
                define(context, element, item, bind, kind)
            return None
        case _:
            message = "only a name, a tuple of names or an element of a buffer can be assigned"
            raise context.error("E0207", message, target, "write one assignment a line")


def _spread(context: Context, target: syntax.Tuple | syntax.List, values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a value for each element of `target`; a starred element gets the tuple of the remaining values."""
    count = len(target.elements)
    starred = next(
        (index for index, element in enumerate(target.elements) if isinstance(element, syntax.Starred)), None
    )
    if starred is not None and len(values) >= count - 1:
        rest = starred + len(values) - count + 1
        return (*values[:starred], values[starred:rest], *values[rest:])
    if len(values) != count:
        message = f"{len(values)} value{'s' * (len(values) != 1)} cannot be bound to {count} name{'s' * (count != 1)}"
        raise context.error("E0204", message, target)
    return values


def _store(context: Context, target: syntax.Subscript, value: Any, node: _Assignment, source: syntax.Expr) -> None:
    """Build `A[i] = value`, cast to the buffer's dtype."""
    buffer = evaluate(context, target.value)
    if not isinstance(buffer, tir.Buffer):
        raise no_buffer(context, buffer, target.value)
    indices = evaluate_indices(context, target)
    check_rank(context, buffer, len(indices), target)
    elements = element_indices(context, buffer, target, indices)
    stored = to_expr(context, value, source)
    try:
        made = store(buffer, stored, elements, None, context.span(node))
    except TvmsError as refused:
        raise context.report(refused, node) from None
    context.tir.body.add(made if node.trivia is None else replace(made, trivia=node.trivia))


_ONE, _ZERO = tir.IntImm("int32", 1), tir.IntImm("int32", 0)


def _scalar_of(context: Context, name: str) -> tir.Buffer | None:
    """Return the buffer that an assignment to `name` stores to: any buffer of one element, or None."""
    known: Any = context.scope.get(name)
    buffer = known.buffer if isinstance(known, tir.BufferLoad) else known
    is_single = isinstance(buffer, tir.Buffer) and [getattr(extent, "value", None) for extent in buffer.shape] == [1]
    return buffer if is_single else None


def _declare_local(
    context: Context, name: syntax.Name, dtype: str, shape: tuple[tir.PrimExpr, ...], node: syntax.Stmt
) -> tir.Buffer:
    """Define `name` as a new buffer in registers, as `x: T.float32[8]` does in texts of TVM after 0.21."""
    check_assigned(context, name, None, node)
    function, span = context.tir, context.span(name)
    data = data_pointer(name.id, dtype, "local", span)
    made = tir.Buffer(data, dtype, shape, name.id, scope="local", span=span)
    function.allocated_buffers.append(made)
    function.body.open(declaration(function, made, allocate=True), context.span(node), node.trivia)
    context.scope.define(name.id, made)
    return made


def _declare_scalar(context: Context, name: syntax.Name, dtype: str, node: syntax.Stmt) -> tir.Buffer:
    """Define `name` as the element of a new buffer."""
    made = _declare_local(context, name, dtype, (_ONE,), node)
    context.scope.define(name.id, make.buffer_load(made, (_ZERO,), span=context.span(name)))
    return made


def _assign_scalar(context: Context, name: syntax.Name, value: tir.PrimExpr, node: syntax.Stmt) -> None:
    """Build `x = value`: a store to the variable `x`, or to a new one; `x: T.int32 = value` declares a new one."""
    known = _scalar_of(context, name.id)
    buffer = _declare_scalar(context, name, value.dtype, node) if known is None else known
    made = store(buffer, value, (_ZERO,), None, context.span(node))
    is_declared = known is None or isinstance(node, syntax.AnnAssign)
    context.tir.body.add(made if is_declared else replace(made, trivia=node.trivia))
