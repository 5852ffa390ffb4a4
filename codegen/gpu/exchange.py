"""Warp shuffles: the source thread of each thread (TVM: `tvm_warp_shuffle`, PTX: `shfl.sync`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...ir import make, tir
from ...ir.base import Op
from ...ir.diagnostics import error
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
    value.

    The arguments of the call are `(mask, value, lane or offset, width, warp_size)`.
    """
    assert isinstance(call.op, Op)
    width, zero = tir.IntImm("int64", width_of(call)), tir.IntImm("int64", 0)
    operand = make.cast(rewrite(call.args[2]), "int64")
    lane = make.floormod(thread, width)
    first = make.sub(thread, lane)
    match SHUFFLES[call.op.name]:
        case "idx":
            wanted = make.floormod(operand, width)
        case "up":
            wanted = make.sub(lane, operand)
        case "down":
            wanted = make.add(lane, operand)
        case _:
            wanted = make.bitwise_xor(lane, operand)
    source = make.add(first, wanted)
    inside = make.logical_and(make.greater_equal(wanted, zero), make.less(wanted, width))
    is_there = make.logical_and(inside, make.less(source, tir.IntImm("int64", count)))
    return make.select(is_there, source, thread), is_there
