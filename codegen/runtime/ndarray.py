"""Arrays with TVM's methods (TVM: `tvm.nd`): a subclass of NumPy arrays, so that NumPy's functions accept
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, cast

import numpy as np

from ...ir.numpy_dtype import numpy_dtype
from ...ir.spelling import newer_names
from ..device import CUDA, Device, check_device, cpu
from ..gpu import arrays
from ..gpu.arrays import DeviceArray
from .data_type import DataType
from .dlpack import Array
from .specs import ArgumentContext, as_array


class NDArray(np.ndarray[Any, Any]):
    """A NumPy array that programs take and return without copies."""

    def numpy(self) -> Array:
        """Return the plain NumPy array on the same memory."""
        return self.view(np.ndarray)

    @property
    def device(self) -> Any:
        """Return the device of the elements."""
        return cpu()

    def copyto(self, target: Array | DeviceArray | Device) -> Array | DeviceArray:
        """Copy the elements into the array `target`, or into a new array on the device `target`; return it."""
        if isinstance(target, Device):
            return array(self, target)
        if isinstance(target, DeviceArray):
            return target.copyfrom(self)
        target[...] = self
        return target

    def _create_view(self, shape: Sequence[int], dtype: str | None = None, relative_byte_offset: int = 0) -> NDArray:
        """Return an array of another shape and dtype on the same memory, `relative_byte_offset` bytes after its start.

        Raise ValueError if the elements of this array are not contiguous, or if the new ones would be outside of it.
        """
        if not self.flags.c_contiguous:
            raise ValueError("a view needs an array whose elements are contiguous; copy it first")
        kind = self.dtype if dtype is None else np.dtype(numpy_dtype(DataType(dtype)))
        end = relative_byte_offset + prod(shape) * kind.itemsize
        if not 0 <= relative_byte_offset <= end <= self.nbytes:
            raise ValueError(
                f"the bytes from {relative_byte_offset} to {end} are not in an array of {self.nbytes} bytes"
            )
        memory = self.view(np.ndarray).reshape(-1).view(np.uint8)
        return memory[relative_byte_offset:end].view(kind).reshape(shape).view(NDArray)

    def copyfrom(self, source_array: Any) -> NDArray:
        """Overwrite the elements with those of `source_array`; return this array."""
        self[...] = arrays.here(source_array)
        return self


def array(arr: Any, device: Device | None = None) -> NDArray | DeviceArray:
    """Return a new row-major array with the elements of `arr`; TvmsError E0721 if `device` does not exist."""
    if check_device(device or cpu(), "nd.array").device_type == CUDA:
        return arrays.from_host(np.asarray(arrays.here(arr)))
    return np.array(arrays.here(arr), order="C").view(NDArray)


def empty(shape: Sequence[int], dtype: str = "float32", device: Device | None = None) -> NDArray | DeviceArray:
    """Return a new uninitialized array; TvmsError E0721 if `device` does not exist."""
    if check_device(device or cpu(), "nd.empty").device_type == CUDA:
        return arrays.empty(shape, np.dtype(numpy_dtype(DataType(dtype))))
    return np.empty(shape, numpy_dtype(DataType(dtype))).view(NDArray)


@newer_names(require_alignment="required_alignment", require_contiguous="required_contiguous")
def from_dlpack(value: Any, *, required_alignment: int = 8, required_contiguous: bool = True) -> NDArray | DeviceArray:
    """Return an array on the memory of `value`, which supports DLPack; TvmsError E0702 or E0718 if that fails.

    The other arguments, of `tvm.ffi.from_dlpack`, have no effect: arrays of any strides are accepted.
    """
    del required_alignment, required_contiguous
    place = ArgumentContext("value", "nd.from_dlpack")
    return arrays.on_device(value, place) if arrays.is_on_device(value) else as_array(value, place).view(NDArray)


def wrap(value: Any) -> Any:
    """Return a result with its arrays as `NDArray`."""
    if isinstance(value, np.ndarray):
        return cast("Array", value).view(NDArray)
    return tuple(map(wrap, cast("tuple[Any, ...]", value))) if type(value) is tuple else value


def unwrap(value: Any) -> Any:
    """Return an argument with plain NumPy arrays instead of `NDArray`; calls are fastest with these."""
    if type(value) is NDArray:
        return value.view(np.ndarray)
    return tuple(map(unwrap, cast("tuple[Any, ...]", value))) if isinstance(value, tuple | list) else value
