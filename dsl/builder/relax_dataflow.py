"""Finds the variables that are used after a dataflow block, from its statements before they are built."""

from __future__ import annotations

from .. import syntax
from . import relax_values as values
from .context import target_names
from .relax_blocks import BlockBuilder


def last_definitions(body: tuple[syntax.Stmt, ...], names: set[str]) -> frozenset[int]:
    """Return the identities of the statements that define `names` last."""
    left, found = set(names), set[int]()
    for statement in reversed(body):
        defined = left.intersection(defined_names(statement))
        if defined:
            found.add(id(statement))
            left -= defined
    return frozenset(found)


def is_output(builder: BlockBuilder, statement: syntax.Stmt) -> bool:
    """Return whether `statement` is `R.output(…)`."""
    return _output_call(builder, statement) is not None


def _output_call(builder: BlockBuilder, statement: syntax.Stmt) -> syntax.Call | None:
    value = statement.value if isinstance(statement, syntax.ExprStmt) else None
    if isinstance(value, syntax.Call) and values.dotted(builder, value.func) == "R.output":
        return value
    return None


def output_names(builder: BlockBuilder, body: tuple[syntax.Stmt, ...]) -> list[syntax.Name]:
    """Return the operands of R.output; report E0309 if the block does not bind one, or does not end with R.output."""
    context = builder.context
    defined = {name for statement in body for name in defined_names(statement)}
    names: list[syntax.Name] = []
    output: syntax.Call | None = None
    for statement in body:
        if output is not None and not isinstance(statement, syntax.Return):
            help = "move it before R.output, or after the block"
            context.error("E0309", "R.output is not the last statement of its dataflow block", statement, help)
            break
        output = output or _output_call(builder, statement)
    for node in output.args if output else ():
        if isinstance(node, syntax.Name) and node.id in defined:
            names.append(node)
        elif isinstance(node, syntax.Name):
            help = "output only variables that this block binds"
            context.error("E0309", f"this dataflow block does not bind '{node.id}'", node, help)
        else:
            context.error("E0309", "R.output takes the names of variables", node, "bind the value to a name first")
    return names


def defined_names(statement: syntax.Stmt) -> tuple[str, ...]:
    """Return the names that a statement defines for later statements."""
    match statement:
        case syntax.Assign() | syntax.AnnAssign():
            return target_names(statement.target)
        case syntax.Definition():
            return (statement.name,)
        case syntax.If():
            return tuple(name for branch in (statement.body, statement.orelse) for name in _last_names(branch))
        case syntax.With():
            return tuple(name for inner in statement.body for name in defined_names(inner))
        case _:
            return ()


def _last_names(body: tuple[syntax.Stmt, ...]) -> tuple[str, ...]:
    return defined_names(body[-1]) if body else ()
