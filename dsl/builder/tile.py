"""The tile level of TIRX: names in `T` and `Tx` that have no form here become `TileCall`s, which are only kept and printed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, cast

from msgspec import Struct

from ...ir import make, tir
from ...ir.base import Attrs, Node, Span, Trivia
from ...ir.buffers import data_pointer
from ...ir.dtype import is_dtype
from ...ir.ops import tile
from ...ir.signature import describe
from .. import syntax
from . import tile_shapes
from .context import Context
from .convert import expression, is_dict, is_tuple
from .forms import Closure, Form, FormUse, Namespace, form
from .tir_buffers import declaration, make_buffer
from .tir_frames import Frame

_SCOPES_OF_TILES = ("cta", "warp", "warpgroup", "wg", "cluster", "thread")
VIEW = tile.VIEW
_ZERO = tir.IntImm("int32", 0)


class TileName(Struct, frozen=True, eq=False):
    """A name of the tile level that is not called yet, such as `T.ptx.ld`."""

    kind: ClassVar[str] = "a name of the tile level"

    name: str


def member(owner: Namespace, name: str) -> Any:
    """Return `owner.name` if it belongs to the tile level: a name or a value; else None."""
    if owner.name == "T":
        return TileName(name) if name in tile.NAMES | tile.NAMESPACES else None
    if not owner.name.startswith("T."):
        return None
    path = owner.name.removeprefix("T.")
    root = path.partition(".")[0]
    belongs = root in tile.NAMESPACES or name in tile.OF_OTHERS.get(path, ())
    return attribute(TileName(path), name) if belongs else None


def attribute(owner: TileName, name: str) -> Any:
    """Return `owner.name`; `Tx.cta.copy` is `T.cta.copy`."""
    if owner.name == "tile" and name in _SCOPES_OF_TILES:
        return TileName(name)
    dotted = f"{owner.name}.{name}"
    return tir.TileCall("void", dotted) if dotted in tile.VALUES else TileName(dotted)


def subscript(context: Context, owner: TileName, indices: Sequence[Any], node: syntax.Subscript) -> Any:
    """Return `T.S[4, 64]`, a part of a layout, or `T.ptx["ld.global"]`, a name."""
    span = context.span(node)
    if len(indices) == 1 and isinstance(indices[0], str):
        return TileName(f'{owner.name}["{indices[0]}"]')
    args = tuple([_argument(context, index, node, span) for index in indices])
    return tir.TileCall("void", f"{owner.name}[]", args, span=span)


def view(
    site: FormUse,
    buffer: tir.Buffer,
    shape: tuple[tir.PrimExpr, ...],
    dtype: str,
    name: str,
    args: Sequence[Any],
    layout: Any = None,
) -> Frame:
    """Return the frame of a view that a method of the tile level, `name`, makes of a buffer; it is printed as that call."""
    keywords = {} if layout is None else {"layout": _argument(site.context, layout, site.node, site.span)}
    made_by = tir.TileCall("void", f".{name}", (_source(site.context, buffer), *args), keywords, span=site.span)
    return _view(site, buffer, shape, dtype, made_by)


def _view(
    site: FormUse, buffer: tir.Buffer, shape: tuple[tir.PrimExpr, ...], dtype: str, made_by: tir.TileCall
) -> Frame:
    made = make_buffer(site, shape, dtype, data=buffer.data, attrs={VIEW: made_by})
    return declaration(site.function, made, allocate=False)


def part(site: FormUse, buffer: tir.Buffer, indices: Sequence[Any]) -> Frame:
    """Return the frame of `A.sub[0, 2:6]`."""
    context, node, span = site.context, site.node, site.span
    shape: list[tir.PrimExpr] = []
    for axis, extent in enumerate(buffer.shape):
        index = indices[axis] if axis < len(indices) else slice(None)
        if isinstance(index, slice):
            said = cast("slice[Any, Any, Any]", index)
            start, stop = said.start or 0, extent if said.stop is None else said.stop
            step = 1 if said.step is None else said.step
            size = make.sub(expression(stop, span), expression(start, span))
            shape.append(make.floordiv(make.add(size, step - 1), step))
    args = [_argument(context, index, node, span) for index in indices]
    return view(site, buffer, tuple(shape), buffer.dtype, "sub[]", args)


def tiles(site: FormUse, tiling: tile_shapes.Tiling, picks: Sequence[Any]) -> Frame:
    """Return the frame of `A.tile((0, (-1, 4)))[:, w]`."""
    context, node, span = site.context, site.node, site.span
    buffer = tiling.buffer
    specs = [_argument(context, spec, node, span) for spec in tiling.specs]
    split = tir.TileCall("void", ".tile", (_source(context, buffer), *specs), span=span)
    args = [_argument(context, pick, node, span) for pick in picks]
    shape = tile_shapes.picked(tiling, picks, span)
    return _view(site, buffer, shape, buffer.dtype, tir.TileCall("void", "[]", (split, *args), span=span))


def rearranged(site: FormUse, buffer: tir.Buffer, pattern: str, sizes: dict[str, Any]) -> Frame:
    """Return the frame of `A.rearrange("(o i) t -> o t i", o=2)`."""
    named = {name: _argument(site.context, size, site.node, site.span) for name, size in sizes.items()}
    shape = tile_shapes.rearranged(buffer, pattern, sizes, site.span)
    call = tir.TileCall("void", ".rearrange", (_source(site.context, buffer), pattern), named, span=site.span)
    return _view(site, buffer, shape, buffer.dtype, call)


def _source(context: Context, buffer: tir.Buffer) -> Any:
    """Return a buffer, or the call that makes it if it has no name."""
    return buffer if context.scope.holds(buffer) else buffer.attrs.get(VIEW, buffer)


def call(
    context: Context,
    callee: str,
    node: syntax.Call,
    values: Sequence[Any],
    keywords: dict[str, Any],
    target: syntax.Expr | None,
) -> Any:
    """Return a call of the tile level: the frame of its definitions or of its body, or an expression."""
    span = context.span(node)
    args = tuple([_argument(context, value, node, span) for value in values])
    named = {key: _argument(context, value, node, span) for key, value in keywords.items()}
    if callee in tile.SCOPE_IDS:
        return _scope_ids(FormUse(context, node, f"T.{callee}", target), callee, args, named)
    made = tir.TileCall(tile.result_dtype(callee, args, named), callee, args, named, span=span)
    return _scope(made) if callee in tile.SCOPES else made


def _scope(made: tir.TileCall) -> Frame:
    def wrap(body: tir.Stmt, span: Span, trivia: Trivia | None) -> tir.Stmt:
        key = f"tirx.{made.name.rpartition('.')[2]}"
        return tir.AttrStmt(made, key, tir.IntImm("int32", 1), body, span=span, trivia=trivia)

    return Frame(None, wrap)


def _scope_ids(site: FormUse, callee: str, args: tuple[Any, ...], named: Attrs) -> Frame:
    """Return the frame of `bx, by = T.cta_id([4, 2])`: each variable is bound to one component of the call."""
    extents = args[0] if args else named.get("extents")
    count = len(extents) if is_tuple(extents) else 1
    dtype = tile.result_dtype(callee, args, named)
    names = site.names(count, f"{site.name} makes {count} indices")
    variables = [tir.Var(dtype, name or "v", span=site.span) for name in names]

    def wrap(body: tir.Stmt, span: Span, trivia: Trivia | None) -> tir.Stmt:
        for index, var in reversed(list(enumerate(variables))):
            keywords = named if index == 0 else {**named, "component": index}
            value = tir.TileCall(dtype, callee, args, keywords, span=span)
            body = tir.LetStmt(var, value, body, span=span, trivia=trivia if index == 0 else None)
        return body

    return Frame(variables[0] if count == 1 else tuple(variables), wrap)


def _argument(context: Context, value: Any, node: syntax.Expr, span: Span) -> Any:
    """Return an argument of the tile level: an expression, a buffer or region, or plain values; E0202 otherwise."""
    if isinstance(value, Form):
        dtype = value.name.removeprefix("T.")
        if is_dtype(dtype):
            return dtype
    elif isinstance(value, slice):
        whole = cast("slice[Any, Any, Any]", value)
        ends = (whole.start, whole.stop) if whole.step is None else (whole.start, whole.stop, whole.step)
        parts = tuple(["" if end is None else _argument(context, end, node, span) for end in ends])
        return tir.TileCall("void", ":", parts, span=span)
    elif is_tuple(value):
        return tuple([_argument(context, element, node, span) for element in value])
    elif is_dict(value):
        return {key: _argument(context, element, node, span) for key, element in value.items()}
    elif isinstance(value, Closure):
        variables = tuple([tir.Var("int32", param.name, span=span) for param in value.node.params])
        return tir.IndexMap(variables, (expression(value.call(variables), span),), span=span)
    elif isinstance(value, tir.IterVar):
        return value.var
    elif isinstance(value, tir.IntImm) and value.dtype == "int32":
        return value.value
    elif value is None or isinstance(value, Node | bool | int | float | str):
        return value
    elif isinstance(value, Frame) and isinstance(value.value, tir.Buffer):
        return value.value
    raise context.error("E0202", f"expected a value of the tile level, got {describe(value)}", node)


@form("T.device_entry")
def device_entry(site: FormUse) -> Frame:
    """`T.device_entry()`: the statements after it are a kernel (an attribute)."""
    true = tir.IntImm("bool", 1)

    def wrap(body: tir.Stmt, span: Span, trivia: Trivia | None) -> tir.Stmt:
        return tir.AttrStmt(_ZERO, tile.DEVICE_ENTRY, true, body, span=span, trivia=trivia)

    return Frame(None, wrap)


@form(*[f"T.{name}" for name in tile.SCALARS])
def scalar(site: FormUse, dtype: Any = "float32") -> Frame:
    """`x = T.local_scalar("uint32")`: a mutable scalar, a buffer of one element."""
    return declared_scalar(site, str(_argument(site.context, dtype, site.node, site.span)))


def declared_scalar(site: FormUse, dtype: str) -> Frame:
    """Return the frame that allocates a scalar in the storage scope of its form; its value is the element."""
    scope, name = tile.SCALARS[site.name.removeprefix("T.")], site.first_name or "v"
    data = data_pointer(name, dtype, scope, site.span)
    one = tir.IntImm("int32", 1)
    buffer = tir.Buffer(data, dtype, (one,), name, data_alignment=64, scope=scope, span=site.span)
    site.function.allocated_buffers.append(buffer)
    frame = declaration(site.function, buffer, allocate=True)
    return Frame(make.buffer_load(buffer, (_ZERO,), span=site.span), frame.wrap)
