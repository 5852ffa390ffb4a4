"""The peer of a measurement: a process of another Python interpreter, such as one with torch, that runs
calls on request.

    python bench/convolutions.py --torch PYTHON     starts PYTHON on this file, and both run alternately

A line on standard input is a call as JSON: `{"do": "conv2d", "shapes": […], "options": {…}, "threads":
1}`, which is kept until the next one. An empty line measures it, and the answer is the seconds of one
call.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

MEASURED = 0.02
"""Seconds of one measurement."""


class Peer:
    """Runs calls in a process of `python`."""

    def __init__(self, python: str, threads: int) -> None:
        self._threads = threads
        self._process = subprocess.Popen(
            [python, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )

    def _ask(self, line: str) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        return self._process.stdout.readline()

    def prepare(self, do: str, shapes: list[tuple[int, ...]], **options: Any) -> None:
        """Make the peer create random arrays of these shapes for a call."""
        self._ask(json.dumps({"do": do, "shapes": shapes, "options": options, "threads": self._threads}))

    def seconds(self) -> float:
        """Return the time of one call."""
        return float(self._ask(""))

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


def seconds(call: Callable[[], object], threads: int) -> float:
    """Return the mean time of one call: processor time for one thread, otherwise wall-clock time."""
    clock = time.process_time if threads == 1 else time.perf_counter
    count, taken = 1, 0.0
    while taken < MEASURED:
        start = clock()
        for _ in range(count):
            call()
        taken, count = clock() - start, count * 2
    return taken / (count // 2)


def torch_call(do: str, shapes: list[tuple[int, ...]], options: dict[str, Any]) -> Callable[[], object]:
    """Return the call in torch."""
    import torch

    values = [torch.randn(*shape) for shape in shapes]
    functional: Any = torch.nn.functional
    calls: dict[str, Callable[[], object]] = {
        "conv2d": lambda: functional.conv2d(*values, None, **options),
        "max_pool2d": lambda: functional.max_pool2d(*values, **options),
        "matmul": lambda: torch.matmul(*values),
        "softmax": lambda: torch.softmax(values[0], -1),
        "layer_norm": lambda: functional.layer_norm(values[0], values[0].shape[-1:], *values[1:]),
        "gelu": lambda: functional.gelu(values[0], approximate="tanh"),
        "transpose": lambda: values[0].T.contiguous(),
        "argmax": lambda: torch.argmax(values[0], -1),
        "mv": lambda: torch.mv(*values),
        "linear": lambda: torch.relu(torch.addmm(values[2], values[0], values[1])),
    }
    return calls[do]


def main() -> None:
    """Answer lines until the end of input."""
    import torch

    torch.set_grad_enabled(False)
    threads, call = 1, torch.get_num_threads
    for line in sys.stdin:
        if line.strip():
            asked = json.loads(line)
            threads = asked["threads"]
            torch.set_num_threads(threads)
            call = torch_call(asked["do"], asked["shapes"], asked["options"])
            call()
            print("ready", flush=True)
        else:
            print(seconds(call, threads), flush=True)


if __name__ == "__main__":
    main()
