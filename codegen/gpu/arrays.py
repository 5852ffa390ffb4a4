"""Arrays in the memory of a GPU: rows without gaps, freed with the last reference.

They go to other libraries without a copy, and come from them, by `__cuda_array_interface__` (version 3) or DLPack.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ..runtime.dlpack import capsule_of, describe, has_dlpack
from ..runtime.specs import Place, kind_of
from .driver import Array, Driver, find_driver

CUDA = 2
"""DLPack's number of devices with CUDA."""

LEGACY_STREAM = 1
"""The default stream, as `__cuda_array_interface__` calls it: what was asked of it before comes first."""


class DeviceArray:
    """`shape` elements of `dtype` from `address` on, on the GPU of `driver`; `owner` lives as long as this.

    Where it was made of an array of the host for a call, that is its `origin`, which gets what is written here.
    """

    def __init__(self, address: int, shape: tuple[int, ...], dtype: Any, driver: Driver, owner: Any = None) -> None:
        self.address, self.shape, self.dtype = address, shape, np.dtype(dtype)
        self.driver, self._owner = driver, owner
        self.is_writeable = True
        self.origin: Array | None = None

    def __del__(self) -> None:
        if self._owner is None:
            self.driver.free(self.address)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        return prod(self.shape) * self.dtype.itemsize

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one element to the next, on each axis."""
        return _row_major(self.shape, self.itemsize)

    @property
    def device(self) -> Any:
        """The device on which the elements lie."""
        from ..device import cuda

        return cuda()

    def numpy(self) -> Array:
        """Return the elements as a NumPy array; waits until they are computed."""
        result = np.empty(self.shape, self.dtype)
        self.driver.copy_out(result, self.address)
        return result

    def copyfrom(self, source_array: Any) -> DeviceArray:
        """Overwrite the elements with those of an array of the same shape; returns this array."""
        source = np.ascontiguousarray(np.asarray(here(source_array), self.dtype))
        if source.shape != self.shape:
            raise Place("source_array", "copyfrom").fault("E0705", f"expected shape {self.shape}, got {source.shape}")
        self.driver.copy_in(self.address, source)
        self.tell_origin()
        return self

    def tell_origin(self) -> None:
        """Copy what was written here to the array of the host that this, or what it is a part of, stands for."""
        if self.origin is not None:
            self.driver.copy_out(self.origin, self.address)
        elif isinstance(self._owner, DeviceArray):
            self._owner.tell_origin()

    def part(self, start: int, shape: Sequence[int], dtype: Any) -> DeviceArray:
        """Return an array on the same memory, from byte `start` on."""
        array = DeviceArray(self.address + start, tuple(shape), dtype, self.driver, self)
        array.is_writeable = self.is_writeable
        return array

    def copyto(self, target: Any) -> Any:
        """Copy the elements into the array `target`, or into a new one on that device; returns it."""
        if not hasattr(target, "device_type"):
            target[...] = self.numpy()
            return target
        return from_host(self.numpy()) if target.device_type == CUDA else self.numpy()

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "shape": self.shape, "typestr": self.dtype.str, "data": (self.address, not self.is_writeable), "strides": None, "version": 3,
            "stream": LEGACY_STREAM,
        }  # fmt: skip

    def __dlpack_device__(self) -> tuple[int, int]:
        return CUDA, 0

    def __dlpack__(self, *, stream: Any = None, **_: Any) -> Any:
        """Return a DLPack capsule; what was asked of the GPU before is done when it is returned."""
        self.driver.synchronize()
        return capsule_of(self.address, self.shape, self.dtype, CUDA, self)

    def __repr__(self) -> str:
        return f"DeviceArray(shape={self.shape}, dtype={self.dtype}, on {self.driver.name})"


def empty(shape: Sequence[int], dtype: Any) -> DeviceArray:
    """Return a new array of NumPy's dtype on the GPU; TvmsError E0717 where it has no room, E0721 where there is no GPU."""
    driver = find_driver()
    return DeviceArray(driver.allocate(prod(shape) * dtype.itemsize), tuple(shape), dtype, driver)


def from_host(value: Array) -> DeviceArray:
    """Return a copy on the GPU; raises as `empty`."""
    array = empty(value.shape, value.dtype)
    array.driver.copy_in(array.address, np.ascontiguousarray(value))
    return array


def here(value: Any) -> Any:
    """Return an array on the GPU as one of NumPy, and anything else as it is."""
    return value.numpy() if isinstance(value, DeviceArray) else value


def is_on_device(value: Any) -> bool:
    """Whether `value` is an array in the memory of a GPU."""
    if isinstance(value, np.ndarray | DeviceArray) or hasattr(value, "__cuda_array_interface__"):
        return not isinstance(value, np.ndarray)
    return hasattr(value, "__dlpack_device__") and value.__dlpack_device__()[0] == CUDA


def on_device(value: Any, place: Place) -> DeviceArray:
    """Return an array on a GPU, of any library, without a copy; E0702, E0706 where it cannot be taken as it is."""
    if isinstance(value, DeviceArray):
        return value
    described = getattr(value, "__cuda_array_interface__", None)
    if described is not None:
        shape, dtype = tuple(described["shape"]), np.dtype(described["typestr"])
        strides, (address, is_read_only) = described.get("strides"), described["data"]
        if described.get("stream") not in (None, LEGACY_STREAM):
            find_driver().synchronize()
    elif has_dlpack(value):
        (address, shape, dtype, strides), is_read_only = describe(value.__dlpack__()), False
    else:
        raise place.fault("E0702", f"expected an array on the GPU, got {kind_of(value)}")
    if strides is not None and tuple(strides) != _row_major(shape, dtype.itemsize) and prod(shape) > 1:
        raise place.fault("E0706", "expected an array laid out row by row, without gaps", "pass a copy of it")
    array = DeviceArray(address, shape, dtype, find_driver(), value)
    array.is_writeable = not is_read_only
    return array


def _row_major(shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    return tuple(size * prod(shape[axis + 1 :]) for axis in range(len(shape)))
