"""Tasks in a child process, whose end by a signal is a result."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Sequence
from io import StringIO
from typing import Any, NoReturn, TextIO

SECONDS = 20
"""Time limit of one task in the child process, in seconds."""


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
