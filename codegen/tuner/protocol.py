"""What a tuner and the processes that measure for it tell each other: programs are texts, results are numbers."""

from __future__ import annotations

import os
import struct
from typing import IO, Any

import msgspec
from msgspec import Struct

STATUSES = ("ok", "refused", "compile error", "wrong", "crash", "timeout", "out of memory", "device lost")
"""The possible outcomes of a trial."""


class Limits(Struct, frozen=True):
    """Limits of a trial. `seconds` limits its compilation, and also all its calls; `memory` is in MiB."""

    seconds: float = 10.0
    memory: int = 8192


class Workload(Struct, frozen=True, tag=True):
    """What is measured: the program that runs without tuning, whose results are right, and how it is called."""

    key: str
    baseline: str
    """Text of a module of the function `main`, with its schedule."""
    tensors: bytes
    target: str
    threads: int
    """Number of threads of a call; 0: all cores."""
    sizes: dict[str, int] = {}
    """Values of symbolic sizes, by name."""
    limits: Limits = Limits()
    seed: int = 0
    """Seed of the arguments."""


class Outcome(Struct, frozen=True):
    """Result of a trial: the times of its calls in seconds, and those of the baseline, measured alternately."""

    status: str
    message: str = ""
    seconds: tuple[float, ...] = ()
    reference: tuple[float, ...] = ()

    @property
    def ratio(self) -> float:
        """Return the time relative to the baseline; infinity if nothing was measured."""
        if self.status != "ok" or not self.seconds or not self.reference:
            return float("inf")
        return typical(self.seconds) / typical(self.reference)

    @property
    def is_faster(self) -> bool:
        """Return whether a program is faster than the baseline, also in most of its repetitions: a few disturbed ones do not count."""
        pairs = list(zip(self.seconds, self.reference, strict=False))
        return self.ratio < 1 and sum(own < other for own, other in pairs) >= _MOST * len(pairs)


_MOST = 0.8
"""Share of the repetitions in which a faster program must be faster."""


class Batch(Struct, frozen=True, tag=True):
    """Programs to measure for an open workload; `effort` multiplies the time of each measurement.

    `best` is the time of the best program so far relative to the baseline: slower ones need few repetitions.
    """

    key: str
    programs: tuple[str, ...]
    effort: float = 1.0
    best: float = 1.0


class Build(Struct, frozen=True, tag=True):
    """A module to compile into a file at `path`."""

    program: str
    tensors: bytes
    target: str
    path: str


class Call(Struct, frozen=True, tag=True):
    """Calls of the function of a compiled module, with random arguments of these dtypes and shapes: `repeat` repetitions of `number` calls,
    or of as many as take `min_repeat_ms`, for each of `alloc_repeat` sets of arguments.
    """

    path: str
    arguments: tuple[tuple[str, tuple[int, ...]], ...]
    number: int = 3
    repeat: int = 1
    min_repeat_ms: float = 100
    alloc_repeat: int = 1
    is_flushed: bool = False
    """Whether the caches are emptied before each repetition."""


class Jobs(Struct, frozen=True, tag=True):
    """Jobs that need no workload, of which `at_once` run at a time. The outcome of each has the seconds of its calls."""

    jobs: tuple[Build | Call, ...]
    limits: Limits
    at_once: int = 1


def typical(values: tuple[float, ...]) -> float:
    """Return the first quartile of some times: other work on the machine disturbs it less than the median."""
    return sorted(values)[len(values) // 4]


def send(stream: IO[bytes], message: Any) -> None:
    """Write a message."""
    data = msgspec.msgpack.encode(message)
    stream.write(struct.pack("<Q", len(data)) + data)
    stream.flush()


def receive(stream: IO[bytes], kind: Any) -> Any:
    """Return the next message, of a type or union of types; None at the end of the stream."""
    head = stream.read(8)
    if len(head) < 8:
        return None
    (size,) = struct.unpack("<Q", head)
    data = stream.read(size)
    return msgspec.msgpack.decode(data, type=kind) if len(data) == size else None


def write_all(handle: int, data: bytes) -> None:
    """Write data to a pipe."""
    while data:
        data = data[os.write(handle, data) :]
