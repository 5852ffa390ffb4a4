"""Methods of loop-level values: `A.vload(…)`, `A.vstore(…)`, `A.access_ptr(…)`, `x.astype(…)`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...ir import buffers, make, tir
from ...ir.diagnostics import error
from ...ir.dtype import MAX_LANES, lanes_of
from .convert import DTypeName, Integer, Mask, PrimExpr, Shape
from .forms import Form, FormUse, signature_of
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


def view(site: FormUse, buffer: Any, *shape: PrimExpr) -> Frame:
    """`B = A.view(4, 4)`: the same memory in another shape (TVM: `Buffer.view`)."""
    return decl_buffer(site, shape, buffer.dtype, data=buffer.data, scope=buffer.scope)


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


BUFFER_METHODS = _methods(vload, vstore, access_ptr, scope, view)
EXPRESSION_METHODS = _methods(astype, equal)
