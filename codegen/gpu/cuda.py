"""The functions of CUDA's driver that this compiler needs, behind one interface: `pycuda_cuda` and `bindings_cuda`.

Both are thin; contexts, memory, streams and errors are handled once, in `driver`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

NON_BLOCKING = 1
"""CU_STREAM_NON_BLOCKING."""


class CudaError(Exception):
    """A function of CUDA's driver that failed; `is_memory` says that memory is exhausted."""

    def __init__(self, message: str, is_memory: bool = False) -> None:
        super().__init__(message)
        self.is_memory = is_memory


class Cuda(Protocol):
    """One device through CUDA's driver.

    Addresses and streams are numbers; stream 0 is the default one. All methods raise CudaError, and all but `enter`
    need the context of the device, which `enter` makes current in the calling thread until `leave`.
    """

    backend: str
    name: str
    arch: str

    def enter(self) -> None: ...

    def leave(self) -> None: ...

    def allocate(self, size: int) -> int: ...

    def release(self, address: int) -> None:
        """Free memory that no pending work uses."""
        ...

    def copy_in(self, address: int, source: int, size: int, stream: int) -> None:
        """Copy `size` bytes from host memory; wait until `source` is no longer needed."""
        ...

    def copy_out(self, target: int, address: int, size: int, stream: int) -> None:
        """Copy `size` bytes to host memory, after all preceding work of the stream; wait until it is done."""
        ...

    def copy(self, target: int, source: int, size: int, stream: int) -> None:
        """Begin to copy `size` bytes within the memory of the device."""
        ...

    def load(self, ptx: str) -> Any:
        """Load a module of kernels; the message of the error is that of CUDA's assembler."""
        ...

    def function(self, module: Any, symbol: str, shared: int) -> Any:
        """Return a kernel whose launches may request `shared` bytes of dynamic shared memory."""
        ...

    def launch(
        self, function: Any, grid: Sequence[int], block: Sequence[int], parameters: bytes, stream: int, shared: int
    ) -> None:
        """Launch a kernel with the bytes of its parameters."""
        ...

    def synchronize(self) -> None:
        """Wait for all work of the device."""
        ...

    def wait_for(self, stream: int) -> None:
        """Wait for all work of a stream."""
        ...

    def new_stream(self, is_blocking: bool = True) -> tuple[int, Any]:
        """Return the number of a new stream and the object that owns it; one that is not blocking does not wait for the default one, nor
        the default one for it.
        """
        ...

    def new_event(self, stream: int) -> Any:
        """Return an event that is complete when all preceding work of the stream is done."""
        ...

    def is_done(self, event: Any) -> bool: ...

    def order(self, stream: int, event: Any) -> None:
        """Let later work of a stream wait for an event."""
        ...

    def milliseconds(self, start: Any, end: Any) -> float:
        """Return the time between two events that are done."""
        ...

    def device_of(self, address: int) -> int | None:
        """Return the number of the device that owns memory; None if it is not memory of a GPU."""
        ...

    def destroy(self, thing: Any) -> None:
        """Release a module, a stream or an event."""
        ...
