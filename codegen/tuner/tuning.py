"""Tuning: search the spaces of the functions of a module, measure, store, and return the best schedules as texts."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from ...ir import tir
from ...ir.function_table import unused_name
from ...ir.schedule.apply import draws
from ...ir.schedule.text import ScheduleText, kind_of
from ..target import Target
from .candidates import Candidate
from .cost_model import Model, SpaceModels
from .database import FOREIGN, Database, Record
from .protocol import Batch, Limits, Outcome, Workload, typical
from .runner import Runner
from .search import FRESH, Search
from .spaces import FUNCTION, key_of, scheduled, spaces_of
from .tasks import Task, rules_version, target_key
from .use import read_schedule

_CONFIRMED = 4
"""Number of the fastest candidates that are measured again at the end, with more repetitions."""
_EFFORT = 4.0
RESOLUTION = 0.03
"""Gain below which estimates are the same."""
_FIRST = 0.5
"""Share of its expected gain that a task keeps while little is known about it."""


class Plan(Struct, frozen=True):
    """How much to try. `trials` counts those of all tasks, `seconds` limits the whole run, `patience` is the number of
    trials of a task without a faster one after which its search ends.
    """

    trials: int = 64
    seconds: float = float("inf")
    batch: int = 16
    patience: int = 192
    seed: int = 0
    threads: int = 0
    sizes: dict[str, int] = {}
    limits: Limits = Limits()
    strategy: str = "evolutionary"
    """How schedules are chosen: one of `search.STRATEGIES`."""
    fresh: float = FRESH
    """Share of a batch of the evolutionary search that is drawn."""
    in_turn: bool = False
    """Whether tasks are served in turn instead of by what is expected of them (TVM: "round-robin")."""


class TaskState(Struct, eq=False):
    """What is known about a task. Times are in seconds; `best` is relative to the time of `baseline`."""

    task: Task
    baseline: float = 0.0
    best: float = 1.0
    is_estimated: bool = False
    """Whether the times are estimates."""
    notes: tuple[str, str] = ("", "")
    """What is known about the baseline and about the best program besides their times."""
    trials: int = 0
    since_best: int = 0
    outcomes: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    """Messages of failed trials."""
    stopped: str = ""
    """Why its search ended; empty while it goes on."""
    refused: dict[str, str] = {}
    """The spaces of the file of which every draw was refused, with the most common reason."""
    chosen: ScheduleText | None = None
    """The best schedule, for the function `main`; None if nothing is faster than the baseline."""
    curve: list[float] = []
    """Best relative time after each trial."""
    moments: list[float] = []
    """Seconds from the start of the run to the end of the batch of each trial."""

    @property
    def time(self) -> float:
        """Seconds of a call of the best program."""
        return self.baseline * self.best


class Result(Struct, frozen=True, eq=False):
    """Result of a run: the states of the tasks, why other functions were not tuned, and why the run ended."""

    states: tuple[TaskState, ...]
    left_out: dict[str, str]
    stopped: str
    seconds: float

    def schedules(self, target: Target, taken: Sequence[str] = ()) -> dict[str, ScheduleText]:
        """Return the best schedules by the functions that they schedule, with names that are not `taken`."""
        found: dict[str, ScheduleText] = {}
        names = set(taken)
        for state in self.states:
            for function in state.task.names if state.chosen is not None else ():
                assert state.chosen is not None
                name = unused_name(f"{function}_tuned", names)
                names.add(name)
                found[function] = replace(state.chosen, name=name, function=function, target=kind_of(target.name))
        return found


Listener: TypeAlias = Callable[["Tuning", TaskState, Sequence[tuple[Candidate, Outcome]]], None]


class Tuning:
    """A run over some tasks. `report` is called with all states whenever something changes."""

    def __init__(
        self, tasks: Sequence[Task], target: Target, plan: Plan, runner: Runner, database: Database,
        report: Callable[[Sequence[TaskState]], None] = lambda states: None, listen: Listener | None = None,
        make_model: Callable[[Task], Model] = lambda task: SpaceModels(),
    ) -> None:  # fmt: skip
        """`listen` is called with the outcomes of each batch; `make_model` makes the cost model of a task."""
        self.target, self.plan, self.runner, self.database, self.report = target, plan, runner, database, report
        self.states = [
            TaskState(task, is_estimated=target.is_device, outcomes=Counter(), reasons=Counter(), curve=[], moments=[])
            for task in tasks
        ]
        self._listen, self._make_model = listen, make_model
        self._searches: dict[str, Search] = {}
        self._key = target_key(target, plan.threads)
        self._kind = kind_of(target.name) or "llvm"
        self._known: dict[str, dict[str, Outcome]] = {}
        self._baselines: dict[str, str] = {}
        """The keys of the baselines."""
        self._start = 0.0

    def run(self, left_out: dict[str, str] | None = None) -> Result:
        """Search until the plan is fulfilled; Ctrl-C ends the search early, and keeps what was measured."""
        self._start = time.monotonic()
        stopped = "all trials are done"
        try:
            for state in self.states:
                self._open(state)
            stopped = self._search()
        except KeyboardInterrupt:
            stopped = "interrupted"
        for state in self.states:
            if stopped != "interrupted":
                self._confirm(state)
            self._choose(state)
        self.report(self.states)
        return Result(tuple(self.states), left_out or {}, stopped, self._seconds())

    # --- Tasks

    def _open(self, state: TaskState) -> None:
        """Make the spaces of a task, and measure its baseline."""
        task = state.task
        spaces = spaces_of(task.workload, self.target, task.own, task.complete)
        baseline = key_of(scheduled(task.workload, spaces.baseline, self._kind))
        self._baselines[task.row.key] = baseline
        plan = self.plan
        program = task.program(spaces.baseline)
        workload = Workload(
            task.row.key, program, task.row.tensors, self.target.text, plan.threads, plan.sizes, plan.limits, plan.seed
        )
        outcome = self.runner.open(workload)
        if outcome.status != "ok":
            state.outcomes[outcome.status] += 1
            state.reasons[outcome.message] += 1
            state.stopped = f"its baseline cannot be measured: {outcome.message}"
            return
        state.baseline, state.notes = typical(outcome.seconds), (outcome.message, "")
        if not any(draws(space.text) for space in spaces.found):
            state.stopped = "there is no space to search"
            return
        search = Search(
            task.workload, spaces.found, self._kind, plan.seed, plan.strategy, self._make_model(task), plan.fresh
        )
        search.skip(baseline)
        self._suggest(task, search)
        self._searches[task.row.key] = search
        self._known[task.row.key] = self._stored(task)

    def _suggest(self, task: Task, search: Search) -> None:
        """Let a search begin with the schedules that were imported from another tuner."""
        (function,) = task.workload.functions.values()
        assert isinstance(function, tir.PrimFunc)
        for record in self.database.records(task.row.key):
            text = (
                read_schedule(function, record.schedule) if record.rules == FOREIGN and record.status == "ok" else None
            )
            if text is not None:
                search.suggest(text)

    def _stored(self, task: Task) -> dict[str, Outcome]:
        """Return the outcomes of earlier runs by program; the first one of each, by which a repeated search takes the same course."""
        found: dict[str, Outcome] = {}
        for record in self.database.records(task.row.key, self._key, self._baselines[task.row.key]):
            if record.rules == rules_version():
                found.setdefault(
                    record.program, Outcome(record.status, record.message, record.seconds, record.reference)
                )
        return found

    def _search(self) -> str:
        plan = self.plan
        done = 0
        while done < plan.trials:
            if self._seconds() > plan.seconds:
                return "the time is up"
            state = self._next()
            if state is None:
                return "every search has ended"
            done += self._step(state, min(plan.batch, plan.trials - done))
            self.report(self.states)
        return "all trials are done"

    def _next(self) -> TaskState | None:
        """Return the task from which most is expected: by its time, its calls, and how much its last trials gained; or that with the fewest
        trials.
        """
        active = [state for state in self.states if not state.stopped]
        if self.plan.in_turn:
            return min(active, key=lambda state: state.trials, default=None)
        return max(active, key=self._expected, default=None)

    def _expected(self, state: TaskState) -> float:
        total = state.time * state.task.calls
        if state.trials < 2 * self.plan.batch:
            return 1e6 + total if state.trials == 0 else total * _FIRST
        window = state.curve[-4 * self.plan.batch :]
        gain = (window[0] - window[-1]) / window[0] / len(window)
        return total * max(gain, 1 / (10 * state.trials))

    def _step(self, state: TaskState, count: int) -> int:
        """Measure a batch of a task; return the number of trials."""
        search = self._searches[state.task.row.key]
        batch = search.propose(count, self._start + self.plan.seconds)
        if not batch and self._seconds() > self.plan.seconds:
            return 0
        if not batch:
            refused = search.refusals.most_common(1)
            state.stopped = "no other schedule was found" + (f"; most draws: {refused[0][0][1]}" if refused else "")
            return 0
        found = self._measured(state.task, batch)
        for candidate, outcome in found:
            search.learn(candidate, outcome.ratio)
            self._count(state, outcome)
        if self._listen is not None:
            self._listen(self, state, found)
        if state.since_best >= self.plan.patience:
            state.stopped = f"no faster schedule in {state.since_best} trials"
        return len(batch)

    def _count(self, state: TaskState, outcome: Outcome) -> None:
        state.trials += 1
        state.outcomes[outcome.status] += 1
        if outcome.message and outcome.status != "ok":
            state.reasons[outcome.message] += 1
        is_better = outcome.ratio < state.best
        if is_better:
            state.notes = state.notes[0], outcome.message
        state.since_best = 0 if is_better else state.since_best + 1
        state.best = min(state.best, outcome.ratio)
        state.curve.append(state.best)
        state.moments.append(self._seconds())

    def _seconds(self) -> float:
        """Return the seconds since the start of the run."""
        return time.monotonic() - self._start

    # --- Measurements

    def _measured(self, task: Task, batch: Sequence[Candidate], effort: float = 1.0) -> list[tuple[Candidate, Outcome]]:
        """Return the outcomes of candidates in their order: those that are stored, and new ones, which are stored at once."""
        known = self._known[task.row.key] if effort == 1.0 else {}
        fresh = [candidate for candidate in batch if candidate.key not in known]
        texts = [candidate.text("candidate", FUNCTION, self._kind) for candidate in fresh]
        found: dict[str, Outcome] = dict(known)
        search = self._searches[task.row.key]
        best = search.measured[0][0] if search.measured and effort == 1.0 else 1.0
        request = Batch(task.row.key, tuple([task.program(text) for text in texts]), effort, min(best, 1.0))
        for number, outcome in self.runner.measure(request) if fresh else ():
            found[fresh[number].key] = outcome
            self.database.commit([self._record(task, fresh[number], texts[number], outcome)], task.row)
        return [(candidate, found[candidate.key]) for candidate in batch]

    def _record(self, task: Task, candidate: Candidate, text: ScheduleText, outcome: Outcome) -> Record:
        return Record(
            task.row.key, self._key, self._baselines[task.row.key], rules_version(), candidate.key, text.script().strip("\n"), outcome.status,
            outcome.message, outcome.seconds, outcome.reference,
        )  # fmt: skip

    def _confirm(self, state: TaskState) -> None:
        """Measure the fastest candidates again, longer: the fastest of many short measurements is partly luck. Keep the fastest one that is
        faster than the baseline once more, in a process of its own.
        """
        search = self._searches.get(state.task.row.key)
        if search is None or not search.measured:
            return
        again = self._measured(state.task, search.best(_CONFIRMED), _EFFORT)
        times = [(outcome.ratio, candidate) for candidate, outcome in again if outcome.is_faster]
        search.measured = []
        for ratio, candidate in sorted(times, key=lambda pair: pair[0]):
            ((_, outcome),) = self._measured(state.task, [candidate], _EFFORT)
            if outcome.is_faster:
                state.notes = state.notes[0], outcome.message
                search.measured = [(max(ratio, outcome.ratio), candidate)]
                return

    def _choose(self, state: TaskState) -> None:
        search = self._searches.get(state.task.row.key)
        refused = search.refused_spaces() if search is not None else {}
        state.refused = {text.name: refused[text.name] for text in state.task.own if text.name in refused}
        limit = 1 - RESOLUTION if state.is_estimated else 1
        if search is None or not search.measured or search.measured[0][0] >= limit:
            state.best, state.notes = 1.0, (state.notes[0], "")
            return
        state.best, candidate = search.measured[0]
        state.chosen = candidate.text(f"{state.task.name}_tuned", FUNCTION, self._kind)
