"""A run of a law: batches of random examples, each with its own seed. Examples are counted; the first failure is shrunk."""

from __future__ import annotations

import gc
import re
import secrets
import time
import traceback
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any

import hypothesis
import msgspec
from hypothesis import HealthCheck, Phase, Verbosity, settings
from hypothesis import strategies as st
from hypothesis.internal.conjecture.providers import AVAILABLE_PROVIDERS, HypothesisProvider
from msgspec import Struct, field
from msgspec.structs import replace

from ...ir.base import Source
from ...ir.diagnostics import error
from ...ir.files import MIB, read_file, write_whole
from .choices import Turns, taking, turn_of
from .laws import find_law
from .laws.law import Law
from .oracle import Execute, ExecuteAll, Inputs

BATCH = 100
"""Number of examples that share a seed. A batch runs as a unit, and a resumed run repeats an unfinished batch."""
FILE_BATCH = 20
"""Size of a batch whose examples are made from a file, which may be slow."""
TOGETHER = 25
"""Number of examples that are compiled together."""
MAX_DISCARDS = 0.2
"""Maximum share of examples that may be discarded before they are checked."""
_SAVED = re.compile(r"# law: (\w+)")
"""Beginning of a saved failure."""
BACKEND = "tvms"
"""Name of the source of choices, for Hypothesis."""
MANY = 2000
"""Number of examples from which on a construct that never occurred is a fault of the generator."""


class Failure(Struct, frozen=True):
    """A shrunk failing example: its text, the reason of the failure, and the seconds until it was first found."""

    text: str
    reason: str
    seconds: float
    inputs: dict[str, bytes] = {}
    """The arguments on which it fails, each as a file of `numpy.save`, if the law knows them."""
    shown_inputs: str = ""
    """The same arguments as text."""


class Batch(Struct):
    """Result of one batch."""

    number: int
    checked: int = 0
    started: int = 0
    seconds: float = 0.0
    constructs: dict[str, int] = field(default_factory=dict[str, int])
    """Number of examples that contain each construct, or number of its occurrences if `Law.counts_all`."""
    failure: Failure | None = None


_ALLOCATIONS = 50_000
"""Number of new objects after which the garbage collector runs."""


def run_batch(
    name: str, file: Source | None, seed: int, number: int, size: int, execute: Execute,
    execute_all: ExecuteAll | None = None, is_shrunk: bool = True, report: Callable[[int], None] | None = None,
) -> Batch:  # fmt: skip
    """Check law `name` on `size` examples. The same `seed` and `number` give the same examples.

    All examples are drawn first and then checked. If the law can check several together, `execute_all` compiles them as
    one. If an example fails, the examples up to it are drawn again, and it is shrunk by itself. `report` is called with
    the number of examples checked since its last call.
    """
    with _rare_collections():
        return _run_batch(name, file, seed, number, size, execute, execute_all, is_shrunk, report)


def _run_batch(
    name: str, file: Source | None, seed: int, number: int, size: int, execute: Execute, execute_all: ExecuteAll | None,
    is_shrunk: bool, report: Callable[[int], None] | None,
) -> Batch:  # fmt: skip
    law, batch, met = find_law(name), Batch(number), Counter[str]()
    start, place = time.perf_counter(), _Place(seed, number, size)
    drawn: list[Any] = []

    @st.composite
    def counted(draw: st.DrawFn) -> Any:
        batch.started += 1
        return draw(examples)

    examples = law.examples(file)
    _given(counted(), drawn.append, place)
    try:
        for example in _checked(law, drawn, execute, execute_all or (lambda _: execute)):
            batch.checked += 1
            if report:
                report(1)
            found = law.constructs(example)
            met.update(found if law.counts_all else set(found))
    except Exception as problem:
        batch.seconds = time.perf_counter() - start
        batch.started -= len(drawn) - batch.checked - 1
        worst = (drawn[batch.checked], problem)
        if is_shrunk:
            worst = _shrunk(law, examples, place, batch.checked, execute) or worst
        batch.failure = _failure(law, *worst, batch.seconds)
    else:
        batch.seconds = time.perf_counter() - start
    batch.constructs = dict(met)
    return batch


