"""Constructors of statements, buffers, regions, and functions (TVM: `tvm.tir.stmt`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from ... import make, te, tir
from ...base import Attrs
from ...buffers import data_pointer
from ...building.values import plain_nodes
from ..constructor import condition, constructor, node_constructor, plain_node
from .expressions import binding, range_of

_ALIGNMENT = 64
"""Default alignment in bytes."""


def _ranges(region: Sequence[Any]) -> tuple[tir.Range, ...]:
    return tuple(map(range_of, region))


def _message(value: Any) -> tir.PrimExpr:
    return tir.StringImm("handle", value) if isinstance(value, str) else plain_node(value)


def _kind(value: tir.ForKind | int) -> tir.ForKind:
    return tuple(tir.ForKind)[value] if isinstance(value, int) else value


AssertStmt = node_constructor(tir.AssertStmt, condition=condition, message=_message)
Allocate = node_constructor(tir.Allocate, condition=condition)
AllocateConst = node_constructor(tir.AllocateConst, data=lambda data: data)
AttrStmt = node_constructor(tir.AttrStmt, node=plain_nodes, value=_message)
Block = node_constructor(tir.Block, iter_vars=tuple)
BlockRealize = node_constructor(tir.BlockRealize, predicate=condition)
BufferRealize = node_constructor(tir.BufferRealize, bounds=_ranges, condition=condition)
BufferRegion = node_constructor(tir.BufferRegion, region=_ranges)
DeclBuffer = node_constructor(tir.DeclBuffer)
Evaluate = node_constructor(tir.Evaluate)
IfThenElse = node_constructor(tir.IfThenElse, condition=condition)
MatchBufferRegion = node_constructor(tir.MatchBufferRegion)
ProducerRealize = node_constructor(tir.ProducerRealize, bounds=_ranges, condition=condition)
ProducerStore = node_constructor(tir.ProducerStore)
SeqStmt = node_constructor(tir.SeqStmt)
While = node_constructor(tir.While, condition=condition)


@constructor(tir.LetStmt)
def LetStmt(var: tir.PrimExpr, value: te.Value, body: tir.Stmt) -> tir.LetStmt:
    """`body`, in which `var` has the value `value`; TvmsError E0407 if their dtypes differ."""
    return tir.LetStmt(*binding(var, value), plain_node(body))


def is_buffer_var(value: object) -> bool:
    """Whether `value` is a buffer, which is a variable in the newest TVM, or the parameter that passes one."""
    if isinstance(value, tir.Var):
        return value.dtype == "handle" and not isinstance(value.type_annotation, tir.PointerType)
    return isinstance(value, tir.Buffer)


@constructor(tir.BufferStore)
def BufferStore(
    buffer: tir.Buffer, value: te.Value, indices: Sequence[te.Value], predicate: te.Value | None = None
) -> tir.BufferStore:
    """`buffer[indices] = value`; a vector is stored only in the lanes in which `predicate` holds."""
    node = None if predicate is None else te.operand(predicate)
    return tir.BufferStore(buffer, te.operand(value, buffer.dtype), plain_node(indices), node)


@constructor(tir.For)
def For(
    loop_var: tir.PrimExpr,
    min: te.Value,
    extent: te.Value,
    kind: tir.ForKind | int,
    body: tir.Stmt,
    thread_binding: tir.IterVar | None = None,
    annotations: Mapping[str, Any] | None = None,
) -> tir.For:
    """`body` for every value of `loop_var` in `[min, min + extent)`."""
    var: tir.Var = plain_node(loop_var)
    bounds = (te.operand(min, var.dtype), te.operand(extent, var.dtype))
    return tir.For(var, *bounds, _kind(kind), body, thread_binding, plain_nodes(dict(annotations or {})))


@constructor(tir.PrimFunc)
def PrimFunc(
    params: Sequence[Any],
    body: tir.Stmt,
    ret_type: tir.Type | None = None,
    buffer_map: Mapping[Any, tir.Buffer] | None = None,
    attrs: Attrs | None = None,
) -> tir.PrimFunc:
    """A function of scalars and buffers; each buffer in `params` gets a handle parameter."""
    buffers = {plain_node(param): buffer for param, buffer in (buffer_map or {}).items()}
    variables: list[tir.Var] = []
    for param in map(plain_node, params):
        if isinstance(param, tir.Buffer):
            variables.append(tir.Var("handle", f"{param.name}_handle"))
            buffers[variables[-1]] = param
        else:
            variables.append(param)
    return tir.PrimFunc(tuple(variables), body, ret_type, buffers, attrs=plain_nodes(dict(attrs or {})))


@constructor(tir.Buffer, READ=1, WRITE=2)
def decl_buffer(
    shape: Any,
    dtype: str | None = None,
    name: str = "buffer",
    data: tir.PrimExpr | None = None,
    strides: Sequence[te.Value] | None = None,
    elem_offset: te.Value | None = None,
    scope: str = "",
    data_alignment: int = -1,
    offset_factor: int = 0,
    buffer_type: str = "",
    axis_separators: Sequence[int] | None = None,
) -> tir.Buffer:
    """A buffer of `shape` over `data`, or over its own memory (TVM: `tir.decl_buffer`).

    Raises ValueError if `axis_separators` are not increasing numbers of dimensions.
    """
    sizes = plain_node(shape if isinstance(shape, tuple | list) else (shape,))
    limits = [0, *(axis_separators or ()), len(sizes)]
    if any(first > second for first, second in pairwise(limits)):
        raise ValueError(
            f"axis_separators {limits[1:-1]} of buffer '{name}' are not increasing numbers from 0 to {len(sizes)}"
        )
    elements = dtype or "float32"
    index = sizes[0].dtype if sizes else "int32"
    if elem_offset is None and offset_factor:
        elem_offset = te.var(f"{name}_elem_offset", index)
    pointer = data_pointer(name, elements, scope or "global") if data is None else plain_node(data)
    held = pointer.type_annotation
    place = held.storage_scope if isinstance(held, tir.PointerType) else scope
    kind = tir.BufferType.AUTO_BROADCAST if buffer_type.startswith("auto") else tir.BufferType.DEFAULT
    offset = None if elem_offset is None else te.operand(elem_offset, index)
    return tir.Buffer(
        pointer, elements, sizes, name, plain_node(strides or ()), offset,
        data_alignment if data_alignment > 0 else _ALIGNMENT, offset_factor or 1, kind, tuple(axis_separators or ()),
        place or "global",
    )  # fmt: skip


def stmt_seq(*statements: tir.Stmt | te.Value) -> tir.Stmt:
    """Return a sequence of statements as one statement; expressions among them are evaluated (TVM: `tir.stmt_seq`)."""
    items = [
        statement if isinstance(statement, tir.Stmt) else tir.Evaluate(te.operand(statement))
        for statement in statements
    ]
    return items[0] if len(items) == 1 else tir.SeqStmt(tuple(items))


def stmt_list(stmt: tir.Stmt) -> list[tir.Stmt]:
    """Return the statements of a sequence."""
    return list(stmt.seq) if isinstance(stmt, tir.SeqStmt) else [stmt]


def vscale() -> tir.PrimExpr:
    """The run-time factor of the length of a scalable vector."""
    return make.vscale()
