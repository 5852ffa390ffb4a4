"""CUDA's driver through cuda-bindings, NVIDIA's prebuilt package. Its functions return a status before their results."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from .architectures import arch_of
from .cuda import NON_BLOCKING, CudaError

END, BUFFER_POINTER, BUFFER_SIZE = 0, 1, 2
"""CU_LAUNCH_PARAM_…: what the words of a launch's parameters are."""
LOG_BYTES = 8192
"""Length of the messages of CUDA's assembler that are kept."""


class BindingsCuda:
    """Device 0. It uses the primary context, so that other libraries share its memory."""

    backend = "cuda-bindings"

    def __init__(self) -> None:
        self._cuda: Any = import_module("cuda.bindings.driver")
        self._call("cuInit", 0)
        device, attribute = self._call("cuDeviceGet", 0), self._cuda.CUdevice_attribute
        self._context: Any = self._call("cuDevicePrimaryCtxRetain", device)
        major = self._call("cuDeviceGetAttribute", attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device)
        minor = self._call("cuDeviceGetAttribute", attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device)
        name = self._call("cuDeviceGetName", 256, device)
        self.name, self.arch = name.split(b"\0")[0].decode(), arch_of(major, minor)

    def enter(self) -> None:
        self._call("cuCtxPushCurrent", self._context)

    def leave(self) -> None:
        self._call("cuCtxPopCurrent")

    def allocate(self, size: int) -> int:
        return int(self._call("cuMemAlloc", size))

    def release(self, address: int) -> None:
        self._call("cuMemFree", address)

    def copy_in(self, address: int, source: int, size: int, stream: int) -> None:
        if stream == 0:
            self._call("cuMemcpyHtoD", address, source, size)
        else:
            self._call("cuMemcpyHtoDAsync", address, source, size, stream)
            self._call("cuStreamSynchronize", stream)

    def copy_out(self, target: int, address: int, size: int, stream: int) -> None:
        if stream == 0:
            self._call("cuMemcpyDtoH", target, address, size)
        else:
            self._call("cuMemcpyDtoHAsync", target, address, size, stream)
            self._call("cuStreamSynchronize", stream)

    def copy(self, target: int, source: int, size: int, stream: int) -> None:
        self._call("cuMemcpyDtoDAsync", target, source, size, stream)

    def load(self, ptx: str) -> Any:
        option, log = self._cuda.CUjit_option, bytes(LOG_BYTES)
        options = [option.CU_JIT_ERROR_LOG_BUFFER, option.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES]
        try:
            return self._call("cuModuleLoadDataEx", ptx.encode() + b"\0", 2, options, [log, LOG_BYTES])
        except CudaError as problem:
            said = log.split(b"\0")[0].decode(errors="replace").strip()
            raise CudaError(f"{problem}{' - ' * bool(said)}{said}") from None

    def function(self, module: Any, symbol: str, shared: int) -> Any:
        found = self._call("cuModuleGetFunction", module, symbol.encode())
        if shared:
            attribute = self._cuda.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            self._call("cuFuncSetAttribute", found, attribute, shared)
        return found

    def launch(
        self, function: Any, grid: Sequence[int], block: Sequence[int], parameters: bytes, stream: int, shared: int
    ) -> None:
        buffer, size = ctypes.create_string_buffer(parameters, len(parameters)), ctypes.c_size_t(len(parameters))
        extra = (ctypes.c_void_p * 5)(
            BUFFER_POINTER, ctypes.addressof(buffer), BUFFER_SIZE, ctypes.addressof(size), END
        )
        self._call("cuLaunchKernel", function, *grid, *block, shared, stream, 0, ctypes.addressof(extra))

    def synchronize(self) -> None:
        self._call("cuCtxSynchronize")

    def wait_for(self, stream: int) -> None:
        if stream == 0:
            self.synchronize()
        else:
            self._call("cuStreamSynchronize", stream)

    def new_stream(self, is_blocking: bool = True) -> tuple[int, Any]:
        stream = self._call("cuStreamCreate", 0 if is_blocking else NON_BLOCKING)
        return int(stream), stream

    def new_event(self, stream: int) -> Any:
        event = self._call("cuEventCreate", 0)
        self._call("cuEventRecord", event, stream)
        return event

    def is_done(self, event: Any) -> bool:
        status = self._cuda.cuEventQuery(event)[0]
        if status == self._cuda.CUresult.CUDA_ERROR_NOT_READY:
            return False
        self._check("cuEventQuery", status)
        return True

    def order(self, stream: int, event: Any) -> None:
        self._call("cuStreamWaitEvent", stream, event, 0)

    def milliseconds(self, start: Any, end: Any) -> float:
        self._call("cuEventSynchronize", start)
        self._call("cuEventSynchronize", end)
        return float(self._call("cuEventElapsedTime", start, end))

    def device_of(self, address: int) -> int | None:
        attribute = self._cuda.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
        status, *found = self._cuda.cuPointerGetAttribute(attribute, address)
        return None if status != self._cuda.CUresult.CUDA_SUCCESS else int(found[0])

    def destroy(self, thing: Any) -> None:
        kinds = {"CUmodule": "cuModuleUnload", "CUstream": "cuStreamDestroy", "CUevent": "cuEventDestroy"}
        self._call(kinds[type(thing).__name__], thing)

    def _call(self, function: str, *args: Any) -> Any:
        """Call a function of the driver and return its result; CudaError with the driver's message if it fails."""
        status, *result = getattr(self._cuda, function)(*args)
        self._check(function, status)
        return result[0] if result else None

    def _check(self, function: str, status: Any) -> None:
        if status != self._cuda.CUresult.CUDA_SUCCESS:
            _, text = self._cuda.cuGetErrorString(status)
            is_memory = status == self._cuda.CUresult.CUDA_ERROR_OUT_OF_MEMORY
            raise CudaError(f"{function} failed: {text.decode()}", is_memory)
