"""Evaluation of the fuzzer: bugs are planted in tvms, and the law that should find each is timed.

    python tests/testing/mutants.py            plant all bugs in turn, and write the tables of docs/testing.md
    python tests/testing/mutants.py NAME…      only those whose name begins with NAME, or all of a list (planted, outside, …)
    python tests/testing/mutants.py --seed N …  on other examples

A bug replaces a line of the source. It is planted when the module is imported, in a child process; no file of the source
changes. Rows of the tables are replaced as soon as they are known; rows of other bugs are kept.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent))
from blind_bugs import BLIND
from drawn_bugs import DRAWN
from outside_bugs import OUTSIDE
from planted_bugs import MUTANTS, Mutant
from random_bugs import RANDOM
from sampled_bugs import SAMPLED

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "testing.md"
LISTS = {
    "planted": MUTANTS, "outside": OUTSIDE, "blind": BLIND, "random": RANDOM, "sampled": SAMPLED, "drawn": DRAWN,
}  # fmt: skip
"""Lists of bugs, by the name of their table."""
BUGS = (*MUTANTS, *OUTSIDE, *BLIND, *RANDOM, *SAMPLED, *DRAWN)
SECONDS = 60.0
"""Processor time within which a bug must be found, in seconds."""
SEED = 2
"""Default seed of the examples. Without a bug, they find nothing."""


NOT_FOUND = "not found"
HEAD = ("| planted bug | in | found by | examples | seconds |", "| --- | --- | --- | ---: | ---: |")


class _Planter(MetaPathFinder):
    """Importer of one module with a planted bug."""

    def __init__(self, mutant: Mutant) -> None:
        self.mutant = mutant

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        if fullname != self.mutant.module:
            return None
        file, is_package = str(ROOT / self.mutant.file), self.mutant.file.endswith("__init__.py")
        folders = [str(Path(file).parent)] if is_package else None
        loader = _Loader(fullname, file, self.mutant)
        return spec_from_file_location(fullname, file, loader=loader, submodule_search_locations=folders)


class _Loader(SourceFileLoader):
    def __init__(self, fullname: str, path: str, mutant: Mutant) -> None:
        super().__init__(fullname, path)
        self.mutant = mutant

    def get_code(self, fullname: str) -> Any:
        source = Path(self.path).read_text(encoding="utf-8")
        return compile(self.mutant.patched(source), self.path, "exec")


class Sighting(NamedTuple):
    """A failure: its batch, the number of examples and seconds before it, and its reason, which is empty if there was none."""

    batch: int
    checked: int
    seconds: float
    reason: str


def hunt(law: str, seconds: float, first: int, seed: int = SEED, last: int | None = None) -> Sighting:
    """Check batches of a law, from `first` to `last`, until one fails or the time is over, in this process with its planted
    bug.
    """
    from tvms.dsl.cli.fuzz_command import compiled, compiled_together
    from tvms.testing.campaign import run_batch

    start, checked, number = time.process_time(), 0, first
    while True:
        try:
            batch = run_batch(law, None, seed, number, 25, compiled, compiled_together, is_shrunk=False)
            reason = batch.failure.reason if batch.failure else ""
            checked += batch.checked + (batch.failure is not None)
        except Exception as problem:  # the bug breaks even the generator
            reason = f"{type(problem).__name__}: {problem}"
        spent = time.process_time() - start
        if reason or spent > seconds or number == last:
            return Sighting(number, checked, spent, " ".join(reason.split()))
        number += 1


def hunt_apart(mutant: Mutant, seconds: float = SECONDS, seed: int = SEED) -> Sighting:
    """Hunt a planted bug in a child process. Failures of the same examples without the bug do not count."""
    first, checked, spent = 0, 0, 0.0
    while True:
        start = first  # imports change what Hypothesis draws, so the comparison starts at the same batch
        found = _in_process(str(BUGS.index(mutant)), mutant.law, seconds - spent, first, seed)
        first, checked, spent = found.batch + 1, checked + found.checked, spent + found.seconds
        again = _in_process("", mutant.law, inf, start, seed, found.batch) if found.reason and spent < seconds else None
        is_known = again is not None and again.reason
        if not is_known:
            return Sighting(found.batch, checked, spent, found.reason)


def _in_process(planted: str, law: str, seconds: float, first: int, seed: int, last: int | None = None) -> Sighting:
    command = [sys.executable, __file__, "--hunt", planted, law, str(seconds), str(first), str(seed)]
    command += [] if last is None else [str(last)]
    before = _seconds_of_children()
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode < 0:  # wrong machine code has killed it; the number of examples is unknown
        said = result.stderr.strip().splitlines()
        reason = f"killed by signal {-result.returncode}: {said[-1] if said else ''}"
        return Sighting(first, 0, _seconds_of_children() - before, reason)
    if result.returncode:
        raise RuntimeError(result.stderr)
    batch, checked, spent, reason = result.stdout.split("\t")
    return Sighting(int(batch), int(checked), float(spent), reason.strip())


def _seconds_of_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main(names: list[str], seed: int = SEED) -> None:
    """Plant bugs, and write their rows."""
    for table, bugs in LISTS.items():
        for bug in bugs:
            if not names or table in names or any(bug.name.startswith(name) for name in names):
                found = hunt_apart(bug, seed=seed)
                write(table, bug.name, _row(bug, found))
                print(f"{bug.name}: {_seconds(found)}\n    {found.reason[:160]!r}", flush=True)


def _row(bug: Mutant, found: Sighting) -> str:
    return f"| {bug.name} | `{bug.file}` | {bug.law} | {found.checked or ''} | {_seconds(found)} |"


def _seconds(found: Sighting) -> str:
    return f"{found.seconds:.1f}" if found.reason else NOT_FOUND


def write(table: str, name: str, row: str) -> None:
    """Replace the row of a bug in its table, remove those of bugs that no longer exist, and count."""
    start, end = f"<!-- {table}: tests/testing/mutants.py -->", f"<!-- end of {table} -->"
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(start)
    inside, _, after = rest.partition(end)
    rows = {line.split(" | ")[0].removeprefix("| "): line for line in inside.splitlines() if line.startswith("| ")}
    rows[name] = row
    kept = [rows[bug.name] for bug in LISTS[table] if bug.name in rows]
    last = [line.rstrip(" |").split(" | ")[-1].strip() for line in kept]
    times = sorted(float(key) for key in last if key != NOT_FOUND)
    middle = times[len(times) // 2] if times else 0.0
    count = f"{len(times)} of {len(kept)} are found; half of them within {middle:.1f} s."
    lines = [start, "", *HEAD, *kept, "", count, "", end]
    PAGE.write_text(before + "\n".join(lines) + after, encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--hunt"]:
        planted, law, seconds, first, chosen, *last = sys.argv[2:]
        if planted:
            sys.meta_path.insert(0, _Planter(BUGS[int(planted)]))
        print(*hunt(law, float(seconds), int(first), int(chosen), *map(int, last)), sep="\t")
    elif sys.argv[1:2] == ["--seed"]:
        main(sys.argv[3:], int(sys.argv[2]))
    else:
        main(sys.argv[1:])
