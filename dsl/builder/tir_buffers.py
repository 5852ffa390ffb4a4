"""Buffers: parameters, allocations and views."""

from __future__ import annotations

from typing import Any

from ...ir import make, tir
from ...ir.base import Attrs, Span, Trivia
from ...ir.buffers import ALIGNMENT, data_pointer, index_dtype
from ...ir.signature import describe
from .convert import (
    Attributes,
    Buffer,
    DTypeName,
    Integer,
    Ints,
    Mismatch,
    PrimExpr,
    Shape,
    Text,
    Var,
    converter,
    expression,
    is_tuple,
)
from .forms import FormUse, form
from .tir_access import store
from .tir_frames import Frame, FunctionFrame, let_frame

Strides = tuple[tir.PrimExpr | str, ...]


@converter("Strides")
def strides_of(value: Any, span: Span | None) -> tuple[tir.PrimExpr | str, ...]:
    """Return strides: expressions, and strings that name new variables."""
    if not is_tuple(value):
        raise Mismatch("a tuple or list of strides")
    return tuple([stride if isinstance(stride, str) else expression(stride, span) for stride in value])


def make_buffer(
    site: FormUse,
    shape: Shape,
    dtype: str = "float32",
    data: tir.Var | None = None,
    strides: Strides | None = None,
    elem_offset: tir.PrimExpr | None = None,
    scope: str = "global",
    align: int = 0,
    offset_factor: int = 0,
    buffer_type: str = "",
    axis_separators: tuple[int, ...] | None = None,
    attrs: Attrs | None = None,
) -> tir.Buffer:
    """Return a buffer named after the target of the assignment (TVM: `ir_builder.tir.BufferDecl`)."""
    if buffer_type not in ("", "default", "auto", "auto_broadcast"):
        raise site.error("E0202", f'expected buffer_type "default" or "auto", got \'{buffer_type}\'')
    name, span, scope = site.first_name, site.span, scope or "global"
    if data is None:
        data = data_pointer(name, dtype, scope, span)
    elif isinstance(data.type_annotation, tir.PointerType):
        scope = data.type_annotation.storage_scope or "global"
    if elem_offset is None and offset_factor:
        elem_offset = tir.Var(index_dtype(shape), f"{name}_elem_offset", span=span)
    if isinstance(elem_offset, tir.IntImm) and elem_offset.value == 0 and elem_offset.dtype == index_dtype(shape):
        elem_offset = None
    named = tuple(
        tir.Var(index_dtype(shape), stride, span=span) if isinstance(stride, str) else stride
        for stride in strides or ()
    )
    kind = tir.BufferType.AUTO_BROADCAST if buffer_type.startswith("auto") else tir.BufferType.DEFAULT
    return tir.Buffer(
        data, dtype, shape, name, named, elem_offset, align if align > 0 else ALIGNMENT, offset_factor or 1, kind,
        axis_separators or (), scope, attrs or {}, span=span,
    )  # fmt: skip


def _of_tiles(layout: Any, allocated_addr: Any = None) -> Attrs:
    """Return the attributes that the tile level gives to a buffer, without those that mean nothing."""
    attrs: Attrs = {} if layout == "default" else {"layout": layout}
    return attrs if allocated_addr is None else {**attrs, "allocated_addr": allocated_addr}


@form("T.Buffer", "T.buffer", "T.buffer_decl")
def buffer(
    site: FormUse,
    shape: Shape,
    dtype: DTypeName = "float32",
    data: Var | None = None,
    strides: Strides | None = None,
    elem_offset: PrimExpr | None = None,
    scope: Text = "global",
    align: Integer = 0,
    offset_factor: Integer = 0,
    buffer_type: Text = "",
    axis_separators: Ints | None = None,
    *,
    layout: Any = "default",
    allocated_addr: Any = None,
) -> tir.Buffer:
    """`A: T.Buffer((128, 128), "float32")`: a buffer, as the annotation of a parameter."""
    return make_buffer(
        site, shape, dtype, data, strides, elem_offset, scope, align, offset_factor, buffer_type, axis_separators,
        _of_tiles(layout, allocated_addr),
    )  # fmt: skip


