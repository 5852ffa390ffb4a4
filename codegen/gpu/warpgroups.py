"""Products of warpgroups: their checks, and the loops that compute them one after the other without `wgmma`."""

from __future__ import annotations

from msgspec.structs import replace

from ...ir import make, tir
from ...ir.analysis.modular_set import modular_set
from ...ir.diagnostics import error
from ...ir.idioms import NOTHING
from ...ir.matrix_units import name_of, number
from ...ir.visit import walk
from ...ir.warpgroups import (
    DEPTH,
    FENCE,
    LINE,
    OPERATORS,
    PRODUCT,
    ROW,
    WAIT,
    WARPGROUP,
    Tile,
    warpgroup_calls,
    warpgroup_product_of,
)
from .kernel import Kernel
from .matrix_units import TRUE, ZERO, Calls, MemoryRange, loop, over, place_of, plus, rest, times


def check_warpgroups(kernel: Kernel) -> None:
    """Check the products of warpgroups in a lowered kernel.

    Raises TvmsError: E0611 if a block does not consist of whole warpgroups; E0606 if memory has the wrong scope, a factor is not
    proven to start at a multiple of 16 bytes, or the kernel never calls `wgmma.fence` or `wgmma.wait_group`.
    """
    names = {name_of(node) for node in walk(kernel.body) if isinstance(node, tir.Call)}
    for call in warpgroup_calls(kernel.body):
        product = warpgroup_product_of(call)
        if kernel.thread_count % WARPGROUP:
            reason = f"T.{PRODUCT} needs whole warpgroups of {WARPGROUP} threads, but a block has {kernel.thread_count}"
            raise error("E0611", reason, call.span, f"bind a multiple of {WARPGROUP} iterations to threads")
        for at, scope, dtype in ((6, "shared", product.dtype), (8, "shared", product.dtype), (10, "local", "float32")):
            place = place_of(call.args[at], call.args[at + 1], dtype)
            if not place.buffer.scope.startswith(scope):
                reason = f"T.{PRODUCT} needs memory of scope '{scope}', but '{place.buffer.name}' is in '{place.buffer.scope}'"
                raise error("E0606", reason, call.span, f"pass {scope} memory")
            found = modular_set(place.at(0))
            if scope == "shared" and (found.base % LINE or found.coeff % LINE):
                reason = f"the factor in '{place.buffer.name}' is not proven to start at a multiple of 16 bytes"
                raise error("E0606", reason, call.span, f"use an offset that is a multiple of {LINE} elements")
        for missing in {FENCE, WAIT} - names:
            reason = f"a kernel with T.{PRODUCT} never calls T.{missing}"
            help = {
                FENCE: f"call T.{FENCE}() before the first product, and after the accumulator is set",
                WAIT: f"call T.{WAIT}(0) before the accumulator is read",
            }[missing]
            raise error("E0606", reason, call.span, help)
    for call in walk(kernel.body):
        if isinstance(call, tir.Call) and name_of(call) == WAIT and number(call, 0) < 0:
            reason = f"cannot wait for {number(call, 0)} pending groups"
            raise error("E0606", reason, call.span, "give a number of groups that is not negative")


def position(place: MemoryRange, tile: Tile, span: tir.PrimExpr, depth: tir.PrimExpr) -> tir.PrimExpr:
    """Return the position of an element of a factor that starts at `place`, in the elements of its allocation."""
    stride = tile.stride // 2
    if tile.is_deep:
        straight = plus(times(over(span, 8), stride), times(rest(span, 8), ROW), depth)
    else:
        groups = plus(times(over(span, ROW), tile.leading // 2), times(over(depth, 8), stride))
        straight = plus(groups, times(rest(depth, 8), ROW), rest(span, ROW))
    straight = place.at(straight)
    return make.bitwise_xor(straight, times(rest(over(straight, ROW), 8), LINE))


def emulate_warpgroups(kernel: Kernel) -> Kernel:
    """Return a lowered kernel without products of warpgroups: each thread computes its own elements at once."""
    return replace(kernel, body=_Emulator(kernel).rewrite(kernel.body))


class _Emulator(Calls):
    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel, {**dict.fromkeys(OPERATORS, lambda call: NOTHING), PRODUCT: self._product})

    def _product(self, call: tir.Call) -> tir.Stmt:
        product = warpgroup_product_of(call)
        a, b = (place_of(call.args[at], call.args[at + 1], product.dtype) for at in (6, 8))
        c = place_of(call.args[10], call.args[11], "float32")
        lane = rest(self._thread, WARPGROUP)
        # Memory of the allocation, whose elements `position` counts.
        left, right = (MemoryRange(place.buffer.data, product.dtype, ZERO) for place in (a, b))
        total = MemoryRange(
            tir.Var("handle", "sum", tir.PointerType(tir.PrimType("float32"), "local")), "float32", ZERO
        )

        def element(i: tir.PrimExpr) -> list[tir.Stmt]:
            row = plus(times(over(lane, 32), 16), over(rest(lane, 32), 4), times(rest(over(i, 2), 2), 8))
            column = plus(times(over(i, 4), 8), times(rest(lane, 4), 2), rest(i, 2))

            def term(k: tir.PrimExpr) -> tir.Stmt:
                x, y = left.load(position(a, product.a, row, k)), right.load(position(b, product.b, column, k))
                value = make.mul(make.cast(x, "float32"), make.cast(y, "float32"))
                return total.store(ZERO, make.add(total.load(ZERO), value))

            return [total.store(ZERO, c.load(i)), loop(DEPTH, term), c.store(i, total.load(ZERO))]

        body = loop(product.count, element)
        return tir.Allocate(total.buffer.data, "float32", (tir.IntImm("int64", 1),), TRUE, body)
