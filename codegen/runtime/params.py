"""Arrays by name as bytes, in TVM's format (TVM: `tvm.runtime.params`, `src/runtime/file_utils.cc`).

Little-endian: a header, the names, and each array with its device, shape, dtype and row-major elements.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ...ir.diagnostics import TvmsError, error
from ...ir.dtype import is_dtype, type_code
from ...ir.files import memory_limit, read_file, write_whole
from ...ir.numpy_dtype import numpy_dtype
from ..gpu.arrays import here
from .dlpack import DTYPES
from .ndarray import NDArray, array

_LIST_MAGIC = 0xF7E58D4F05049CB7
_ARRAY_MAGIC = 0xDD5E40F096B4A13F
_CPU = 1


def save_param_dict(params: Mapping[str, Any]) -> bytearray:
    """Return the arrays of `params` as bytes, which `load_param_dict` reads.

    TvmsError E0712 for a dtype that DLPack does not have.
    """
    values = [np.asarray(here(value)) for value in params.values()]
    packed = bytearray(struct.pack("<QQQ", _LIST_MAGIC, 0, len(values)))
    for name in params:
        encoded = name.encode()
        packed += struct.pack("<Q", len(encoded)) + encoded
    packed += struct.pack("<Q", len(values))
    for value in values:
        packed += _header(value) + value.astype(value.dtype.newbyteorder("<"), order="C").tobytes()
    return packed


def _header(value: Any) -> bytes:
    dtype = str(value.dtype)
    if not is_dtype(dtype) or (type_code(dtype), 8 * value.itemsize) not in DTYPES:
        raise error(
            "E0712", f"memory cannot hold values of dtype '{dtype}'", None, "convert the array to a numeric dtype"
        )
    kind = struct.pack("<iBBH", value.ndim, type_code(dtype), 8 * value.itemsize, 1)
    shape = struct.pack(f"<{value.ndim}q", *value.shape)
    return struct.pack("<QQii", _ARRAY_MAGIC, 0, _CPU, 0) + kind + shape + struct.pack("<q", value.nbytes)


class _Reader:
    """Reads numbers and bytes in order; E0809 where they end early."""

    def __init__(self, data: bytes) -> None:
        self._data, self._place = data, 0

    def numbers(self, form: str) -> tuple[int, ...]:
        """Return the next numbers, in the form of `struct`."""
        return struct.unpack(f"<{form}", self.bytes(struct.calcsize(f"<{form}")))

    def bytes(self, count: int) -> bytes:
        """Return the next `count` bytes."""
        end = self._place + count
        if count < 0 or end > len(self._data):
            raise _damaged(f"they end at byte {len(self._data)}, in the middle of an entry")
        part, self._place = self._data[self._place : end], end
        return part


def load_param_dict(param_bytes: bytes | bytearray | memoryview) -> dict[str, NDArray]:
    """Return the arrays in the result of `save_param_dict`, of tvms or of TVM, by name; E0809 if it is damaged."""
    reader = _Reader(bytes(param_bytes))
    magic, _, count = reader.numbers("QQQ")
    if magic != _LIST_MAGIC:
        raise _damaged("they do not start with the magic number")
    names = [_name(reader) for _ in range(count)]
    if reader.numbers("Q") != (count,):
        raise _damaged("the numbers of names and arrays differ")
    return {name: _array(reader) for name in names}


def _name(reader: _Reader) -> str:
    (size,) = reader.numbers("Q")
    try:
        return reader.bytes(size).decode()
    except UnicodeDecodeError:
        raise _damaged("a name is not UTF-8") from None


def _array(reader: _Reader) -> NDArray:
    magic, _, _, _, ndim, code, bits, lanes = reader.numbers("QQiiiBBH")
    name = DTYPES.get((code, bits)) if magic == _ARRAY_MAGIC and lanes == 1 else None
    if name is None or ndim < 0:
        raise _damaged("an array has an unknown dtype")
    shape = reader.numbers(f"{ndim}q")
    (size,) = reader.numbers("q")
    dtype = np.dtype(numpy_dtype(name))
    if any(dim < 0 for dim in shape) or size != int(np.prod(shape, dtype=object)) * dtype.itemsize:
        raise _damaged(f"{size} bytes are not an array of {name} of shape {shape}")
    return array(np.frombuffer(reader.bytes(size), dtype.newbyteorder("<")).reshape(shape).astype(dtype))  # type: ignore[return-value]


def _damaged(reason: str) -> TvmsError:
    return error("E0809", f"the bytes are not saved parameters: {reason}", None, "pass the result of save_param_dict")


def save_param_dict_to_file(params: Mapping[str, Any], path: str | Path) -> None:
    """Write the result of `save_param_dict` to a file; E0802 if that is not possible."""
    write_whole(bytes(save_param_dict(params)), str(path))


def load_param_dict_from_file(path: str | Path) -> dict[str, NDArray]:
    """Return the arrays in a file of `save_param_dict_to_file`, by name; E0809 if it cannot be read or is damaged."""
    try:
        data = read_file(path, memory_limit())
    except OSError as problem:
        raise error(
            "E0809", f"cannot read {path}: {problem.strerror}", None, "give a file of saved parameters"
        ) from None
    return load_param_dict(data)
