"""Damage a database of tuning on purpose, and check that nothing which was committed is lost or misfiled.

    python bench/damage.py [--kills 500] [--disks 200] [--tuners 8] [--commits 1000] [--rows 1000] [--seed N]

- kills: two writers commit; each is ended by SIGKILL at a random moment, also while it opens the file;
- disks: a file system of a random size gets full (tmpfs, needs root), the commit is refused, then there is room again;
- tuners: several processes commit to one file at the same time;
- rows: random bytes of rows are changed or cut off.
"""

from __future__ import annotations

import argparse
import os
import select
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

from tvms.codegen.tuner.database import Database, Record, WorkloadRow
from tvms.ir.diagnostics import TvmsError

FIELDS = ("workload", "target", "baseline", "rules", "program", "schedule", "status", "message", "seconds", "reference")


def record(writer: int, number: int) -> Record:
    """Return a record all of whose fields depend on its writer and number."""
    text = f"S.schedule s{number}(main):\n    pass  # {writer}\n" * (1 + number % 7)
    times = (number + 0.5,) * (number % 5 + 1)
    return Record(
        f"{writer:016x}", f"llvm {writer % 3}", f"{writer:x}", "rules", f"{number:016x}", text, "ok", str(number), times, times
    )  # fmt: skip


def workload(writer: int) -> WorkloadRow:
    """Return the workload of the records of a writer."""
    return WorkloadRow(f"{writer:016x}", f"program {writer}", bytes(range(256)) * 4)


def write(path: str, writer: int, count: int, tell: int) -> None:
    """Commit records one by one, and tell each number once it is committed."""
    with Database(path) as database:
        for number in range(count):
            database.commit([record(writer, number)], workload(writer))
            os.write(tell, number.to_bytes(4))


def check(path: str, writer: int, committed: int) -> int:
    """Return the number of the records of a writer: all that were committed, and at most one more; exit if that is not so."""
    with Database(path) as database:
        found = database.records(f"{writer:016x}")
        if len(found) not in (committed, committed + 1) or found != [record(writer, n) for n in range(len(found))]:
            sys.exit(f"writer {writer} committed {committed} rows, and {len(found)} are found")
        if database.notes or (found and database.workloads()[f"{writer:016x}"] != workload(writer)):
            sys.exit(f"damaged rows: {database.notes}")
    return len(found)


def forked(work: Callable[[int], object]) -> tuple[int, int]:
    """Run `work` in a fork of this process; return its number, and a pipe that it writes to."""
    handle, tell = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(handle)
        try:
            work(tell)
        finally:
            os._exit(0)
    os.close(tell)
    return child, handle


def numbers(handle: int) -> int:
    """Return how many numbers a writer told until it ended."""
    with os.fdopen(handle, "rb") as stream:
        return len(stream.read()) // 4


def kills(folder: Path, count: int, random: Random) -> str:
    """Kill writers; return what happened."""
    path, rows, early = str(folder / "kills.db"), 0, 0
    for first in range(0, count, 2):
        writers = [
            (number, *forked(lambda tell, number=number: write(path, number, 10**6, tell)))
            for number in (first, first + 1)
        ]
        for _, child, _ in writers:
            time.sleep(random.random() * 0.2)
            os.kill(child, signal.SIGKILL)
        for number, child, handle in writers:
            os.waitpid(child, 0)
            told = numbers(handle)
            early += told == 0
            rows += check(path, number, told)
    return f"{count} kills, {early} of them before the first commit: {rows} rows, 0 lost or misfiled"


def disks(folder: Path, count: int, random: Random) -> str:
    """Fill file systems; return what happened."""
    place, rows, refused = folder / "disk", 0, 0
    place.mkdir()
    for run in range(count):
        size = random.randrange(120, 900)
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}k", "tmpfs", place], check=True)
        try:
            path, number = str(place / "a.db"), 0
            try:
                with Database(path) as database:
                    for number in range(100_000):
                        database.commit([record(run, number)], workload(run))
            except TvmsError as problem:
                refused += problem.diagnostics[0].code == "E1103"
            subprocess.run(["mount", "-o", "remount,size=64m", place], check=True)
            check(path, run, number)
            with Database(path) as database:
                found = len(database.records())
                database.commit([record(run, found)], workload(run))
            rows += check(path, run, found + 1)
        finally:
            subprocess.run(["umount", place], check=True)
    return f"{count} full disks, {refused} refused with E1103: {rows} rows, 0 lost or misfiled"


def tuners(folder: Path, count: int, commits: int) -> str:
    """Let several processes commit; return what happened."""
    path = str(folder / "tuners.db")
    start = time.perf_counter()
    writers = [
        (number, *forked(lambda tell, number=number: write(path, number, commits, tell))) for number in range(count)
    ]
    told = dict.fromkeys(range(count), 0)
    handles = {handle: number for number, _, handle in writers}
    while handles:
        for handle in select.select(list(handles), [], [])[0]:
            data = os.read(handle, 1 << 16)
            told[handles[handle]] += len(data) / 4
            if not data:
                del handles[handle]
    for number, child, _ in writers:
        os.waitpid(child, 0)
        if told[number] != commits or check(path, number, commits) != commits:
            sys.exit(f"writer {number} committed {told[number]} rows instead of {commits}")
    return f"{count} tuners, {commits} commits each, {time.perf_counter() - start:.0f} s: 0 rows lost or misfiled"


def rows(folder: Path, count: int, random: Random) -> str:
    """Change rows; return what happened."""
    path = str(folder / "rows.db")
    with Database(path) as database:
        database.commit([record(0, number) for number in range(2 * count)], workload(0))
    damage, changed = sqlite3.connect(path), random.sample(range(2 * count), count)
    for number in changed:
        field = random.choice(FIELDS)
        (text,) = damage.execute(f"SELECT {field} FROM record WHERE id = ?", (number + 1,)).fetchone()
        place = random.randrange(len(text))
        cut = text[:place] + (
            chr(ord(text[place]) ^ 1 << random.randrange(7)) + text[place + 1 :] if number % 2 else ""
        )
        damage.execute(f"UPDATE record SET {field} = ? WHERE id = ?", (cut, number + 1))
    damage.commit()
    damage.close()
    with Database(path) as database:
        if database.records() != [record(0, number) for number in range(2 * count) if number not in set(changed)]:
            sys.exit("a changed row is used, or another one is not")
        noticed = database.quarantined()
    if noticed != count:
        sys.exit(f"{noticed} of {count} changed rows are noticed")
    return f"{count} of {2 * count} rows changed: all noticed, the others used"


def main() -> None:
    """Do all kinds of damage, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("kills", 500), ("disks", 200), ("tuners", 8), ("commits", 1000), ("rows", 1000)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 2**32)
    given = parser.parse_args()
    print(f"seed {given.seed}", flush=True)
    random = Random(given.seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print(kills(folder, given.kills, random), flush=True)
        print(rows(folder, given.rows, random), flush=True)
        print(tuners(folder, given.tuners, given.commits), flush=True)
        if given.disks:
            print(disks(folder, given.disks, random), flush=True)


if __name__ == "__main__":
    main()
