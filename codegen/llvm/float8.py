"""The 8-bit floats, by lookup tables that ml_dtypes computes: no processor has instructions for all of them.

The table to float32 has 256 entries. The table from float32 has 65,536 entries, indexed by the upper half of
the bits; the last bit of the index is set if the lower half is not zero (round to odd), so that rounding the
index gives the same result as rounding the float32.
"""

from __future__ import annotations

import numpy as np

from ...ir.dtype import parse_dtype
from ...ir.numpy_dtype import numpy_dtype
from .api import Builder, Value, ir
from .constants import constant_array
from .operators import number
from .vectors import by_lane

_BYTE, _HALF, _WORD, _FLOAT = ir.IntType(8), ir.IntType(16), ir.IntType(32), ir.FloatType()


def is_float8(dtype: str) -> bool:
    """Return whether `dtype` is an 8-bit float."""
    parsed = parse_dtype(dtype)
    return parsed.code == "float" and parsed.bits == 8


def widen(builder: Builder, value: Value, dtype: str) -> Value:
    """Convert an 8-bit float of `dtype`, or a vector of them, to float32."""
    name = parse_dtype(dtype).name
    table = np.arange(256, dtype=np.uint8).view(numpy_dtype(name)).astype(np.float32)
    address = constant_array(builder, table, f"{name}.to.float32")
    return by_lane(builder, value, lambda lane: _look_up(builder, address, lane, _FLOAT))


def round_to(builder: Builder, value: Value, dtype: str) -> Value:
    """Convert a float32, or a vector of them, to the nearest 8-bit float of `dtype`."""
    name = parse_dtype(dtype).name
    with np.errstate(all="ignore"):
        halves = np.arange(1 << 16, dtype=np.uint32) << 16
        table = halves.view(np.float32).astype(numpy_dtype(name)).view(np.uint8)
    address = constant_array(builder, table, f"float32.to.{name}")
    return by_lane(builder, value, lambda lane: _look_up(builder, address, _upper_half(builder, lane), _BYTE))


def _upper_half(builder: Builder, value: Value) -> Value:
    bits = builder.bitcast(value, _WORD)
    has_rest = builder.icmp_unsigned("!=", builder.trunc(bits, _HALF), number(_HALF, 0))
    return builder.or_(builder.trunc(builder.lshr(bits, number(_WORD, 16)), _HALF), builder.zext(has_rest, _HALF))


def _look_up(builder: Builder, table: Value, index: Value, element: object) -> Value:
    place = builder.gep(table, [builder.zext(index, ir.IntType(64))], source_etype=element)
    return builder.load(place, typ=element)
