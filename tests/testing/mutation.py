"""Mutation testing: change a function of tvms at random, and find the law of `tvms fuzz`, or the test, that detects it.

    python tests/testing/mutation.py ir/simplify --n 60 --seed 1            60 random mutants of a folder
    python tests/testing/mutation.py ir/schedule --tests tests/schedule     run these tests on mutants that no law
detects
    python tests/testing/mutation.py --table mutants.jsonl                  print the table of a record

A mutant changes one node of one function (`mutation_sites.py`). A process that has imported everything forks for each
mutant. The child replaces the code of the function and checks the laws that reach it, most frequent calls first, until
one fails or its time is over. A law fails if an example breaks it, if the process dies, or if a batch that takes
seconds without the mutant does not terminate. Failures of the same batch without the mutant do not count. Results are
appended to a record of one JSON object per line, which a later run continues.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import pickle
import pkgutil
import random
import resource
import select
import signal
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent))
from mutation_sites import REACHED, Site, mutated_code, sample, sites_in

ROOT = Path(__file__).parents[2]
SEED = 2
"""Seed of the examples. Without a mutant, they break no law."""
BATCH = 20
SLICE, TOTAL = 4.0, 60.0
"""Seconds of processor time for one turn of a law, and for all laws."""
GRACE = 12.0
"""Seconds that a batch may exceed its slice before it counts as endless."""
MAPPED = 12.0
"""Seconds of a law that decide which functions it reaches."""
SLOW = ("gpu", "cost")
"""Slow laws, which run only if no other one reaches a function."""


class Verdict(NamedTuple):
    """Verdict of a law or of the tests on a mutant."""

    judge: str
    """The law or test that detected the mutant; empty if none did."""
    seconds: float
    reason: str
    is_reached: bool


# --- Children -------------------------------------------------------------------------------------------------


def in_child(work: Callable[[], Any], seconds: float) -> tuple[Any, str, float]:
    """Run `work` in a forked process. Return its result, or the reason why there is none, and its processor time."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.close(reader)
        _run_child(work, writer, seconds)
    os.close(writer)
    found, limit = b"", time.monotonic() + 20 * seconds
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
    return None, "it does not end" if is_endless else f"the process ended with status {status}", spent


def _run_child(work: Callable[[], Any], writer: int, seconds: float) -> None:
    limit = int(seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 2))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    status = 1
    try:
        os.write(writer, pickle.dumps(work()))
        status = 0
    finally:
        os._exit(status)


def import_everything() -> None:
    """Import all importable modules of tvms before the children fork."""
    import tvms

    for module in pkgutil.walk_packages(tvms.__path__, "tvms."):
        parts = module.name.split(".")
        if "__main__" in parts or parts[1] in ("tests", "bench"):
            continue
        with suppress(ImportError):  # the module needs an extra that is not installed
            import_module(module.name)


def _functions() -> dict[tuple[str, str], list[FunctionType]]:
    found: dict[tuple[str, str], list[FunctionType]] = defaultdict(list)
    for value in gc.get_objects():
        if isinstance(value, FunctionType) and value.__code__.co_filename.startswith(str(ROOT)):
            found[value.__code__.co_filename, value.__code__.co_qualname].append(value)
    return found


# --- What reaches a function ----------------------------------------------------------------------------------


def _calls_of(work: Callable[[], Any], wanted: set[tuple[str, str]]) -> dict[tuple[str, str], int]:
    """Count the calls of the wanted functions while `work` runs."""
    counts: Counter[Any] = Counter()

    def profile(frame: Any, event: str, _: Any) -> None:
        if event == "call":
            counts[frame.f_code] += 1

    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(None)
    found: Counter[tuple[str, str]] = Counter()
    for code, count in counts.items():
        # nested functions count for the outer one
        outer = (code.co_filename, code.co_qualname.partition(".<locals>")[0])
        if outer in wanted:
            found[outer] += count
    return dict(found)


def _batch(law: str, number: int) -> str:
    """Check one batch. Return how it breaks the law, or an empty string."""
    from tvms.dsl.cli.fuzz_command import compiled, compiled_together
    from tvms.testing.campaign import run_batch

    try:
        batch = run_batch(law, None, SEED, number, BATCH, compiled, compiled_together, is_shrunk=False)
    except Exception as problem:  # the mutant breaks even the generator
        return f"{type(problem).__name__}: {problem}"
    return " ".join(batch.failure.reason.split()) if batch.failure else ""


