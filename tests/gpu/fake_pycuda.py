"""`pycuda.driver` of a fake GPU, and the functions of libcuda that are called beside it.

As in pycuda 2026.1: each thread has a stack of contexts, which must be empty at the end; objects that are destroyed
outside of their context in another thread than its own leak, with a warning; arguments of kernels are numbers of
NumPy or bytes (`np.void`), and streams are pycuda's own.
"""

from __future__ import annotations

import ctypes
import threading
from types import SimpleNamespace
from typing import Any

import numpy as np
from gpu.fake_gpu import TEXTS, Failed, FakeGpu


class Error(Exception): ...


class LogicError(Error): ...


class OutOfMemory(Error): ...


class _Call:
    """Translates statuses to pycuda's errors."""

    def __init__(self, function: str) -> None:
        self.function = function

    def __enter__(self) -> None: ...

    def __exit__(self, kind: Any, problem: Any, trace: Any) -> None:
        if isinstance(problem, Failed):
            error = OutOfMemory if problem.status == "OUT_OF_MEMORY" else LogicError
            raise error(f"{self.function} failed: {problem}") from None


class _Context:
    def __init__(self, gpu: FakeGpu) -> None:
        self._gpu, self.thread = gpu, threading.get_ident()

    def push(self) -> None:
        if self._gpu.stack:
            self._gpu.complaints.append("a context is pushed on another one")
        self._gpu.stack.append(self._gpu.context)

    def pop(self) -> None:
        with _Call("context::pop"):
            if not self._gpu.stack:
                raise Failed("INVALID_CONTEXT")
            self._gpu.stack.pop()

    def synchronize(self) -> None:
        with _Call("cuCtxSynchronize"):
            self._gpu.synchronize()


def pycuda(gpu: FakeGpu) -> Any:
    """Return the module for a GPU."""
    context = _Context(gpu)

    class _OfContext:
        """An object that must be destroyed in its context."""

        def __init__(self) -> None:
            gpu.check()

        def __del__(self) -> None:
            if not gpu.stack and threading.get_ident() != context.thread:
                gpu.complaints.append(f"{type(self).__name__} in out-of-thread context could not be cleaned up")

    class Stream(_OfContext):
        def __init__(self, flags: int = 0) -> None:
            with _Call("cuStreamCreate"):
                super().__init__()
                self.handle = gpu.new_stream(is_blocking=flags == 0)

        def synchronize(self) -> None:
            with _Call("cuStreamSynchronize"):
                gpu.wait_for(self.handle)

        def wait_for_event(self, event: Event) -> None:
            with _Call("cuStreamWaitEvent"):
                gpu.check()
                gpu.enqueue(self.handle, lambda: None, event.works)

    def number(stream: Any) -> int:
        assert stream is None or type(stream) is Stream, "Boost.Python: no conversion to stream"
        return 0 if stream is None else stream.handle

    class Event(_OfContext):
        def __init__(self, flags: int = 0) -> None:
            with _Call("cuEventCreate"):
                super().__init__()
                self.works: list[Any] = []

        def record(self, stream: Any = None) -> Event:
            with _Call("cuEventRecord"):
                gpu.check()
                self.works = [gpu.enqueue(number(stream), lambda: None)]
            return self

        def query(self) -> bool:
            with _Call("cuEventQuery"):
                gpu.check()
            return all(work.is_done for work in self.works)

        def synchronize(self) -> Event:
            with _Call("cuEventSynchronize"):
                gpu.check()
                gpu.wait(*self.works)
            return self

        def time_till(self, other: Event) -> float:
            with _Call("cuEventElapsedTime"):
                if not (self.query() and other.query()):
                    raise Failed("NOT_READY")
            return 1.5

    class DeviceAllocation(_OfContext):
        def __init__(self, size: int) -> None:
            with _Call("cuMemAlloc"):
                super().__init__()
                self._address = gpu.allocate(size)

        def __int__(self) -> int:
            return self._address

        def free(self) -> None:
            with _Call("cuMemFree"):
                gpu.free(self._address)

    class Module(_OfContext):
        def __init__(self, ptx: str) -> None:
            super().__init__()
            self._ptx = ptx

        def get_function(self, name: str) -> Function:
            with _Call("cuModuleGetFunction"):
                return Function(self, gpu.function(self._ptx, name))

    class Function:
        def __init__(self, module: Module, function: Any) -> None:
            self._module, self._function = module, function

        def set_attribute(self, attribute: str, value: int) -> None:
            assert attribute == "MAX_DYNAMIC_SHARED_SIZE_BYTES"
            gpu.asked.append(("function", self._function.symbol, value))
            self._function.shared = value

        def __call__(self, *args: Any, grid: Any, block: Any, stream: Any = None, shared: int = 0) -> None:
            assert type(grid) is type(block) is tuple
            for at, arg in enumerate(args):
                if not isinstance(arg, np.number | np.void):
                    raise TypeError(f"invalid type on parameter #{at} (0-based)")
            with _Call("cuLaunchKernel"):
                gpu.launch(
                    self._function, grid, block, b"".join(map(bytes, map(memoryview, args))), number(stream), shared
                )

    def module_from_buffer(image: bytes) -> Module:
        try:
            return Module(gpu.load(image))
        except Failed as failed:
            raise LogicError(f"cuModuleLoadDataEx failed: {failed} - ptxas fatal   : no kernels") from None

    def copies(function: str, kind: str, is_waiting: bool) -> Any:
        def copy(target: Any, source: Any, *args: Any) -> None:
            size = args[0] if kind == "copy" else memoryview(source if kind == "copy in" else target).nbytes
            ends = [end if isinstance(end, int) else np.asarray(end).ctypes.data for end in (target, source)]
            stream = 0 if is_waiting else number(args[-1])
            with _Call(function):
                gpu.copy(kind, *ends, size, stream, is_waiting)

        return copy

    device = SimpleNamespace(
        retain_primary_context=lambda: context, compute_capability=lambda: gpu.arch, name=lambda: gpu.name
    )
    return SimpleNamespace(
        init=lambda: None, Device=lambda number: device, Error=Error, MemoryError=OutOfMemory, LogicError=LogicError,
        Context=context, Stream=Stream, Event=Event, mem_alloc=DeviceAllocation, module_from_buffer=module_from_buffer,
        memcpy_htod=copies("cuMemcpyHtoD", "copy in", True), memcpy_dtoh=copies("cuMemcpyDtoH", "copy out", True),
        memcpy_htod_async=copies("cuMemcpyHtoDAsync", "copy in", False),
        memcpy_dtoh_async=copies("cuMemcpyDtoHAsync", "copy out", False),
        memcpy_dtod_async=copies("cuMemcpyDtoDAsync", "copy", False),
        function_attribute=SimpleNamespace(MAX_DYNAMIC_SHARED_SIZE_BYTES="MAX_DYNAMIC_SHARED_SIZE_BYTES"),
    )  # fmt: skip


