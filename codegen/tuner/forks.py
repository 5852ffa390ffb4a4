"""Forks of a process: each does one piece of work, writes its answer to a pipe, and ends."""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable

from .protocol import Outcome
from .trial import TOO_SLOW

_DEATHS = {
    signal.SIGPROF: ("timeout", TOO_SLOW),
    signal.SIGSEGV: ("crash", "it accessed memory outside of its arguments"),
    signal.SIGBUS: ("crash", "it accessed memory outside of its arguments"),
    signal.SIGKILL: ("out of memory", "the system ended it, probably for want of memory"),
    signal.SIGXCPU: ("timeout", "it took too much processor time"),
}


def forked(work: Callable[[int], object]) -> tuple[int, int]:
    """Run `work(pipe)` in a fork of this process; return the other end of the pipe, and the number of the process."""
    tell, own = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(tell)
            work(own)
        finally:
            os._exit(1)
    os.close(own)
    return tell, child


def read_until(handle: int, child: int, deadline: float) -> tuple[bytes, Outcome | None]:
    """Return what a child writes until it ends, and how it ended if that was not by itself; kill it at the deadline."""
    parts: list[bytes] = []
    is_late = False
    while not is_late:
        left = deadline - time.monotonic()
        readable, _, _ = select.select([handle], [], [], max(left, 0))
        if not readable:
            is_late = True
            break
        part = os.read(handle, 1 << 20)
        if not part:
            break
        parts.append(part)
    os.close(handle)
    if is_late:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if is_late:
        return b"", Outcome("timeout", "it took too long")
    if os.WIFSIGNALED(status):
        number = signal.Signals(os.WTERMSIG(status))
        known = _DEATHS.get(number, ("crash", f"it was ended by {number.name}"))
        return b"", Outcome(*known)
    return b"".join(parts), None