def _batches(law: str) -> None:
    """Check batches for some seconds, at least two."""
    start, number = time.process_time(), 0
    while number < 2 or time.process_time() - start < MAPPED:
        _batch(law, number)
        number += 1


def map_laws(names: Iterable[str], wanted: set[tuple[str, str]]) -> dict[tuple[str, str], dict[str, float]]:
    """Return the calls per second that each law makes of each wanted function."""
    reach: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    for law in names:
        counts, problem, spent = in_child(partial(_calls_of, partial(_batches, law), wanted), 300)
        print(f"# {law}: {len(counts or ())} functions, {spent:.0f} s {problem}", file=sys.stderr, flush=True)
        for function, count in (counts or {}).items():
            reach[function][law] = count / max(spent, 0.1)
    return reach


# --- Judges ---------------------------------------------------------------------------------------------------


class Laws:
    """The laws as judges of mutants."""

    def __init__(
        self, functions: dict[tuple[str, str], list[FunctionType]], reach: dict[Any, dict[str, float]]
    ) -> None:
        self.functions, self.reach = functions, reach
        self._sound: dict[tuple[str, int], bool] = {}

    def judge(self, site: Site) -> Verdict:
        """Return the verdict on a mutant: the first law that fails, in turns of a few seconds each."""
        key = (str(ROOT / site.file), site.function)
        rates = self.reach.get(key, {})
        laws = sorted(rates, key=lambda law: (law in SLOW, -rates[law]))[:6]
        spent, first, is_reached, seconds = 0.0, dict.fromkeys(laws, 0), False, SLICE
        while laws and spent < TOTAL:
            for law in tuple(laws):
                number = first[law]
                result, problem, took = in_child(partial(self._hunt, site, law, number, seconds), seconds + GRACE)
                spent += took
                reason, last, reached = result or (problem, number, True)
                is_reached = is_reached or reached
                first[law] = last + 1
                if reason and self._is_sound(law, last):
                    return Verdict(law, spent, reason, True)
                if not reached:
                    laws.remove(law)
                if spent >= TOTAL:
                    break
            seconds *= 2
        return Verdict("", spent, "", is_reached)

    def _hunt(self, site: Site, law: str, first: int, seconds: float) -> tuple[str, int, bool]:
        reached = plant(site, self.functions)
        start, number = time.process_time(), first
        while True:
            reason = _batch(law, number)
            if reason or time.process_time() - start > seconds:
                return reason[:300], number, bool(reached)
            number += 1

    def _is_sound(self, law: str, number: int) -> bool:
        """Return whether the batch passes without a mutant."""
        if (law, number) not in self._sound:
            reason, problem, _ = in_child(lambda: _batch(law, number), 120)
            self._sound[law, number] = not (reason or problem)
        return self._sound[law, number]


def plant(site: Site, functions: dict[tuple[str, str], list[FunctionType]]) -> list[int]:
    """Replace the code of a function by the changed one. Return a list that gets an element once the changed place is reached."""
    reached: list[int] = []

    def note() -> None:
        if not reached:
            reached.append(1)

    code = mutated_code(ROOT, site)
    for function in functions[str(ROOT / site.file), site.function]:
        if len(function.__code__.co_freevars) == len(code.co_freevars):
            function.__globals__[REACHED] = note
            function.__code__ = code
    return reached


class Tests:
    """The tests in some folders as judges: for a mutant, those that call its function, quickest first."""

    def __init__(self, paths: list[str], functions: Any, wanted: set[tuple[str, str]]) -> None:
        self.functions = functions
        found, problem, spent = in_child(lambda: _record_tests(paths, wanted), 3600)
        print(f"# {len(found or ())} functions of {paths}, {spent:.0f} s {problem}", file=sys.stderr, flush=True)
        self.tests: dict[tuple[str, str], list[tuple[float, str]]] = found or {}

    def judge(self, site: Site) -> Verdict:
        """Return the verdict of the tests."""
        known = sorted(self.tests.get((str(ROOT / site.file), site.function), ()))[:150]
        if not known:
            return Verdict("", 0.0, "", False)
        names = [name for _, name in known]

        def work() -> tuple[int, bool]:
            reached = plant(site, self.functions)
            return _pytest(names), bool(reached)

        result, problem, spent = in_child(work, 4 * sum(seconds for seconds, _ in known) + 20)
        status, is_reached = result or (1, True)
        return Verdict("tests" if status == 1 else "", spent, problem, is_reached)


