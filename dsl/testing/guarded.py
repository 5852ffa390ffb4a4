"""Arrays between guard pages, and calls in a child process, which detects accesses out of bounds."""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import signal
from collections.abc import Callable, Sequence
from io import StringIO
from typing import Any, NoReturn, TextIO

PAGE = mmap.PAGESIZE
SECONDS = 20
"""Time limit of one task in the child process, in seconds."""
_CANARY = 0xA5

_mprotect = ctypes.CDLL(None, use_errno=True).mprotect
_mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


class GuardedArray:
    """A copy of `array` between two inaccessible pages.

    If `at_end`, it ends right before the second guard page; otherwise it begins right after the first one. Its strides
    are those of `array`. The rest of its pages is filled with canaries.
    """

    def __init__(self, array: Any, at_end: bool) -> None:
        import numpy as np

        size = _extent(array)
        inner = max(-(-size // PAGE), 1) * PAGE
        self._pages = mmap.mmap(-1, inner + 2 * PAGE)
        whole = np.frombuffer(self._pages, np.uint8)
        self._bytes = whole[PAGE : PAGE + inner]
        self._bytes[:] = _CANARY
        start = inner - size if at_end else 0
        self.array = np.ndarray(array.shape, array.dtype, self._bytes.data, start, array.strides)
        self.array[...] = array
        self._is_other = np.ones(inner, bool)
        bytes_of_elements = (*array.shape, array.itemsize), (*array.strides, 1)
        np.ndarray(bytes_of_elements[0], bool, self._is_other.data, start, bytes_of_elements[1])[...] = False
        for page in (whole.ctypes.data, whole.ctypes.data + PAGE + inner):
            if _mprotect(page, PAGE, 0):
                raise OSError(ctypes.get_errno(), "mprotect")

    def is_kept(self) -> bool:
        """Return whether the canaries are unchanged."""
        return bool((self._bytes[self._is_other] == _CANARY).all())


def _extent(array: Any) -> int:
    """Return the number of bytes from the first to the end of the last element of an array with nonnegative strides."""
    if not array.size:
        return 0
    return array.itemsize + sum((size - 1) * stride for size, stride in zip(array.shape, array.strides, strict=True))


class Apart:
    """Tasks that one child process executes in order. If a task kills the process, a new one executes the next tasks."""

    def __init__(self, works: Sequence[Callable[[], Any]]) -> None:
        self._works = works
        self._child = 0
        self._answers: TextIO = StringIO()

    def __enter__(self) -> Apart:
        return self

    def __exit__(self, *_: object) -> None:
        self._end(signal.SIGKILL)

    def result(self, number: int) -> Any:
        """Return the result of a task as JSON, or a string that says how its process ended. Call it with ascending numbers."""
        if not self._child:
            self._begin(number)
        line = self._answers.readline()
        if line:
            return json.loads(line)
        status = self._end()
        return f"ended by {signal.Signals(os.WTERMSIG(status)).name}" if os.WIFSIGNALED(status) else "ended"

    def _begin(self, first: int) -> None:
        receive, send = os.pipe()
        self._child = os.fork()
        if self._child == 0:
            os.close(receive)
            _answer(self._works[first:], send)
        os.close(send)
        self._answers = os.fdopen(receive, encoding="utf-8")

    def _end(self, number: int = 0) -> int:
        """Terminate the child process, with signal `number` unless it is 0, and return its status."""
        if not self._child:
            return 0
        self._answers.close()
        if number:
            os.kill(self._child, number)
        _, status = os.waitpid(self._child, 0)
        self._child = 0
        return status


def _answer(works: Sequence[Callable[[], Any]], send: int) -> NoReturn:
    """Execute all tasks in this process, send a line for each, and exit."""
    for work in works:
        signal.alarm(SECONDS)
        try:
            told = json.dumps(work())
        except BaseException as problem:  # any exception is sent to the parent
            told = json.dumps(f"{type(problem).__name__}: {problem}")
        data = told.encode() + b"\n"
        while data:
            data = data[os.write(send, data) :]
    os._exit(0)


def guarded(values: Sequence[Any], at_end: bool) -> tuple[list[Any], list[GuardedArray]]:
    """Return `values` with their arrays between guard pages, and the guarded arrays."""
    import numpy as np

    arrays = [GuardedArray(value, at_end) if isinstance(value, np.ndarray) else None for value in values]
    passed = [value if array is None else array.array for value, array in zip(values, arrays, strict=True)]
    return passed, [array for array in arrays if array is not None]
