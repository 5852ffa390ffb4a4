"""Factors of bytes, read as words of four along the axis of the sum: the operands of `dp4a`.

A factor whose bytes are contiguous along that axis is viewed as int32; the words of others are put together as they are packed.
"""

from __future__ import annotations

from msgspec import Struct

from ...ir import tir
from ...ir.base import Op
from ...ir.dtype import lanes_of, with_lanes, with_lanes_of
from ...ir.make import cast, left_shift
from .build import (
    Index,
    below,
    constant,
    if_then_else,
    index,
    is_multiple,
    least,
    load,
    minus,
    plus,
    splat,
    times,
)

BYTES = 4
"""Bytes of a word."""


class Words(Struct, frozen=True, eq=False):
    """A factor of a product of bytes: `buffer` is a matrix whose axis `along` (0 or 1) has `size` steps of the sum."""

    buffer: tir.Buffer
    along: int
    size: Index
    is_padded: bool
    """Whether bytes beyond the last step are zero; otherwise they are those of the last step. One factor must have zeros."""

    def view(self) -> tir.Buffer | None:
        """Return the factor as a matrix of int32; None if its words are not contiguous and aligned to 4 bytes."""
        steps = list(self.buffer.strides)
        other = _quarter(steps[1 - self.along])
        start = _quarter(self.buffer.elem_offset if self.buffer.elem_offset is not None else index(0))
        if constant(steps[self.along]) != 1 or other is None or start is None or not is_multiple(self.size, BYTES):
            return None
        shape, number = list(self.buffer.shape), constant(self.size)
        shape[self.along] = index((number or 0) // BYTES)
        steps[1 - self.along] = other
        name = f"{self.buffer.name}_words"
        return tir.Buffer(
            self.buffer.data,
            "int32",
            tuple(shape),
            name,
            strides=tuple(steps),
            elem_offset=start,
            scope=self.buffer.scope,
        )

    def load(self, row: Index, column: Index) -> tir.PrimExpr:
        """Return the word at a place whose index on the axis of the sum counts words."""
        place = [index(row), index(column)]
        first, word = times(place[self.along], BYTES), None
        for byte in range(BYTES):
            step = plus(first, byte)
            part = cast(_unsigned(self._byte(place, step)), "int32")
            part = part if byte == 0 else left_shift(part, splat(tir.IntImm("int32", 8 * byte), lanes_of(part.dtype)))
            word = part if word is None else word | part
        assert word is not None
        return word

    def _byte(self, place: list[tir.PrimExpr], step: tir.PrimExpr) -> tir.PrimExpr:
        places: list[Index] = [*place]
        is_even = is_multiple(self.size, BYTES)
        places[self.along] = step if is_even or self.is_padded else least(step, minus(self.size, 1))
        byte = load(self.buffer, *places)
        if is_even or not self.is_padded:
            return byte
        return if_then_else(below(step, self.size), byte, tir.IntImm(byte.dtype, 0))


def _unsigned(byte: tir.PrimExpr) -> tir.PrimExpr:
    """Return the bits of a byte as uint8."""
    if byte.dtype.startswith("uint8"):
        return byte
    return tir.Call(with_lanes_of("uint8", byte.dtype), Op("tir.reinterpret"), (byte,))


def _quarter(expr: tir.PrimExpr) -> tir.PrimExpr | None:
    """Return a quarter of `expr`; None if it is not known to be a multiple of four."""
    match expr:
        case tir.IntImm():
            return tir.IntImm(expr.dtype, expr.value // BYTES) if expr.value % BYTES == 0 else None
        case tir.Add():
            a, b = _quarter(expr.a), _quarter(expr.b)
            return None if a is None or b is None else a + b
        case tir.Mul():
            a, b = _quarter(expr.a), _quarter(expr.b)
            return expr.a * b if b is not None else a * expr.b if a is not None else None
        case tir.Cast():
            value = _quarter(expr.value)
            return None if value is None else tir.Cast(expr.dtype, value)
        case _:
            return None


def dot(a: tir.PrimExpr, b: tir.PrimExpr, total: tir.PrimExpr, kinds: tuple[str, str]) -> tir.PrimExpr:
    """Return `total` plus the dot products of the bytes in the words `a` and `b`, whose dtypes are `kinds`."""
    bytes_ = [
        tir.Call(with_lanes(kind, BYTES * lanes_of(word.dtype)), Op("tir.reinterpret"), (word,))
        for word, kind in zip((a, b), kinds, strict=True)
    ]
    return tir.Call(total.dtype, Op("tir.dp4a"), (*bytes_, total))
