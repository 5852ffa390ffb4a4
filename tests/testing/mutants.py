"""The fuzzer is graded: bugs are planted in tvms, and the law that should find each is timed.

    python tests/testing/mutants.py            plant all of them, one after the other, and print the table of docs/fuzzing.md
    python tests/testing/mutants.py NAME…      only those whose name begins so

A bug is a line of our own code with something wrong in it. It is planted when the module is imported, in a process of
its own: no file changes.
"""

from __future__ import annotations

import subprocess
import sys
import time
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from planted_bugs import MUTANTS, Mutant

ROOT = Path(__file__).parents[2]
SECONDS = 60.0
"""Of processor time, within which a bug is to be found."""
SEED = 2
"""Of the examples: without a bug, they find nothing."""


class _Planter(MetaPathFinder):
    """Imports one module with a bug in it."""

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


def hunt(mutant: Mutant, seconds: float = SECONDS) -> str:
    """Return how a planted bug was found: the examples, the seconds and the reason; or that it was not."""
    sys.meta_path.insert(0, _Planter(mutant))
    from tvms.codegen import compile as compile_module
    from tvms.testing.campaign import run_batch

    start, checked, number = time.process_time(), 0, 0
    while time.process_time() - start < seconds:
        try:
            batch = run_batch(mutant.law, None, SEED, number, 25, lambda m, e: compile_module(m)[e], is_shrunk=False)
        except Exception as problem:  # the bug stops even the generator
            return _told(checked, start, f"{type(problem).__name__}: {problem}")
        checked += batch.checked
        if batch.failure:
            return _told(checked + 1, start, batch.failure.reason)
        number += 1
    return _told(checked, start, "")


def _told(checked: int, start: float, reason: str) -> str:
    return f"{checked}\t{time.process_time() - start:.1f}\t{reason}"


def hunt_apart(mutant: Mutant, seconds: float = SECONDS) -> tuple[int, float, str]:
    """Return, from a process of its own, the examples and seconds until a bug was found, and what was said; "" if not."""
    command = [sys.executable, __file__, "--hunt", str(MUTANTS.index(mutant)), str(seconds)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        return 0, 0.0, result.stderr.strip().splitlines()[-1]
    checked, spent, reason = result.stdout.split("\t", 2)
    return int(checked), float(spent), reason.strip()


def main(names: list[str]) -> None:
    """Plant bugs and print the table."""
    chosen = [mutant for mutant in MUTANTS if not names or any(mutant.name.startswith(name) for name in names)]
    print("| planted bug | in | found by | examples | seconds |\n| --- | --- | --- | ---: | ---: |", flush=True)
    times: list[float] = []
    for mutant in chosen:
        checked, spent, reason = hunt_apart(mutant)
        times += [spent] if reason else []
        shown = f"{spent:.1f}" if reason else "not found"
        print(f"| {mutant.name} | `{mutant.file}` | {mutant.law} | {checked} | {shown} |", flush=True)
        print(f"    {reason[:160]!r}", file=sys.stderr, flush=True)
    middle = sorted(times)[len(times) // 2] if times else 0.0
    print(f"\n{len(times)} of {len(chosen)} found; half of them within {middle:.1f} s.")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--hunt"]:
        print(hunt(MUTANTS[int(sys.argv[2])], float(sys.argv[3])))
    else:
        main(sys.argv[1:])
