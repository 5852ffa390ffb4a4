"""Contiguous arrays in GPU memory, freed with the last reference.

They are exchanged with other libraries without a copy, by `__cuda_array_interface__` (version 3) or DLPack.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ..runtime.dlpack import capsule_of, describe, has_dlpack
from ..runtime.specs import ArgumentContext, kind_of
from .driver import Array, Driver, find_driver
from .streams import LEGACY

CUDA = 2
"""DLPack's device type for CUDA."""


class DeviceArray:
    """`shape` elements of `dtype` from `address` on the GPU of `driver`; `owner` is kept alive by this array.

    If it is a copy of a host array, made for a call, that array is its `origin`, to which writes are copied
    back.
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
    def base(self) -> DeviceArray | None:
        """Return the array that this one is a part of."""
        return self._owner if isinstance(self._owner, DeviceArray) else None

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
        """Return the strides in bytes."""
        return _row_major(self.shape, self.itemsize)

    @property
    def device(self) -> Any:
        """Return the device of the elements."""
        from ..device import cuda

        return cuda()

    def numpy(self) -> Array:
        """Return the elements as a NumPy array; wait until they are computed."""
        result = np.empty(self.shape, self.dtype)
        self.driver.copy_out(result, self.address)
        return result

    def copyfrom(self, source_array: Any) -> DeviceArray:
        """Overwrite the elements with those of an array of the same shape; return this array."""
        source = np.ascontiguousarray(np.asarray(here(source_array), self.dtype))
        if source.shape != self.shape:
            raise ArgumentContext("source_array", "copyfrom").fault(
                "E0705", f"expected shape {self.shape}, got {source.shape}"
            )
        self.driver.copy_in(self.address, source)
        self.tell_origin()
        return self

    def tell_origin(self) -> None:
        """Copy the elements to the origin, if this array or the one that it is a part of has one."""
        if self.origin is not None:
            self.driver.copy_out(self.origin, self.address)
        elif self.base is not None:
            self.base.tell_origin()

    def part(self, start: int, shape: Sequence[int], dtype: Any) -> DeviceArray:
        """Return a view of this memory from byte `start` on."""
        array = DeviceArray(self.address + start, tuple(shape), dtype, self.driver, self)
        array.is_writeable = self.is_writeable
        return array

    def copyto(self, target: Any) -> Any:
        """Copy the elements into the array `target`, or into a new array on the device `target`; return it."""
        if not hasattr(target, "device_type"):
            target[...] = self.numpy()
            return target
        return from_host(self.numpy()) if target.device_type == CUDA else self.numpy()

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Return the description of the elements, after all preceding work of streams besides the default one is done."""
        if self.driver.has_other_streams:
            self.driver.synchronize()
        return {
            "shape": self.shape, "typestr": self.dtype.str, "data": (self.address, not self.is_writeable), "strides": None, "version": 3,
            "stream": LEGACY,
        }  # fmt: skip

    def __dlpack_device__(self) -> tuple[int, int]:
        return CUDA, self.driver.number

    def __dlpack__(self, *, stream: Any = None, **_: Any) -> Any:
        """Return a DLPack capsule, after all preceding work of the GPU is done."""
        self.driver.synchronize()
        return capsule_of(self.address, self.shape, self.dtype, CUDA, self)

    def __repr__(self) -> str:
        return f"DeviceArray(shape={self.shape}, dtype={self.dtype}, on {self.driver.name})"


def empty(shape: Sequence[int], dtype: Any) -> DeviceArray:
    """Return a new array on the GPU; TvmsError E0717 if memory is exhausted, E0721 if there is no GPU."""
    driver = find_driver()
    return DeviceArray(driver.allocate(prod(shape) * dtype.itemsize), tuple(shape), dtype, driver)


def from_host(value: Array) -> DeviceArray:
    """Return a copy on the GPU; raise as `empty` does."""
    array = empty(value.shape, value.dtype)
    array.driver.copy_in(array.address, np.ascontiguousarray(value))
    return array


def here(value: Any) -> Any:
    """Return a GPU array as a NumPy array, and any other value unchanged."""
    return value.numpy() if isinstance(value, DeviceArray) else value


def is_on_device(value: Any) -> bool:
    """Return whether `value` is an array in GPU memory."""
    if isinstance(value, np.ndarray | DeviceArray):
        return not isinstance(value, np.ndarray)
    if hasattr(value, "__dlpack_device__"):
        return bool(value.__dlpack_device__()[0] == CUDA)
    return hasattr(value, "__cuda_array_interface__")


def on_device(value: Any, place: ArgumentContext) -> DeviceArray:
    """Return a GPU array of any library without a copy; E0702, E0706 or E0718 if it is unsuitable.

    Work on it waits for the work of its library that precedes.
    """
    if isinstance(value, DeviceArray):
        return value
    driver = find_driver()
    if has_dlpack(value) and hasattr(value, "__dlpack_device__"):
        _check_device(int(value.__dlpack_device__()[1]), driver, place)
        address, shape, dtype, strides = _by_dlpack(value, driver, place)
        is_read_only = False
    else:
        described = getattr(value, "__cuda_array_interface__", None)
        if described is None:
            raise place.fault("E0702", f"expected an array on the GPU, got {kind_of(value)}")
        shape, dtype = tuple(described["shape"]), np.dtype(described["typestr"])
        strides, (address, is_read_only) = described.get("strides"), described["data"]
        _check_device(driver.device_of(address) if address else driver.number, driver, place)
        if described.get("stream") not in (None, LEGACY):
            driver.synchronize()
    if strides is not None and tuple(strides) != _row_major(shape, dtype.itemsize) and prod(shape) > 1:
        raise place.fault("E0706", "expected a contiguous row-major array", "pass a copy of it")
    array = DeviceArray(address, shape, dtype, driver, value)
    array.is_writeable = not is_read_only
    return array


def _by_dlpack(value: Any, driver: Driver, place: ArgumentContext) -> tuple[int, tuple[int, ...], Any, tuple[int, ...]]:
    """Return the description of an array of another library, which orders its work before that of the current stream."""
    try:
        return describe(value.__dlpack__(stream=driver.current_stream or LEGACY))
    except Exception as problem:  # libraries raise their own errors, for example for tensors with gradients
        if getattr(value, "requires_grad", False):
            raise place.fault("E0702", "it requires a gradient", "pass a.detach()") from None
        raise place.fault("E0702", f"its library does not share it: {problem}", "pass a copy of it") from None


def _check_device(number: int | None, driver: Driver, place: ArgumentContext) -> None:
    if number != driver.number:
        where = "not on a GPU" if number is None else f"on GPU {number}"
        raise place.fault("E0718", f"it is {where}; kernels run on GPU {driver.number}", "copy it to that GPU")


def _row_major(shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    return tuple(size * prod(shape[axis + 1 :]) for axis in range(len(shape)))
