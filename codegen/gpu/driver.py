"""The interface to the GPU: CUDA's driver through pycuda, which is imported on first use.

Other modules use only the protocol `Driver`, so that tests can replace the driver (`use_driver`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Protocol

import numpy as np

from ...ir.diagnostics import error

Array = np.ndarray[Any, Any]


class Driver(Protocol):
    """A GPU. Addresses are numbers; operations of one stream execute in order, and None is the default stream."""

    name: str
    arch: str

    def allocate(self, size: int) -> int:
        """Allocate `size` bytes and return the address."""
        ...

    def free(self, address: int) -> None:
        """Free memory for reuse, after all preceding work of any stream that uses it."""
        ...

    def copy_in(self, address: int, source: Array, stream: Any = None) -> None: ...

    def copy_out(self, target: Array, address: int, stream: Any = None) -> None: ...

    def load(self, ptx: str) -> Any:
        """Load a module of kernels; E0608 if the driver rejects it."""
        ...

    def function(self, module: Any, symbol: str, shared: int = 0) -> Any:
        """Return a kernel whose launches request `shared` bytes of dynamic shared memory."""
        ...

    def launch(
        self,
        function: Any,
        grid: Sequence[int],
        block: Sequence[int],
        args: Sequence[Any],
        stream: Any = None,
        shared: int = 0,
    ) -> None:
        """Launch a kernel; `args` are NumPy scalars, `shared` the bytes of dynamic shared memory."""
        ...

    def synchronize(self, stream: Any = None) -> None: ...

    def stream(self) -> Any: ...

    def event(self, stream: Any = None) -> Any:
        """Return an event that is complete when all preceding work of `stream` is done."""
        ...

    def milliseconds(self, start: Any, end: Any) -> float:
        """Wait for both events and return the time between them."""
        ...


class PycudaDriver:
    """CUDA's driver for device `number`. It uses the primary context, so that other libraries share its memory.

    Freed memory is kept in a pool. Work of the default stream may reuse it without waiting, since that stream
    runs after all preceding work of every stream. Other streams do not wait for each other.
    """

    def __init__(self, number: int = 0) -> None:
        cuda: Any = import_module("pycuda.driver")
        self._cuda = cuda
        cuda.init()
        device = cuda.Device(number)
        self._context: Any = device.retain_primary_context()
        self._context.push()
        major, minor = device.compute_capability()
        self.name, self.arch = str(device.name()), f"sm_{major}{minor}"
        self._pool = cuda.DeviceMemoryPool()
        self._owned: dict[int, Any] = {}
        self._has_others = False
        """Whether there is pending work in a stream other than the default one."""

    def allocate(self, size: int) -> int:
        try:
            memory = self._pool.allocate(max(size, 1))
        except self._cuda.MemoryError:
            message, help = f"the GPU has less than {size} bytes of free memory", "free arrays, or use smaller ones"
            raise error("E0717", message, None, help) from None
        self._owned[int(memory)] = memory
        return int(memory)

    def free(self, address: int) -> None:
        if self._has_others:
            self.synchronize()
        self._owned.pop(address).free()

    def copy_in(self, address: int, source: Array, stream: Any = None) -> None:
        if source.nbytes:
            self._cuda.memcpy_htod_async(address, _as_bytes(source), stream)
            self._has_others |= stream is not None

    def copy_out(self, target: Array, address: int, stream: Any = None) -> None:
        if target.nbytes:
            self._cuda.memcpy_dtoh_async(_as_bytes(target), address, stream)
        self.synchronize(stream)

    def load(self, ptx: str) -> Any:
        try:
            return self._cuda.module_from_buffer(ptx.encode() + b"\0")
        except self._cuda.Error as problem:
            help = f"compile for this GPU: -arch={self.arch}"
            raise error("E0608", f"the driver of '{self.name}' rejects the kernels: {problem}", None, help) from None

    def function(self, module: Any, symbol: str, shared: int = 0) -> Any:
        found = module.get_function(symbol)
        if shared:
            found.set_attribute(self._cuda.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, shared)
        return found

    def launch(
        self,
        function: Any,
        grid: Sequence[int],
        block: Sequence[int],
        args: Sequence[Any],
        stream: Any = None,
        shared: int = 0,
    ) -> None:
        function(*args, grid=tuple(grid), block=tuple(block), stream=stream, shared=shared)
        self._has_others |= stream is not None

    def synchronize(self, stream: Any = None) -> None:
        if stream is None:
            self._context.synchronize()
            self._has_others = False
        else:
            stream.synchronize()

    def stream(self) -> Any:
        return self._cuda.Stream()

    def event(self, stream: Any = None) -> Any:
        event = self._cuda.Event()
        event.record(stream)
        return event

    def milliseconds(self, start: Any, end: Any) -> float:
        end.synchronize()
        return float(start.time_till(end))


def _as_bytes(array: Array) -> Array:
    """Return the memory of a contiguous array as bytes: bfloat16 has no buffer protocol."""
    return array.reshape(-1).view(np.uint8)


_drivers: list[Driver] = []


def use_driver(driver: Driver | None) -> None:
    """Use `driver` for all kernels from now on; None restores CUDA's driver."""
    _drivers[:] = [] if driver is None else [driver]


def find_driver() -> Driver:
    """Return the driver that runs kernels; TvmsError E0721 with the reason if there is none."""
    if not _drivers:
        found = _cuda_driver()
        if isinstance(found, str):
            help = 'simulate the threads on the processor: target="cuda -simulate"; "tvms doctor --gpu" shows details'
            raise error("E0721", f"no usable GPU: {found}", None, help)
        _drivers.append(found)
    return _drivers[0]


def why_missing() -> str:
    """Return why no kernel can run on this machine; "" if one can."""
    if _drivers:
        return ""
    found = _cuda_driver()
    return found if isinstance(found, str) else ""


@cache
def _cuda_driver() -> Driver | str:
    if find_spec("pycuda") is None:
        return "pycuda is not installed"
    try:
        return PycudaDriver()
    except Exception as problem:
        return f"pycuda cannot use it ({type(problem).__name__}: {problem})"
