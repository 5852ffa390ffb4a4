"""Bands: products and the nests between them, a band of their common rows at a time, so that intermediate results stay in the L2
cache.

    for b in T.parallel(heads):                  attention: no matrix of all scores is stored
        for band in range(rows // 64):
            S[64, n] = Q[b, band] @ K[b]
            P[64, n] = softmax(S)
            O[b, band] = P @ V[b]

Each element is computed as it is without bands, from the same operands in the same order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ...ir import make, tir
from ...ir.base import Node
from ...ir.dtype import parse_dtype
from ...ir.equal import structural_equal
from ...ir.schedule.conditions import KNOB
from ...ir.visit import children, rewrite, substitute, walk
from ..lower.layout import strides_of
from ..lower.vectors import widen
from ..machine import Machine
from .build import Index, index, plus, times, view
from .nest import Axis, Declined, Nest
from .strides import Access

LEAST_USES = 256
"""Minimum number of times that a band uses each element of a factor that all bands read, if there are several: the factor is packed
for each band, which takes as long as some 100 uses if its rows are far apart. The results of such a band may exceed the L2 cache.
"""


class Band(Struct, frozen=True, eq=False):
    """A band: nests with a part of the last common axis, and loops around them.

    `loops` are the variables and extents of the loops, outermost first; `buffers` hold the intermediate results of a band.
    """

    loops: tuple[tuple[tir.Var, tir.PrimExpr], ...]
    nests: list[Nest]
    buffers: list[tir.Buffer]

    def around(self, body: tir.Stmt, parallel: int | None) -> tir.Stmt:
        """Return the loops around `body`, in which no loop is parallel; the one at position `parallel` is."""
        statement = rewrite(body, _serial)
        for position, (var, extent) in reversed([*enumerate(self.loops)]):
            kind = tir.ForKind.PARALLEL if position == parallel else tir.ForKind.SERIAL
            statement = tir.For(var, tir.IntImm(var.dtype, 0), extent, kind, statement)
        return statement


def _serial(node: Node) -> Node | None:
    if isinstance(node, tir.For) and node.kind is tir.ForKind.PARALLEL:
        return replace(node, kind=tir.ForKind.SERIAL)
    return None


def _is_long(extent: tir.PrimExpr, machine: Machine) -> bool:
    return not isinstance(extent, tir.IntImm) or extent.value >= machine.threads


def is_product(nest: Nest) -> bool:
    """Return whether a nest sums products of two loads."""
    value = nest.store.value
    return bool(nest.reduced) and isinstance(value, tir.Add) and isinstance(value.b, tir.Mul)


class Run(Struct, frozen=True, eq=False):
    """Nests that share axes, the last of which is a product; `before` are those between them that may come before them, and
    `taken` is the number of nests of both, without merged epilogues.
    """

    nests: list[Nest]
    before: list[Nest]
    taken: int


def runs_of(merged: Sequence[tuple[Nest, int]]) -> list[Run]:
    """Return the runs that start with the first nest, the shortest first; each nest comes with the number of nests that are merged
    in it.
    """
    (first, taken), *others = merged
    together, before, found = [first], list[Nest](), list[Run]()
    for nest, count in others:
        taken += count
        if _common_axes([*together, nest]):
            together.append(nest)
            found += [Run([*together], [*before], taken)] if is_product(nest) else []
        elif are_independent(nest, together):
            before.append(nest)
        else:
            break
    return found


def are_independent(nest: Nest, others: Sequence[Nest]) -> bool:
    """Return whether `nest` may run before `others` instead of after them."""
    written, touched = _memory(nest)
    return all(written.isdisjoint(_memory(other)[1]) and touched.isdisjoint(_memory(other)[0]) for other in others)


def _memory(nest: Nest) -> tuple[set[tir.Var], set[tir.Var]]:
    """Return the memory that a nest writes, and all that it accesses."""
    accesses = [*accesses_of(nest)]
    stored = {access.buffer.data for access in accesses if isinstance(access, tir.BufferStore)}
    return stored, {access.buffer.data for access in accesses}


def has_plain_epilogue(nest: Nest) -> bool:
    """Return whether an epilogue computes with elements only, not with the axes themselves: rules decline others."""
    axes = {axis.var for axis in nest.axes}

    def uses_axis(node: Node) -> bool:
        return node in axes or (not isinstance(node, tir.BufferLoad) and any(map(uses_axis, children(node))))

    return not any(uses_axis(update.value) for update in nest.after)


def choose_bands(nests: Sequence[Nest], owned: set[tir.Buffer], machine: Machine) -> dict[str, Any]:
    """Return the knobs of `row_bands` for `nests`; `owned` are the buffers that only they access.

    Declined if they share no axis, if most of their intermediate results stay in the cache anyway, or if there are too few bands
    for all threads.
    """
    count = _common_axes(nests)
    if not count:
        raise Declined("they share no axis")
    common = nests[0].axes[:count]
    sizes = [axis.size for axis in common]
    *_, last = sizes
    if last is None:
        raise Declined("the number of rows is symbolic")
    inner = _inner(nests, owned)
    row_bytes = sum(_row_bytes(buffer, nests, count) for buffer in inner)
    whole = prod(size or machine.threads for size in sizes)
    room = machine.l2_bytes * 3 // 4
    if row_bytes * whole <= 2 * machine.l2_bytes:
        raise Declined("most of the intermediate results stay in the cache")
    rows = min(last, max(room // row_bytes, -(-LEAST_USES // _reuse(nests, count))))
    bands = -(-last // rows)
    rows = -(-last // bands)
    extents = (*(axis.extent for axis in common[:-1]), tir.IntImm("int64", bands))
    parallel = next((position for position, extent in enumerate(extents) if _is_long(extent, machine)), None)
    if parallel is None:
        raise Declined("there are too few bands for all threads")
    sizes_of_machine = {"l1_bytes": machine.l1_bytes, "l2_bytes": machine.l2_bytes}
    vectors = {"vector_bytes": machine.vector_bytes, "registers": machine.registers}
    options = {"fma": machine.has_fma, "byte_dots": machine.has_byte_dots}
    return {"rows": rows, "parallel": parallel, **vectors, **sizes_of_machine, **options}


def _inner(nests: Sequence[Nest], owned: set[tir.Buffer]) -> set[tir.Buffer]:
    """Return the intermediate results of `nests`."""
    return {update.buffer for nest in nests for update in (nest.store, *nest.after) if update.buffer in owned}


def bands_of(nests: Sequence[Nest], owned: set[tir.Buffer], rows: int) -> list[Band]:
    """Return the bands of `rows` iterations of the last common axis of `nests`; `owned` are the buffers that only they access.

    Declined if they share no axis, or sizes are symbolic.
    """
    count = _common_axes(nests)
    last = nests[0].axes[count - 1].size if count else None
    if last is None:
        raise Declined("they share no axis" if not count else "the number of rows is symbolic")
    if rows > last:
        raise KNOB.refuse(f"the blocks share {last} rows, got {rows}", argument="rows")
    inner = _inner(nests, owned)
    for buffer in inner:
        _row_bytes(buffer, nests, count)
    full, rest = divmod(last, rows)
    made = [_band(nests, inner, count, 0, full, rows)]
    return [*made, _band(nests, inner, count, full * rows, 1, rest)] if rest else made


def accesses_of(nest: Nest) -> Iterator[Access]:
    """Yield the stores and loads of a nest and of its epilogue."""
    for update in (nest.store, *nest.after):
        yield update
        yield from (node for node in walk(update.value) if isinstance(node, tir.BufferLoad))


def _common_axes(nests: Sequence[Nest]) -> int:
    """Return the number of outer axes that all nests have, such that no value passes between iterations of them."""
    uses = Counter(data for nest in nests for data in {access.buffer.data for access in accesses_of(nest)})
    written = {update.buffer.data for nest in nests for update in (nest.store, *nest.after)}
    shared = {data for data in written if uses[data] > 1}
    count = 0
    for axes in zip(*(nest.axes for nest in nests), strict=False):
        if any(axis.is_reduced for axis in axes) or len({str(axis.extent) for axis in axes}) > 1:
            break
        places: dict[tir.Var, int] = {}
        for nest, axis in zip(nests, axes, strict=True):
            for access in accesses_of(nest):
                if access.buffer.data not in shared:
                    continue
                place = next((i for i, expr in enumerate(access.indices) if expr is axis.var), None)
                if place is None or places.setdefault(access.buffer.data, place) != place:
                    return count
        count += 1
    return count


def _row_bytes(buffer: tir.Buffer, nests: Sequence[Nest], count: int) -> int:
    """Return the bytes of `buffer` for one iteration of the common axes; Declined if that is not constant."""
    kept = _kept(buffer, nests, count)
    sizes = [size.value if isinstance(size, tir.IntImm) else 0 for size in (buffer.shape[i] for i in kept)]
    if 0 in sizes or buffer.strides:
        raise Declined(f"the size of '{buffer.name}' is symbolic")
    return prod(sizes) * parse_dtype(buffer.dtype).bytes


def _kept(buffer: tir.Buffer, nests: Sequence[Nest], count: int) -> list[int]:
    """Return the dimensions of `buffer` that no common axis indexes."""
    access, nest = next((access, nest) for nest in nests for access in accesses_of(nest) if access.buffer is buffer)
    outer = {axis.var for axis in nest.axes[:count]}
    return [i for i, expr in enumerate(access.indices) if expr not in outer]


def _reuse(nests: Sequence[Nest], count: int) -> int:
    """Return how often a band of one iteration of the last common axis uses an element that all bands read, in the product that
    uses them least.
    """
    found: list[int] = []
    for nest in filter(is_product, nests):
        split, value = nest.axes[count - 1].var, nest.store.value
        assert isinstance(value, tir.Add)
        assert isinstance(value.b, tir.Mul)
        for factor in (value.b.a, value.b.b):
            used = set(walk(factor))
            inner = [axis for axis in nest.axes[count:] if not axis.is_reduced and axis.var not in used]
            found += [] if split in used else [prod(axis.size or 1 for axis in inner)]
    return min(found, default=LEAST_USES)


def _band(nests: Sequence[Nest], inner: set[tir.Buffer], count: int, start: int, bands: int, rows: int) -> Band:
    """Return `bands` bands of `rows` iterations of the last common axis each, from iteration `start` on."""
    *outer, split = nests[0].axes[:count]
    loops = [(tir.Var(axis.var.dtype, axis.var.name), axis.extent) for axis in outer]
    number, dtype = tir.Var(split.var.dtype, "band"), split.var.dtype
    first = make.add(tir.IntImm(dtype, start), times(number, tir.IntImm(dtype, rows)))
    buffers: dict[tir.Buffer, tuple[tir.Buffer, list[int]]] = {}
    for buffer in sorted(inner, key=lambda buffer: buffer.name):
        dims = _kept(buffer, nests, count - 1)
        (along,) = set(dims) - set(_kept(buffer, nests, count))
        shape = tuple(tir.IntImm(dtype, rows) if i == along else buffer.shape[i] for i in dims)
        buffers[buffer] = replace(buffer, data=replace(buffer.data), shape=shape), dims

    def inside(nest: Nest) -> Nest:
        own = tir.Var(dtype, nest.axes[count - 1].var.name)
        common = {axis.var: var for axis, (var, _) in zip(nest.axes, loops, strict=False)}
        values = {**common, nest.axes[count - 1].var: make.add(first, own)}

        result = nest.store
        outside = (
            None if result.buffer in buffers or not is_product(nest) else _view_of(result, values, own, first, rows)
        )

        def window(node: Node) -> Node | None:
            if not isinstance(node, tir.BufferLoad | tir.BufferStore):
                return None
            if outside is not None and node.buffer is result.buffer and structural_equal(node.indices, result.indices):
                return replace(node, buffer=outside[0], indices=outside[1])
            if node.buffer not in buffers:
                return None
            buffer, dims = buffers[node.buffer]
            indices = [own if node.indices[i] is nest.axes[count - 1].var else node.indices[i] for i in dims]
            return replace(node, buffer=buffer, indices=tuple(indices))

        def cut(store: tir.BufferStore) -> tir.BufferStore:
            return substitute(rewrite(store, window), values)

        axes = (Axis(own, tir.IntImm(dtype, rows), is_reduced=False), *nest.axes[count:])
        init = None if nest.init is None else substitute(nest.init, values)
        return replace(nest, axes=axes, store=cut(nest.store), init=init, after=tuple(map(cut, nest.after)))

    made = [inside(nest) for nest in nests]
    return Band((*loops, (number, tir.IntImm(dtype, bands))), made, [buffer for buffer, _ in buffers.values()])


def _view_of(
    result: tir.BufferStore, values: Mapping[tir.Var, tir.PrimExpr], own: tir.Var, first: tir.PrimExpr, rows: int
) -> tuple[tir.Buffer, tuple[tir.PrimExpr, ...]]:
    """Return a view of the part of a product's result that a band computes, and the indices of an element: rules expect axes."""
    shape: list[Index] = []
    steps, indices, offset = list[tir.PrimExpr](), list[tir.PrimExpr](), index(0)
    for size, step, place in zip(result.buffer.shape, strides_of(result.buffer), result.indices, strict=True):
        value = values.get(place) if isinstance(place, tir.Var) else None
        is_split = value is not None and own in set(walk(value))
        if value is not None:
            offset = plus(offset, times(widen(first if is_split else value), step))
        if value is None or is_split:
            shape.append(rows if is_split else size)
            steps.append(step)
            indices.append(own if is_split else place)
    return view(result.buffer, shape, steps, offset), tuple(indices)
