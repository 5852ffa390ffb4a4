"""CUDA's driver through pycuda.

pycuda has its own stack of contexts for each thread, and aborts the process if one is not empty at its end; therefore
each `enter` has its `leave`. Its kernels run only in streams that it has created: for a stream of another
library, work runs in a stream of pycuda between two events that order it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from . import libcuda
from .architectures import arch_of
from .cuda import NON_BLOCKING, CudaError

if TYPE_CHECKING:
    from collections.abc import Generator

DEVICE_ORDINAL = 9
"""CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL."""


class PycudaCuda:
    """Device 0. It uses the primary context, so that other libraries share its memory."""

    backend = "pycuda"

    def __init__(self) -> None:
        self._cuda: Any = import_module("pycuda.driver")
        self._cuda.init()
        device = self._cuda.Device(0)
        self._context: Any = device.retain_primary_context()
        major, minor = device.compute_capability()
        self.name, self.arch = str(device.name()), arch_of(major, minor)
        self._memory: dict[int, Any] = {}
        self._streams: dict[int, Any] = {}
        """Streams by number: own ones, and substitutes for streams of other libraries."""
        self._foreign: set[int] = set()

    def enter(self) -> None:
        self._call(self._context.push)

    def leave(self) -> None:
        self._call(self._context.pop)

    def allocate(self, size: int) -> int:
        memory = self._call(self._cuda.mem_alloc, size)
        self._memory[int(memory)] = memory
        return int(memory)

    def release(self, address: int) -> None:
        self._call(self._memory.pop(address).free)

    def copy_in(self, address: int, source: int, size: int, stream: int) -> None:
        host = _host_bytes(source, size)
        if stream == 0:
            self._call(self._cuda.memcpy_htod, address, host)
        else:
            with self._stream(stream) as place:
                self._call(self._cuda.memcpy_htod_async, address, host, place)
                self._call(place.synchronize)

    def copy_out(self, target: int, address: int, size: int, stream: int) -> None:
        host = _host_bytes(target, size)
        if stream == 0:
            self._call(self._cuda.memcpy_dtoh, host, address)
        else:
            with self._stream(stream) as place:
                self._call(self._cuda.memcpy_dtoh_async, host, address, place)
                self._call(place.synchronize)

    def copy(self, target: int, source: int, size: int, stream: int) -> None:
        with self._stream(stream) as place:
            self._call(self._cuda.memcpy_dtod_async, target, source, size, place)

    def load(self, ptx: str) -> Any:
        return self._call(self._cuda.module_from_buffer, ptx.encode() + b"\0")

    def function(self, module: Any, symbol: str, shared: int) -> Any:
        found = self._call(module.get_function, symbol)
        if shared:
            attribute = self._cuda.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES
            self._call(found.set_attribute, attribute, shared)
        return found

    def launch(
        self, function: Any, grid: Sequence[int], block: Sequence[int], parameters: bytes, stream: int, shared: int
    ) -> None:
        """Launch a kernel. All parameters are one argument of bytes: pycuda refuses bool, bfloat16 and float8."""
        packed = np.void(parameters)
        with self._stream(stream) as place:
            self._call(function, packed, grid=tuple(grid), block=tuple(block), stream=place, shared=shared)

    def synchronize(self) -> None:
        self._call(self._cuda.Context.synchronize)

    def wait_for(self, stream: int) -> None:
        if stream == 0:
            self.synchronize()
        else:
            with self._stream(stream) as place:
                self._call(place.synchronize)

    def new_stream(self, is_blocking: bool = True) -> tuple[int, Any]:
        stream = self._call(self._cuda.Stream, 0 if is_blocking else NON_BLOCKING)
        self._streams[stream.handle] = stream
        return stream.handle, stream

    def new_event(self, stream: int) -> Any:
        event = self._call(self._cuda.Event)
        with self._stream(stream) as place:
            self._call(event.record, place)
        return event

    def is_done(self, event: Any) -> bool:
        return bool(self._call(event.query))

    def order(self, stream: int, event: Any) -> None:
        with self._stream(stream) as place:
            if place is not None:
                self._call(place.wait_for_event, event)

    def milliseconds(self, start: Any, end: Any) -> float:
        self._call(start.synchronize)
        self._call(end.synchronize)
        return float(self._call(start.time_till, end))

    def device_of(self, address: int) -> int | None:
        number = ctypes.c_int(-1)
        place = ctypes.byref(number), DEVICE_ORDINAL, ctypes.c_uint64(address)
        return None if libcuda.status_of("cuPointerGetAttribute", *place) else number.value

    def destroy(self, thing: Any) -> None:
        """Forget a stream. pycuda's objects end with their last reference, which the caller drops in the context."""
        if isinstance(thing, self._cuda.Stream):
            self._streams.pop(thing.handle, None)

    @contextmanager
    def _stream(self, number: int) -> Generator[Any]:
        """Yield the stream of pycuda in which work of stream `number` runs; None is the default stream."""
        if number == 0:
            yield None
            return
        if number not in self._streams:
            self._streams[number] = self._call(self._cuda.Stream)
            self._foreign.add(number)
        place = self._streams[number]
        if number in self._foreign:
            self._follow(place.handle, number)
            yield place
            self._follow(number, place.handle)
        else:
            yield place

    def _follow(self, stream: int, other: int) -> None:
        """Let later work of `stream` wait for the preceding work of `other`."""
        event = ctypes.c_void_p()
        libcuda.call("cuEventCreate", ctypes.byref(event), 2)  # CU_EVENT_DISABLE_TIMING
        libcuda.call("cuEventRecord", event, ctypes.c_void_p(other))
        libcuda.call("cuStreamWaitEvent", ctypes.c_void_p(stream), event, 0)
        libcuda.call("cuEventDestroy_v2", event)

    def _call(self, function: Callable[..., Any], *args: Any, **named: Any) -> Any:
        """Call a function of pycuda; CudaError with its message if it fails."""
        try:
            return function(*args, **named)
        except self._cuda.Error as problem:
            raise CudaError(str(problem), isinstance(problem, self._cuda.MemoryError)) from None


def _host_bytes(address: int, size: int) -> Any:
    """Return host memory as an array of bytes."""
    return np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(address))
