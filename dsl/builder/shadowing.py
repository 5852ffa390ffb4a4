"""The rule of names: a variable keeps its value in all bodies nested in the one that defines it.

In the text, an assignment in a loop looks as if it changed the variable outside. In the IR it defines another
variable, which ends with the body. Native texts that do this are therefore refused, and so are decorated functions
whose TVM version is unknown. In TVM 0.21 the assignment defines another variable: its texts are read that way, with a
warning. In TVM 0.27 a variable is a buffer of one element, and the assignment stores to it (`tir_assignments`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from ...ir import relax, tir
from ...ir.diagnostics import Note
from .. import syntax
from .context import POISON, Binding, Context, target_names
from .convert import is_tuple
from .signatures import names_in

Names: TypeAlias = Callable[[syntax.Stmt], Sequence[str]]
"""Returns the names that a statement defines for later statements."""
_PROTECTED = ("loop variable", "parameter", "axis")
"""Kinds that cannot be assigned, not even in their own body."""
_WHICH_TVM = (
    "TVM 0.21 defines another variable here, TVM 0.27 assigns to the outer one: "
    "import 'tir' or 'tirx' from tvm.script to choose"
)


def check_assigned(context: Context, target: syntax.Expr, value: Any, node: syntax.Stmt) -> None:
    """Check that an assignment changes no variable of an outer body, and no loop variable, axis or parameter (E0211)."""
    names = target_names(target)
    _check_distinct(context, target, names)
    for name in names:
        binding = context.scope.binding(name)
        if binding is None or binding.depth <= context.tir.depth:
            _check_constant(context, name, target, node)
            continue
        if name == "_" or binding.value is POISON or _is_declaration(context, name, value):
            continue
        kind, is_inner = _kind(context, binding), binding.depth < context.scope.depth
        is_new_axis = is_inner and _is_axis(context, value) and context.dialect != "tvms"
        if kind in _PROTECTED and not is_new_axis:
            help = "give the new value another name"
            raise context.error("E0211", f"cannot assign to {kind} '{name}'", target, help, *_notes(context, binding))
        if is_inner:
            _refuse(context, name, binding, target, is_new_axis)


def _refuse(context: Context, name: str, binding: Binding, target: syntax.Expr, is_new_axis: bool) -> None:
    notes, kind = _notes(context, binding), _kind(context, binding)
    help = "rename it"
    if kind == "buffer":
        help = f"rename it, or write an element: {name}[0] = …"
    if kind == "variable":
        help = _remedy(name, getattr(binding.value, "dtype", "float32"))
    if is_new_axis or context.dialect.startswith("tvm-"):
        message = f"this defines another {kind} '{name}', which ends with this body"
        return context.warn("E0211", message, target, help, *notes)
    message = f"{kind} '{name}' cannot change: this would define another one, which ends with this body"
    which = (Note(_WHICH_TVM),) if context.dialect == "decorated" else ()
    raise context.error("E0211", message, target, help, *which, *notes)


def check_branches(context: Context, body: Sequence[syntax.Stmt], names_of: Names, result: str) -> None:
    """Check that a branch of a graph function rebinds no outer name except `result`, which is visible after it (E0211)."""
    for statement in body:
        for name in names_of(statement):
            binding = context.scope.binding(name)
            if name in ("_", result) or binding is None or not isinstance(binding.value, relax.Expr):
                continue
            target = statement.target if isinstance(statement, syntax.Assign | syntax.AnnAssign) else statement
            message = f"variable '{name}' cannot change: this would define another one, which ends with this branch"
            help = f"rename it; only '{result}', which both branches bind last, is visible after the branches"
            notes = (Note("the variable is defined here", binding.value.span),) if binding.value.span else ()
            if context.dialect != "tvms":
                context.warn("E0211", message, target, help, *notes)
            else:
                raise context.error("E0211", message, target, help, *notes)


def _remedy(name: str, dtype: str) -> str:
    return (
        f'store the changing value in a buffer of one element: {name} = T.alloc_buffer((1,), "{dtype}"), {name}[0] = …'
    )


def check_bound(context: Context, what: str, target: syntax.Expr | None) -> None:
    """Check that a loop or a `with` does not reuse a name of an enclosing body (E0209)."""
    names = target_names(target)
    if target is None:
        return
    _check_distinct(context, target, names)
    for name in names:
        binding = context.scope.binding(name)
        if name == "_" or binding is None or binding.depth <= context.tir.depth or binding.value is POISON:
            continue
        message = f"{what} '{name}' shadows the {_kind(context, binding)} '{name}'"
        help, notes = "rename it", _notes(context, binding)
        if context.dialect != "tvms":
            context.warn("E0209", message, target, help, *notes)
        else:
            raise context.error("E0209", message, target, help, *notes)


def _check_distinct(context: Context, target: syntax.Expr, names: Sequence[str]) -> None:
    """Check that a statement defines each name once (E0209)."""
    if len(names) == len(set(names)):
        return
    for index, name in enumerate(names):
        if name != "_" and name in names[:index]:
            raise context.error("E0209", f"'{name}' is defined twice here", target, "give each another name")


def _check_constant(context: Context, name: str, target: syntax.Expr, node: syntax.Stmt) -> None:
    """Check that no inner body updates a constant of the file (E0211): each iteration would start anew."""
    value = context.scope.get(name)
    if context.scope.depth <= context.tir.depth + 1 or not isinstance(value, bool | int | float):
        return
    if isinstance(node, syntax.AugAssign) or (isinstance(node, syntax.Assign) and name in names_in(node.value)):
        help = _remedy(name, "float32" if isinstance(value, float) else "int32")
        raise context.error("E0211", f"constant '{name}' cannot change", target, help)


def _is_declaration(context: Context, name: str, value: Any) -> bool:
    """Return whether `n = T.int32()` repeats the declaration of a dimension of the signature."""
    return name in context.tir.dimensions and isinstance(value, tir.Var)


def _kind(context: Context, binding: Binding) -> str:
    if isinstance(binding.value, tir.Buffer) and binding.kind == "variable":
        return "buffer"
    return "axis" if _is_axis(context, binding.value) else binding.kind


def _is_axis(context: Context, value: Any) -> bool:
    """Return whether `value` is one or several axes of the innermost block."""
    axes = context.tir.blocks[-1].iter_vars if context.tir.blocks else ()
    values = value if is_tuple(value) else (value,)
    return any(item is axis.var for item in values for axis in axes)


def _notes(context: Context, binding: Binding) -> tuple[Note, ...]:
    span = getattr(binding.value, "span", None)
    return () if span is None else (Note(f"the {_kind(context, binding)} is defined here", span),)
