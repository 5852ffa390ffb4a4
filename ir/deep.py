"""Deep recursion: plain recursive functions that handle programs nested 10,000 deep."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from .diagnostics import Span, error

_P = ParamSpec("_P")
_R = TypeVar("_R")

_STACK_BYTES = 1 << 30
"""Virtual memory: only the pages that the recursion reaches are allocated."""
_FRAMES = 400_000
"""Recursion limit that fits the stack with a margin, at less than 2 KiB of C stack a Python frame."""

_PLAIN_CALLS = 30
"""Maximum nesting depth of calls of a program's functions on a plain stack."""
MOST_CALLS = 10_000
"""Maximum nesting depth of calls of a program's functions."""

_lock = threading.Lock()
_state = threading.local()


def deep(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Let `function` recurse as deep as its input nests.

    The first run is a plain call. If it ends in a RecursionError, the function runs again from the start in a thread with a
    stack of 1 GiB, so side effects of the first run must not matter. Nested calls of such functions are plain: only the
    outermost one runs again. E0010 if the big stack is too small; all other exceptions reach the caller.
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


def nested(function: Callable[_P, _R], name: str, span: Span | None) -> Callable[_P, _R]:
    """Let calls of `function`, which the program names `name`, nest up to `MOST_CALLS` deep; E0716 beyond.

    Calls nested deeper than `_PLAIN_CALLS` continue in a thread with a big stack.
    """

    @wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        depth = getattr(_state, "calls", 0)
        if depth >= MOST_CALLS:
            raise error("E0716", f"the calls of '{name}' nest too deep", span)

        def run() -> _R:
            _state.calls = depth + 1
            try:
                return function(*args, **kwargs)
            except RecursionError:
                raise error("E0716", f"the calls of '{name}' nest too deep", span) from None
            finally:
                _state.calls = depth

        needs_room = depth == _PLAIN_CALLS and not has_big_stack()
        return run_with_big_stack(run) if needs_room else run()

    return call


def has_big_stack() -> bool:
    """Return whether the current thread is one of `run_with_big_stack`."""
    return getattr(_state, "has_room", False)


def run_with_big_stack(thunk: Callable[[], _R]) -> _R:
    """Run `thunk` in a thread with a big stack; return its result or raise its exception.

    The recursion limit and the stack size of new threads are process-wide, hence the lock.
    """
    results: list[_R] = []
    errors: list[BaseException] = []

    def run() -> None:
        _state.inside = _state.has_room = True
        try:
            results.append(thunk())
        except BaseException as problem:
            errors.append(problem)

    with _lock:
        limit = sys.getrecursionlimit()
        stack = threading.stack_size(_STACK_BYTES)
        sys.setrecursionlimit(max(limit, _FRAMES))
        try:
            thread = threading.Thread(target=run, name="tvms-deep", daemon=True)  # daemon: Ctrl-C must not wait for it
            thread.start()
            thread.join()
        finally:
            threading.stack_size(stack)
            sys.setrecursionlimit(limit)
    if errors and isinstance(errors[0], RecursionError):
        help = "bind nested parts to variables, or move them to separate functions"
        raise error("E0010", "the program nests too deep", help=help)
    if errors:
        raise errors[0]
    return results[0]
