"""The recent past of a run: its steps with the values of their variables, and the memory that each step overwrote.

Memory changes only through writes, and each write is recorded with what it overwrote. Exchanging the two for the writes of
a step, last to first, takes memory back to before the step; exchanging them again, first to last, repeats the step. The
run itself never goes back: a debugger shows its past, and continues at its end.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ...ir.base import BaseFunc
from ...ir.interp.frame import Frame
from .places import Place

if TYPE_CHECKING:
    from ...ir.interp.memory import Array

MOST_STEPS = 100_000
MOST_BYTES = 256 * 2**20
"""Limits of the record: the number of steps, and the bytes that they overwrote and allocated."""


class Activation:
    """A function that is running, the function and the step that called it, and the number of functions around it."""

    __slots__ = ("caller", "depth", "function", "name", "parent")

    def __init__(self, function: BaseFunc, name: str, parent: Activation | None, caller: Step | None) -> None:
        self.function = function
        self.name = name
        self.parent = parent
        self.caller = caller
        self.depth: int = 0 if parent is None else parent.depth + 1


class Step:
    """The moment before the statement or binding of `place` runs; `is_first` says that no step of its function precedes it.

    `writes` are memory and what it held before the step, once the step has run; `breakpoints` are those at which the run
    stopped here.
    """

    __slots__ = ("activation", "breakpoints", "bytes", "is_first", "place", "values", "world", "writes")

    def __init__(self, place: Place, activation: Activation, frame: Frame, is_first: bool) -> None:
        self.place = place
        self.is_first = is_first
        self.activation = activation
        self.world = frame.world
        self.values: tuple[Any, ...] = tuple(map(frame.get, place.names))
        self.writes: list[tuple[Array, Array]] = []
        self.breakpoints: tuple[int, ...] = ()
        self.bytes = 0

    def frame(self) -> Frame:
        """Return a frame with the values of the visible variables, except those without a value yet."""
        frame = Frame(self.world)
        frame.update(
            (name, value) for name, value in zip(self.place.names, self.values, strict=True) if value is not None
        )
        return frame

    def exchange(self, is_back: bool) -> None:
        """Undo the writes of the step, or, unless `is_back`, repeat them."""
        for target, saved in reversed(self.writes) if is_back else self.writes:
            now = target.copy()
            target[...] = saved
            saved[...] = now


class Timeline:
    """The recorded steps. `at` is the number of the step that is shown: memory is as it was before that step.

    Step `end - 1` is the last one; `at == end` is the moment at which the run failed, after the writes of the last step.
    """

    def __init__(self, most_steps: int = MOST_STEPS, most_bytes: int = MOST_BYTES) -> None:
        self._most_steps: int = max(most_steps, 1)
        self._most_bytes: int = most_bytes
        self._ring: list[Step | None] = []
        self._bytes: int = 0
        self.start: int = 0
        self.end: int = 0
        self.at: int = 0

    def __getitem__(self, number: int) -> Step:
        assert self.start <= number < self.end
        step = self._ring[number % self._most_steps]
        assert step is not None
        return step

    @property
    def shown(self) -> Step:
        """The step that is shown."""
        return self[min(self.at, self.end - 1)]

    @property
    def is_past(self) -> bool:
        """Whether the shown step is not the last one."""
        return self.at < self.end - 1

    def add(self, step: Step) -> None:
        """Add the next step of the run; forget the oldest ones beyond the limits."""
        if len(self._ring) < self._most_steps:
            self._ring.append(step)
        else:
            slot = self.end % self._most_steps
            if self.start == self.end - self._most_steps:
                self._forget()
            self._ring[slot] = step
        self.at = self.end
        self.end += 1
        while self._bytes > self._most_bytes and self.start < self.end - 1:
            self._forget()

    def _forget(self) -> None:
        oldest = self[self.start]
        self._ring[self.start % self._most_steps] = None
        self._bytes -= oldest.bytes
        oldest.writes.clear()  # the step itself lives on as the caller of a function
        self.start += 1

    def overwrite(self, target: Array) -> None:
        """Record that the last step may change the elements of `target`."""
        step = self[self.end - 1]
        step.writes.append((target, target.copy()))
        self.charge(target.nbytes)

    def charge(self, size: int) -> None:
        """Count bytes that the last step keeps."""
        self[self.end - 1].bytes += size
        self._bytes += size

    def go(self, number: int) -> None:
        """Show step `number`, or the end of a run that failed."""
        while self.at > number:
            self.at -= 1
            self[self.at].exchange(is_back=True)
        while self.at < number:
            self[self.at].exchange(is_back=False)
            self.at += 1

    def earlier(self) -> Iterator[int]:
        """Yield the numbers of the steps before the shown one, last first."""
        return iter(range(min(self.at, self.end) - 1, self.start - 1, -1))
