"""Run commands on texts in a process of its own, which may die; jobs and answers are lines of JSON.

A job is `[file, [argument, …]]`; its answer is `[exit code, output]`. Standard output and standard error are one terminal.
"""

from __future__ import annotations

import io
import json
import os
import resource
import sys

from tvms.dsl.cli import main

_MEMORY = 6 << 30


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def _answer(arguments: list[str]) -> tuple[int | str, str]:
    terminal = _Terminal()
    sys.stdout = sys.stderr = terminal
    try:
        code: int | str = main(arguments)
    except BaseException as error:  # to say it is what this process is for
        code = f"{type(error).__name__}: {error}"
    finally:
        sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__
    return code, terminal.getvalue()


def _serve() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # compiled programs print, too
    for line in sys.stdin:
        json.dump(_answer(json.loads(line)), answers)
        answers.write("\n")
        answers.flush()


if __name__ == "__main__":
    _serve()
