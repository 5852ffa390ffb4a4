"""Fusion of nests: which producers to inline into their consumers, and which outer loops consecutive nests share."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from math import prod

from msgspec.structs import replace

from ...ir import tir
from ...ir.base import Node, Op
from ...ir.equal import structural_equal
from ...ir.visit import rewrite, substitute, walk
from ..lower.vectors import widen
from .build import Index, constant, index, times
from .nest import Axis, Declined, Nest, with_plain_indices

_COSTLY = 12
"""Cost above which a value with several readers is not inlined, in operations."""
MOST_INLINED = 256
"""Maximum number of nodes of a value after inlining; above it, rows in the L1 cache are as fast as
registers.
"""


class Producers:
    """Nests by position, and the positions of the writers and readers of each buffer: which nests to inline into others.

    A producer is inlined if each of its elements is read once, or is cheap and read by loops with the same number of steps. A
    producer that only permutes the operand of a product is also inlined, since products accept any layout, and so is one that only
    reads buffers that its reader would read `once`. No value grows to more than `MOST_INLINED` nodes.
    """

    def __init__(self, nests: Sequence[Nest], once: Callable[[Nest], set[tir.Buffer]]) -> None:
        self.nests, self._once = dict(enumerate(nests)), once
        self._sizes = {position: sum(1 for _ in walk(nest.store.value)) for position, nest in self.nests.items()}
        self._writers = defaultdict[tir.Buffer, list[int]](list)
        self._readers = defaultdict[tir.Buffer, set[int]](set)
        for position, nest in self.nests.items():
            self._writers[nest.store.buffer].append(position)
            for load in nest.loads():
                self._readers[load.buffer].add(position)

    def inline(self, buffer: tir.Buffer, perform: Callable[[int, Sequence[int]], Sequence[Nest]]) -> None:
        """Inline the nest that writes `buffer` into its readers if that pays off.

        `perform` does it, given the positions of the nest and the readers, and returns the new readers, or Declined.
        """
        writers = [position for position in self._writers[buffer] if position in self.nests]
        readers = sorted(self._readers[buffer])
        if len(writers) != 1 or not readers or not self._may_inline(buffer, writers[0], readers):
            return
        try:
            new = perform(writers[0], readers)
        except Declined:
            return
        writer = self.nests.pop(writers[0])
        read = {load.buffer for load in writer.loads()}
        for array in read:
            self._readers[array].remove(writers[0])
            self._readers[array].update(readers)
        for position, nest in zip(readers, new, strict=True):
            self.nests[position] = nest
            self._sizes[position] = sum(1 for _ in walk(nest.store.value))

    def _may_inline(self, buffer: tir.Buffer, position: int, readers: Sequence[int]) -> bool:
        writer = self.nests[position]
        if not is_elementwise(writer):
            return False
        loads = {reader: [load for load in self.nests[reader].loads() if load.buffer is buffer] for reader in readers}
        for reader, sites in loads.items():
            nest = self.nests[reader]
            is_same = _steps(nest) == _steps(writer) or (_is_copy(writer) and _is_product(nest))
            if not is_same and not self._is_read_once(nest, writer):
                return False
            if self._sizes[reader] + len(sites) * self._sizes[position] > MOST_INLINED:
                return False
        read = {load.buffer for load in writer.loads()}
        between = (other for array in read for other in self._writers[array] if other in self.nests)
        if any(position < other <= readers[-1] for other in between):
            return False
        is_cheap = _is_affine_copy(writer) or _cost(writer.store.value) <= _COSTLY
        return is_cheap or sum(map(len, loads.values())) == 1

    def _is_read_once(self, nest: Nest, writer: Nest) -> bool:
        """Return whether a reader would read the buffers of `writer` once if that were inlined."""
        read = {load.buffer for load in writer.loads()}
        return bool(read) and read <= self._once(inlined(nest, writer))


def is_elementwise(writer: Nest) -> bool:
    """Return whether a nest stores each element of its buffer once, computed from its axes and other buffers."""
    buffer, indices = writer.store.buffer, writer.store.indices
    variables = [axis.var for axis in writer.axes]
    own = [index for index in indices if not isinstance(index, tir.IntImm)]  # an axis of extent 1 has the index 0
    if writer.init is not None or {id(index) for index in own} != {id(var) for var in variables}:
        return False
    if len(own) != len(variables) or any(load.buffer is buffer for load in writer.loads()):
        return False
    return all(constant(size) == 1 for size, index in zip(buffer.shape, indices, strict=True) if index not in own)


def _is_copy(nest: Nest) -> bool:
    """Return whether a nest only permutes elements."""
    value, known = nest.store.value, {axis.var for axis in nest.axes}
    return isinstance(value, tir.BufferLoad) and all(constant(expr) == 0 or expr in known for expr in value.indices)


def _is_affine_copy(nest: Nest) -> bool:
    """Return whether a nest copies elements at indices without divisions, as some reshapes do."""
    value = nest.store.value
    divisions = (tir.FloorDiv, tir.FloorMod, tir.BufferLoad, tir.Call)
    return isinstance(value, tir.BufferLoad) and not any(
        isinstance(node, divisions) for expr in value.indices for node in walk(expr)
    )


def _is_product(nest: Nest) -> bool:
    """Return whether a nest is a sum of products."""
    match nest.store.value:
        case tir.Add(b=tir.Mul(a=tir.BufferLoad(), b=tir.BufferLoad())):
            return nest.init is not None
        case _:
            return False


def _steps(nest: Nest) -> tuple[int, list[str]]:
    """Return the number of iterations: that of the axes of constant extents, and the other extents."""
    known = prod(axis.size for axis in nest.axes if axis.size is not None)
    return known, sorted(str(axis.extent) for axis in nest.axes if axis.size is None)


def _cost(value: tir.PrimExpr) -> int:
    """Return the number of operations of a value; an intrinsic counts as expensive."""
    return sum(_COSTLY + 1 if isinstance(node, tir.Call) and isinstance(node.op, Op) else 1 for node in walk(value))


def inlined(nest: Nest, writer: Nest) -> Nest:
    """Return `nest` with the values of `writer` in place of loads of its buffer."""
    buffer = writer.store.buffer

    def value_of(node: Node) -> Node | None:
        if not isinstance(node, tir.BufferLoad) or node.buffer is not buffer:
            return None
        places = dict(zip(writer.store.indices, node.indices, strict=True))
        return substitute(writer.store.value, places)

    return with_plain_indices(replace(nest, store=replace(nest.store, value=rewrite(nest.store.value, value_of))))


def shared_axes(nests: Sequence[Nest]) -> int:
    """Return the number of outer axes that the nests can share: no value is passed between different iterations
    of them.
    """
    count = min(len(nest.axes) for nest in nests)
    for position in range(count):
        axes = [nest.axes[position] for nest in nests]
        if any(axis.is_reduced for axis in axes) or len({str(axis.extent) for axis in axes}) > 1:
            return position
        if not _is_separate(nests, position):
            return position
    most = max(len(nest.axes) for nest in nests)
    return max(0, count - 1) if count == most else count


def _is_separate(nests: Sequence[Nest], position: int) -> bool:
    """Return whether every access to a written buffer has this axis as its index, always in the same dimension."""
    written = {nest.store.buffer.data for nest in nests}
    places: dict[tir.Var, int] = {}
    for nest in nests:
        axis = nest.axes[position]
        for access in (nest.store, *nest.loads()):
            if access.buffer.data not in written:
                continue
            place = next((i for i, expr in enumerate(access.indices) if expr is axis.var), None)
            if place is None or places.setdefault(access.buffer.data, place) != place:
                return False
    return True


def compact(nests: Sequence[Nest], shared: int, owned: set[tir.Buffer]) -> tuple[list[Nest], list[tir.Buffer]]:
    """Return the nests with the buffers that only they access reduced to one row, and the buffers of the rows."""
    rows: dict[tir.Buffer, tuple[tir.Buffer, tuple[int, ...]]] = {}
    for nest in nests:
        buffer = nest.store.buffer
        if buffer not in owned or buffer in rows or buffer.strides:
            continue
        outer = {axis.var for axis in nest.axes[:shared]}
        kept = tuple(i for i, expr in enumerate(nest.store.indices) if expr not in outer)
        shape = tuple(buffer.shape[i] for i in kept) or (tir.IntImm("int32", 1),)
        rows[buffer] = (replace(buffer, data=replace(buffer.data), shape=shape), kept)

    def cut(node: Node) -> Node | None:
        if not isinstance(node, tir.BufferLoad | tir.BufferStore) or node.buffer not in rows:
            return None
        row, kept = rows[node.buffer]
        indices = tuple(node.indices[i] for i in kept) or (tir.IntImm("int32", 0),)
        return replace(node, buffer=row, indices=indices)

    return [replace(nest, store=rewrite(nest.store, cut)) for nest in nests], [row for row, _ in rows.values()]


def flattened(nest: Nest) -> Nest:
    """Return an element-wise nest with a single axis, if every buffer is accessed in the order of the axes.

    `B[i, j] = f(A[i, j])` becomes `B[n] = f(A[n])`, on views of the buffers.
    """
    variables = [axis.var for axis in nest.axes]
    accesses = (nest.store, *nest.loads())
    if len(variables) < 2 or nest.reduced or not all(_is_whole(access, nest) for access in accesses):
        return nest
    used = sum(node in variables for node in walk(nest.store.value))
    if used != len(variables) * (len(accesses) - 1):
        return nest
    extent: Index = 1
    for axis in nest.axes:
        extent = times(extent, widen(axis.extent))
    size = constant(extent)
    flat = tir.Var("int64" if size is None or size >= 1 << 31 else variables[0].dtype, "n")
    length = index(extent) if size is None else index(size, flat.dtype)
    views: dict[tir.Buffer, tir.Buffer] = {}

    def flatten(node: Node) -> Node | None:
        if not isinstance(node, tir.BufferLoad | tir.BufferStore):
            return None
        buffer = views.setdefault(node.buffer, replace(node.buffer, shape=(length,)))
        return replace(node, buffer=buffer, indices=(flat,))

    store = rewrite(nest.store, flatten)
    return replace(nest, axes=(Axis(flat, length, is_reduced=False),), store=store)


def _is_whole(access: tir.BufferLoad | tir.BufferStore, nest: Nest) -> bool:
    """Return whether `access` visits all elements of a compact buffer in the order of the axes."""
    buffer = access.buffer
    if buffer.strides or buffer.elem_offset is not None or len(access.indices) != len(nest.axes):
        return False
    return all(
        position is axis.var and structural_equal(widen(extent), widen(axis.extent))
        for position, axis, extent in zip(access.indices, nest.axes, buffer.shape, strict=True)
    )
