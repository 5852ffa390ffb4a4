"""Timing of calls (TVM: `time_evaluator`)."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from .prim_entry import PLAIN_CALLS


class BenchmarkResult(Struct, frozen=True):
    """Seconds per call: `results` holds the mean of every repetition."""

    results: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Return the mean of all repetitions."""
        return statistics.fmean(self.results)

    @property
    def median(self) -> float:
        """Return the median of all repetitions."""
        return statistics.median(self.results)

    @property
    def min(self) -> float:
        """Return the time of the fastest repetition."""
        return min(self.results)

    @property
    def max(self) -> float:
        """Return the time of the slowest repetition."""
        return max(self.results)

    @property
    def std(self) -> float:
        """Return the standard deviation of the repetitions."""
        return statistics.pstdev(self.results)

    def __str__(self) -> str:
        names = ("mean", "median", "min", "max", "std")
        return "\n".join(f"{name + ' (ms)':<12}{getattr(self, name) * 1e3:12.4f}" for name in names)


class Evaluator(Struct, frozen=True):
    """Times a function: `repeat` repetitions of `number` calls, or of more calls if they take less than
    `min_repeat_ms`.

    It sleeps for `cooldown_interval_ms` after every `repeats_to_cooldown` repetitions, and calls `prepare`,
    if given, before each. Calls before the first repetition are not timed, so that one-time costs do not
    count. `finish` waits for asynchronous work.
    """

    function: Callable[..., Any]
    number: int = 10
    repeat: int = 1
    min_repeat_ms: float = 0
    cooldown_interval_ms: float = 0
    repeats_to_cooldown: int = 1
    prepare: Callable[..., Any] | None = None
    finish: Callable[[], Any] | None = None

    def __call__(self, *args: Any) -> BenchmarkResult:
        """Time calls with `args`."""
        warm_up(self.function, args)
        results: list[float] = []
        for index in range(self.repeat):
            if self.prepare is not None:
                self.prepare(*args)
            results.append(self._repetition(args))
            if self.cooldown_interval_ms and (index + 1) % self.repeats_to_cooldown == 0:
                time.sleep(self.cooldown_interval_ms / 1e3)
        return BenchmarkResult(tuple(results))

    def _repetition(self, args: Sequence[Any]) -> float:
        """Return the seconds per call of one repetition."""
        function, number = self.function, self.number
        finish = self.finish or (lambda: None)
        while True:
            finish()
            start = time.perf_counter()
            for _ in range(number):
                function(*args)
            finish()
            taken = time.perf_counter() - start
            if taken * 1e3 >= self.min_repeat_ms:
                return taken / number
            number = max(number + 1, int(number * min(self.min_repeat_ms / (taken * 1e3), 10)))


def warm_up(function: Callable[..., Any], args: Sequence[Any]) -> None:
    """Call the function until all one-time work is done."""
    for _ in range(PLAIN_CALLS):
        function(*args)
