"""Arrays of other libraries as NumPy arrays, without copies (DLPack).

NumPy refuses bfloat16 and the 8-bit floats, and treats memory of libraries with DLPack 0 as read-only. In
these cases the exchanged structure is read directly (https://dmlc.github.io/dlpack/latest/c_api.html).
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from math import prod
from typing import Any, TypeAlias

import numpy as np

from ...ir.dl_tensor import DLTensor
from ...ir.dtype import element_bytes, type_code
from ...ir.numpy_dtype import numpy_dtype

Array: TypeAlias = np.ndarray[Any, Any]

_ON_HOST = frozenset((1, 3, 11))
"""The device types kDLCPU, kDLCUDAHost and kDLROCMHost."""
_NAMES = (
    *(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)), "float16", "float32", "float64", "bfloat16", "bool",
    "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz",
    "float8_e8m0fnu",
)  # fmt: skip
DTYPES = {(type_code(name), 8 * element_bytes(name)): name for name in _NAMES}
"""Dtypes by DLPack's type code and bits; a bool has 8 bits."""


_get_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_IsValid", ctypes.pythonapi))


def has_dlpack(value: Any) -> bool:
    """Return whether `value` supports DLPack; also if that fails, so that reading it reports the error."""
    try:
        return hasattr(value, "__dlpack__")
    except Exception:  # raised by a property of another library
        return True


def is_on_host(value: Any) -> bool:
    """Return whether `value`, which supports DLPack, is in host memory."""
    device, _ = value.__dlpack_device__()
    return int(device) in _ON_HOST


def from_dlpack(value: Any) -> Array:
    """Return a NumPy array on the memory of `value`; BufferError if that needs a copy."""
    try:
        array = np.from_dlpack(value)
    except (BufferError, RuntimeError, TypeError):
        return _read(value)
    return array if array.flags.writeable or _is_said_read_only(value) else _read(value)


def _is_said_read_only(value: Any) -> bool:
    """Return whether the owner of a read-only array declares it so; before DLPack 1.0 it could not."""
    try:
        return not _is_valid(value.__dlpack__(max_version=(1, 0)), b"dltensor")
    except TypeError:
        return False


def describe(capsule: Any) -> tuple[int, tuple[int, ...], Any, tuple[int, ...]]:
    """Return the address of the first element of a DLPack capsule, its shape, its NumPy dtype, and its strides
    in bytes.

    Raises BufferError for an unknown dtype.
    """
    tensor = DLTensor.from_address(_get_pointer(capsule, b"dltensor"))
    name = DTYPES.get((tensor.code, tensor.bits))
    if name is None or tensor.lanes != 1:
        raise BufferError(f"unknown dtype with code {tensor.code} and {tensor.bits} bits")
    dtype = numpy_dtype(name)
    shape = tuple(tensor.shape[axis] for axis in range(tensor.ndim))
    row_major = tuple(dtype.itemsize * prod(shape[axis + 1 :]) for axis in range(len(shape)))
    given = [tensor.strides[axis] * dtype.itemsize for axis in range(tensor.ndim)] if tensor.strides else row_major
    return (tensor.data or 0) + tensor.byte_offset, shape, dtype, tuple(given)


def _read(owner: Any) -> Array:
    address, shape, dtype, strides = describe(owner.__dlpack__())
    if any(step < 0 for step in strides):
        raise BufferError("negative strides")
    last = sum((size - 1) * step for size, step in zip(shape, strides, strict=True)) + dtype.itemsize
    memory: Any = (ctypes.c_uint8 * (0 if 0 in shape else last)).from_address(address)
    memory.owner = owner  # keeps the owner alive
    return np.ndarray(shape, dtype, memory, strides=strides)


# --- Giving ---------------------------------------------------------------------------------------------------


class _Managed(ctypes.Structure):
    _fields_ = [("tensor", DLTensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


_given: dict[int, Any] = {}
"""The owners of exported memory that is still in use, by the address of the structure."""


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def _give_back(address: int) -> None:
    _given.pop(address, None)


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def _end(capsule: int) -> None:
    """Release the structure of a capsule that was never consumed."""
    if _is_valid_at(capsule, b"dltensor"):
        _give_back(_get_pointer_at(capsule, b"dltensor"))


_is_valid_at = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_IsValid", ctypes.pythonapi)
)
_get_pointer_at = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
_new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi)
)


def capsule_of(address: int, shape: Sequence[int], dtype: Any, device_type: int, owner: Any) -> Any:
    """Return a DLPack capsule of row-major elements; `owner` is kept alive until the consumer releases it.

    Raises BufferError for a dtype that DLPack does not have.
    """
    codes = {numpy_dtype(name): (code, bits) for (code, bits), name in DTYPES.items()}
    if dtype not in codes:
        raise BufferError(f"DLPack has no dtype '{dtype}'")
    code, bits = codes[dtype]
    sizes = (ctypes.c_int64 * len(shape))(*shape)
    tensor = DLTensor(address, device_type, 0, len(shape), code, bits, 1, sizes, None, 0)
    managed = _Managed(tensor, None, ctypes.cast(_give_back, ctypes.c_void_p))
    _given[ctypes.addressof(managed)] = managed, sizes, owner
    return _new(ctypes.addressof(managed), b"dltensor", ctypes.cast(_end, ctypes.c_void_p))
