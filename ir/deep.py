"""Recursion without a limit of depth: plain recursive functions that survive programs nested 10,000 deep."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from .diagnostics import error

_P = ParamSpec("_P")
_R = TypeVar("_R")

_STACK_BYTES = 1 << 30
"""Virtual: only the pages a recursion reaches are ever allocated."""
_FRAMES = 400_000
"""What fits in the stack with room to spare, at less than 2 KiB of C stack a Python frame."""

_lock = threading.Lock()
_state = threading.local()


def deep(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Let `function` recurse as deep as its input nests.

    It runs as it is; where that ends in a RecursionError it runs again from the start in a thread with a stack of
    1 GiB, so it must do nothing that a second run would do twice. Inside another such call it is a plain call: only
    the outermost runs again. E0010 where that is not deep enough; all else that it raises reaches the caller.
    """

    @wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        if getattr(_state, "inside", False):
            return function(*args, **kwargs)
        _state.inside = True
        try:
            return function(*args, **kwargs)
        except RecursionError:
            pass
        finally:
            _state.inside = False
        return run_with_big_stack(lambda: function(*args, **kwargs))

    return call


def run_with_big_stack(thunk: Callable[[], _R]) -> _R:
    """Return what `thunk` returns, or raise what it raises, having run it in a thread with a big stack.

    The recursion limit and the stack size of new threads belong to the whole process, hence the lock.
    """
    results: list[_R] = []
    errors: list[BaseException] = []

    def run() -> None:
        _state.inside = True
        try:
            results.append(thunk())
        except BaseException as problem:
            errors.append(problem)

    with _lock:
        limit = sys.getrecursionlimit()
        stack = threading.stack_size(_STACK_BYTES)
        sys.setrecursionlimit(max(limit, _FRAMES))
        try:
            thread = threading.Thread(target=run, name="tvms-deep")
            thread.start()
            thread.join()
        finally:
            threading.stack_size(stack)
            sys.setrecursionlimit(limit)
    if errors and isinstance(errors[0], RecursionError):
        help = "name parts of what is nested, or move them to functions of their own"
        raise error("E0010", "the program nests too deep", help=help)
    if errors:
        raise errors[0]
    return results[0]
