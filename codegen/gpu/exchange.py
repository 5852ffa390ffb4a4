"""Warp shuffles: the source thread of each thread (TVM: `tvm_warp_shuffle`, PTX: `shfl.sync`), and which threads of a warp are active."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...ir import make, tir
from ...ir.base import Op
from ...ir.diagnostics import error
from .architectures import WARP
from .kernel import SHUFFLES


def width_of(call: tir.Call) -> int:
    """Return how many consecutive threads shuffle among themselves; E0606 if it is not a constant that divides the
    warp.
    """
    width = call.args[3] if len(call.args) > 3 else None
    if not isinstance(width, tir.IntImm) or width.value not in (1, 2, 4, 8, 16, 32):
        help = "give a width of 1, 2, 4, 8, 16 or 32"
        raise error("E0606", "the width of the shuffle does not divide a warp", call.span, help)
    return width.value


def shuffled_from(
    call: tir.Call, thread: tir.PrimExpr, count: int, rewrite: Callable[[Any], Any]
) -> tuple[tir.PrimExpr, tir.PrimExpr]:
    """Return the source of `thread` among `count` threads, and whether it exists: otherwise the thread keeps its
    value. As on GPUs, `xor` may read from lanes before the group of the thread, and only the lowest 5 bits of the operand count.

    The arguments of the call are `(mask, value, lane or offset, width, warp_size)`.
    """
    assert isinstance(call.op, Op)
    width = tir.IntImm("int64", width_of(call))
    operand = make.floormod(make.cast(rewrite(call.args[2]), "int64"), tir.IntImm("int64", WARP))
    first = make.sub(thread, make.floormod(thread, width))
    match SHUFFLES[call.op.name]:
        case "idx":
            source = make.add(first, make.floormod(operand, width))
        case "up":
            source = make.sub(thread, operand)
        case "down":
            source = make.add(thread, operand)
        case _:
            source = make.bitwise_xor(thread, operand)
    inside = make.less(source, make.add(first, width))
    if SHUFFLES[call.op.name] == "up":
        inside = make.greater_equal(source, first)
    is_there = make.logical_and(inside, make.less(source, tir.IntImm("int64", count)))
    return make.select(is_there, source, thread), is_there


def active_lanes(
    thread: tir.PrimExpr, count: int, is_active: Callable[[tir.PrimExpr], tir.PrimExpr] | None
) -> tir.PrimExpr:
    """Return a bit for each active thread in the warp of `thread` among `count` threads (TVM: `tvm_warp_activemask`)."""
    first = make.sub(thread, make.floormod(thread, tir.IntImm("int64", WARP)))
    result: tir.PrimExpr = tir.IntImm("uint32", 0)
    for lane in range(min(WARP, count)):
        other = make.add(first, tir.IntImm("int64", lane))
        is_there = make.less(other, tir.IntImm("int64", count))
        if is_active is not None:
            is_there = make.if_then_else(is_there, is_active(other), tir.IntImm("bool", 0))
        bit = make.if_then_else(is_there, tir.IntImm("uint32", 1 << lane), tir.IntImm("uint32", 0))
        result = make.add(result, bit)
    return result
