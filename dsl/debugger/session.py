"""A run under the debugger: the interpreter executes a function in a separate thread, stops, and waits for motions.

A session is a state machine. `start`, `resume`, `back`, `pause` and `end` drive it; `events` holds what happened, in order:
`Output` texts of log points, then `Stopped` or `Exited`. While the run is stopped, its state is that of
`timeline.shown`.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct

from ...ir import interp, tir
from ...ir.base import BaseFunc, IRModule, Node
from ...ir.diagnostics import Diagnostic, TvmsError
from ...ir.interp.frame import Access, Frame, Observer, ThreadOrder
from .breakpoints import Breakpoint, Breakpoints
from .expressions import Evaluator
from .motions import Motion
from .places import Place, Places
from .timeline import MOST_STEPS, Activation, Step, Timeline
from .values import brief
from .writes import writes_of

if TYPE_CHECKING:
    from ...ir import relax
    from ...ir.interp.memory import Array, Memory

_BRACES = re.compile(r"\{([^{}]*)\}")


class Options(Struct, frozen=True):
    """How to run: the order of threads, the steps to record, and which faults stop the run.

    `stop_at_faults` keeps the state when the program faults; `stop_at_nan` stops after a write of NaN over a number,
    `track` makes reads of uninitialized memory faults, and `trap` accesses that a block does not declare. `stop_at_races` first
    looks for races between threads, and stops before the first execution of an access of each.
    """

    thread_order: ThreadOrder = "ascending"
    most_steps: int = MOST_STEPS
    stop_at_faults: bool = True
    stop_at_nan: bool = False
    track: bool = False
    trap: bool = False
    stop_at_races: bool = False


class Output(Struct, frozen=True):
    """A line of a log point, or a remark about a breakpoint."""

    text: str


class Stopped(Struct, frozen=True):
    """The run has stopped; `reason` is "entry", "step", "breakpoint", "function breakpoint", "watch", "pause", "fault", "nan", "race", or
    "start", the start of the record.
    """

    reason: str
    text: str = ""
    breakpoints: tuple[int, ...] = ()


class Exited(Struct, frozen=True):
    """The run has ended: with a value, or with a fault."""

    value: Any = None
    fault: TvmsError | None = None


Event: TypeAlias = Output | Stopped | Exited


class _Ended(Exception):
    """The user has ended the run."""


class Session(Observer):
    """A run of function `entry` of `module` with `values`; loop functions write their arrays in place.

    `find_races` returns the races of the call, without changing the values.
    """

    def __init__(
        self,
        module: IRModule,
        entry: str,
        values: Sequence[Any],
        options: Options | None = None,
        find_races: Callable[[], Sequence[Diagnostic]] | None = None,
    ) -> None:
        self.module, self.entry, self.values = module, entry, values
        self.options = options or Options()
        self.places = Places()
        self.breakpoints = Breakpoints()
        self.evaluator = Evaluator()
        self.timeline = Timeline(self.options.most_steps)
        self.events: SimpleQueue[Event] = SimpleQueue()
        self.fault: TvmsError | None = None
        """The fault that ended the run."""
        self.steps = 0
        """The number of steps so far."""
        self._commands: SimpleQueue[Motion | None] = SimpleQueue()
        self._motion = Motion("into")
        self._is_pausing = False
        self._activation: Activation | None = None
        self._is_first = False
        self._here: dict[Node, Place] = {}
        self._trap: interp.Trap | None = None
        self._find_races = find_races
        self._races: list[Diagnostic] = []
        """Races at which the run has not stopped yet."""
        self._thread: threading.Thread | None = None

    # --- Driving the run --------------------------------------------------------------------------------------

    def start(self, motion: Motion) -> None:
        """Start the run; it stops where `motion` ends."""
        self._motion = motion
        self._trap = interp.Trap(self.module) if self.options.trap else None
        self._thread = threading.Thread(target=self._run, name="tvms-debug", daemon=True)
        self._thread.start()

    def resume(self, motion: Motion) -> None:
        """Continue after a stop; in the past, first through the recorded steps."""
        timeline = self.timeline
        while timeline.is_past:
            timeline.go(timeline.at + 1)
            if stopped := self._stop_in_past(timeline.shown, motion):
                self.events.put(stopped)
                return
        if self.fault is None:
            self._commands.put(motion)
        elif timeline.at < timeline.end:
            timeline.go(timeline.end)
            self.events.put(self._at_fault())
        else:
            self.events.put(Exited(fault=self.fault))

    def back(self, motion: Motion) -> None:
        """Go back through the recorded steps to where `motion` ends, or to the first of them."""
        for number in self.timeline.earlier():
            self.timeline.go(number)
            if stopped := self._stop_in_past(self.timeline.shown, motion):
                self.events.put(stopped)
                return
        self.events.put(Stopped("start", "nothing earlier is recorded"))

    def pause(self) -> None:
        """Stop the run at its next statement."""
        self._is_pausing = True

    def end(self) -> None:
        """End the run, as soon as it is stopped or reaches a statement."""
        self._is_pausing = True
        self._commands.put(None)

    # --- The run ------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        options = self.options
        try:
            if options.stop_at_races and self._find_races is not None:
                self._races = list(self._find_races())
            value = interp.run(
                self.module,
                self.entry,
                self.values,
                observer=self,
                track=options.track,
                thread_order=options.thread_order,
            )
        except _Ended:
            self.events.put(Exited())
        except TvmsError as problem:
            self.fault = problem
            is_stopped = options.stop_at_faults and self.timeline.end > 0
            self.timeline.at = self.timeline.end
            self.events.put(self._at_fault() if is_stopped else Exited(fault=problem))
        else:
            self.events.put(Exited(value))

    def _at_fault(self) -> Stopped:
        return Stopped("fault", str(self.fault))

    def enter(self, function: BaseFunc, name: str, frame: Frame) -> None:
        last = self.timeline[self.timeline.end - 1] if self.timeline.end else None
        parent = None if last is None else self._activation
        caller = last if last is not None and last.activation is parent else None
        self._activation = Activation(function, name, parent, caller)
        if function not in self._here:  # a local function is among the places of the function around it
            self._here = self.places.of(function)
        self._is_first = True

    def leave(self, function: BaseFunc, frame: Frame) -> None:
        self._reach(function, frame)
        assert self._activation is not None
        self._activation = self._activation.parent
        self._here = {} if self._activation is None else self.places.of(self._activation.function)
        self._is_first = False

    def statement(self, stmt: tir.Stmt, frame: Frame) -> None:
        if self._trap is not None:
            self._trap.statement(stmt, frame)
        self._reach(stmt, frame)

    def binding(self, binding: relax.Binding, frame: Frame) -> None:
        self._reach(binding, frame)

    def access(self, access: Access, indices: tuple[int, ...], frame: Frame) -> None:
        if self._trap is not None:
            self._trap.access(access, indices, frame)

    def overwrite(self, target: Array) -> None:
        if self.timeline.end:
            self.timeline.overwrite(target)

    def allocate(self, memory: Memory) -> None:
        if self.timeline.end:
            self.timeline.charge(len(memory.data))

    def _reach(self, node: Node, frame: Frame) -> None:
        """Record a step at `node`, and stop there if anything asks for it."""
        place = self._here.get(node)
        if place is None or not place.is_head or self._activation is None:
            return
        stopped = None
        if self.timeline.end and (self.breakpoints.watches or self.options.stop_at_nan):
            stopped = self._written(self.timeline[self.timeline.end - 1])
        step = Step(place, self._activation, frame, self._is_first)
        self.timeline.add(step)
        self.steps += 1
        stopped = self._stop_at(step) or stopped
        self._is_first = False
        if stopped is not None:
            self._wait(stopped)

    def _wait(self, stopped: Stopped) -> None:
        self._is_pausing = False
        self.events.put(stopped)
        motion = self._commands.get()
        if motion is None:
            raise _Ended
        self._motion = motion

    # --- Reasons to stop ----------------------------------------------------------------------------------------

    def _stop_at(self, step: Step) -> Stopped | None:
        if self._is_pausing:
            return Stopped("pause")
        found = [point for point in self.breakpoints.at(step) if self._is_hit(point, step)]
        if found:
            step.breakpoints = tuple([point.number for point in found])
            return _at_breakpoints(found)
        race = next((race for race in self._races if _is_in(race, step.place)), None)
        if race is not None:
            self._races.remove(race)
            return Stopped("race", str(TvmsError(race)))
        return self._end_of(self._motion, step, "entry" if self.steps == 1 else "step")

    def _end_of(self, motion: Motion, step: Step, reason: str) -> Stopped | None:
        if motion.ends(step) or (motion.until is not None and self._holds_if_known(motion.until, step)):
            return Stopped(reason)
        return None

    def _stop_in_past(self, step: Step, motion: Motion) -> Stopped | None:
        """Return why a recorded step stops a motion. Hits are counted only when the run gets there first."""
        found = [
            point
            for point in self.breakpoints.at(step)
            if point.log is None
            and (point.number in step.breakpoints or (point.when is None and self._holds(point, step)))
        ]
        if found:
            return _at_breakpoints(found)
        if self.breakpoints.watches and self.timeline.at > self.timeline.start:
            stopped = self._written(self.timeline[self.timeline.at - 1])
            if stopped is not None:
                return stopped
        return self._end_of(motion, step, "step")

    def _is_hit(self, point: Breakpoint, step: Step) -> bool:
        if not self._holds(point, step) or not point.counts():
            return False
        if point.log is None:
            return True
        self.events.put(Output(_BRACES.sub(lambda match: self._interpolated(match[1], step), point.log)))
        return False

    def _holds(self, point: Breakpoint, step: Step) -> bool:
        """Return whether the condition of a breakpoint holds; one that cannot be evaluated stops the run, and says why."""
        if point.condition is None:
            return True
        try:
            return self.evaluator.holds(point.condition, step)
        except TvmsError as problem:
            self.events.put(Output(f"the condition of breakpoint {point.number} cannot be evaluated:\n{problem}"))
            return True

    def _holds_if_known(self, condition: str, step: Step) -> bool:
        try:
            return self.evaluator.holds(condition, step)
        except TvmsError:
            return False

    def _interpolated(self, text: str, step: Step) -> str:
        try:
            return brief(self.evaluator.value(text, step))
        except TvmsError as problem:
            return f"<{problem.diagnostics[0].message}>"

    def _written(self, step: Step) -> Stopped | None:
        """Return why the writes of a step that has just run stop the run."""
        for write in writes_of(step):
            watch = next((watch for watch in self.breakpoints.watches if write.is_of(watch)), None)
            if watch is not None and (watch.condition is None or self._holds_if_known(watch.condition, step)):
                return Stopped("watch", f"{write}", (watch.number,))
            if self.options.stop_at_nan and write.makes_nan:
                return Stopped("nan", f"line {step.place.line} writes NaN: {write}")
        return None


def _is_in(race: Diagnostic, place: Place) -> bool:
    """Return whether a race is between accesses of the statement of a place."""
    span, node = race.span, place.node
    if span is None or node.span is None or isinstance(node, tir.For | tir.While | tir.Block) or place.is_end:
        return False
    return span.source is place.source and node.span.start <= span.start and span.end <= node.span.end


def _at_breakpoints(points: Sequence[Breakpoint]) -> Stopped:
    is_line = any(point.name is None for point in points)
    return Stopped("breakpoint" if is_line else "function breakpoint", "", tuple([point.number for point in points]))
