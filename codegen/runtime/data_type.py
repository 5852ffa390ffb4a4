"""Dtypes as values (TVM: `tvm.runtime.DataType`)."""

from __future__ import annotations

from enum import IntEnum

from ...ir.dtype import DType, element_bytes, is_bool, is_float, is_int, parse_dtype, type_code, with_lanes


class DataTypeCode(IntEnum):
    """DLPack's type codes (TVM: `DataTypeCode`)."""

    INT = 0
    UINT = 1
    FLOAT = 2
    HANDLE = 3
    BFLOAT = 4
    BOOL = 6
    Float8E3M4 = 7
    Float8E4M3 = 8
    Float8E4M3B11FNUZ = 9
    Float8E4M3FN = 10
    Float8E4M3FNUZ = 11
    Float8E5M2 = 12
    Float8E5M2FNUZ = 13
    Float8E8M0FNU = 14
    Float6E2M3FN = 15
    Float6E3M2FN = 16
    Float4E2M1FN = 17


_SHORT = {"bfloat": "bfloat16", "float": "float32", "int": "int32", "uint": "uint32"}
"""Dtypes whose number of bits is omitted."""


class DataType(str):
    """A dtype, such as `DataType("float32x4")`: a string that knows its parts. ValueError if it is not a dtype."""

    __slots__ = ()

    def __new__(cls, dtype_str: object) -> DataType:
        """Parse `dtype_str`, a string or a dtype of NumPy."""
        text = _SHORT.get(str(dtype_str), str(dtype_str))
        parse_dtype(text)
        return super().__new__(cls, text)

    @property
    def _parts(self) -> DType:
        return parse_dtype(self)

    @property
    def type_code(self) -> int:
        """DLPack's type code, one of `DataTypeCode`."""
        return type_code(self)

    @property
    def bits(self) -> int:
        """The number of bits of a lane in memory: 8 for bool."""
        return 8 if is_bool(self) else self._parts.bits

    @property
    def lanes(self) -> int:
        """The number of lanes."""
        return self._parts.lanes

    @property
    def itemsize(self) -> int:
        """The size of an element in memory, with all its lanes, in bytes."""
        return element_bytes(self)

    def with_lanes(self, lanes: int) -> DataType:
        """Return the dtype with other lanes."""
        return DataType(with_lanes(self, lanes))

    def is_float(self) -> bool:
        """Return whether this is a dtype of floats."""
        return is_float(self)

    def is_integer(self) -> bool:
        """Return whether this is a dtype of signed or unsigned integers."""
        return is_int(self)

    def is_bool(self) -> bool:
        """Return whether this is bool."""
        return is_bool(self)

    def is_handle(self) -> bool:
        """Return whether this is a pointer."""
        return self._parts.code == "handle"

    def __repr__(self) -> str:
        return f"dtype('{self}')"
