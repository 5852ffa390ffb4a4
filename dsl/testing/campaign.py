"""A run of a law: batches of random examples, each from a seed of its own, counted, and the first failure shrunk."""

from __future__ import annotations

import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

import hypothesis
import msgspec
from hypothesis import HealthCheck, Phase, Verbosity, settings
from hypothesis import strategies as st
from msgspec import Struct, field

from ...ir.base import Source
from ...ir.files import MIB, read_file, write_whole
from .laws import find_law
from .laws.law import Law
from .oracle import Execute

BATCH = 100
"""How many examples share a seed: what is done at once, and what is done again where a run was broken off."""
MAX_DISCARDS = 0.2
"""The greatest share of examples that may be thrown away before they are checked."""
MANY = 2000
"""From how many examples on a construct that was never met is a fault of the generator."""


class Failure(Struct, frozen=True):
    """A failing example, shrunk: its text, what went wrong, and after how many seconds that was first seen."""

    text: str
    reason: str
    seconds: float


class Batch(Struct):
    """What became of the examples of one batch."""

    number: int
    checked: int = 0
    started: int = 0
    seconds: float = 0.0
    constructs: dict[str, int] = field(default_factory=dict[str, int])
    """In how many examples each construct was met, or how often, as the law counts."""
    failure: Failure | None = None


def run_batch(
    name: str, file: Source | None, seed: int, number: int, size: int, execute: Execute, is_shrunk: bool = True
) -> Batch:
    """Check law `name` on `size` examples: the same ones for the same `seed` and `number`."""
    law, batch, met = find_law(name), Batch(number), Counter[str]()
    start = time.perf_counter()
    worst: list[tuple[Any, Exception]] = []

    @st.composite
    def counted(draw: st.DrawFn) -> Any:
        batch.started += not worst
        return draw(examples)

    def check(example: Any) -> None:
        try:
            law.check(example, execute)
        except Exception as problem:
            if not worst:
                batch.seconds = time.perf_counter() - start
            worst[:] = [(example, problem)]  # Hypothesis ends with the smallest
            raise
        if not worst:
            batch.checked += 1
            found = law.constructs(example)
            met.update(found if law.counts_all else set(found))

    examples = law.examples(file)
    test = hypothesis.seed(seed * 1_000_003 + number)(_settings(size, is_shrunk)(hypothesis.given(counted())(check)))
    try:
        test()
    except Exception:
        if not worst:
            raise  # a fault of the generator
        batch.failure = _failure(law, *worst[0], batch.seconds)
    else:
        batch.seconds = time.perf_counter() - start
    batch.constructs = dict(met)
    return batch


_UNWANTED = (
    HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much, HealthCheck.large_base_example,
)  # fmt: skip
"""Hypothesis' own complaints: a run counts what it discards itself."""


def _settings(size: int, is_shrunk: bool) -> settings:
    return settings(
        max_examples=size, database=None, deadline=None, derandomize=False, report_multiple_bugs=False,
        verbosity=Verbosity.quiet, suppress_health_check=_UNWANTED, phases=(Phase.generate, Phase.shrink) if is_shrunk else (Phase.generate,),
    )  # fmt: skip


def _failure(law: Law, example: Any, problem: Exception, seconds: float) -> Failure:
    """What to say of the smallest failing example; where it cannot even be shown, that is what went wrong."""
    reason = "".join(traceback.format_exception_only(problem)).strip()
    if not isinstance(problem, AssertionError):
        where = traceback.extract_tb(problem.__traceback__)[-1]
        reason += f" ({where.filename.rpartition('/tvms/')[2] or where.filename}:{where.lineno})"
    try:
        return Failure(law.show(example), reason, seconds)
    except Exception as other:
        return Failure("", f"{reason}; and it cannot be shown: {other}", seconds)


class Total(Struct):
    """What became of a run so far."""

    checked: int = 0
    started: int = 0
    seconds: float = 0.0
    constructs: dict[str, int] = field(default_factory=dict[str, int])

    def add(self, batch: Batch) -> None:
        """Count a batch."""
        self.checked += batch.checked
        self.started += batch.started
        self.seconds += batch.seconds
        for construct, count in batch.constructs.items():
            self.constructs[construct] = self.constructs.get(construct, 0) + count

    def faults(self, expected: frozenset[str]) -> list[str]:
        """Return what is wrong with the examples themselves; `expected` are the constructs to be met."""
        found: list[str] = []
        discarded = 1 - self.checked / self.started if self.started else 0.0
        if discarded > MAX_DISCARDS:
            found.append(f"{discarded:.0%} of the examples were discarded, more than {MAX_DISCARDS:.0%}")
        missing = sorted(expected - self.constructs.keys())
        if self.checked >= MANY and missing:
            found.append(f"never met: {', '.join(missing)}")
        return found


# --- Runs that go on where they were broken off ---------------------------------------------------------------


class _State(Struct):
    """What a file keeps of a run: which one it is, what it found so far, and which batches are done."""

    run: str
    total: Total
    done: set[int]


def read_state(path: Path, run: str) -> tuple[Total, set[int]]:
    """Return what was found so far in `run`, and the batches done; nothing where the file is not there or another's."""
    try:
        state = msgspec.json.decode(read_file(path, 64 * MIB), type=_State)
    except (OSError, msgspec.DecodeError):
        return Total(), set()
    return (state.total, state.done) if state.run == run else (Total(), set())


def write_state(path: Path, run: str, total: Total, done: set[int]) -> None:
    """Keep what `run` found so far."""
    write_whole(msgspec.json.encode(_State(run, total, done)), str(path))
