"""Checks that can detect a mutant, examples of laws and tests, and the code that each of them executes.

Functions are instrumented for the map only: every segment of a function (`mutation_sites.py`) reports that it was
executed. A mutant is then checked only by units that execute its segment, and runs the original code otherwise.
"""

from __future__ import annotations

import gc
import os
import pickle
import pkgutil
import random
import resource
import select
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cache, partial
from heapq import heapify, heappop, heappush
from importlib import import_module
from itertools import groupby
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, NamedTuple

from mutation_sites import HIT, Segment, instrumented_codes

ROOT = Path(__file__).parents[2]
SEED = 2
"""Seed of the examples. Without a mutant, they break no law."""
MAPPED = {"schedule": 60.0, "passes": 40.0, "codegen": 50.0, "memory": 20.0, "lowering": 20.0}
"""Seconds of processor time of a law that are mapped."""
OTHERWISE = 10.0
LONGEST = 2.0
"""Seconds of processor time after which a test is too slow to be a unit."""
KEPT = {False: 400, True: 6}
"""Examples of each law, and tests of each test function, that are kept for a segment."""
QUICKEST = 4
"""Number of them that are the quickest; the others are random."""
Functions = dict[tuple[str, str], list[FunctionType]]


class Unit(NamedTuple):
    """An example of a law, or a test."""

    judge: str
    """Name of the law, or `tests`."""
    name: str
    """The number of the example, or the name of the test."""
    seconds: float
    """Processor time without a mutant."""

    @property
    def family(self) -> str:
        """The law, or the test function."""
        return self.judge if self.judge != "tests" else self.name.partition("[")[0]


Map = dict[Segment, list[Unit]]
"""Units that execute each segment, in the order in which they judge a mutant."""


# --- Children -------------------------------------------------------------------------------------------------


def in_child(work: Callable[[], Any], seconds: float) -> tuple[Any, str, float]:
    """Run `work` in a forked process. Return its result, or the reason why there is none, and its processor time."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.close(reader)
        _run_child(work, writer, seconds)
    os.close(writer)
    found, limit = b"", time.monotonic() + 3 * max(seconds, 60)
    while True:
        ready, _, _ = select.select([reader], [], [], max(0.0, limit - time.monotonic()))
        part = os.read(reader, 1 << 16) if ready else b""
        found += part
        if not part:
            break
    os.close(reader)
    if not ready:
        os.kill(child, signal.SIGKILL)
    _, status, usage = os.wait4(child, 0)
    spent = usage.ru_utime + usage.ru_stime
    if found and not status:
        return pickle.loads(found), "", spent
    sign = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    is_endless = sign in (signal.SIGXCPU, signal.SIGKILL)
    return None, "it does not terminate" if is_endless else f"the process ended with status {status}", spent


def _run_child(work: Callable[[], Any], writer: int, seconds: float) -> None:
    limit_processor_time(seconds)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    status = 1
    try:
        found = pickle.dumps(work())
        while found:
            found = found[os.write(writer, found) :]
        status = 0
    finally:
        os._exit(status)


def limit_processor_time(seconds: float) -> None:
    """End this process once it has used that many more seconds."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    limit = int(used.ru_utime + used.ru_stime + seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))


def import_everything() -> None:
    """Import all importable modules of tvms, and load the parser, before children fork."""
    import tvms
    from tvms.testing.laws import LAWS

    for module in pkgutil.walk_packages(tvms.__path__, "tvms."):
        parts = module.name.split(".")
        if "__main__" in parts or parts[1] in ("tests", "bench"):
            continue
        with suppress(ImportError):  # the module needs an extra that is not installed
            import_module(module.name)
    for law in LAWS:
        draw_example(law, 10_000)


def functions_of(root: Path) -> Functions:
    """Return all functions that are defined in files below `root`, by file and qualified name."""
    found: Functions = defaultdict(list)
    for value in gc.get_objects():
        if isinstance(value, FunctionType) and value.__code__.co_filename.startswith(str(root)):
            found[value.__code__.co_filename, value.__code__.co_qualname].append(value)
    return found


# --- Laws and tests ------------------------------------------------------------------------------------------


@cache
def _examples(law: str) -> Any:
    from tvms.testing.laws import find_law

    return find_law(law).examples(None)


def draw_example(law: str, number: int) -> Any:
    """Return the random example that `number` selects."""
    import hypothesis

    drawn: list[Any] = []

    # Hypothesis begins with the simplest example, whatever the seed is; the second one is random
    @hypothesis.seed(SEED * 1_000_003 + number)
    @hypothesis.settings(
        max_examples=2, database=None, deadline=None, phases=[hypothesis.Phase.generate],
        verbosity=hypothesis.Verbosity.quiet, suppress_health_check=[*hypothesis.HealthCheck],
    )  # fmt: skip
    @hypothesis.given(_examples(law))
    def keep(example: Any) -> None:
        drawn.append(example)

    keep()
    return drawn[-1]


def run_law(law: str, number: int) -> str:
    """Check one example. Return how it breaks the law, or an empty string."""
    from tvms.dsl.cli.fuzz_command import compiled
    from tvms.testing.laws import find_law

    try:
        find_law(law).check(draw_example(law, number), compiled)
    except Exception as problem:  # the mutant may break even the generator
        return " ".join(f"{type(problem).__name__}: {problem}".split())
    return ""


