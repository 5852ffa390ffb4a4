"""Construction of buffers, and the buffers that a statement accesses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from itertools import pairwise

from msgspec.structs import replace

from . import make, tir
from .base import Op, Span
from .dtype import with_lanes
from .equal import structural_equal
from .visit import walk

ALIGNMENT = 64
"""Default alignment of memory in bytes (TVM: `kAllocAlignment`)."""


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


def access_ptr(
    buffer: tir.Buffer,
    access_mask: int,
    ptr_type: str = "handle",
    content_lanes: int = 1,
    offset: tir.PrimExpr | None = None,
    extent: tir.PrimExpr | None = None,
    span: Span | None = None,
) -> tir.Call:
    """Return a pointer to a buffer, and the kind of access through it: 1 reads, 2 writes (TVM: `Buffer.access_ptr`)."""
    start = make.const(0, index_dtype(buffer.shape)) if offset is None else offset
    position = make.add(elem_offset_of(buffer), start)
    length = make.sub(_elements(buffer), start)
    if content_lanes > 1:
        lanes = make.const(content_lanes, index_dtype(buffer.shape))
        length, position = make.truncdiv(length, lanes), make.truncdiv(position, lanes)
    element = tir.Call(with_lanes(buffer.dtype, content_lanes), Op("tir.type_annotation"), ())
    arguments = (element, buffer.data, position, length if extent is None else extent, make.const(access_mask))
    return tir.Call(ptr_type, Op("tir.tvm_access_ptr"), arguments, span=span)


def packed_size(buffer: tir.Buffer) -> tir.PrimExpr:
    """Return the number of elements of a buffer."""
    return _product(buffer.shape, index_dtype(buffer.shape))


def _elements(buffer: tir.Buffer) -> tir.PrimExpr:
    if buffer.shape and len(buffer.strides) == len(buffer.shape):
        return make.mul(buffer.strides[0], buffer.shape[0])
    return packed_size(buffer)


def _product(sizes: Sequence[tir.PrimExpr], dtype: str) -> tir.PrimExpr:
    return reduce(make.mul, sizes, make.const(1, dtype))


def _groups(buffer: tir.Buffer) -> list[slice]:
    """Return the axes of each axis of flat memory."""
    return [slice(first, last) for first, last in pairwise((0, *buffer.axis_separators, len(buffer.shape)))]


def offset_of(buffer: tir.Buffer, indices: Sequence[tir.PrimExpr]) -> tuple[tir.PrimExpr, ...]:
    """Return the position of an element in memory, one number for each axis of flat memory (TVM: `Buffer.offset_of`)."""
    if buffer.strides:
        parts = [make.mul(index, stride) for index, stride in zip(indices, buffer.strides, strict=True)]
        found = [reduce(make.add, parts[group]) for group in _groups(buffer) if parts[group]]
    else:
        pairs = list(zip(indices, buffer.shape, strict=True))
        zero = make.const(0, index_dtype(buffer.shape))
        found = [
            reduce(lambda total, pair: make.add(make.mul(total, pair[1]), pair[0]), pairs[group], zero)
            for group in _groups(buffer)
        ]
    if buffer.elem_offset is not None:
        found[-1] = make.add(found[-1], buffer.elem_offset)
    return tuple(found)


def flattened(buffer: tir.Buffer) -> tir.Buffer:
    """Return the buffer of the same memory with one axis, or one for each group of axes between separators; the same buffer
    if it is flat (TVM: `Buffer.get_flattened_buffer`).
    """
    groups, dtype = _groups(buffer), index_dtype(buffer.shape)
    if len(groups) == len(buffer.shape) and not buffer.strides:
        return buffer
    if buffer.strides:
        sizes = [make.mul(buffer.strides[group][0], buffer.shape[group][0]) for group in groups if buffer.shape[group]]
    else:
        sizes = [_product(buffer.shape[group], dtype) for group in groups]
    return replace(buffer, shape=tuple(sizes), strides=(), axis_separators=tuple(range(1, len(groups))))


def packed_buffer(buffer: tir.Buffer, span: Span | None = None) -> tir.Call:
    """Return a buffer as a tensor on the stack (TVM: `tir.op._pack_buffer`)."""
    shape = make.call("tir.tvm_stack_make_shape", buffer.shape, "handle", span)
    strides: tir.PrimExpr = make.const(0, span=span)
    if buffer.strides:
        strides = make.call("tir.tvm_stack_make_shape", buffer.strides, "handle", span)
    rank, element = make.const(len(buffer.shape), span=span), make.const(0, buffer.dtype)
    arguments = (buffer.data, shape, strides, rank, element, elem_offset_of(buffer))
    return make.call("tir.tvm_stack_make_array", arguments, "handle", span)


def may_overlap(buffer: tir.Buffer) -> bool:
    """Return whether two different indices may denote one element, by constant strides that are too small for the dimensions
    inside of them. Other strides are taken to be large enough.
    """
    return are_too_small(
        (step.value, extent.value)
        for step, extent in zip(buffer.strides, buffer.shape, strict=False)
        if isinstance(step, tir.IntImm) and isinstance(extent, tir.IntImm)
    )


def are_too_small(dims: Iterable[tuple[int, int]]) -> bool:
    """Return whether different indices may denote one element of dimensions that are given as pairs of a stride and an extent."""
    dims = sorted((abs(step), extent) for step, extent in dims)
    if any(extent <= 0 for _, extent in dims):
        return False
    reach = 0
    for step, extent in dims:
        if extent > 1 and step <= reach:
            return True
        reach += step * (extent - 1)
    return False


def strides_of(buffer: tir.Buffer) -> list[tir.PrimExpr]:
    """Return the strides of a buffer in elements, as int64; a buffer without strides is row-major."""
    if buffer.strides:
        return [make.cast(stride, "int64") for stride in buffer.strides]
    found, step = list[tir.PrimExpr](), make.const(1, "int64")
    for extent in reversed(buffer.shape):
        found.append(step)
        step = make.mul(step, make.cast(extent, "int64"))
    return found[::-1]


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


def is_plain(buffer: tir.Buffer) -> bool:
    """Return whether an allocation says all of a buffer: it has the default alignment, and no attributes such as a layout."""
    return not buffer.attrs and buffer.data_alignment == ALIGNMENT


def is_allocation_of(node: tir.Allocate, inner: tir.DeclBuffer) -> bool:
    """Return whether an allocation and a buffer declared on it say no more than one `T.decl_buffer` without `data`."""
    comments = inner.trivia
    return (
        not (comments and (comments.before or comments.after))
        and inner.buffer.data is node.buffer_var
        and inner.buffer.dtype == node.dtype
        and isinstance(node.condition, tir.IntImm)
        and node.condition.value == 1
        and not node.annotations
        and len(node.extents) == len(inner.buffer.shape)
        and all(structural_equal(a, b) for a, b in zip(node.extents, inner.buffer.shape, strict=True))
    )
