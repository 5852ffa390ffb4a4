"""Arrays between guard pages, and calls in a process of their own: an access beyond an array is told, not survived."""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import signal
from collections.abc import Callable, Sequence
from typing import Any

PAGE = mmap.PAGESIZE
SECONDS = 20
"""What one call in a process of its own may take."""
_CANARY = 0xA5

_mprotect = ctypes.CDLL(None, use_errno=True).mprotect
_mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


class GuardedArray:
    """A copy of `array` in pages of its own, with a page that nobody may touch on both sides of it.

    It ends right before the second of these pages where `at_end` says so, else it starts right after the first one.
    What its own pages hold beside it are canaries.
    """

    def __init__(self, array: Any, at_end: bool) -> None:
        import numpy as np

        inner = max(-(-array.nbytes // PAGE), 1) * PAGE
        self._pages = mmap.mmap(-1, inner + 2 * PAGE)
        whole = np.frombuffer(self._pages, np.uint8)
        self._bytes = whole[PAGE : PAGE + inner]
        self._bytes[:] = _CANARY
        start = inner - array.nbytes if at_end else 0
        self._own = slice(start, start + array.nbytes)
        self.array = self._bytes[self._own].view(array.dtype).reshape(array.shape)
        self.array[...] = array
        for page in (whole.ctypes.data, whole.ctypes.data + PAGE + inner):
            if _mprotect(page, PAGE, 0):
                raise OSError(ctypes.get_errno(), "mprotect")

    def is_kept(self) -> bool:
        """Whether the canaries are as they were."""
        import numpy as np

        others = np.delete(self._bytes, self._own)
        return bool((others == _CANARY).all())


def in_child(work: Callable[[], Any]) -> Any:
    """Return what `work` returns, as JSON has it, from a process of its own; a string says what ended that one."""
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(receive)
        signal.alarm(SECONDS)
        try:
            told = json.dumps(work())
        except BaseException as problem:  # whatever it is, the parent is told
            told = json.dumps(f"{type(problem).__name__}: {problem}")
        os.write(send, told.encode())
        os._exit(0)
    os.close(send)
    parts: list[bytes] = []
    while part := os.read(receive, 1 << 16):
        parts.append(part)
    os.close(receive)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return f"ended by {signal.Signals(os.WTERMSIG(status)).name}"
    return json.loads(b"".join(parts))


def guarded(values: Sequence[Any], at_end: bool) -> tuple[list[Any], list[GuardedArray]]:
    """Return `values` with their arrays between guard pages, and these."""
    import numpy as np

    arrays = [GuardedArray(value, at_end) if isinstance(value, np.ndarray) else None for value in values]
    passed = [value if array is None else array.array for value, array in zip(values, arrays, strict=True)]
    return passed, [array for array in arrays if array is not None]
