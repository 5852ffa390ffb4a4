"""A run under the debugger computes what the interpreter computes, and its record goes back and forth exactly.

Each example runs with random motions. The results must be the same bits; each breakpoint must be hit as often as a run that
only counts gets there; and after going back, each buffer must hold the bytes that it held at that step, and after going
forward again those of the present.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from random import Random
from typing import Any, cast

from hypothesis import strategies as st

from ....ir import relax, tir
from ....ir.base import BaseFunc, IRModule, Node, Source
from ....ir.diagnostics import TvmsError
from ....ir.interp.frame import Frame, Observer
from ...debugger.breakpoints import Breakpoint, can_break
from ...debugger.motions import Kind, Motion
from ...debugger.places import Place, Places
from ...debugger.session import Exited, Options, Session, Stopped
from ...load import parse_source
from ..constructs import LOOP_LEVEL
from ..oracle import Execute, as_module
from ..prim_funcs import prim_funcs
from .bounds import Example, copies, examples_of, name_and_inputs
from .law import Law, module_constructs
from .tiers import same_bits

BACK, HITS = "runs that went back", "runs with counted hits"
_MOTIONS: tuple[Kind, ...] = ("into", "into", "into", "into", "over", "over", "loop", "out")
_MOST_MOTIONS = 60
_SECONDS = 120
"""How long an event may take."""


def _examples(file: Source | None) -> st.SearchStrategy[Example]:
    if file is not None:
        return examples_of(st.just(parse_source(file)))
    return examples_of(prim_funcs(max_blocks=2).map(as_module))


def _check(example: Example, execute: Execute) -> None:
    module = parse_source(Source("example.tvms", example.module.script()))
    check(module, *name_and_inputs(module, example.seed), example.place)
    example.outcome = BACK, HITS


def check(module: IRModule, name: str, inputs: list[Any], seed: int) -> None:
    """Check the law for a call; raise AssertionError if it does not hold."""
    expected, values = _interpreted(module, name, inputs)
    random = Random(seed)
    _check_result(_Debugged(module, name, inputs, random).run(), expected, values)
    _check_hits(module, name, inputs)


def _interpreted(module: IRModule, name: str, inputs: list[Any]) -> tuple[str, list[Any]]:
    from ....ir.interp import run

    values = copies(inputs)
    try:
        return "", [*values, run(module, name, values, tier="obvious")]
    except TvmsError as problem:
        return problem.diagnostics[0].code, values


def _check_result(found: tuple[str, list[Any]], fault: str, values: list[Any]) -> None:
    assert found[0] == fault, f"the debugger reports {found[0] or 'nothing'}, the interpreter {fault or 'nothing'}"
    for place, (value, other) in enumerate(zip(flat(values), flat(found[1]), strict=True)):
        assert same_bits(value, other), f"argument {place} is {other}, not {value}"


def flat(value: Any) -> list[Any]:
    """Return the values in a list and in the tuples in it."""
    if not isinstance(value, list | tuple):
        return [value]
    return [part for item in cast("list[Any]", value) for part in flat(item)]


class _Debugged:
    """A run with random motions, which compares the state of each step that is shown twice."""

    def __init__(self, module: IRModule, name: str, inputs: list[Any], random: Random) -> None:
        self.values, self.random = copies(inputs), random
        self.session = Session(module, name, self.values, Options(most_steps=random.choice((5, 1000))))
        self.seen: dict[int, dict[str, bytes]] = {}

    def run(self) -> tuple[str, list[Any]]:
        """Run to the end; return the code of the fault, and the arguments with the result."""
        self.session.start(Motion("into"))
        motions = 0
        while True:
            event = self.session.events.get(timeout=_SECONDS)
            if isinstance(event, Exited):
                return ("", [*self.values, event.value]) if event.fault is None else (_code(event.fault), self.values)
            assert isinstance(event, Stopped)
            self._compare()
            motions += 1
            self._move(is_last=motions > _MOST_MOTIONS)

    def _compare(self) -> None:
        timeline = self.session.timeline
        if timeline.at == timeline.end:
            return  # a fault, after a part of the writes of the last step
        state = _memory(self.session)
        before = self.seen.setdefault(timeline.at, state)
        changed = [name for name in before if before[name] != state[name]]
        assert not changed, f"step {timeline.at} is shown with other contents of {', '.join(changed)}"

    def _move(self, is_last: bool) -> None:
        timeline, kind = self.session.timeline, self.random.choice(_MOTIONS)
        if is_last:
            self.session.resume(Motion("continue", timeline.shown))
        elif self.random.random() < 0.4:
            timeline.go(self.random.randint(timeline.start, timeline.at))
            self.session.back(Motion(kind, timeline.shown))
        else:
            self.session.resume(Motion(kind, timeline.shown))


def _memory(session: Session) -> dict[str, bytes]:
    """Return the bytes of all buffers and tensors of the shown step."""
    step = session.timeline.shown
    found: dict[str, bytes] = {}
    for number, value in enumerate(step.values):
        data: Any = value if isinstance(step.place.names[number], relax.Var) else getattr(value, "flat", None)
        if hasattr(data, "tobytes"):
            found[str(number)] = data.tobytes()
    return found


def _code(fault: TvmsError) -> str:
    return fault.diagnostics[0].code


def _check_hits(module: IRModule, name: str, inputs: list[Any]) -> None:
    """Assert that breakpoints in all lines, which never stop the run, are hit as often as the run gets there."""
    from ....ir.interp import run

    counter = _Counter()
    with suppress(TvmsError):
        run(module, name, copies(inputs), observer=counter)
    session = Session(module, name, copies(inputs))
    lines = {(place.source.name, place.line) for place in session.places.of_module(module) if can_break(place)}
    points = [Breakpoint(number, file, line, when=">= 1000000000") for number, (file, line) in enumerate(sorted(lines))]
    session.breakpoints.set(points)
    session.start(Motion("continue"))
    _wait(session)
    hits = {point.line: point.hits for point in points if point.hits}
    assert hits == dict(counter.lines), f"breakpoints are hit {hits} times, the lines {dict(counter.lines)}"


class _Counter(Observer):
    """Counts how often a run gets to each line. The end of a loop function is none; that of a graph is its `return`."""

    def __init__(self) -> None:
        self.places = Places()
        self.found: dict[Node, Place] = {}
        self.lines: Counter[int] = Counter()

    def enter(self, function: BaseFunc, name: str, frame: Frame) -> None:
        self.found.update(self.places.of(function))

    def statement(self, stmt: tir.Stmt, frame: Frame) -> None:
        self._count(stmt)

    def binding(self, binding: relax.Binding, frame: Frame) -> None:
        self._count(binding)

    def leave(self, function: BaseFunc, frame: Frame) -> None:
        if isinstance(function, relax.Function):
            self._count(function)

    def _count(self, node: Node) -> None:
        if node in self.found and self.found[node].is_head:
            self.lines[self.found[node].line] += 1


def _wait(session: Session) -> None:
    while True:
        event = session.events.get(timeout=_SECONDS)
        if isinstance(event, Exited):
            return
        assert isinstance(event, Stopped)
        assert event.reason == "fault", event
        session.resume(Motion("continue", session.timeline.shown))


LAW = Law(
    _examples, _check, show=lambda example: str(example.module), read=lambda source: Example(parse_source(source), 0, 0),
    constructs=lambda example: (*module_constructs(example.module), *example.outcome), expected=LOOP_LEVEL,
    counted=(BACK, HITS),
)  # fmt: skip
