"""A GPU on the processor that checks like a real one.

Work is delayed until its stream must be waited for, so that a read without waiting gets old data. Each thread has its own stack of
contexts. A call without a current context, an access outside of an allocation, a wrong number of parameter bytes, and
more shared memory than requested fail with CUDA's status. After a kernel has failed, every call in its context fails.
"""

from __future__ import annotations

import ctypes
import re
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from msgspec.structs import replace
from tvms.codegen.gpu.architectures import MOST_EXTENT, MOST_THREADS
from tvms.codegen.gpu.interleave import simulate_kernel
from tvms.codegen.gpu.kernel import BLOCK_TAGS, Kernel
from tvms.codegen.gpu.launch import parameters
from tvms.codegen.gpu.lower import without_units
from tvms.codegen.gpu.streams import PER_THREAD
from tvms.codegen.llvm.backend import optimize, to_object
from tvms.codegen.llvm.faults import RECORD_WORDS
from tvms.codegen.llvm.module import emit_module
from tvms.codegen.names import mangle
from tvms.codegen.runtime.jit import c_type, link
from tvms.codegen.target import get_target
from tvms.ir import make, tir
from tvms.ir.numpy_dtype import numpy_dtype

TEXTS = {
    "INVALID_VALUE": "invalid argument", "OUT_OF_MEMORY": "out of memory", "INVALID_CONTEXT": "invalid device context",
    "INVALID_HANDLE": "invalid resource handle", "NOT_READY": "device not ready", "INVALID_PTX": "a PTX JIT compilation failed",
    "NOT_FOUND": "named symbol not found", "ILLEGAL_ADDRESS": "an illegal memory access was encountered",
}  # fmt: skip
"""CUDA's texts of the statuses that this GPU returns, by the ends of their names."""

_PARAMETER = re.compile(
    r"\.param\s+(?:\.align (\d+)\s+)?\.[bsuf](\d+)\s+(?:\.ptr\s+(?:\.\w+\s+)?\.align \d+\s+)?\w+(?:\[(\d+)\])?"
)


class Failed(Exception):
    """A status of CUDA that is not success."""

    def __init__(self, status: str) -> None:
        super().__init__(TEXTS[status])
        self.status = status


class Work:
    """Something to do after other work."""

    def __init__(self, run: Callable[[], None], after: list[Work]) -> None:
        self.run, self.after, self.is_done = run, after, False


class Context:
    """The primary context."""