class FakeLibrary:
    """libcuda of a GPU: what is called by ctypes."""

    def __init__(self, gpu: FakeGpu) -> None:
        self._gpu, self._events, self._graphs = gpu, dict[int, Any](), dict[int, Any]()

    def __getattr__(self, name: str) -> Any:
        function = object.__getattribute__(self, f"_{name}")

        def call(*args: Any) -> int:
            try:
                handles = ctypes.c_void_p | ctypes.c_uint64 | ctypes.c_ulonglong
                function(*[arg.value or 0 if isinstance(arg, handles) else arg for arg in args])
            except Failed as failed:
                return list(TEXTS).index(failed.status) + 1
            return 0

        return call

    def _cuEventCreate(self, event: Any, flags: int) -> None:
        self._gpu.check()
        event._obj.value = len(self._events) + 1
        self._events[event._obj.value] = []

    def _cuEventRecord(self, event: int, stream: int) -> None:
        self._events[event] = [self._gpu.enqueue(stream, lambda: None)]

    def _cuStreamWaitEvent(self, stream: int, event: int, flags: int) -> None:
        self._gpu.enqueue(stream, lambda: None, self._events[event])

    def _cuEventDestroy_v2(self, event: int) -> None:
        self._events[event] = None

    def _cuPointerGetAttribute(self, number: Any, attribute: int, address: int) -> None:
        assert attribute == 9
        number._obj.value = self._gpu.device_of(address)

    def _cuGetErrorString(self, status: int, text: Any) -> None:
        text._obj.value = list(TEXTS.values())[status - 1].encode()

    def _cuTensorMapEncodeTiled(self, target: int, *args: Any) -> None:
        self._gpu.encode(target, *args)

    def _cuStreamBeginCapture_v2(self, stream: int, mode: int) -> None:
        assert mode == 2
        self._gpu.begin_capture(stream)

    def _cuStreamEndCapture(self, stream: int, graph: Any) -> None:
        graph._obj.value = self._new(self._gpu.end_capture(stream))

    def _cuGraphInstantiateWithFlags(self, executable: Any, graph: int, flags: int) -> None:
        assert flags == 0
        self._gpu.check()
        executable._obj.value = self._new(self._graph(graph))

    def _cuGraphLaunch(self, executable: int, stream: int) -> None:
        self._gpu.launch_graph(self._graph(executable), stream)

    def _cuGraphDestroy(self, graph: int) -> None:
        self._gpu.check()
        self._graph(graph)
        self._graphs[graph] = None

    _cuGraphExecDestroy = _cuGraphDestroy

    def _new(self, graph: Any) -> int:
        self._graphs[len(self._graphs) + 1] = graph
        return len(self._graphs)

    def _graph(self, number: int) -> Any:
        if self._graphs.get(number) is None:
            raise Failed("INVALID_HANDLE")
        return self._graphs[number]

    @property
    def live_graphs(self) -> int:
        """Return the number of graphs that are not destroyed."""
        return sum(graph is not None for graph in self._graphs.values())
