"""Construction of buffers, and the buffers that a statement accesses."""

from __future__ import annotations

from collections.abc import Sequence

from . import make, tir
from .base import Span
from .visit import walk


def data_pointer(name: str, dtype: str, scope: str = "global", span: Span | None = None) -> tir.Var:
    """Return a pointer variable for the elements of a buffer; a bool is stored as a byte."""
    element = "int8" if dtype == "bool" else dtype
    return tir.Var("handle", name, tir.PointerType(tir.PrimType(element), scope), span=span)


def decl_buffer(
    shape: Sequence[tir.PrimExpr], dtype: str = "float32", name: str = "buffer", scope: str = "global"
) -> tir.Buffer:
    """Return a compact, row-major buffer with its own pointer (TVM: `tir.decl_buffer`)."""
    return tir.Buffer(data_pointer(name, dtype, scope), dtype, tuple(shape), name, scope=scope)


def index_dtype(shape: Sequence[tir.PrimExpr]) -> str:
    """Return the dtype of offsets into a buffer of `shape` (TVM: `Buffer::DefaultIndexType`)."""
    return shape[0].dtype if shape else "int32"


def elem_offset_of(buffer: tir.Buffer) -> tir.PrimExpr:
    """Return the offset of the first element of the buffer, in elements."""
    return make.const(0, index_dtype(buffer.shape)) if buffer.elem_offset is None else buffer.elem_offset


def packed_buffer(buffer: tir.Buffer, span: Span | None = None) -> tir.Call:
    """Return a buffer as a tensor on the stack (TVM: `tir.op._pack_buffer`)."""
    shape = make.call("tir.tvm_stack_make_shape", buffer.shape, "handle", span)
    strides: tir.PrimExpr = make.const(0, span=span)
    if buffer.strides:
        strides = make.call("tir.tvm_stack_make_shape", buffer.strides, "handle", span)
    rank, element = make.const(len(buffer.shape), span=span), make.const(0, buffer.dtype)
    arguments = (buffer.data, shape, strides, rank, element, elem_offset_of(buffer))
    return make.call("tir.tvm_stack_make_array", arguments, "handle", span)


def buffers_of(node: tir.Stmt) -> tuple[tir.Buffer, ...]:
    """Return the buffers that `node` accesses and does not allocate, in order of first occurrence."""
    found: dict[tir.Buffer, None] = {}
    own: set[tir.Buffer] = set()
    for inner in walk(node):
        if isinstance(inner, tir.Buffer):
            found[inner] = None
        elif isinstance(inner, tir.Block):
            own.update(inner.alloc_buffers, [match.buffer for match in inner.match_buffers])
    return tuple([buffer for buffer in found if buffer not in own])
