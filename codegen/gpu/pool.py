"""Freed GPU memory, which is kept for the next allocation of about the same size.

Memory may be freed before the kernels that use it are done. Work of one stream is ordered, so that memory that only the
default stream uses can be used again at once. Beside other streams it waits for an event of each stream.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from .cuda import Cuda, CudaError

SMALLEST = 512
"""Size in bytes of the smallest allocation; sizes are multiples of it."""


class Pool:
    """The memory of a device. `forget` may be called at any time, also while garbage is collected: it only takes a note.
    All other methods need the context of the device.
    """

    def __init__(self, cuda: Cuda, streams: Callable[[], Iterable[int]]) -> None:
        """`streams` returns the streams with work that may be pending, besides the default stream."""
        self._cuda, self._streams = cuda, streams
        self._sizes: dict[int, int] = {}
        self._kept: dict[int, list[int]] = {}
        self._forgotten: deque[int] = deque()
        self._pending: deque[tuple[list[Any], list[int]]] = deque()
        """Freed memory that work of some stream may still use, with the events after which it does not."""

    def allocate(self, size: int) -> int:
        """Return the address of `size` bytes; CudaError if they do not exist."""
        rounded = rounded_size(size)
        self.collect()
        kept = self._kept.get(rounded)
        if kept:
            return kept.pop()
        try:
            address = self._cuda.allocate(rounded)
        except CudaError as problem:
            if not problem.is_memory:
                raise
            self._release_all()
            address = self._cuda.allocate(rounded)
        self._sizes[address] = rounded
        return address

    def forget(self, address: int) -> None:
        """Note that memory is not used by work that begins later."""
        self._forgotten.append(address)

    def collect(self) -> None:
        """Keep the forgotten memory that no pending work uses for allocations."""
        freed = [self._forgotten.popleft() for _ in range(len(self._forgotten))]
        streams = list(self._streams()) if freed else []
        if streams:
            self._pending.append(([self._cuda.new_event(stream) for stream in (0, *streams)], freed))
        else:
            self._keep(freed)
        while self._pending and all(map(self._cuda.is_done, self._pending[0][0])):
            events, freed = self._pending.popleft()
            self._keep(freed)
            for event in events:
                self._cuda.destroy(event)

    def _keep(self, addresses: Iterable[int]) -> None:
        for address in addresses:
            self._kept.setdefault(self._sizes[address], []).append(address)

    def _release_all(self) -> None:
        """Return all memory that is not in use to the driver, after all pending work."""
        self._cuda.synchronize()
        self.collect()
        for kept in self._kept.values():
            while kept:
                address = kept.pop()
                del self._sizes[address]
                self._cuda.release(address)


def rounded_size(size: int) -> int:
    """Return the number of bytes to allocate for `size`: at most an eighth more, so that allocations can be used again."""
    step = max(1 << max(size.bit_length() - 4, 0), SMALLEST)
    return max(-(-size // step) * step, SMALLEST)