class Session:
    """A collected session of pytest, whose tests are run one at a time in children."""

    def __init__(self, work: Callable[[Session], None]) -> None:
        self.items: dict[str, Any] = {}
        self.failed: list[str] = []
        self._work = work

    def pytest_runtestloop(self, session: Any) -> bool:
        """Replace pytest's loop."""
        self.items = {item.nodeid: item for item in session.items}
        self._work(self)
        return True

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Record failures."""
        if report.failed:
            self.failed.append(report.nodeid)

    def run(self, name: str) -> str:
        """Run one test. Return how it fails, or an empty string."""
        item = self.items[name]
        self.failed.clear()
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
        return f"{name} fails" if self.failed else ""


def with_tests(paths: list[str], work: Callable[[Session], None]) -> None:
    """Collect the tests in `paths`, and call `work` with them."""
    import pytest

    session = Session(work)
    if not paths:
        work(session)
        return
    os.chdir(ROOT)
    without = ("cacheprovider", "xdist", "faulthandler", "terminal")
    options = ["-o", "addopts=--import-mode=importlib", *(f"-pno:{plugin}" for plugin in without)]
    pytest.main([*options, *paths], plugins=[session])


def run_unit(unit: Unit, session: Session) -> str:
    """Return how a unit fails, or an empty string."""
    return session.run(unit.name) if unit.judge == "tests" else run_law(unit.judge, int(unit.name))


# --- The map -------------------------------------------------------------------------------------------------


class _TooSlow(BaseException):
    pass


def _stop(*_: Any) -> None:
    raise _TooSlow


Codes = dict[FunctionType, CodeType]
"""Instrumented codes of functions."""
Found = list[tuple[Unit, list[Segment]]]
"""Units, each with the segments that it executes."""


def _instrumented(files: Iterable[str], functions: Functions) -> Codes:
    """Return the instrumented codes of the functions of some files."""
    found: Codes = {}
    for file in files:
        for name, code in instrumented_codes(ROOT, file).items():
            for function in functions[str(ROOT / file), name]:
                if len(function.__code__.co_freevars) == len(code.co_freevars):
                    found[function] = code
    return found


def _instrument(codes: Codes) -> set[Segment]:
    """Instrument functions. Return the set of segments that fills as they are executed."""
    hits: set[Segment] = set()
    for function, code in codes.items():
        function.__globals__[HIT] = hits.add
        function.__code__ = code
    return hits


def _spent() -> float:
    """Return the processor time of this process and its children."""
    return sum(os.times()[:4])


def _map_law(law: str, codes: Codes) -> Found:
    hits = _instrument(codes)
    found: Found = []
    begin, number = _spent(), 0
    while number < 2 or _spent() - begin < MAPPED.get(law, OTHERWISE):
        hits.clear()
        start = _spent()
        if not run_law(law, number):
            found.append((Unit(law, str(number), _spent() - start), list(hits)))
        number += 1
    return found


def _map_tests(names: Iterable[str], session: Session, codes: Codes) -> Found:
    hits = _instrument(codes)
    found: Found = []
    signal.signal(signal.SIGPROF, _stop)
    for name in names:
        hits.clear()
        start = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, LONGEST)
        try:
            failure = session.run(name)
        except BaseException:
            failure = "it is slow"
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        if not failure and hits:
            found.append((Unit("tests", name, time.process_time() - start), list(hits)))
    return found


def make_map(laws: Iterable[str], session: Session, files: set[str], functions: Functions, folder: Path) -> Map:
    """Return the units that execute each segment of some files. `folder` keeps those of each law and file of tests."""
    works: dict[str, Callable[[Codes], Found]] = {law: partial(_map_law, law) for law in laws}
    for file, names in groupby(session.items, lambda name: name.partition("::")[0]):
        works[file] = partial(_map_tests, list(names), session)
    missing = [name for name in works if not _kept(folder, name).exists()]
    codes = _instrumented(files, functions) if missing else {}
    folder.mkdir(parents=True, exist_ok=True)
    for name in missing:
        units, problem, spent = in_child(partial(works[name], codes), 3600)
        print(f"# {name}: {len(units or ())} units, {spent:.0f} s {problem}", file=sys.stderr, flush=True)
        _kept(folder, name).write_bytes(pickle.dumps(units or []))
    found: dict[Segment, list[Unit]] = defaultdict(list)
    for name in works:
        for unit, segments in pickle.loads(_kept(folder, name).read_bytes()):
            for segment in segments:
                found[segment].append(unit)
    return {segment: list(_alternating(units)) for segment, units in found.items()}


def _kept(folder: Path, name: str) -> Path:
    return folder / f"{name.replace('/', '.')}.pickle"


def _alternating(units: list[Unit]) -> Iterator[Unit]:
    """Yield the units of laws, then the tests: always the next one of the family that has had the least time.

    The quickest units of a family come first; the others follow in a random order, because quick examples are alike.
    """
    families: dict[str, list[Unit]] = defaultdict(list)
    for unit in sorted(units, key=lambda unit: unit.seconds):
        families[unit.family].append(unit)
    for is_test in (False, True):
        rows: list[list[Unit]] = []
        for row in families.values():
            if (row[0].judge == "tests") == is_test:
                others = row[QUICKEST:]
                random.Random(SEED).shuffle(others)
                rows.append([*row[:QUICKEST], *others][: KEPT[is_test]])
        waiting = [(row[0].seconds, at, 0) for at, row in enumerate(rows)]
        heapify(waiting)
        while waiting:
            spent, at, place = heappop(waiting)
            yield rows[at][place]
            if place + 1 < len(rows[at]):
                heappush(waiting, (spent + rows[at][place + 1].seconds, at, place + 1))
