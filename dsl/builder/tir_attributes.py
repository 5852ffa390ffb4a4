"""Attributes of loop-level values, `A.shape`, `A.vload(…)`, `x.dtype`, and calls of functions of the module."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...ir import make, relax, tir
from ...ir.base import GlobalVar
from ...ir.signature import describe
from ...ir.spelling import did_you_mean
from .. import syntax
from .context import Context
from .forms import Form, Method
from .tir_buffers import index_dtype
from .tir_methods import BUFFER_METHODS, EXPRESSION_METHODS

_BUFFER: dict[str, Callable[[tir.Buffer], Any]] = {
    "data": lambda buffer: buffer.data,
    "shape": lambda buffer: buffer.shape,
    "strides": lambda buffer: buffer.strides,
    "elem_offset": lambda buffer: _offset(buffer),
    "dtype": lambda buffer: buffer.dtype,
    "name": lambda buffer: buffer.name,
    "ty": lambda buffer: buffer,
    "data_alignment": lambda buffer: buffer.data_alignment,
    "offset_factor": lambda buffer: buffer.offset_factor,
}
_EXPRESSION: dict[str, Callable[[tir.PrimExpr], Any]] = {
    "dtype": lambda expr: expr.dtype,
    "ty": lambda expr: _type(expr),
}
"""In the newest TVM, `A.ty` of a buffer has the attributes of `A`, and `x.ty` of an expression is its type."""
_OTHER: dict[type, dict[str, Callable[[Any], Any]]] = {
    tir.IterVar: {"var": lambda axis: axis.var, "dom": lambda axis: axis.dom},
    tir.Range: {"min": lambda dom: dom.min, "extent": lambda dom: dom.extent},
    tir.BufferRegion: {"buffer": lambda region: region.buffer, "region": lambda region: region.region},
}


def _offset(buffer: tir.Buffer) -> tir.PrimExpr:
    return make.const(0, index_dtype(buffer.shape)) if buffer.elem_offset is None else buffer.elem_offset


def _type(expr: tir.PrimExpr) -> tir.Type:
    kind = expr.type_annotation if isinstance(expr, tir.Var) else None
    return kind or tir.PrimType(expr.dtype)


def attribute_of(context: Context, owner: Any, node: syntax.Attribute) -> Any:
    """Return `owner.attr`, or the method of that name; raise E0103 if there is neither."""
    readers, methods = _members(owner)
    if node.attr in readers:
        return readers[node.attr](owner)
    if node.attr in methods:
        return Method(methods[node.attr], owner)
    help = did_you_mean(node.attr, (*readers, *methods))
    raise context.error("E0103", f"{describe(owner)} has no attribute '{node.attr}'", node, help)


def _members(owner: Any) -> tuple[dict[str, Callable[[Any], Any]], dict[str, Form]]:
    """Return the attributes and the methods of a value."""
    if isinstance(owner, tir.Buffer):
        return _BUFFER, BUFFER_METHODS
    if isinstance(owner, tir.PrimExpr):
        return _EXPRESSION, EXPRESSION_METHODS
    for kind, readers in _OTHER.items():
        if isinstance(owner, kind):
            return readers, {}
    return {}, {}


def call_function(context: Context, node: syntax.Call, function: GlobalVar, args: list[tir.PrimExpr]) -> tir.Call:
    """Return a call of another loop function of the module; its dtype is that of the function's result."""
    info = function.struct_info
    returned = info.ret if isinstance(info, relax.FuncStructInfo) else None
    dtype = returned.dtype if isinstance(returned, relax.PrimStructInfo) else "void"
    return tir.Call(dtype, function, tuple(args), span=context.span(node))