@form("T.match_buffer")
def match_buffer(
    site: FormUse,
    param: Any,
    shape: Shape | None = None,
    dtype: DTypeName = "float32",
    data: Var | None = None,
    strides: Strides | None = None,
    elem_offset: PrimExpr | None = None,
    scope: Text = "global",
    align: Integer = -1,
    offset_factor: Integer = 0,
    buffer_type: Text = "default",
    axis_separators: Ints | None = None,
    *,
    layout: Any = "default",
) -> tir.Buffer:
    """`A = T.match_buffer(a, (n, m))`: the buffer of a handle parameter or, inside a block, a view of a region."""
    from .tir_blocks import block_of, region_of

    if shape is None:
        if not isinstance(param, tir.BufferRegion):
            raise site.error("E0105", "T.match_buffer of a parameter needs argument 2, 'shape'")
        dtype, shape = param.buffer.dtype, tuple([axis.extent for axis in param.region])
    made = make_buffer(
        site, shape, dtype, data, strides, elem_offset, scope, align, offset_factor, buffer_type, axis_separators,
        _of_tiles(layout),
    )  # fmt: skip
    if isinstance(param, tir.Var):
        function = site.function
        if not any(param is known for known in function.params):
            help = "match a parameter of the function, or a region of a buffer"
            raise site.error(
                "E0201", f"'{param.name}' is not a parameter of the function", help, site.argument("param", 0)
            )
        _check_param(site, param)
        function.buffer_map[param] = made
    elif isinstance(param, tir.BufferRegion | tir.BufferLoad):
        block_of(site).match_buffers.append(tir.MatchBufferRegion(made, region_of(param, None), span=site.span))
    else:
        message = "argument 1, 'param' to T.match_buffer: expected a handle parameter or a region of a buffer"
        raise site.error("E0202", message, node=site.argument("param", 0))
    return made


def _check_param(site: FormUse, param: tir.Var) -> None:
    """Check that a parameter is a handle that has been neither matched (E0209) nor used (E0201) before."""
    place, known = site.argument("param", 0), site.function.buffer_map.get(param)
    if param.dtype != "handle":
        message = f"argument 1, 'param' to T.match_buffer: expected a handle parameter, got {describe(param)}"
        raise site.error("E0202", message, f"declare it as {param.name}: T.handle", place)
    if known is not None:
        raise site.error("E0209", f"'{param.name}' is already matched as buffer '{known.name}'", node=place)
    if site.function.uses(param):
        raise site.error("E0201", f"'{param.name}' is matched after it is used", "match it at the top", place)


@form("T.alloc_buffer", "T.sblock_alloc_buffer")
def alloc_buffer(
    site: FormUse,
    shape: Shape,
    dtype: DTypeName = "float32",
    data: Var | None = None,
    strides: Strides | None = None,
    elem_offset: PrimExpr | None = None,
    scope: Text = "global",
    align: Integer = -1,
    offset_factor: Integer = 0,
    buffer_type: Text = "default",
    axis_separators: Ints | None = None,
    annotations: Attributes | None = None,
    *,
    layout: Any = "default",
    allocated_addr: Any = None,
) -> tir.Buffer | Frame:
    """`B = T.alloc_buffer((128,), scope="shared")`: memory of the innermost block, or of the whole function.

    In texts of TVM after 0.21, and inside loops, it means the same as `T.decl_buffer` without `data`.
    """
    function = site.function
    made = make_buffer(
        site, shape, dtype, data, strides, elem_offset, scope, align, offset_factor, buffer_type, axis_separators,
        _of_tiles(layout, allocated_addr),
    )  # fmt: skip
    is_statement = site.context.is_newer_tvm or not (function.blocks or len(function.bodies) == 1)
    if site.name == "T.alloc_buffer" and is_statement and data is None:
        function.allocated_buffers.append(made)
        return declaration(function, made, True, annotations)
    if annotations:
        help = "annotate the block: T.block_attr({…})"
        raise site.error("E0201", "the buffer of a block has no annotations", help, site.argument("annotations", 11))
    if function.blocks:
        function.blocks[-1].alloc_buffers.append(made)
    elif len(function.bodies) == 1:
        function.root_buffers.append(made)
    else:
        help = "move it to the top of the function, or into a block"
        raise site.error("E0201", f"{site.name} belongs in a block or at the top of the function", help)
    return made


