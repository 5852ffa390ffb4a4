"""Calls of users' functions under a time limit."""

from __future__ import annotations

from collections.abc import Callable
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TypeVar

_Result = TypeVar("_Result")


def limited(call: Callable[[], _Result], seconds: float) -> _Result:
    """Run a call in its own thread, and return its result or raise its exception. Raises TimeoutError if it takes too long: the thread is not
    stopped, and its result is ignored. Raises RuntimeError if it calls `sys.exit`.
    """
    answers: SimpleQueue[tuple[bool, object]] = SimpleQueue()

    def answer() -> None:
        try:
            answers.put((True, call()))
        except SystemExit as problem:  # would end this process
            answers.put((False, RuntimeError(f"it called sys.exit({problem.code!r})")))
        except BaseException as problem:
            answers.put((False, problem))

    Thread(target=answer, daemon=True).start()
    try:
        is_result, found = answers.get(timeout=seconds)
    except Empty:
        raise TimeoutError(f"it took more than {seconds:g} s") from None
    if not is_result:
        assert isinstance(found, BaseException)
        raise found
    return found  # type: ignore[return-value]
