"""The database: nothing that was committed is lost or misfiled, and damage is noticed."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tvms.codegen.tuner.database import Database, Record, WorkloadRow
from tvms.ir.diagnostics import TvmsError

BASELINE = "b" * 16
ROW = WorkloadRow("00ff", "program", b"\x00\xff")


def record(number: int, workload: str = "00ff", target: str = "llvm") -> Record:
    """Return a record whose fields depend on its number."""
    return Record(
        workload,
        target,
        BASELINE,
        "rules",
        f"{number:016x}",
        f"S.schedule s(main):  # {number}",
        "ok",
        "",
        (1.0 + number,),
        (2.0,),
    )


def test_rows_come_back_as_they_were(tmp_path: Path) -> None:
    """Records are returned in the order of their commits, by workload and target."""
    path = tmp_path / "a.db"
    records = [
        record(1),
        record(0, target="cuda"),
        Record("00ff", "llvm", BASELINE, "r", "k", "größe\n", "crash", "it's", (), ()),
    ]
    with Database(path) as database:
        database.commit(records, ROW)
    with Database(path, read_only=True) as database:
        assert database.records() == records
        assert database.records("00ff", "cuda") == records[1:2]
        assert database.records("other") == []
        assert database.workloads() == {"00ff": ROW}
        assert database.notes == []
        best = database.best("00ff", "llvm", BASELINE)
    assert best == records[0]


def test_the_last_measurement_of_a_program_counts(tmp_path: Path) -> None:
    """A longer measurement replaces the short one that came before it."""
    with Database(tmp_path / "a.db") as database:
        lucky, later = record(1), record(1)
        database.commit(
            [Record("00ff", "llvm", BASELINE, "r", lucky.program, "a", "ok", "", (0.1,), (1.0,)), record(2)], ROW
        )
        database.commit([Record("00ff", "llvm", BASELINE, "r", later.program, "a", "ok", "", (9.0,), (1.0,))])
        best = database.best("00ff", "llvm", BASELINE)
    assert best == record(2)


def test_prune_keeps_the_fastest(tmp_path: Path) -> None:
    """`prune` counts for each workload and target."""
    with Database(tmp_path / "a.db") as database:
        database.commit([record(number, target=target) for number in range(9) for target in ("llvm", "cuda")], ROW)
        assert database.prune(4) == 10
        assert [row.seconds[0] for row in database.records("00ff", "cuda")] == [1.0, 2.0, 3.0, 4.0]


def test_damaged_rows_are_set_aside(tmp_path: Path) -> None:
    """Every changed row is noticed, and the others stay in use."""
    path = tmp_path / "a.db"
    with Database(path) as database:
        database.commit([record(number) for number in range(1000)], ROW)
    damage = sqlite3.connect(path)
    fields = (
        "workload",
        "target",
        "baseline",
        "rules",
        "program",
        "schedule",
        "status",
        "message",
        "seconds",
        "reference",
        "checksum",
    )
    for number in range(1, 1000, 2):
        field = fields[number // 2 % len(fields)]
        damage.execute(f"UPDATE record SET {field} = substr({field}, 2) || '~' WHERE id = ?", (number,))
    damage.commit()
    damage.close()
    with Database(path) as database:
        assert database.records() == [record(number) for number in range(1, 1000, 2)]
        assert len(database.notes) == 500
        assert {note.code for note in database.notes} == {"E1102"}
        assert database.quarantined() == 500
    with Database(path) as database:
        assert len(database.records()) == 500
        assert database.notes == []


def _commit(path: str, first: int, count: int) -> None:
    with Database(path) as database:
        for number in range(first, first + count):
            database.commit([record(number)], ROW)


def test_eight_tuners_write_one_file(tmp_path: Path) -> None:
    """No commit of concurrent writers is lost, also when all of them make the file."""
    context = multiprocessing.get_context("spawn")
    path = str(tmp_path / "a.db")
    writers = [context.Process(target=_commit, args=(path, 1000 * writer, 25)) for writer in range(8)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0] * 8
    with Database(path) as database:
        found = database.records()
    assert sorted(found, key=lambda row: row.program) == [
        record(1000 * writer + number) for writer in range(8) for number in range(25)
    ]


_KILLED = """
import sys
from tests.tuner.test_database import Database, ROW, record
with Database(sys.argv[1]) as database:
    number = len(database.records())
    while True:
        database.commit([record(number)], ROW)
        print(number, flush=True)
        number += 1
