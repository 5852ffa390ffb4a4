"""`cuda.bindings.driver` of a fake GPU: functions return a status and results, and take numbers or CUDA's classes."""

from __future__ import annotations

import ctypes
import enum
from types import ModuleType
from typing import Any

from gpu.fake_gpu import TEXTS, Failed, FakeGpu

CUresult: Any = enum.IntEnum(
    "CUresult", {"CUDA_SUCCESS": 0} | {f"CUDA_ERROR_{name}": at + 1 for at, name in enumerate(TEXTS)}
)
_ATTRIBUTES = {
    "CUdevice_attribute": [
        "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR",
        "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR",
    ],
    "CUfunction_attribute": ["CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES"],
    "CUjit_option": ["CU_JIT_ERROR_LOG_BUFFER", "CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES"],
    "CUpointer_attribute": ["CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL"],
}


class _Handle:
    """A handle of CUDA as the package wraps it: its number, or the object behind it."""

    def __init__(self, value: Any) -> None:
        self.value, self.is_destroyed = value, False

    def __int__(self) -> int:
        return int(self.value)


class CUdevice(_Handle): ...


class CUcontext(_Handle): ...


class CUdeviceptr(_Handle): ...


class CUmodule(_Handle): ...


class CUfunction(_Handle): ...


class CUstream(_Handle): ...


class CUevent(_Handle): ...


def bindings(gpu: FakeGpu) -> ModuleType:
    """Return the module for a GPU."""
    module = ModuleType("cuda.bindings.driver")
    for name, members in _ATTRIBUTES.items():
        setattr(module, name, enum.IntEnum(name, members))
    for kind in (CUdevice, CUcontext, CUdeviceptr, CUmodule, CUfunction, CUstream, CUevent):
        setattr(module, kind.__name__, kind)
    module.CUresult = CUresult  # type: ignore[attr-defined]
    functions = _Functions(gpu, module)
    for name in dir(functions):
        if name.startswith("cu"):
            setattr(module, name, _with_status(getattr(functions, name)))
    return module


def _with_status(function: Any) -> Any:
    def call(*args: Any) -> tuple[Any, ...]:
        try:
            result = function(*args)
        except Failed as failed:
            return (CUresult[f"CUDA_ERROR_{failed.status}"],)
        return (CUresult.CUDA_SUCCESS,) if result is None else (CUresult.CUDA_SUCCESS, result)

    return call


def _number(value: Any, kind: type) -> int:
    if not isinstance(value, int | kind):
        raise TypeError(f"expected {kind.__name__} or int, got {type(value).__name__}")
    return int(value)


