"""Slices: parts of arrays that are contiguous along the sum of a product, read into registers as vectors.

W[n, k // 8], S[n, k // 32]      for 32 consecutive k are four words, read at once, and a scale
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ....ir import make, tir
from ....ir.analysis.proof import prove
from ....ir.base import Node, Op
from ....ir.dtype import parse_dtype
from ....ir.equal import structural_equal
from ....ir.simplify import simplify
from ....ir.visit import children, rewrite, substitute, walk
from ...rules.build import Index, constant, divide, load, new_buffer, plus, store, times
from ...rules.nest import Axis
from .grid import unrolled, vectorized

VECTOR_BYTES = 16
"""Number of bytes that a thread reads at once."""
_CHOICE = Op("tir.if_then_else")
Values = Mapping[tir.Var, tir.PrimExpr]
"""The values of axes."""


class Slice(Struct, frozen=True, eq=False):
    """A load at `k // pack` of a row that is contiguous along k."""

    load: tir.BufferLoad
    pack: int

    @property
    def bits(self) -> float:
        """Return the number of bits that it reads for each k."""
        return parse_dtype(self.load.dtype).bytes * 8 / self.pack

    def fits(self, length: int) -> bool:
        """Return whether aligned parts of `length` k have whole elements, or parts of one."""
        return length % self.pack == 0 or self.pack % length == 0

    def count(self, length: int) -> int:
        """Return the number of elements for `length` k."""
        return max(length // self.pack, 1)

    def first(self, part: Index, length: int) -> tir.PrimExpr:
        """Return the position of the first element for part number `part` of `length` k."""
        return times(part, length // self.pack) if length >= self.pack else divide(part, self.pack // length)

    def width(self, length: int) -> int:
        """Return how many elements a thread reads at once. Vectors are aligned, since rows consist of whole ones."""
        count, pitch = self.count(length), constant(self.load.buffer.shape[-1])
        width = min(VECTOR_BYTES // parse_dtype(self.load.dtype).bytes, count)
        if pitch is None or self.load.buffer.elem_offset is not None:
            return 1
        while pitch % width or count % width:
            width //= 2
        return width


def slice_of(found: tir.BufferLoad, depth: Axis) -> Slice | None:
    """Return a load as a slice along `depth`; None if it is not one."""
    *others, last = found.indices
    if (
        found.buffer.strides
        or found.predicate is not None
        or any(node is depth.var for index in others for node in walk(index))
    ):
        return None
    match last:
        case tir.Var() if last is depth.var:
            return Slice(found, 1)
        case tir.FloorDiv(a=tir.Var() as var, b=tir.IntImm(value=pack)) if var is depth.var and pack > 0:
            return Slice(found, pack)
        case _:
            return None


def loads_in(expr: tir.PrimExpr) -> Iterator[tir.BufferLoad]:
    """Yield the loads in an expression."""
    return (node for node in walk(expr) if isinstance(node, tir.BufferLoad))


def slices_in(expr: tir.PrimExpr, depth: Axis, axes: Sequence[Axis]) -> list[Slice]:
    """Return the slices that an expression of `axes` can read in advance, each once: a load that depends on a condition must be valid
    without it.
    """
    slices: list[Slice] = []
    for item, is_certain in _loads(expr, True):
        found = slice_of(item, depth)
        if found is None or any(structural_equal(item, other.load, map_free_vars=False) for other in slices):
            continue
        if is_certain or _is_valid(item, axes):
            slices.append(found)
    return slices


def _loads(expr: Node, is_certain: bool) -> Iterator[tuple[tir.BufferLoad, bool]]:
    """Yield the loads in an expression, and whether they are evaluated whenever it is: parts behind a condition are not."""
    is_choice = isinstance(expr, tir.Select | tir.And | tir.Or) or (isinstance(expr, tir.Call) and expr.op == _CHOICE)
    if isinstance(expr, tir.BufferLoad):
        yield expr, is_certain
    parts = [part for part in children(expr) if isinstance(part, tir.PrimExpr)]
    for number, part in enumerate(parts):
        yield from _loads(part, is_certain and (number == 0 or not is_choice))


def _is_valid(item: tir.BufferLoad, axes: Sequence[Axis]) -> bool:
    """Return whether all indices of a load are proven to be inside its buffer for all values of `axes`."""
    domains = {axis.var: tir.Range(tir.IntImm(axis.var.dtype, 0), axis.extent) for axis in axes}
    return all(
        prove(make.logical_and(make.less_equal(make.const(0, at.dtype), at), make.less(at, size)), domains).is_proven
        for at, size in zip(item.indices, item.buffer.shape, strict=True)
    )


class Registers:
    """An expression whose slices for `length` consecutive k are kept in registers, for each of `copies` values of other axes."""

    def __init__(
        self, name: str, expr: tir.PrimExpr, depth: Axis, axes: Sequence[Axis], length: int, copies: int
    ) -> None:
        self.length, self._expr, self._depth, self._copies = length, expr, depth, copies
        self._slices = [found for found in slices_in(expr, depth, axes) if found.fits(length)]
        self.buffers = [
            new_buffer(f"{name}{number}", found.load.dtype, [copies * found.count(length)], "local")
            for number, found in enumerate(self._slices)
        ]

    def fill(self, part: Index, values: Callable[[Index], Values]) -> list[tir.Stmt]:
        """Read the slices for part number `part`; `values` returns those of other axes for a copy."""
        pairs = zip(self._slices, self.buffers, strict=True)
        return [self._filled(found, memory, part, values) for found, memory in pairs]

    def _filled(self, found: Slice, memory: tir.Buffer, part: Index, values: Callable[[Index], Values]) -> tir.Stmt:
        size, width, first = found.count(self.length), found.width(self.length), found.first(part, self.length)

        def vector(copy: Index, v: Index) -> tir.Stmt:
            def element(lane: Index) -> tir.Stmt:
                place = plus(times(v, width), lane)
                last = make.cast(plus(first, place), self._depth.var.dtype)
                item = replace(found.load, indices=(*found.load.indices[:-1], last))
                return store(memory, substitute(item, values(copy)), plus(times(copy, size), place))

            return element(0) if width == 1 else vectorized("lane", width, element)

        return unrolled("copy", self._copies, lambda copy: unrolled("v", size // width, lambda v: vector(copy, v)))

    def value(self, copy: Index, part: Index, at: Index, values: Values, ends: Mapping[tir.Var, int]) -> tir.PrimExpr:
        """Return the expression for number `at` of part number `part`, whose slices were read; `ends` are the extents of variables."""

        def near(node: Node) -> Node | None:
            if not isinstance(node, tir.BufferLoad):
                return None
            for found, memory in zip(self._slices, self.buffers, strict=True):
                if structural_equal(node, found.load, map_free_vars=False):
                    place = divide(at, found.pack) if self.length >= found.pack else 0
                    return load(memory, plus(times(copy, found.count(self.length)), place))
            return None

        k = make.cast(plus(times(part, self.length), at), self._depth.var.dtype)
        zero = tir.IntImm("int32", 0)
        domains = {var: tir.Range(zero, tir.IntImm("int32", end)) for var, end in ends.items()}
        return simplify(substitute(rewrite(self._expr, near), {self._depth.var: k, **values}), domains)