def drawn_batch(name: str, seed: int, number: int, size: int, prepare: Callable[[Any], object] | None = None) -> Batch:
    """Return the counts of the batch that `run_batch` checks, without checking it; `prepare` is called on each example first."""
    law, batch, met = find_law(name), Batch(number), Counter[str]()

    def count(example: Any) -> None:
        batch.checked += 1
        if prepare:
            prepare(example)
        found = law.constructs(example)
        met.update(found if law.counts_all else set(found))

    with _rare_collections():
        _given(law.examples(None), count, _Place(seed, number, size))
    batch.constructs = dict(met)
    return batch


@contextmanager
def _rare_collections() -> Generator[None]:
    """Let the garbage collector run rarely: examples are trees without cycles, and searching them takes an eighth of the time."""
    before = gc.get_threshold()
    gc.set_threshold(_ALLOCATIONS, 20, 20)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def law_of_saved(text: str) -> str | None:
    """Return the name of the law that the saved failure `text` breaks; None if `text` is another text."""
    found = _SAVED.match(text)
    return found and found[1]


def check_saved(name: str, file: Source, execute: Execute) -> Failure | None:
    """Check law `name` on the example saved in `file`; return the failure, which is not shrunk."""
    law = find_law(name)
    example, start = law.read(file), time.perf_counter()
    try:
        law.check(example, execute)
    except Exception as problem:
        return _failure(law, example, problem, time.perf_counter() - start)
    return None


def _checked(law: Law, examples: Sequence[Any], execute: Execute, execute_all: ExecuteAll) -> Iterator[Any]:
    """Yield examples as they are checked. An exception belongs to the first example that was not yielded."""
    for start in range(0, len(examples), TOGETHER):
        some = examples[start : start + TOGETHER]
        steps = law.check_all(some, execute_all) if law.check_all else (law.check(item, execute) for item in some)
        for example in some:
            next(steps)
            yield example


def _shrunk(
    law: Law, examples: st.SearchStrategy[Any], place: _Place, passed: int, execute: Execute
) -> tuple[Any, Exception] | None:
    """Return the smallest failing example after `passed` others and its exception; None if it fails only together with others."""
    worst: list[tuple[Any, Exception]] = []
    left = passed

    def check(example: Any) -> None:
        nonlocal left
        left -= 1
        if left >= 0:
            return
        try:
            law.check(example, execute)
        except Exception as problem:
            worst[:] = [(example, problem)]  # the last failure that Hypothesis reports is the smallest
            raise

    with suppress(Exception):
        _given(examples, check, place, (Phase.generate, Phase.shrink))
    return worst[0] if worst else None