def _live(value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        raise TypeError(f"expected {kind.__name__}, got {type(value).__name__}")
    if value.is_destroyed:  # type: ignore[attr-defined]
        raise Failed("INVALID_HANDLE")
    return value.value  # type: ignore[attr-defined]


class _Functions:
    def __init__(self, gpu: FakeGpu, module: Any) -> None:
        self._gpu, self._module = gpu, module

    def cuInit(self, flags: int) -> None:
        assert flags == 0

    def cuDeviceGet(self, ordinal: int) -> CUdevice:
        return CUdevice(ordinal)

    def cuDeviceGetName(self, length: int, device: CUdevice) -> bytes:
        return self._gpu.name.encode().ljust(length, b"\0")

    def cuDeviceGetAttribute(self, attribute: Any, device: CUdevice) -> int:
        assert isinstance(attribute, self._module.CUdevice_attribute)
        return self._gpu.arch[attribute.name.endswith("MINOR")]

    def cuDevicePrimaryCtxRetain(self, device: CUdevice) -> CUcontext:
        return CUcontext(self._gpu.context)

    def cuCtxPushCurrent(self, context: CUcontext) -> None:
        self._gpu.stack.append(_live(context, CUcontext))

    def cuCtxPopCurrent(self) -> CUcontext:
        if not self._gpu.stack:
            raise Failed("INVALID_CONTEXT")
        return CUcontext(self._gpu.stack.pop())

    def cuCtxSynchronize(self) -> None:
        self._gpu.synchronize()

    def cuMemAlloc(self, size: int) -> CUdeviceptr:
        return CUdeviceptr(self._gpu.allocate(size))

    def cuMemFree(self, address: Any) -> None:
        self._gpu.free(_number(address, CUdeviceptr))

    def cuMemcpyHtoD(self, target: Any, source: int, size: int) -> None:
        self._gpu.copy("copy in", _number(target, CUdeviceptr), source, size, 0, True)

    def cuMemcpyHtoDAsync(self, target: Any, source: int, size: int, stream: Any) -> None:
        self._gpu.copy("copy in", _number(target, CUdeviceptr), source, size, _number(stream, CUstream), False)

    def cuMemcpyDtoH(self, target: int, source: Any, size: int) -> None:
        self._gpu.copy("copy out", target, _number(source, CUdeviceptr), size, 0, True)

    def cuMemcpyDtoHAsync(self, target: int, source: Any, size: int, stream: Any) -> None:
        self._gpu.copy("copy out", target, _number(source, CUdeviceptr), size, _number(stream, CUstream), False)

    def cuMemcpyDtoDAsync(self, target: Any, source: Any, size: int, stream: Any) -> None:
        ends = _number(target, CUdeviceptr), _number(source, CUdeviceptr)
        self._gpu.copy("copy", *ends, size, _number(stream, CUstream), False)

    def cuModuleLoadDataEx(self, image: bytes, count: int, options: list[Any], values: list[Any]) -> CUmodule:
        assert count == len(options) == len(values)
        try:
            return CUmodule(self._gpu.load(image))
        except Failed:
            said = b"ptxas fatal   : no kernels\0"
            ctypes.memmove(ctypes.c_char_p(values[0]), said, len(said))
            raise

    def cuModuleUnload(self, module: CUmodule) -> None:
        _live(module, CUmodule)
        module.is_destroyed = True

    def cuModuleGetFunction(self, module: CUmodule, name: bytes) -> CUfunction:
        return CUfunction(self._gpu.function(_live(module, CUmodule), name.decode()))

    def cuFuncSetAttribute(self, function: CUfunction, attribute: Any, value: int) -> None:
        assert isinstance(attribute, self._module.CUfunction_attribute)
        self._gpu.asked.append(("function", function.value.symbol, value))
        function.value.shared = value

    def cuLaunchKernel(self, function: CUfunction, *args: Any) -> None:
        grid, block, shared, stream, parameters, extra = args[:3], args[3:6], *args[6:]
        assert parameters in (0, None)
        config = (ctypes.c_void_p * 5).from_address(extra)
        assert (config[0], config[2], config[4]) == (1, 2, None), "a buffer, its size, and the end"
        size = ctypes.c_size_t.from_address(config[3]).value
        given = ctypes.string_at(config[1], size)
        self._gpu.launch(_live(function, CUfunction), grid, block, given, _number(stream, CUstream), shared)

    def cuStreamCreate(self, flags: int) -> CUstream:
        self._gpu.check()
        return CUstream(self._gpu.new_stream(is_blocking=flags == 0))

    def cuStreamDestroy(self, stream: CUstream) -> None:
        _live(stream, CUstream)
        self._gpu.check()
        stream.is_destroyed = True

    def cuStreamSynchronize(self, stream: Any) -> None:
        self._gpu.wait_for(_number(stream, CUstream))

    def cuStreamWaitEvent(self, stream: Any, event: CUevent, flags: int) -> None:
        self._gpu.check()
        self._gpu.enqueue(_number(stream, CUstream), lambda: None, [_live(event, CUevent)[0]])

    def cuEventCreate(self, flags: int) -> CUevent:
        self._gpu.check()
        return CUevent([])

    def cuEventDestroy(self, event: CUevent) -> None:
        self._gpu.check()
        _live(event, CUevent)
        event.is_destroyed = True

    def cuEventRecord(self, event: CUevent, stream: Any) -> None:
        self._gpu.check()
        _live(event, CUevent)[:] = [self._gpu.enqueue(_number(stream, CUstream), lambda: None)]

    def cuEventQuery(self, event: CUevent) -> None:
        self._gpu.check()
        if not all(work.is_done for work in _live(event, CUevent)):
            raise Failed("NOT_READY")

    def cuEventSynchronize(self, event: CUevent) -> None:
        self._gpu.check()
        self._gpu.wait(*_live(event, CUevent))

    def cuEventElapsedTime(self, start: CUevent, end: CUevent) -> float:
        if not all(work.is_done for event in (start, end) for work in _live(event, CUevent)):
            raise Failed("NOT_READY")
        return 1.5

    def cuPointerGetAttribute(self, attribute: Any, address: int) -> int:
        assert isinstance(attribute, self._module.CUpointer_attribute)
        return self._gpu.device_of(address)

    def cuGetErrorString(self, status: Any) -> bytes:
        assert isinstance(status, CUresult)
        return TEXTS[status.name.removeprefix("CUDA_ERROR_")].encode()