"""


def test_a_killed_tuner_loses_no_commit(tmp_path: Path) -> None:
    """Whatever was reported as committed before SIGKILL is in the file, in order."""
    path, known = str(tmp_path / "a.db"), -1
    for attempt in range(4):
        process = subprocess.Popen(
            [sys.executable, "-c", _KILLED, path], stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]
        )
        assert process.stdout is not None
        known = int(process.stdout.readline())
        time.sleep(0.01 * attempt)
        os.kill(process.pid, signal.SIGKILL)
        known = max([known, *map(int, process.stdout.read().split()[:-1] or [known])])
        process.wait()
        process.stdout.close()
        with Database(path) as database:
            found = database.records()
        assert found[: known + 1] == [record(number) for number in range(known + 1)]
        assert database.notes == []


def _refused(path: Path, **options: bool) -> str:
    with pytest.raises(TvmsError) as caught:
        Database(path, **options)
    return str(caught.value).replace(str(path.parent), "DIR")


def test_files_that_are_no_databases_are_refused_and_unchanged(tmp_path: Path) -> None:
    """Foreign, newer, truncated and missing files."""
    text = tmp_path / "a.txt"
    text.write_bytes(b"S.schedule" * 100)
    assert _refused(text) == (
        "error[E1102]: the database 'DIR/a.txt' cannot be read: file is not a database\n"
        "  = help: restore it from a copy, or name another file; it is unchanged"
    )
    assert text.read_bytes() == b"S.schedule" * 100
    foreign = tmp_path / "b.db"
    connection = sqlite3.connect(foreign)
    connection.execute("CREATE TABLE t (x)")
    connection.close()
    assert (
        _refused(foreign)
        == "error[E1102]: 'DIR/b.db' is not a database of tvms\n  = help: name another file; it is unchanged"
    )
    newer = tmp_path / "c.db"
    Database(newer).close()
    connection = sqlite3.connect(newer)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    assert _refused(newer) == (
        "error[E1102]: 'DIR/c.db' is of version 99, this is version 1\n  = help: use a newer tvms, or another file"
    )
    assert _refused(tmp_path / "d.db", read_only=True) == (
        "error[E1102]: 'DIR/d.db' does not exist\n  = help: make one with tvms tune FILE --db PATH"
    )
    missing = tmp_path / "no" / "e.db"
    assert _refused(missing).startswith("error[E1103]: the database 'DIR/e.db' cannot be written: unable to open")


def test_a_full_disk_loses_nothing(tmp_path: Path) -> None:
    """A commit that does not fit is refused as a whole; what was stored before stays, and writing goes on with room."""
    path = tmp_path / "a.db"
    with Database(path) as database:
        database.commit([record(0)], ROW)
        connection = database._connection  # pyright: ignore[reportPrivateUsage]
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages + 1}")
        big = [record(number) for number in range(1, 400)]
        with pytest.raises(TvmsError) as caught:
            database.commit(big)
        assert str(caught.value).replace(str(tmp_path), "DIR") == (
            "error[E1103]: the database 'DIR/a.db' cannot be written: database or disk is full\n"
            "  = help: make room; all rows that were stored before are kept"
        )
        assert database.records() == [record(0)]
        connection.execute("PRAGMA max_page_count = 100000")
        database.commit(big)
        assert database.records() == [record(0), *big]
