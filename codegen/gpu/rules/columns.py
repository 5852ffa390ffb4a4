"""Column reductions: sums over elements that are far apart, with too few results for a thread each.

    for j, k in T.grid(4096, 4096):            a block has 32 columns; each of its `PARTS` warps reduces a part of them,
        C[j] = C[j] + A[k, j]                  with coalesced reads; the partial results are combined in shared memory

A warp reduces `chunk` neighboring elements at a time, so that a word with several packed numbers (`W[k // 8, j]`) is read once.

(TVM: `dlight.gpu.Reduction`, `dlight.gpu.GEMV`, if the inner axis is spatial.)
"""

from __future__ import annotations

from math import lcm
from typing import Any

from msgspec.structs import replace

from ....ir import make, tir
from ....ir.schedule.arguments import Block, Integer
from ....ir.schedule.declaration import Knob, composite
from ....ir.schedule.program import Program
from ....ir.simplify import simplify
from ....ir.visit import substitute, walk
from ...rules.build import (
    allocated,
    below,
    ceil_divide,
    constant,
    divide,
    is_multiple,
    load,
    loop,
    new_buffer,
    plus,
    store,
    times,
    when,
)
from ...rules.contraction import extent_of
from ...rules.nest import Declined, Nest
from ...rules.site import APPLIES, Site
from ...rules.strides import step_along
from ..architectures import WARP
from .grid import BLOCK_X, MOST_LENGTH, X, Y, all_of, bound, unravel, unrolled
from .product import ENOUGH_BLOCKS
from .rows import combined_value, reduced_together

PARTS = 16
MOST_PACKED = 32
"""Maximum number of neighboring terms that a thread adds at a time."""
SHORT = 4 * PARTS
"""Minimum length of a column."""
ENOUGH = ENOUGH_BLOCKS * PARTS * WARP
"""Number of results from which on one thread for each keeps a GPU busy."""


def choose_columns(nest: Nest) -> dict[str, Any]:
    """Return the knobs of `warp_columns`; Declined if `nest` is not a column reduction, or need not be divided."""
    _check(nest)
    count, depth = (constant(extent_of(axes)) for axes in (nest.spatial, nest.reduced))
    if depth is not None and depth < SHORT:
        raise Declined(f"a column has fewer than {SHORT} elements")
    if count is not None and count >= ENOUGH:
        raise Declined("there are enough results for a thread each")
    chunk = lcm(*_packs(nest))
    is_even = 1 < chunk <= MOST_PACKED and depth is not None and depth % chunk == 0 and depth >= 2 * PARTS * chunk
    return {"parts": PARTS, **({"chunk": chunk} if is_even else {})}


def _packs(nest: Nest) -> list[int]:
    """Return how many neighboring terms read the same element, for each array that several of them read."""
    inner = nest.reduced[-1].var
    divisions = [node for found in nest.loads() for index in found.indices for node in walk(index)]
    return [
        node.b.value
        for node in divisions
        if isinstance(node, tir.FloorDiv)
        and node.a is inner
        and isinstance(node.b, tir.IntImm)
        and 0 < node.b.value <= MOST_PACKED
    ]


@composite(
    requires=(APPLIES,),
    knobs={
        "parts": Knob(
            "the number of warps of a block, each of which reduces a part of the columns", 2, 32, is_power=True
        ),
        "chunk": Knob("the number of neighboring terms that a thread adds at a time", 1, MOST_PACKED),
    },
)
def warp_columns(program: Program, block: Block, *, parts: Integer = 16, chunk: Integer = 1) -> None:
    """Reduce columns, whose elements are far apart: a block has 32 columns, and each of its warps reduces a part of them.

    `c[j] += a[k, j]` becomes a kernel with coalesced reads, whose partial results are combined in shared memory.

    Preserves: the result but for the order of summation, which depends on `parts` and `chunk` alone.
    """
    site = Site(program, [block])
    (nest,) = site.nests()
    site.replace(site.build(lambda: _kernel(nest, parts, chunk)))


def _kernel(nest: Nest, parts: int, chunk: int) -> tir.Stmt:
    """Return the kernel of a column reduction; Declined if `nest` is not one, or its length is not a multiple of `chunk`."""
    _check(nest)
    if chunk > 1 and not is_multiple(extent_of(nest.reduced), chunk):
        raise Declined(f"a column does not consist of parts of {chunk} elements")
    bx, tx, ty = (tir.Var("int32", name) for name in ("bx", "tx", "ty"))
    count, depth = extent_of(nest.spatial), divide(extent_of(nest.reduced), chunk)
    number, start, kind = plus(times(bx, WARP), tx), nest.init, nest.store.buffer.dtype
    assert start is not None
    places = unravel(number, nest.spatial)
    partial, total = (new_buffer(name, kind, [1], "local") for name in ("partial", "total"))
    is_column = [] if is_multiple(count, WARP) else [below(number, count)]

    def step(at: tir.Var) -> tir.Stmt:
        row, taken = plus(times(at, parts), ty), combined_value(nest)

        def term(e: tir.Var | None) -> tir.Stmt:
            place = row if e is None else plus(times(row, chunk), e)
            value = substitute(taken, {**places, **unravel(place, nest.reduced)})
            if e is not None:
                value = simplify(value, {e: tir.Range(tir.IntImm("int32", 0), tir.IntImm("int32", chunk))})
            return store(partial, replace(nest.store.value, a=load(partial, 0), b=value), 0)

        added = term(None) if chunk == 1 else unrolled("e", chunk, term)
        condition = all_of([*is_column, *([] if is_multiple(depth, parts) else [below(row, depth)])])
        return added if condition is None else when(condition, added)

    stored = substitute(replace(nest.store, value=load(total, 0)), places)
    is_first = all_of([make.equal(ty, make.const(0, "int32")), *is_column])
    assert is_first is not None
    body = allocated([partial, total], [
        store(partial, start, 0),
        loop("step", make.cast(ceil_divide(depth, parts), "int32"), step),
        reduced_together(nest, load(partial, 0), load(total, 0), ty),
        when(is_first, stored),
    ])  # fmt: skip
    return bound(BLOCK_X, ceil_divide(count, WARP), bx, bound(Y, parts, ty, bound(X, WARP, tx, body)))


def _check(nest: Nest) -> None:
    if not nest.reduced or not nest.spatial:
        raise Declined("it is not a column reduction")
    depth = constant(extent_of(nest.reduced))
    if depth is not None and depth > MOST_LENGTH:
        raise Declined(f"a column has more than {MOST_LENGTH} elements")
    combined_value(nest)
    last = nest.spatial[-1].var
    others = [load for load in nest.loads() if load.buffer is not nest.store.buffer]
    steps = [step_along(access, last) for access in (nest.store, *others)]
    if set(steps) - {0, 1} or steps[0] != 1 or 1 not in steps[1:]:
        raise Declined("neighboring results do not belong to neighboring columns")
