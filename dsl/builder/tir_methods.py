"""Methods of loop-level values: `A.vload(…)`, `A.vstore(…)`, `A.access_ptr(…)`, `x.astype(…)`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...ir import buffers, make, tir
from ...ir.diagnostics import error
from ...ir.dtype import MAX_LANES, lanes_of, parse_dtype
from . import tile, tile_shapes
from .convert import DTypeName, Integer, Mask, PrimExpr, Shape, expression
from .forms import Form, FormUse, Method, dtype_name, signature_of
from .tir_buffers import decl_buffer
from .tir_frames import Frame


def vload(
    site: FormUse, buffer: Any, begin: Shape, dtype: DTypeName | None = None, predicate: PrimExpr | None = None
) -> tir.BufferLoad:
    """`A.vload([i], "float32x4")`: a load with the lanes of the dtype (TVM: `Buffer.vload`)."""
    indices = make.vector_indices(begin, lanes_of(dtype or buffer.dtype) // lanes_of(buffer.dtype))
    return make.buffer_load(buffer, indices, predicate, span=site.span)


def vstore(site: FormUse, buffer: Any, begin: Shape, value: PrimExpr, predicate: PrimExpr | None = None) -> tir.Stmt:
    """`A.vstore([i], value)`: a store with the lanes of `value` (TVM: `Buffer.vstore`)."""
    indices = make.vector_indices(begin, lanes_of(value.dtype) // lanes_of(buffer.dtype))
    return tir.BufferStore(buffer, value, indices, predicate, span=site.span)


def access_ptr(
    site: FormUse,
    buffer: Any,
    access_mask: Mask,
    ptr_type: DTypeName = "handle",
    content_lanes: Integer = 1,
    offset: PrimExpr | None = None,
    extent: PrimExpr | None = None,
) -> tir.Call:
    """`A.access_ptr("rw")`: a pointer to the buffer, and the kind of access through it (TVM: `Buffer.access_ptr`)."""
    if not 1 <= content_lanes <= MAX_LANES:
        raise error("E0231", f"a vector cannot have {content_lanes} lanes", site.span, f"use 1 to {MAX_LANES} lanes")
    return buffers.access_ptr(buffer, access_mask, ptr_type, content_lanes, offset, extent, site.span)


def view(site: FormUse, buffer: Any, *shape: Any, layout: Any = None) -> Frame:
    """`B = A.view(4, 4)`: the same memory in another shape, of which one extent can be -1; `A.view("float16")`, with another
    dtype (TVM: `Buffer.view`).
    """
    if len(shape) == 1 and isinstance(shape[0], str):
        if not buffer.shape:
            message = f"view of '{buffer.name}': it has no axis whose size another dtype could change"
            raise error("E0325", message, site.span, "declare the view with T.decl_buffer and data=")
        dtype, last = dtype_name(shape[0], site.span), buffer.shape[-1]
        bits = [parse_dtype(name).bits for name in (buffer.dtype, dtype)]
        size = make.floordiv(make.mul(last, bits[0]), bits[1])
        return tile.view(site, buffer, (*buffer.shape[:-1], size), dtype, "view", shape)
    extents = tile_shapes.viewed(buffer, shape, site.span)
    if buffer.attrs or layout is not None:
        return tile.view(site, buffer, extents, buffer.dtype, "view", extents, layout)
    return decl_buffer(site, extents, buffer.dtype, data=buffer.data, scope=buffer.scope)


def permute(site: FormUse, buffer: Any, *axes: Integer) -> Frame:
    """`B = A.permute(1, 0)`: a view with its axes in another order, on the tile level."""
    if sorted(axes) != list(range(len(buffer.shape))):
        count = len(buffer.shape)
        message = f"permute of '{buffer.name}': expected each axis from 0 to {count - 1} once, got {list(axes)}"
        raise error("E0325", message, site.span, "name all axes in their new order")
    shape = tuple([buffer.shape[axis] for axis in axes])
    return tile.view(site, buffer, shape, buffer.dtype, "permute", axes)


def local(site: FormUse, buffer: Any, *shape: Any, layout: Any = None) -> Frame:
    """`B = A.local()`: what one thread holds of a buffer, on the tile level; its number of elements is not known here."""
    extents = tuple([expression(extent, site.span) for extent in shape])
    return tile.view(site, buffer, extents or (buffers.packed_size(buffer),), buffer.dtype, "local", extents, layout)


def ptr_to(site: FormUse, buffer: Any, indices: Shape) -> tir.PrimExpr:
    """`A.ptr_to([0])`: a pointer to an element (TVM: `Buffer.ptr_to`)."""
    return make.call("tir.address_of", (make.buffer_load(buffer, indices, span=site.span),), "handle", site.span)


def elem_offset_of(site: FormUse, buffer: Any, indices: Shape) -> tir.PrimExpr:
    """`A.elem_offset_of([1, 2])`: the position of an element in memory (TVM: `Buffer.elem_offset_of`)."""
    return buffers.offset_of(buffer, indices)[-1]


def sub(site: FormUse, buffer: Any, *indices: Any) -> Frame:
    """`B = A.sub[0, 2:6]`: a part of a buffer, on the tile level; an index of one element removes its axis."""
    return tile.part(site, buffer, indices)


def tiles(site: FormUse, buffer: Any, *specs: Any) -> Method:
    """`B = A.tile((0, (-1, 4)))[:, w]`: a part of a buffer whose axes are split into factors, on the tile level."""
    return Method(_PICK, tile_shapes.Tiling(buffer, specs))


def _picked(site: FormUse, tiling: Any, *picks: Any) -> Frame:
    return tile.tiles(site, tiling, picks)


def rearrange(site: FormUse, buffer: Any, /, *pattern: Any, **sizes: Any) -> Frame:
    """`B = A.rearrange("(o i) t -> o t i", o=2)`: a view with split and reordered axes, on the tile level."""
    wanted = pattern[0] if pattern else sizes.pop("pattern", None)
    if len(pattern) > 1 or not isinstance(wanted, str):
        raise site.error("E0105", "rearrange takes one pattern", 'write A.rearrange("a b -> b a")')
    return tile.rearranged(site, buffer, wanted, sizes)


def scope(site: FormUse, buffer: Any) -> str:
    """`A.scope()`: the storage scope."""
    return buffer.scope


def astype(site: FormUse, value: Any, dtype: DTypeName) -> tir.PrimExpr:
    """`x.astype("float16")`: the value as another dtype."""
    return make.cast(value, dtype, site.span)


def equal(site: FormUse, value: Any, other: PrimExpr) -> tir.PrimExpr:
    """`x.equal(y)`: the comparison, folded if both are constants."""
    return make.equal(value, other, span=site.span)


def _methods(*builders: Callable[..., Any]) -> dict[str, Form]:
    return {build.__name__: Form(build.__name__, build, signature_of(build)) for build in builders}


BUFFER_METHODS = _methods(
    vload, vstore, access_ptr, scope, view, ptr_to, elem_offset_of, permute, local, sub, rearrange
) | {"tile": Form("tile", tiles, signature_of(tiles))}
_PICK = Form("tile[]", _picked, signature_of(_picked))
EXPRESSION_METHODS = _methods(astype, equal)
