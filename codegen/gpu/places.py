"""Offsets and strides of matched buffers that operators access through pointers, kept symbolic until buffers
are compacted.

The `elem_offset` and `strides` of a matched buffer in local or shared memory become calls that hold the
first and the last element of its region. After compaction, the calls become numbers.

    T.ptx_ldmatrix(…, W.data, W.elem_offset + tx * 8, …)  →  T.ptx_ldmatrix(…, A.data, offset(A[i, 0], A[i, 7]) + tx * 8, …)
"""

from __future__ import annotations

from msgspec.structs import replace

from ...ir import make, tir
from ...ir.analysis.const_bounds import Domains
from ...ir.base import Node, Op
from ...ir.ops.tir_kinds import TYPE_ANNOTATION
from ...ir.simplify import simplify
from ...ir.visit import walk
from ..lower.layout import flat_index, strides_of
from ..lower.match_buffer import MatchedBuffers
from ..lower.rewriter import Rewriter
from ..lower.uses import OFFSET_OF_PART
from .kernel import Kernel, scope_of

_STRIDE = Op("tir.stride_of_part")


def match_by_places(func: tir.PrimFunc) -> tir.PrimFunc:
    """Return `func`, whose blocks are opaque, with matched buffers replaced by symbolic offsets and strides."""
    return replace(func, body=_Matcher().rewrite(func.body))


class _Matcher(MatchedBuffers):
    def layout(
        self, source: tir.Buffer, mins: tuple[tir.PrimExpr, ...], extents: tuple[tir.PrimExpr, ...]
    ) -> tuple[tir.PrimExpr, tuple[tir.PrimExpr, ...]]:
        if scope_of(source.data) == "global":
            return super().layout(source, mins, extents)
        last = [make.sub(make.add(low, make.cast(n, low.dtype)), make.const(1, low.dtype)) for low, n in zip(mins, extents, strict=True)]  # fmt: skip
        ends = tuple([tir.BufferLoad(source.dtype, source, tuple(place)) for place in (mins, last)])
        axes = range(-len(source.shape), 0)  # pipelines add a first dimension
        strides = [tir.Call("int64", _STRIDE, (*ends, tir.IntImm("int32", axis))) for axis in axes]
        return tir.Call("int64", OFFSET_OF_PART, ends), tuple(strides)


def parts_in(node: Node) -> set[tir.Var]:
    """Return the memory that `node` accesses through regions with known elements."""
    calls = (inner for inner in walk(node) if isinstance(inner, tir.Call) and inner.op == OFFSET_OF_PART)
    return {call.args[0].buffer.data for call in calls if isinstance(call.args[0], tir.BufferLoad)}


def resolve_places(kernel: Kernel) -> Kernel:
    """Return `kernel`, whose buffers have their final shapes, with numbers for the symbolic offsets and strides."""
    return replace(kernel, body=_Resolver(domains_of(kernel)).rewrite(kernel.body))


def domains_of(kernel: Kernel) -> dict[tir.Var, tir.Range]:
    """Return the domains of the axes and loop variables of `kernel`."""
    domains = {axis.var: tir.Range(make.const(0, axis.var.dtype), axis.extent) for axis in kernel.axes}
    loops = (node for node in walk(kernel.body) if isinstance(node, tir.For))
    return domains | {loop.loop_var: tir.Range(loop.min, loop.extent) for loop in loops}


class _Resolver(Rewriter):
    def __init__(self, domains: Domains) -> None:
        super().__init__({tir.Call: self._call, tir.Buffer: lambda buffer: buffer})
        self._domains = domains

    def _call(self, call: tir.Call) -> tir.PrimExpr:
        first = call.args[0] if call.args else None
        if call.op == OFFSET_OF_PART and isinstance(first, tir.BufferLoad):
            return flat_index(first.buffer, self.rewrite(first.indices))
        if call.op == _STRIDE and isinstance(first, tir.BufferLoad) and isinstance(call.args[2], tir.IntImm):
            return strides_of(first.buffer)[call.args[2].value]
        rebuilt = self.rebuild(call)
        if rebuilt is call:
            return call
        return replace(rebuilt, args=tuple([self._shorter(arg) for arg in rebuilt.args]))

    def _shorter(self, arg: object) -> object:
        is_type = isinstance(arg, tir.Call) and arg.op == TYPE_ANNOTATION
        if isinstance(arg, tir.PrimExpr) and arg.dtype in ("int32", "int64") and not is_type:
            return simplify(wide(arg), self._domains)
        return arg


def wide(expr: tir.PrimExpr) -> tir.PrimExpr:
    """Return an index, which does not overflow, in int64."""
    match expr:
        case tir.IntImm():
            return tir.IntImm("int64", expr.value)
        case tir.Cast() if expr.value.dtype in ("int32", "int64"):
            return wide(expr.value)
        case tir.Add() | tir.Sub() | tir.Mul() | tir.FloorDiv() | tir.FloorMod():
            return type(expr)("int64", wide(expr.a), wide(expr.b))
        case _:
            return make.cast(expr, "int64")