class Function:
    def __init__(self, ptx: str, symbol: str) -> None:
        self.symbol, self.shared = symbol, 48 << 10
        entry = ptx.partition(f".entry {symbol}(")[2].partition(")")[0]
        offset = 0
        self.layout: list[tuple[int, int]] = []
        for aligned, bits, count in _PARAMETER.findall(entry):
            size = int(bits) // 8 * int(count or 1)
            part = int(aligned or size)
            offset = -(-offset // part) * part + size
            self.layout.append((offset - size, size))


class FakeGpu:
    """Runs registered kernels and records the calls. `memory_limit` is the size of its memory in bytes."""

    name, arch = "no GPU", (8, 0)

    def __init__(self, memory_limit: int = 1 << 30) -> None:
        self.asked: list[tuple[Any, ...]] = []
        self.kernels: dict[str, Kernel] = {}
        self.faults: dict[str, Any] = {}
        self.memory: dict[int, tuple[Any, int]] = {}
        self.foreign: dict[int, tuple[int, int]] = {}
        """Memory of other libraries: size and device by address."""
        self.failing: set[str] = set()
        """Kernels that access memory outside of allocations."""
        self.complaints: list[str] = []
        self.stacks: dict[int, list[Context]] = {}
        self.context, self.broken, self.memory_limit = Context(), "", memory_limit
        self._lock = threading.RLock()
        self._streams: dict[int, list[Work]] = {0: []}
        self._captured: dict[int, list[Callable[[], None]]] = {}
        """The kernels of graphs that are being captured, by stream."""
        self._blocking = {0}
        self._made: dict[tuple[Kernel, tuple[int, ...]], Any] = {}

    # --- For tests

    def show(self, executable: Any) -> None:
        """Let the GPU know the kernels of `executable`: it cannot read PTX."""
        for name in executable:
            loaded = getattr(executable[name], "_loaded", None)
            if loaded is not None:
                self.kernels.update({mangle(item): kernel for item, kernel in loaded.program.kernels.items()})
                self.faults.update({mangle(kernel): loaded.program.faults for kernel in loaded.program.kernels})

    def count(self, what: str) -> int:
        """Return how often it was asked for that."""
        return sum(asked[0] == what for asked in self.asked)

    def pending(self) -> int:
        """Return the number of things that are not done."""
        return sum(not work.is_done for stream in self._streams.values() for work in stream)

    def check_end(self) -> None:
        """Check what CUDA and pycuda check at the end of a process."""
        assert not any(self.stacks.values()), "a context is still current in a thread"
        assert not self.complaints, self.complaints

    # --- Contexts

    @property
    def stack(self) -> list[Context]:
        """Return the contexts of the calling thread."""
        return self.stacks.setdefault(threading.get_ident(), [])

    def check(self) -> None:
        """Raise the status of a call without a context, or after a failed kernel."""
        if not self.stack:
            raise Failed("INVALID_CONTEXT")
        if self.broken:
            raise Failed(self.broken)

    # --- Memory

    def allocate(self, size: int) -> int:
        self.check()
        if not size or sum(size for _, size in self.memory.values()) + size > self.memory_limit:
            raise Failed("OUT_OF_MEMORY" if size else "INVALID_VALUE")
        memory = np.full(size + 256, 0xCD, np.uint8)
        address = -(-memory.ctypes.data // 256) * 256
        self.memory[address] = memory, size
        self.asked.append(("allocate", size))
        return address

    def free(self, address: int) -> None:
        """Free memory, after all work: CUDA waits here."""
        self.check()
        if address not in self.memory:
            raise Failed("INVALID_VALUE")
        self.finish()
        self.asked.append(("free", address))
        del self.memory[address]

    def device_of(self, address: int) -> int:
        """Return the device that owns memory."""
        self.check()
        found = [device for start, (size, device) in self.foreign.items() if start <= address < start + size]
        if not found and not self._is_inside(address, 1):
            raise Failed("INVALID_VALUE")
        return found[0] if found else 0

    def _is_inside(self, address: int, size: int) -> bool:
        owned = any(start <= address and address + size <= start + length for start, (_, length) in self.memory.items())
        return owned or any(
            start <= address and address + size <= start + length for start, (length, _) in self.foreign.items()
        )

    def copy(self, kind: str, target: int, source: int, size: int, stream: int, is_waiting: bool) -> None:
        """Copy bytes; `kind` is "copy in", "copy out" or "copy"."""
        self.check()
        ends = {"copy in": [target], "copy out": [source], "copy": [target, source]}[kind]
        if not all(self._is_inside(address, size) for address in ends):
            raise Failed("INVALID_VALUE")
        self.asked.append((kind, size))
        work = self.enqueue(stream, lambda: ctypes.memmove(target, source, size))
        if is_waiting:
            self.wait(work)

    # --- Kernels

    def load(self, image: bytes) -> str:
        self.check()
        assert image.endswith(b"\0")
        if b".entry" not in image:
            raise Failed("INVALID_PTX")
        self.asked.append(("load",))
        return image[:-1].decode()

    def function(self, ptx: str, symbol: str) -> Function:
        self.check()
        if f".entry {symbol}(" not in ptx:
            raise Failed("NOT_FOUND")
        return Function(ptx, symbol)

    def launch(
        self, function: Function, grid: Sequence[int], block: Sequence[int], given: bytes, stream: int, shared: int
    ) -> None:
        self.check()
        limits = zip(
            (*grid, *block), [f"{kind}Idx.{axis}" for kind in ("block", "thread") for axis in "xyz"], strict=True
        )
        if not all(0 < count <= MOST_EXTENT[tag] for count, tag in limits) or np.prod(block) > MOST_THREADS:
            raise Failed("INVALID_VALUE")
        offset, size = function.layout[-1]
        if len(given) != offset + size or shared > function.shared:
            raise Failed("INVALID_VALUE")
        values = [given[start : start + length] for start, length in function.layout]

        def run() -> None:
            self._run(function.symbol, tuple(grid), values)

        if stream in self._captured:
            self._captured[stream].append(run)
            return
        self.asked.append(("launch", function.symbol, tuple(grid), tuple(block), shared))
        self.enqueue(stream, run)

    def begin_capture(self, stream: int) -> None:
        """Let the work of a stream be captured; this is only possible if the default stream does not wait for it."""
        self.check()
        if stream in self._blocking or stream in self._captured:
            raise Failed("INVALID_VALUE")
        self._captured[stream] = []

    def end_capture(self, stream: int) -> list[Callable[[], None]]:
        """Return the captured kernels."""
        self.check()
        if stream not in self._captured:
            raise Failed("INVALID_VALUE")
        self.asked.append(("capture", len(self._captured[stream])))
        return self._captured.pop(stream)

    def launch_graph(self, graph: list[Callable[[], None]], stream: int) -> None:
        """Launch captured kernels, one after the other."""
        self.check()
        self.asked.append(("launch graph", len(graph)))
        for run in graph:
            self.enqueue(stream, run)

    def _run(self, symbol: str, grid: tuple[int, ...], given: list[bytes]) -> None:
        kernel = self.kernels[symbol]
        params, values = parameters(kernel), []
        for param, part in zip(params, given, strict=False):
            dtype = numpy_dtype("uint64" if param.dtype == "handle" else param.dtype)
            assert len(part) == dtype.itemsize, f"{param.name} has {len(part)} bytes"
            value = np.frombuffer(part, dtype)[0].item()
            if param.dtype == "handle" and not self._is_inside(value, 1):
                raise Failed("ILLEGAL_ADDRESS")
            values.append(value)
        if symbol in self.failing:
            raise Failed("ILLEGAL_ADDRESS")
        call, faults = self._simulated(symbol, grid)
        record = (ctypes.c_int64 * RECORD_WORDS)()
        status = call(*values, ctypes.addressof(record))
        if status:
            noted = [(fault.code, fault.span) for fault in self.faults[symbol]]
            number = noted.index((faults[status - 1].code, faults[status - 1].span)) + 1
            ctypes.c_int32.from_address(int.from_bytes(given[-1], "little")).value = number

    def _simulated(self, symbol: str, grid: tuple[int, ...]) -> Any:
        """Return the kernel as machine code for so many blocks, and what its status means."""
        kernel = self.kernels[symbol]
        if (kernel, grid) not in self._made:
            sizes = dict(zip(reversed(BLOCK_TAGS), grid, strict=True))
            axes = tuple(
                replace(axis, extent=tir.IntImm("int64", sizes[axis.tag])) if axis.tag in sizes else axis
                for axis in kernel.axes
            )
            target = get_target("cuda -simulate=random")
            body = simulate_kernel(without_units(replace(kernel, axes=axes)), is_ascending=False)
            params: list[tir.Var] = []
            for param in parameters(kernel):
                params.append(param if c_type(param.dtype) else tir.Var("float32", param.name))
                if params[-1] is not param:  # C has no such numbers
                    body = tir.LetStmt(param, make.cast(params[-1], param.dtype), body)
            emitted = emit_module({"kernel": tir.PrimFunc(tuple(params), body)}, target)
            library = link([to_object(optimize(emitted.text, target, 1), target)], ["kernel"], target)
            types = [*(c_type(param.dtype) for param in params), ctypes.c_void_p]
            call = ctypes.CFUNCTYPE(ctypes.c_int32, *types)
            self._made[kernel, grid] = call(library.addresses["kernel"]), emitted.faults, library
        return self._made[kernel, grid][:2]

    def encode(
        self,
        target: int,
        kind: int,
        rank: int,
        address: int,
        sizes: Any,
        strides: Any,
        box: Any,
        steps: Any,
        *rest: int,
    ) -> None:
        """Describe a matrix as `cuTensorMapEncodeTiled` does, which refuses what the copy engine cannot read."""
        size = {6: 2, 9: 2, 7: 4}[kind]
        is_valid = rank == 2 and target % 64 == 0 and address % 16 == 0 and tuple(rest) == (0, 3, 3, 0)
        is_valid &= strides[0] % 16 == 0 and strides[0] < 1 << 40 and all(1 <= extent <= 1 << 32 for extent in sizes)
        is_valid &= all(1 <= extent <= 256 for extent in box) and box[0] * size <= 128 and list(steps) == [1, 1]
        ctypes.memset(target, 0xAB, 128)
        self.asked.append(("encode", list(sizes), strides[0], list(box)))
        if not is_valid:
            raise Failed("INVALID_VALUE")

    # --- Streams

    def _own(self, stream: int) -> int:
        """Return the number of a stream; 2 is the default stream of the calling thread."""
        if stream == PER_THREAD:
            stream = -threading.get_ident()
            self._streams.setdefault(stream, [])
            self._blocking.add(stream)
        return stream

    def new_stream(self, is_blocking: bool = True) -> int:
        """Return the number of a new stream; one that is not blocking does not wait for the default stream."""
        number = 0x1000 * (len(self._streams) + 1)
        self._streams[number] = []
        if is_blocking:
            self._blocking.add(number)
        return number

    def enqueue(self, stream: int, run: Callable[[], object], others: Sequence[Work] = ()) -> Work:
        """Add work to a stream; return it."""
        stream = self._own(stream)
        if stream not in self._streams:
            raise Failed("INVALID_HANDLE")
        if stream in self._captured:
            raise Failed("INVALID_VALUE")
        with self._lock:
            return self._enqueue(stream, run, others)

    def _enqueue(self, stream: int, run: Callable[[], object], others: Sequence[Work]) -> Work:
        before = self._blocking if stream == 0 else {stream, 0} if stream in self._blocking else {stream}
        after = [self._streams[number][-1] for number in before if self._streams[number]]
        work = Work(lambda: run() and None, [*after, *others])
        self._streams[stream].append(work)
        return work

    def wait(self, *works: Work) -> None:
        """Do the work and what comes before it; raise the status of a kernel that fails."""
        with self._lock:
            self._do(list(works))
        if self.broken:
            raise Failed(self.broken)

    def _do(self, todo: list[Work]) -> None:
        while todo:
            work = todo[-1]
            before = [other for other in work.after if not other.is_done]
            todo += before
            if before:
                continue
            todo.pop()
            if not work.is_done:
                work.is_done = True
                work.after.clear()
                if not self.broken:
                    try:
                        work.run()
                    except Failed as failed:
                        self.broken = failed.status

    def wait_for(self, stream: int) -> None:
        """Wait for a stream."""
        self.check()
        stream = self._own(stream)
        if stream not in self._streams:
            raise Failed("INVALID_HANDLE")
        self.asked.append(("synchronize", stream))
        self.wait(*self._streams[stream][-1:])

    def synchronize(self) -> None:
        """Wait for everything."""
        self.check()
        self.asked.append(("synchronize", 0))
        self.finish()

    def finish(self) -> None:
        """Do all work."""
        self.wait(*[stream[-1] for stream in self._streams.values() if stream])
