"""Mutable variables of TVM 0.27: `x = A[0]` declares a buffer of one element, and further assignments store to it."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ...ir import make, tir
from ...ir.buffers import data_pointer
from .. import syntax
from .context import Context
from .shadowing import check_assigned
from .tir_access import store
from .tir_buffers import declaration

_ALIGNMENT = 64
_ONE, _ZERO = tir.IntImm("int32", 1), tir.IntImm("int32", 0)


def scalar_of(context: Context, name: str) -> tir.Buffer | None:
    """Return the buffer that an assignment to `name` stores to: any buffer of one element, or None."""
    known: Any = context.scope.get(name)
    buffer = known.buffer if isinstance(known, tir.BufferLoad) else known
    is_single = isinstance(buffer, tir.Buffer) and [getattr(extent, "value", None) for extent in buffer.shape] == [1]
    return buffer if is_single else None


def declare_scalar(context: Context, name: syntax.Name, dtype: str, node: syntax.Stmt) -> tir.Buffer:
    """Define `name` as the element of a new buffer."""
    check_assigned(context, name, None, node)
    function, span = context.tir, context.span(name)
    data = data_pointer(name.id, dtype, "local", span)
    made = tir.Buffer(data, dtype, (_ONE,), name.id, data_alignment=_ALIGNMENT, scope="local", span=span)
    function.allocated_buffers.append(made)
    function.body.open(declaration(function, made, allocate=True), context.span(node), node.trivia)
    context.scope.define(name.id, make.buffer_load(made, (_ZERO,), span=span))
    return made


def assign_scalar(context: Context, name: syntax.Name, value: tir.PrimExpr, node: syntax.Stmt) -> None:
    """Build `x = value`: a store to the variable `x`, or to a new one; `x: T.int32 = value` declares a new one."""
    known = scalar_of(context, name.id)
    buffer = declare_scalar(context, name, value.dtype, node) if known is None else known
    made = store(buffer, value, (_ZERO,), None, context.span(node))
    is_declared = known is None or isinstance(node, syntax.AnnAssign)
    context.tir.body.add(made if is_declared else replace(made, trivia=node.trivia))
