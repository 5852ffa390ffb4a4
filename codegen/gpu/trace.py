"""Traces: what the GPU is asked to do during a call, so that the same can be asked again."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager

from msgspec import Struct

from .launch import KernelCall


class Allocation(Struct, frozen=True):
    """Memory of `size` bytes, allocated when `time` kernels had been launched."""

    address: int
    size: int
    time: int


class Trace:
    """The allocations and launches of one thread."""

    def __init__(self) -> None:
        self.allocations: list[Allocation] = []
        self.calls: list[KernelCall] = []
        self.obstacle = ""
        """Why the same cannot be asked again without executing the program; "" if it can."""

    def allocated(self, address: int, size: int) -> None:
        """Take note of an allocation."""
        self.allocations.append(Allocation(address, size, len(self.calls)))


_threads = threading.local()


@contextmanager
def tracing() -> Generator[Trace]:
    """Trace the work of the calling thread."""
    trace = _threads.trace = Trace()
    try:
        yield trace
    finally:
        _threads.trace = None


def current_trace() -> Trace | None:
    """Return the trace of the calling thread, if its work is traced."""
    return getattr(_threads, "trace", None)


def note_obstacle(reason: str) -> None:
    """Take note of something that cannot be asked again, if the work of the calling thread is traced."""
    trace = current_trace()
    if trace is not None and not trace.obstacle:
        trace.obstacle = reason
