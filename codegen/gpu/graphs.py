"""CUDA graphs: launches that the GPU's driver knows in advance, and starts by one call."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress

from . import libcuda
from .cuda import CudaError

_RELAXED = 2
"""CU_STREAM_CAPTURE_MODE_RELAXED: other work of the process goes on as usual."""


class ExecutableGraph:
    """A graph that can be launched. Its methods need the context of the device."""

    def __init__(self, handle: ctypes.c_void_p) -> None:
        self._handle = handle

    def launch(self, stream: int) -> None:
        """Launch all kernels, each of which waits for the one before."""
        libcuda.call("cuGraphLaunch", self._handle, ctypes.c_void_p(stream))

    def destroy(self) -> None:
        """Release the graph, after its kernels are done if it is running."""
        libcuda.call("cuGraphExecDestroy", self._handle)


def capture(stream: int, launch: Callable[[], None]) -> ExecutableGraph:
    """Return a graph of the kernels that `launch` launches in `stream`, a non-blocking stream without other work.

    They are not executed.
    """
    graph, executable = ctypes.c_void_p(), ctypes.c_void_p()
    with _captured(stream, graph):
        launch()
    try:
        libcuda.call("cuGraphInstantiateWithFlags", ctypes.byref(executable), graph, ctypes.c_ulonglong(0))
    finally:
        libcuda.call("cuGraphDestroy", graph)
    return ExecutableGraph(executable)


@contextmanager
def _captured(stream: int, graph: ctypes.c_void_p) -> Generator[None]:
    """Capture the work of a stream, and write the handle of its graph to `graph`."""
    place = ctypes.c_void_p(stream)
    libcuda.call("cuStreamBeginCapture_v2", place, _RELAXED)
    try:
        yield
    except BaseException:
        with suppress(CudaError):
            libcuda.call("cuStreamEndCapture", place, ctypes.byref(graph))
        raise
    libcuda.call("cuStreamEndCapture", place, ctypes.byref(graph))
