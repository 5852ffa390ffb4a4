"""The structure in which C programs take tensors (DLPack: `DLTensor`)."""

from __future__ import annotations

import ctypes
from typing import Any

from .dtype import type_code

_CPU = 1


class DLTensor(ctypes.Structure):
    """DLPack's `DLTensor` (https://dmlc.github.io/dlpack/latest/c_api.html)."""

    _fields_ = [
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]  # fmt: skip


def dl_tensor(array: Any) -> DLTensor:
    """Return the structure of a NumPy array, which must outlive it."""
    sizes = (ctypes.c_int64 * array.ndim)(*array.shape)
    steps = (ctypes.c_int64 * array.ndim)(*(step // array.itemsize for step in array.strides))
    code, bits = type_code(str(array.dtype)), 8 * array.itemsize
    return DLTensor(array.ctypes.data, _CPU, 0, array.ndim, code, bits, 1, sizes, steps, 0)
