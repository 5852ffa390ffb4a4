"""The GPU: its memory, kernels and streams, and the errors of CUDA's driver as diagnostics.

The context of the device is current in the calling thread only during a call of a method, so that other
libraries keep theirs. Work runs in the current stream of the calling thread, which `using` changes.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, Protocol
from weakref import WeakSet

import numpy as np

from ...ir.base import Span
from ...ir.diagnostics import Diagnostic, Note, TvmsError, error
from .cuda import Cuda, CudaError
from .graphs import ExecutableGraph, capture
from .launch import Function, KernelCall
from .packages import open_cuda
from .pool import Pool
from .streams import PER_THREAD, DeviceStream, stream_number
from .tensor_maps import Matrix, encode
from .trace import current_trace, note_obstacle

Array = np.ndarray[Any, Any]


class Owned:
    """A module, an event or a graph of CUDA, which is destroyed after the last reference is gone."""

    def __init__(self, handle: Any, dropped: deque[Any]) -> None:
        self.handle, self._dropped = handle, dropped

    def __del__(self) -> None:
        self._dropped.append(self.handle)


class Keeper(Protocol):
    """Something that keeps memory in order to be faster."""

    def release_memory(self) -> None: ...


class Graph(Owned):
    """A graph of CUDA, and the positions of its kernels."""

    def __init__(self, graph: ExecutableGraph, dropped: deque[Any], kernels: dict[str, Span | None]) -> None:
        super().__init__(graph, dropped)
        self.kernels = kernels


class Driver:
    """A GPU, reached through `cuda`. Methods may be called from any thread."""

    number = 0

    def __init__(self, cuda: Cuda) -> None:
        self._cuda = cuda
        self.name, self.arch, self.backend = cuda.name, cuda.arch, cuda.backend
        self._thread = threading.local()
        self._lock = threading.RLock()
        self._others: dict[int, Any] = {}
        """The streams besides the default one with work that may be pending, by number; they are kept alive."""
        self._launched: dict[str, Span | None] = {}
        """The kernels that may not be done, the last one at the end."""
        self._dropped: deque[Any] = deque()
        """What is to be destroyed by the next call: garbage may be collected in any thread, at any time."""
        self._pool = Pool(cuda, lambda: self._others)
        self._keepers: WeakSet[Keeper] = WeakSet()
        self._capturing: tuple[int, Any] | None = None
        """The stream in which graphs are captured, and its owner."""

    @property
    def has_other_streams(self) -> bool:
        """Return whether streams besides the default one may have pending work."""
        return bool(self._others)

    @property
    def current_stream(self) -> int:
        """Return the number of the stream in which the calling thread's work runs."""
        return getattr(self._thread, "stream", 0)

    # --- Memory

    def allocate(self, size: int) -> int:
        """Allocate `size` bytes and return the address; E0717 if memory is exhausted."""
        with self._calls("allocate memory"), self._lock:
            try:
                address = self._allocated(size)
            except CudaError as problem:
                if not problem.is_memory:
                    raise
            else:
                trace = current_trace()
                if trace is not None:
                    trace.allocated(address, size)
                return address
        message, help = f"the GPU has less than {size} bytes of free memory", "free arrays, or use smaller ones"
        raise error("E0717", message, None, help)

    def _allocated(self, size: int) -> int:
        """Return the address of `size` bytes, for which memory that is only kept is released if there are no others."""
        try:
            return self._pool.allocate(size)
        except CudaError as problem:
            if not (problem.is_memory and self._keepers):
                raise
        for keeper in list(self._keepers):
            keeper.release_memory()
        return self._pool.allocate(size)

    def note_keeper(self, keeper: Keeper) -> None:
        """Let `keeper`, as long as it exists, release its memory when memory is exhausted."""
        self._keepers.add(keeper)

    def free(self, address: int) -> None:
        """Free memory for reuse after all preceding work; this calls nothing, and never waits."""
        self._pool.forget(address)

    def copy_in(self, address: int, source: Array) -> None:
        """Copy a contiguous host array to the GPU; it may be changed afterwards."""
        note_obstacle("an array is copied to the GPU")
        if source.nbytes:
            with self._calls("copy an array to the GPU"):
                self._cuda.copy_in(address, source.ctypes.data, source.nbytes, self.current_stream)

    def copy_out(self, target: Array, address: int) -> None:
        """Copy to a contiguous host array, after all preceding work of the current stream; of all streams if it is the
        default one.
        """
        note_obstacle("the host reads an array")
        with self._calls("copy an array from the GPU"):
            if self.current_stream == 0 and self._others:
                self._wait_for_all()
            if target.nbytes:
                self._cuda.copy_out(target.ctypes.data, address, target.nbytes, self.current_stream)
            if self.current_stream == 0 and not self._others:
                self._launched.clear()

    def copy(self, target: int, source: int, size: int) -> None:
        """Begin to copy `size` bytes on the GPU."""
        note_obstacle("an array is copied")
        with self._calls("copy an array on the GPU"):
            self._cuda.copy(target, source, size, self.current_stream)

    def device_of(self, address: int) -> int | None:
        """Return the number of the GPU that owns memory; None if none does."""
        with self._calls("find the device of an array"):
            return self._cuda.device_of(address)

    # --- Kernels

    def load(self, ptx: str) -> Owned:
        """Load a module of kernels; E0608 if the driver rejects it."""
        with self._calls("load kernels"):
            try:
                return Owned(self._cuda.load(ptx), self._dropped)
            except CudaError as problem:
                rejected = str(problem)
        help = f"compile for this GPU: -arch={self.arch}"
        raise error("E0608", f"the driver of '{self.name}' rejects the kernels: {rejected}", None, help)

    def function(self, module: Owned, symbol: str, name: str, span: Span | None = None, shared: int = 0) -> Function:
        """Return a kernel whose launches request `shared` bytes of dynamic shared memory."""
        with self._calls(f"find kernel '{name}'"):
            return Function(self._cuda.function(module.handle, symbol, shared), name, span, shared)

    def launch(self, function: Function, grid: Sequence[int], block: Sequence[int], parameters: bytes) -> None:
        """Launch a kernel with the bytes of its parameters."""
        with self._calls(f"launch kernel '{function.name}'", function.span):
            stream = self.current_stream
            if stream:
                self._others.setdefault(stream, None)
            self._cuda.launch(function.handle, grid, block, parameters, stream, function.shared)
            self._launched.pop(function.name, None)
            self._launched[function.name] = function.span

    def run(self, call: KernelCall) -> None:
        """Launch a kernel; E0727 if the copy engine cannot read one of its matrices."""
        self.launch(call.function, call.grid, call.block, call.packed(self.encode))

    def encode(self, matrix: Matrix, function: Function) -> bytes:
        """Return the tensor map of a matrix that `function` copies from; E0727 if the copy engine cannot read it."""
        with self._calls(f"describe an array for kernel '{function.name}'", function.span):
            return encode(matrix)

    # --- Graphs

    def capture(self, calls: Sequence[KernelCall]) -> Graph:
        """Return a graph of launches, each of which waits for the one before."""
        packed = [(call, call.packed(self.encode)) for call in calls]
        with self._calls("record a graph"), self._lock:
            if self._capturing is None:
                self._capturing = self._cuda.new_stream(is_blocking=False)
            stream = self._capturing[0]

            def launch() -> None:
                for call, parameters in packed:
                    function = call.function
                    self._cuda.launch(function.handle, call.grid, call.block, parameters, stream, function.shared)

            kernels = {call.function.name: call.function.span for call in calls}
            return Graph(capture(stream, launch), self._dropped, kernels)

    def launch_graph(self, graph: Graph) -> None:
        """Launch the kernels of a graph."""
        with self._calls("launch a graph"):
            if self.current_stream:
                self._others.setdefault(self.current_stream, None)
            graph.handle.launch(self.current_stream)
            for name, span in graph.kernels.items():
                self._launched.pop(name, None)
                self._launched[name] = span

    # --- Streams

    def follow(self, stream: int) -> None:
        """Let later work of the current stream wait for the preceding work of stream number `stream`."""
        if stream == PER_THREAD:  # of another thread, perhaps: the legacy default stream waits for those of all threads
            stream = 0
        if stream == self.current_stream or (stream and stream not in self._others):
            return
        with self._calls("order streams"):
            if self.current_stream == 0:
                self._cuda.wait_for(stream)
                return
            event = self._cuda.new_event(stream)
            self._cuda.order(self.current_stream, event)
            self._dropped.append(event)

    def synchronize(self, stream: Any = None) -> None:
        """Wait for all work of a stream, or of the GPU; E0702 if `stream` is not a stream."""
        note_obstacle("the host waits for the GPU")
        number = stream_number(stream, "sync")
        with self._calls("wait for kernels"):
            if number == 0:
                self._wait_for_all()
            else:
                self._cuda.wait_for(number)

    def stream(self) -> DeviceStream:
        """Return a new stream."""
        with self._calls("create a stream"):
            number, owner = self._cuda.new_stream()
            return DeviceStream(number, self._dropped.append, owner)

    def event(self, stream: Any = None) -> Owned:
        """Return an event that is complete when all preceding work of `stream` is done."""
        number = stream_number(stream, "event")
        with self._calls("record an event"):
            return Owned(self._cuda.new_event(number), self._dropped)

    def milliseconds(self, start: Owned, end: Owned) -> float:
        """Wait for both events and return the time between them."""
        with self._calls("wait for an event"):
            return self._cuda.milliseconds(start.handle, end.handle)

    @contextmanager
    def using(self, stream: Any) -> Generator[None]:
        """Run the work of the calling thread in `stream`, after all preceding work of the default stream; None changes
        nothing. E0702 if it is not a stream.
        """
        number, before = stream_number(stream), self.current_stream
        if number in (0, before):
            yield
            return
        with self._calls("use a stream"):
            event = self._cuda.new_event(0)
            self._cuda.order(number, event)
            self._dropped.append(event)
            del event  # the last reference must go in the context
        self._thread.stream, self._others[number] = number, stream
        try:
            yield
        finally:
            self._thread.stream = before

    # --- Errors

    def _calls(self, what: str, span: Span | None = None) -> _Calls:
        """Make the context current, and raise errors of the driver as E0727."""
        return _Calls(self, what, span)

    def enter(self) -> None:
        """Make the context current, and destroy what was dropped."""
        self._cuda.enter()
        try:
            while self._dropped:
                dropped = self._dropped.popleft()
                if isinstance(dropped, ExecutableGraph):
                    dropped.destroy()
                else:
                    self._cuda.destroy(dropped)
        except BaseException:
            self._cuda.leave()
            raise

    def leave(self) -> None:
        """Make the context current that was before `enter`."""
        self._cuda.leave()

    def _wait_for_all(self) -> None:
        others = list(self._others)
        self._cuda.synchronize()
        self._launched.clear()
        for number in others:
            self._others.pop(number, None)

    def fault(self, problem: str, what: str, span: Span | None) -> TvmsError:
        """Return the error for a failure of the driver: of a kernel that runs, if waiting for the GPU fails as well."""
        try:
            self._cuda.enter()
            try:
                self._cuda.synchronize()
            finally:
                self._cuda.leave()
        except CudaError as lost:
            return TvmsError([self._lost(str(lost))])
        return error("E0727", f"'{self.name}' cannot {what}: {problem}", span)

    def _lost(self, problem: str) -> Diagnostic:
        """Return the error for a kernel that failed while it ran: one of those that are not known to be done."""
        *others, (name, span) = self._launched.items() or [("", None)]
        reason = problem.partition(" failed: ")[2] or problem
        help = "restart the process, whose GPU memory is lost; check the kernel with --races and --simulate"
        if not others:
            who = f"kernel '{name}'" if name else "the GPU"
            return Diagnostic("E0727", f"{who} failed on '{self.name}': {reason}", span, help=help)
        notes = tuple(Note(f"kernel '{name}' was launched before", span) for name, span in reversed(others))
        message = f"kernel '{name}', or one that was launched before it, failed on '{self.name}': {reason}"
        return Diagnostic(
            "E0727", message, span, help=f"set CUDA_LAUNCH_BLOCKING=1 to learn which one; {help}", notes=notes
        )


class _Calls:
    """Calls of the driver in a `with` statement; this is cheaper than a generator."""

    __slots__ = ("_driver", "_span", "_what")

    def __init__(self, driver: Driver, what: str, span: Span | None) -> None:
        self._driver, self._what, self._span = driver, what, span

    def __enter__(self) -> None:
        try:
            self._driver.enter()
        except CudaError as problem:
            raise self._driver.fault(str(problem), self._what, self._span) from None

    def __exit__(self, kind: type[BaseException] | None, problem: BaseException | None, trace: object) -> None:
        try:
            self._driver.leave()
        except CudaError as failed:
            problem = problem or failed
        if isinstance(problem, CudaError):
            raise self._driver.fault(str(problem), self._what, self._span) from None


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
    cuda = open_cuda()
    return cuda if isinstance(cuda, str) else Driver(cuda)
