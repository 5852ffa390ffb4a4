"""Mutation testing: change a function of tvms at random, and find the law of `tvms fuzz`, or the test, that detects it.

    python tests/testing/mutation.py ir/simplify --n 60 --seed 1            60 random mutants of a folder
    python tests/testing/mutation.py ir/fold.py --tests tests/ir            of a file, judged by laws, then by tests

A mutant changes one node of one function (`mutation_sites.py`). A process that has imported everything first maps which
examples of laws and which tests execute which code (`mutation_units.py`). `--map` is the folder that keeps one file for
each law and each file of tests; remove those of laws and tests that changed. It forks for each
mutant. The child replaces the code of the function and runs the units that execute it, quickest first and all laws in
turn, until one fails or its time is over. A unit also fails if the process dies or the unit takes ten times as long as
without the mutant. The run stops if a unit that failed also fails without the mutant. Results are appended to a record of one JSON object per line, which a later run continues, and which
`mutation_table.py` reads.
"""

from __future__ import annotations

import argparse
import gc
import json
import mmap
import random
import resource
import sys
from collections import Counter
from collections.abc import Iterator
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent))
from mutation_sites import REACHED, MutationSite, mutated_code, sample, sites_in
from mutation_table import Line, read
from mutation_units import (
    ROOT,
    Functions,
    Map,
    Session,
    Unit,
    functions_of,
    import_everything,
    in_child,
    limit_processor_time,
    make_map,
    run_unit,
    with_tests,
)  # fmt: skip

BUDGETS = {False: 4.0, True: 5.0}
"""Seconds of processor time, without a mutant, of the units of laws and of the tests that judge a mutant."""
GRACE = 10
"""Factor by which a unit may exceed its time before it counts as endless."""
RATED = 2
"""Examples that a law tries although another law has detected the mutant."""
DEATHS = 3
"""Processes that may die of one mutant."""
MEMORY = 4 << 30
"""Bytes that a mutant may allocate."""


class Verdict(NamedTuple):
    """Verdict of laws and tests on a mutant."""

    judge: str
    """The law that detected the mutant first, or `tests`; empty if none did."""
    laws: list[str]
    """The laws that detected it, of which each has tried `RATED` examples at least, if it has as many."""
    asked: list[str]
    """The laws that execute it."""
    seconds: float
    reason: str
    is_reached: bool


Failures = dict[str, tuple[int, str]]
"""The unit that failed, by its number, and the reason, of each law and of the tests."""


