"""Tensor maps: the descriptions of matrices that the copy engine needs, made by CUDA's driver for each launch."""

from __future__ import annotations

import ctypes
from typing import Any

from msgspec import Struct

from ...ir.dtype import element_bytes
from ...ir.tensor_copies import DATA_TYPES, ROW_BYTES
from .cuda import CudaError
from .libcuda import status_of

MAP_BYTES, MAP_ALIGNMENT = 128, 64
"""Size and alignment of CUDA's `CUtensorMap`."""
_RANK = 2
_NO_INTERLEAVING, _SWIZZLE_128, _PROMOTE_256, _ZEROS = 0, 3, 3, 0
"""CU_TENSOR_MAP_…: INTERLEAVE_NONE, SWIZZLE_128B, L2_PROMOTION_L2_256B, FLOAT_OOB_FILL_NONE."""


class Matrix(Struct, frozen=True):
    """The matrix of a tensor map, with values: its address, dtype, and sizes in elements; a box has `box_rows` rows of 128 bytes."""

    address: int
    dtype: str
    rows: int
    columns: int
    stride: int
    box_rows: int

    @property
    def arguments(self) -> tuple[Any, ...]:
        """Return the arguments of `cuTensorMapEncodeTiled` behind the map; sizes begin with that of contiguous elements."""
        size = element_bytes(self.dtype)
        sizes = (ctypes.c_uint64 * _RANK)(max(self.columns, 1), max(self.rows, 1))
        strides, steps = (ctypes.c_uint64 * 1)(self.stride * size), (ctypes.c_uint32 * _RANK)(1, 1)
        box = (ctypes.c_uint32 * _RANK)(ROW_BYTES // size, self.box_rows)
        described = (DATA_TYPES[self.dtype], _RANK, ctypes.c_void_p(self.address), sizes, strides, box, steps)
        return (*described, _NO_INTERLEAVING, _SWIZZLE_128, _PROMOTE_256, _ZEROS)


def encode(matrix: Matrix) -> bytes:
    """Return the tensor map of a matrix; CudaError if the copy engine cannot read it."""
    memory = ctypes.create_string_buffer(MAP_BYTES + MAP_ALIGNMENT)
    address = -(-ctypes.addressof(memory) // MAP_ALIGNMENT) * MAP_ALIGNMENT
    status = status_of("cuTensorMapEncodeTiled", ctypes.c_void_p(address), *matrix.arguments)
    if status:
        raise CudaError(f"cuTensorMapEncodeTiled failed with status {status} for a matrix of {_said(matrix)}")
    return ctypes.string_at(address, MAP_BYTES)


def _said(matrix: Matrix) -> str:
    return f"{matrix.rows} × {matrix.columns} {matrix.dtype}, whose rows are {matrix.stride} elements apart"