class _Place(Struct, frozen=True):
    """A batch of a run: the seed of the run, the number of the batch, and its number of examples."""

    seed: int
    number: int
    size: int

    def turns(self) -> Turns:
        """Return the turns of the batch, which begin about where those of the batch before it end."""
        return Turns(self.seed, self.number * self.size * _TURNS // 100)


_TURNS = 92
"""Number of turns that a batch of 100 examples takes at least: those of the next batch begin there, so that none is left out."""


def _given(
    examples: st.SearchStrategy[Any], check: Callable[[Any], None], place: _Place,
    phases: Sequence[Phase] = (Phase.generate,),
) -> None:  # fmt: skip
    """Call `check` on the examples of a batch. The same place gives the same examples."""
    chosen = settings(
        max_examples=place.size, database=None, deadline=None, derandomize=False, report_multiple_bugs=False,
        backend=BACKEND, verbosity=Verbosity.quiet, suppress_health_check=_UNWANTED, phases=phases,
    )  # fmt: skip

    def test(example: Any) -> None:
        check(example)

    with taking(place.turns()):
        hypothesis.seed(place.seed * 1_000_003 + place.number)(chosen(hypothesis.given(examples)(test)))()


class Independent(HypothesisProvider):
    """Source of choices that depend on the seed alone, and of the turns of `Choices.turn`.

    Hypothesis' own source also offers constants of all modules that have been imported, and its engine repeats parts of
    earlier examples, of which a third do not fit and are discarded. A failure is still shrunk by Hypothesis.
    """

    def draw_integer(self, min_value: int | None = None, max_value: int | None = None, **kwargs: Any) -> int:
        turn = turn_of(min_value, max_value)
        return super().draw_integer(min_value, max_value, **kwargs) if turn is None else turn

    def _maybe_draw_constant(self, *_: Any, **__: Any) -> None:
        return None


AVAILABLE_PROVIDERS[BACKEND] = f"{__name__}.{Independent.__name__}"
_UNWANTED = (
    HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much, HealthCheck.large_base_example,
)  # fmt: skip
"""Health checks of Hypothesis to turn off. A run counts discarded examples itself."""


def _failure(law: Law, example: Any, problem: Exception, seconds: float) -> Failure:
    """Describe the smallest failing example. If it cannot be shown, the reason says so."""
    reason = "".join(traceback.format_exception_only(problem)).strip()
    if not isinstance(problem, AssertionError):
        where = traceback.extract_tb(problem.__traceback__)[-1]
        reason += f" ({where.filename.rpartition('/tvms/')[2] or where.filename}:{where.lineno})"
    try:
        return Failure(law.show(example), reason, seconds, *_inputs_of(problem))
    except Exception as other:
        return Failure("", f"{reason}; and it cannot be shown: {other}", seconds)


def _inputs_of(problem: Exception) -> tuple[dict[str, bytes], str]:
    """Return the arguments attached to an error, as files and as text."""
    import numpy as np

    inputs = getattr(problem, "inputs", None)
    if not isinstance(inputs, Inputs):
        return {}, ""
    files: dict[str, bytes] = {}
    lines: list[str] = [f"inputs: {', '.join(inputs.classes)}"]
    for name, value in inputs.values.items():
        file = BytesIO()
        np.save(file, np.asarray(value), allow_pickle=False)
        files[name] = file.getvalue()
        lines.append(f"{name} = {np.array2string(np.asarray(value), separator=', ', threshold=64)}")
    return files, "\n".join(lines)


class Total(Struct):
    """Result of a run so far."""

    checked: int = 0
    started: int = 0
    seconds: float = 0.0
    constructs: dict[str, int] = field(default_factory=dict[str, int])

    def add(self, batch: Batch) -> None:
        """Add the counts of a batch."""
        self.checked += batch.checked
        self.started += batch.started
        self.seconds += batch.seconds
        for construct, count in batch.constructs.items():
            self.constructs[construct] = self.constructs.get(construct, 0) + count

    def faults(self, expected: frozenset[str]) -> list[str]:
        """Return faults of the examples themselves: too many discarded, or constructs of `expected` that never occurred."""
        found: list[str] = []
        discarded = 1 - self.checked / self.started if self.started else 0.0
        if discarded > MAX_DISCARDS:
            found.append(f"{discarded:.0%} of the examples were discarded, more than {MAX_DISCARDS:.0%}")
        missing = sorted(expected - self.constructs.keys())
        if self.checked >= MANY and missing:
            found.append(f"never met: {', '.join(missing)}")
        return found


# --- Runs that go on where they were broken off ---------------------------------------------------------------


class State(Struct):
    """Saved state of a run: what determines its examples, its result so far, and the finished batches."""

    law: str
    n: int
    seed: int
    file: str = ""
    """Path of the file from which the examples are made; empty if there is none."""
    digest: str = ""
    """SHA-256 of the text of that file."""
    total: Total = field(default_factory=Total)
    done: set[int] = field(default_factory=set[int])

    @property
    def command(self) -> str:
        """The command of the run, which gives the same examples again."""
        return f"tvms fuzz {self.law} {f'{self.file} ' if self.file else ''}--n {self.n} --seed {self.seed}"

    def write(self, path: Path) -> None:
        """Save the state."""
        write_whole(msgspec.json.encode(self), str(path))


def begin(path: Path | None, law: str, n: int, seed: int | None, file: str, text: str) -> State:
    """Return the state saved at `path`, or a new one if there is none. Without a seed, a saved run keeps its seed, and a
    new one gets a random seed.

    Raise E0819 if the file holds the state of a run with other examples, or something else.
    """
    digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest() if file else ""
    fresh = State(law, n, secrets.randbits(32) if seed is None else seed, file, digest)
    saved = None if path is None else _read_state(path)
    if saved is None:
        return fresh
    wanted = replace(fresh, seed=saved.seed) if seed is None else fresh
    help = "give another file to --state, or delete this one"
    if saved.command != wanted.command:
        raise error("E0819", f"'{path}' holds the state of `{saved.command}`, not of `{wanted.command}`", None, help)
    if saved.digest != digest:
        raise error("E0819", f"'{file}' has changed since '{path}' was written", None, help)
    return saved


def _read_state(path: Path) -> State | None:
    """Return the state in a file; None if the file does not exist."""
    try:
        return msgspec.json.decode(read_file(path, 64 * MIB), type=State)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError) as problem:
        help = "give another file to --state, or delete this one"
        raise error("E0819", f"'{path}' does not hold the state of a run: {problem}", None, help) from None