def _pytest(names: list[str], *plugins: Any) -> int:
    import pytest

    options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--no-header", "--tb=no"]
    return int(pytest.main([*options, *names], plugins=list(plugins)))


def _record_tests(paths: list[str], wanted: set[tuple[str, str]]) -> dict[tuple[str, str], list[tuple[float, str]]]:
    found: dict[tuple[str, str], list[tuple[float, str]]] = defaultdict(list)

    class Recorder:
        def pytest_pyfunc_call(self, pyfuncitem: Any) -> bool:
            start = time.process_time()
            args = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
            called = _calls_of(lambda: pyfuncitem.obj(**args), wanted)
            seconds = time.process_time() - start
            for function in called:
                found[function].append((seconds, pyfuncitem.nodeid))
            return True

    os.chdir(ROOT)
    _pytest(paths, Recorder())
    return dict(found)


# --- Runs -----------------------------------------------------------------------------------------------------


def run(arguments: argparse.Namespace) -> None:
    """Judge mutants, and append each verdict to the record."""
    record = Path(arguments.record)
    known = {line["site"]: line for line in _read(record)}
    sites = [site for folder in arguments.rooms for site in sample(sites_in(ROOT, folder), arguments.n, arguments.seed)]
    wanted = {(str(ROOT / site.file), site.function) for site in sites}
    import_everything()
    from tvms.testing.laws import LAWS

    functions = _functions()
    laws = None if arguments.tests else Laws(functions, map_laws(arguments.laws or LAWS, wanted))
    tests = Tests(arguments.tests, functions, wanted) if arguments.tests else None
    for site in sites:
        line = known.get(str(site))
        if laws is not None and line is None:
            verdict = laws.judge(site)
        elif tests is not None and (line is None or not line["judge"]):
            verdict = tests.judge(site)
        else:
            continue
        folder = next(room for room in arguments.rooms if site.file.startswith(room))
        is_reached = verdict.is_reached or bool(line and line["reached"])
        entry = {"room": folder, "site": str(site), **verdict._asdict(), "reached": is_reached}
        with record.open("a", encoding="utf-8") as file:
            file.write(json.dumps({key: entry[key] for key in entry if key != "is_reached"}) + "\n")
        print(
            f"{verdict.judge or 'SURVIVED' if is_reached else 'NOT REACHED':12} {verdict.seconds:5.1f} s  {site}",
            flush=True,
        )


def _read(record: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()] if record.exists() else []


def table(record: Path) -> str:
    """Return the table of a record: mutants per folder, and the judges that detected them."""
    last = {line["site"]: line for line in _read(record)}
    rows = [
        "| room | mutants | noticed | by laws | by tests | never reached | most by |",
        "| --- | ---: | ---: | ---: | ---: | ---: | --- |",
    ]
    for room in sorted({line["room"] for line in last.values()}):
        lines = [line for line in last.values() if line["room"] == room]
        judges = Counter(line["judge"] for line in lines if line["judge"])
        noticed, tests = sum(judges.values()), judges.pop("tests", 0)
        unreached = sum(not line["judge"] and not line["reached"] for line in lines)
        most = ", ".join(f"{law} {count}" for law, count in judges.most_common(4))
        rows.append(
            f"| `{room}` | {len(lines)} | {noticed / len(lines):.0%} | {noticed - tests} | {tests} | {unreached} | {most} |"
        )
    return "\n".join(rows)


def main() -> None:
    """Parse the arguments, and run or print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rooms", nargs="*", help="folders or files, relative to the root")
    parser.add_argument("--n", type=int, default=50, help="mutants a room")
    parser.add_argument(
        "--seed", type=int, default=random.SystemRandom().getrandbits(32), help="of the choice of mutants"
    )
    parser.add_argument("--laws", nargs="*", help="only these")
    parser.add_argument("--tests", nargs="*", help="folders of tests that judge what the laws let live")
    parser.add_argument("--record", default="mutants.jsonl")
    parser.add_argument("--table", help="print the table of a record")
    arguments = parser.parse_args()
    if arguments.table:
        print(table(Path(arguments.table)))
        return
    print(f"# seed {arguments.seed}", flush=True)
    run(arguments)


if __name__ == "__main__":
    main()