class _Progress:
    """Number of the current unit, the failures so far, and whether the change was reached. It outlives the process that writes it."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, 1 << 16)
        self.write(0, {}, False)

    def write(self, number: int, failures: Failures, is_reached: bool) -> None:
        """Replace what is noted."""
        self._memory.seek(0)
        self._memory.write(json.dumps([number, failures, is_reached]).encode() + b"\n")

    def read(self) -> tuple[int, Failures, bool]:
        """Return what is noted."""
        self._memory.seek(0)
        return json.loads(self._memory.readline())


def judge(site: MutationSite, units: list[Unit], session: Session, functions: Functions) -> Verdict:
    """Return the verdict on a mutant. A process that dies is replaced by one that continues with the next unit."""
    progress, chosen = _Progress(), list(_affordable(units))
    start, spent, failures, is_reached = 0, 0.0, Failures(), False
    for _ in range(DEATHS):
        work = partial(_hunt, site, chosen, start, progress, session, functions)
        _, problem, seconds = in_child(work, 60)
        spent += seconds
        start, failures, reached = progress.read()
        is_reached |= reached
        if not problem:
            break
        failures[chosen[start].judge], start, is_reached = (start, problem), start + 1, True
        progress.write(start, failures, is_reached)
    asked = sorted({unit.judge for unit in chosen[:start]} - {"tests"})
    first = next(iter(failures), "")
    number, reason = failures.get(first, (0, ""))
    if first:
        _check_unit(chosen[number], session)
    return Verdict(first, sorted(failures.keys() - {"tests"}), asked, spent, reason, is_reached)


def _check_unit(unit: Unit, session: Session) -> None:
    """Check that a unit passes without a mutant; RuntimeError if it does not."""
    reason, problem, _ = in_child(partial(run_unit, unit, session), 60)
    if reason or problem:
        raise RuntimeError(f"{unit.judge} {unit.name} also fails without the mutant: {reason or problem}")


def _hunt(
    site: MutationSite, units: list[Unit], start: int, progress: _Progress, session: Session, functions: Functions
) -> None:
    """Plant a mutant, and run the units from `start` on: all until one fails, then the first ones of other laws."""
    reached = plant(site, functions)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY, resource.RLIM_INFINITY))
    _, failures, _ = progress.read()
    tried = Counter(unit.judge for unit in units[:start])
    for number in range(start, len(units)):
        unit = units[number]
        is_needed = not failures or (unit.judge not in (*failures, "tests") and tried[unit.judge] < RATED)
        tried[unit.judge] += 1
        if is_needed:
            progress.write(number, failures, bool(reached))
            limit_processor_time(GRACE * unit.seconds + 2)
            reason = run_unit(unit, session)
            if reason:
                failures[unit.judge] = number, reason[:300]
    progress.write(len(units), failures, bool(reached))


def _affordable(units: list[Unit]) -> Iterator[Unit]:
    """Yield the units of laws, then the tests, within their budgets."""
    left = dict(BUDGETS)
    for unit in units:
        is_test = unit.judge == "tests"
        if left[is_test] > 0:
            left[is_test] -= unit.seconds
            yield unit


def plant(site: MutationSite, functions: Functions) -> list[int]:
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


# --- Runs -----------------------------------------------------------------------------------------------------


def run(arguments: argparse.Namespace) -> None:
    """Judge mutants, and append each verdict to the record."""
    record = Path(arguments.record)
    known = read(record)
    chosen = _again(arguments, known) if arguments.again else _sampled(arguments)

    def work(session: Session) -> None:
        import_everything()
        functions = functions_of(ROOT)
        gc.freeze()
        units = _map(arguments, session, functions)
        for room, site in chosen:
            line = known.get(site.name)
            if line and (line["judge"] or not (arguments.tests or arguments.again)):
                continue
            some = units.get(site.segment, [])
            is_new = not line or arguments.again
            verdict = judge(site, [unit for unit in some if is_new or unit.judge == "tests"], session, functions)
            entry = {
                "room": room,
                "name": site.name,
                "line": site.line,
                "seed": line["seed"] if line else arguments.seed,
                **verdict._asdict(),
            }
            if line:
                entry["is_reached"] |= line["is_reached"]
                entry["asked"] = sorted({*entry["asked"], *line["asked"]})
            with record.open("a", encoding="utf-8") as file:
                file.write(json.dumps(entry, ensure_ascii=False) + "\n")
            outcome = verdict.judge or ("SURVIVED" if verdict.is_reached else "NOT REACHED")
            print(f"{outcome:12} {verdict.seconds:5.1f} s  {site}", flush=True)

    with_tests(arguments.tests, work)


def _sampled(arguments: argparse.Namespace) -> list[tuple[str, MutationSite]]:
    """Return random mutants with their rooms, of all rooms in turn, so that a part of them is a sample too."""
    rows = zip_longest(*[sample(sites_in(ROOT, room), arguments.n, arguments.seed) for room in arguments.rooms])
    return [(room, site) for row in rows for room, site in zip(arguments.rooms, row, strict=True) if site]


def _again(arguments: argparse.Namespace, known: dict[str, Line]) -> list[tuple[str, MutationSite]]:
    """Return the mutants that survived, with their rooms."""
    survivors = {name for name, line in known.items() if not line["judge"]}
    sites = [(room, site) for room in arguments.rooms for site in sites_in(ROOT, room)]
    return [(room, site) for room, site in sites if site.name in survivors]


def _map(arguments: argparse.Namespace, session: Session, functions: Functions) -> Map:
    """Return the map of the units of the rooms."""
    from tvms.testing.laws import LAWS

    files = {site.file for room in arguments.rooms for site in sites_in(ROOT, room)}
    laws = LAWS if arguments.laws is None else arguments.laws
    return make_map(laws, session, files, functions, Path(arguments.map))


def main() -> None:
    """Parse the arguments, and run or print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rooms", nargs="*", help="folders or files, relative to the root")
    parser.add_argument("--n", type=int, default=50, help="mutants a room")
    parser.add_argument(
        "--seed", type=int, default=random.SystemRandom().getrandbits(32), help="of the choice of mutants"
    )
    parser.add_argument("--laws", nargs="*", help="only these")
    parser.add_argument("--tests", nargs="*", default=[], help="files or folders of tests that judge what laws accept")
    parser.add_argument("--again", action="store_true", help="judge only the survivors of the record, again")
    parser.add_argument("--map", default="build/mutants", help="folder of the map; what it lacks is made")
    parser.add_argument("--record", default="mutants.jsonl")
    arguments = parser.parse_args()
    print(f"# seed {arguments.seed}", flush=True)
    run(arguments)


if __name__ == "__main__":
    main()
