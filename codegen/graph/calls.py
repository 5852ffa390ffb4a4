"""Calls of graph functions on an explicit stack: calls of the program do not nest calls of Python.

The steps of a function run in a generator. At a call of another graph function, or at a branch, it yields the generator of the
callee, which the loop in `run_to_end` continues on top of its stack.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, TypeAlias

from msgspec import Struct

from ...ir.base import Span
from ...ir.deep import nested
from ...ir.diagnostics import error
from ..runtime.prim_entry import bind_names
from ..runtime.sizes import Frame, Slots
from ..runtime.specs import ArgumentContext, entry_repr
from .home import Spec

MOST_CALLS = 400_000
"""Maximum nesting depth of calls of graph functions and branches; each level takes about a kilobyte."""

Value: TypeAlias = Callable[[Frame], Any]
Running: TypeAlias = Generator[Any, Any, Any]
"""A function or branch in execution: it yields those that it calls, and gets their values."""


class Done(Struct, frozen=True):
    """The value of something that needed no steps."""

    value: Any


Start: TypeAlias = Callable[[Frame], Running | Done]
"""Starts a computation that may call graph functions."""


class Step(Struct, frozen=True, eq=False):
    """The evaluation of a binding: `run` executes it, or `start` starts it, and `store` stores its value.

    The variables in the slots `dead` are not used later, so that their memory can be freed.
    """

    run: Callable[[Frame], None] | None
    start: Start | None
    store: Callable[[Frame, Any], None]
    dead: tuple[int, ...] = ()


class Body(Struct, frozen=True, eq=False):
    """The steps of a sequence, and its value after them, which `start_result` starts if it may call graph functions."""

    steps: tuple[Step, ...]
    result: Value
    start_result: Start | None = None

    def plain(self) -> Value | None:
        """Return a function that executes the steps without a generator, which would cost half a microsecond; None if the steps
        or the result call graph functions.
        """
        runs = [step.run for step in self.steps if step.run is not None]
        if self.start_result is not None or len(runs) < len(self.steps):
            return None
        actions = [*zip(runs, [step.dead for step in self.steps], strict=True)]
        result = self.result

        def execute(frame: Frame) -> Any:
            for run, dead in actions:
                run(frame)
                for slot in dead:
                    frame[slot] = None
            return result(frame)

        return execute

    def start(self, frame: Frame) -> Running:
        """Execute the steps, and return the value."""
        for step in self.steps:
            if step.run is not None:
                step.run(frame)
            elif step.start is not None:
                running = step.start(frame)
                step.store(frame, running.value if type(running) is Done else (yield running))
            for slot in step.dead:
                frame[slot] = None
        if self.start_result is None:
            return self.result(frame)
        running = self.start_result(frame)
        return running.value if type(running) is Done else (yield running)


def run_to_end(running: Running, name: str, span: Span | None = None) -> Any:
    """Return the value of `running`, part of the function `name`; E0716 if calls nest deeper than `MOST_CALLS`."""
    stack, value = [running], None
    while True:
        try:
            stack.append(stack[-1].send(value))
            value = None
        except StopIteration as end:
            stack.pop()
            value = end.value
            if not stack:
                return value
        if len(stack) > MOST_CALLS:
            raise error("E0716", f"the calls of '{name}' nest too deep", span)


class GraphEntry:
    """A compiled graph function. Calls check their arguments, then execute the steps."""

    def __init__(
        self,
        name: str,
        parameters: Sequence[tuple[Spec, ArgumentContext, int]],
        slots: Slots,
        body: Body,
        span: Span | None = None,
    ) -> None:
        self.name, self.parameters, self.span = name, tuple(parameters), span
        self._slots, self._body = slots, body
        self._run = nested(run_to_end, name, span)  # functions in Python may call it again
        plain = body.plain()
        self._execute = None if plain is None else nested(plain, name, span)

    def __repr__(self) -> str:
        return entry_repr(self, self.name, [context for _, context, _ in self.parameters])

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Call with arrays, shapes, numbers and tuples, by position or by name; return the value of the function.

        Raises TvmsError: E0701 to E0706 and E0718 if an argument does not fit, and faults at run time.
        """
        return self.execute(self.bind(args, named))

    def execute(self, frame: Frame) -> Any:
        """Return the value of a call with these checked arguments."""
        if self._execute is not None:
            return self._execute(frame)
        return self.run(self._body.start(frame))

    def run(self, running: Running) -> Any:
        """Return the value of a call that was started."""
        return self._run(running, self.name, self.span)

    def start(self, args: Sequence[Any], named: Mapping[str, Any] = {}, outer: Frame | None = None) -> Running:
        """Start a call; `outer` is the frame of the enclosing function, with the variables that this one captures."""
        return self._body.start(self.bind(args, named, outer))

    def bind(self, args: Sequence[Any], named: Mapping[str, Any] = {}, outer: Frame | None = None) -> Frame:
        """Return the frame of a call: its checked arguments, and the variables of the enclosing function."""
        frame: Frame = [None] * len(self._slots) if outer is None else [*outer]
        if named or len(args) != len(self.parameters):
            args = bind_names(self.name, [place.argument for _, place, _ in self.parameters], args, {**named})
        for (spec, place, slot), value in zip(self.parameters, args, strict=True):
            frame[slot] = spec.check(value, place, frame)
        for spec, place, slot in self.parameters:
            spec.check_deferred(frame[slot], place, frame)
        return frame


class Closure:
    """A nested function with the frame of the enclosing one, whose variables it captures."""

    def __init__(self, entry: GraphEntry, outer: Frame) -> None:
        self._entry, self._outer = entry, outer

    def __call__(self, *args: Any) -> Any:
        """Call with the arguments of the nested function."""
        return self._entry.run(self.start(args))

    def start(self, args: Sequence[Any]) -> Running:
        """Start a call."""
        return self._entry.start(args, outer=self._outer)


class Bound:
    """A function with its last arguments bound."""

    def __init__(self, function: Callable[..., Any], last: Sequence[Any]) -> None:
        self._function, self._last = function, tuple(last)

    def __call__(self, *first: Any) -> Any:
        """Call with the first arguments."""
        return self._function(*first, *self._last)

    def start(self, first: Sequence[Any]) -> Running | Done:
        """Start a call."""
        return started(self._function, (*first, *self._last))


def started(function: Callable[..., Any], args: Sequence[Any]) -> Running | Done:
    """Start a call of any function: graph functions get a place on the stack, others are called."""
    if isinstance(function, GraphEntry | Closure | Bound):
        return function.start(args)
    return Done(function(*args))