@form("T.alloc_shared", "T.alloc_local")
def alloc_scope(
    site: FormUse,
    shape: Shape,
    dtype: DTypeName = "float32",
    *,
    align: Integer = -1,
    annotations: Attributes | None = None,
    layout: Any = "default",
    allocated_addr: Any = None,
) -> Frame:
    """`B = T.alloc_shared((128,))`: memory for the statements after it, in the scope `shared` or `local`."""
    scope = site.name.removeprefix("T.alloc_")
    made = make_buffer(site, shape, dtype, scope=scope, align=align, attrs=_of_tiles(layout, allocated_addr))
    site.function.allocated_buffers.append(made)
    return declaration(site.function, made, True, annotations)


@form("T.decl_buffer")
def decl_buffer(
    site: FormUse,
    shape: Shape,
    dtype: DTypeName = "float32",
    data: PrimExpr | None = None,
    strides: Strides | None = None,
    elem_offset: PrimExpr | None = None,
    scope: Text = "global",
    align: Integer = 0,
    offset_factor: Integer = 0,
    buffer_type: Text = "",
    axis_separators: Ints | None = None,
    *,
    layout: Any = "default",
    allocated_addr: Any = None,
) -> Frame:
    """`B = T.decl_buffer((128,), data=A.data)`: a view of the memory of `A`; without `data`, new memory.

    Memory that is given by an expression is bound to a variable first.
    """
    address = data
    if data is not None and not isinstance(data, tir.Var):
        if data.dtype != "handle":
            raise site.error("E0202", f"expected a pointer as 'data', got {data.dtype}", node=site.argument("data", 2))
        data = data_pointer(f"{site.first_name}_data", dtype, scope or "global", site.span)
    made = make_buffer(
        site, shape, dtype, data, strides, elem_offset, scope, align, offset_factor, buffer_type, axis_separators,
        _of_tiles(layout, allocated_addr),
    )  # fmt: skip
    frame = declaration(site.function, made, allocate=data is None)
    if address is None or address is data:
        return frame
    bound = let_frame(made.data, address)
    return Frame(made, lambda body, span, trivia: bound.wrap(frame.wrap(body, span, None), span, trivia))


def declaration(function: FunctionFrame, made: tir.Buffer, allocate: bool, annotations: Attrs | None = None) -> Frame:
    """Return the frame that declares a buffer and, with `allocate`, allocates its memory."""
    function.declared_buffers.append(made)

    def wrap(body: tir.Stmt, span: Span, trivia: Trivia | None) -> tir.Stmt:
        if not allocate:
            return tir.DeclBuffer(made, body, span=span, trivia=trivia)
        inner, true = tir.DeclBuffer(made, body, span=span), tir.IntImm("bool", 1)
        given = annotations or {}
        return tir.Allocate(made.data, made.dtype, made.shape, true, inner, given, span=span, trivia=trivia)

    return Frame(made, wrap)


@form("T.buffer_store")
def buffer_store(
    site: FormUse, buffer: Buffer, value: PrimExpr, indices: Any, predicate: PrimExpr | None = None
) -> tir.Stmt:
    """`T.buffer_store(A, value, [i])`: the same as `A[i] = value`, with an optional predicate for each lane."""
    positions = indices if is_tuple(indices) else (indices,)
    places = [expression(position, site.span) for position in positions]
    return store(buffer, value, places, predicate, site.span)


@form("T.masked_load")
def masked_load(site: FormUse, dtype: DTypeName, buffer: Buffer, *indices_and_mask: PrimExpr) -> tir.BufferLoad:
    """`T.masked_load("float32x4", A, T.Ramp(0, 1, 4), mask)`: loads the lanes that a mask selects."""
    *indices, mask = _with_mask(site, indices_and_mask)
    return make.buffer_load(buffer, indices, mask, span=site.span)


@form("T.masked_store")
def masked_store(site: FormUse, buffer: Buffer, value: PrimExpr, *indices_and_mask: PrimExpr) -> tir.Stmt:
    """`T.masked_store(A, value, T.Ramp(0, 1, 4), mask)`: stores the lanes that a mask selects."""
    *indices, mask = _with_mask(site, indices_and_mask)
    return store(buffer, value, indices, mask, site.span)


def _with_mask(site: FormUse, values: tuple[tir.PrimExpr, ...]) -> tuple[tir.PrimExpr, ...]:
    if len(values) < 2:
        raise site.error("E0105", f"{site.name} needs an index and a mask", "give the indices first, then the mask")
    return values
