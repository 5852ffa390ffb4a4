"""The database of measurements: one SQLite file that several tuners may use at once.

A row holds the schedule as text, so that people can read it, and a checksum. Rows that were damaged are moved to the
table `quarantine` and reported; the others stay in use. A row is on disk when `commit` returns, as far as SQLite and
the file system promise.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct

from ...ir.diagnostics import Diagnostic, TvmsError, error

VERSION = 1
"""Version of the tables."""
FOREIGN = "tvm"
"""`rules` of rows that another tuner measured."""
_APPLICATION = 0x7476_6D73
"""SQLite's `application_id` of these files: "tvms"."""
_PATIENCE = 60.0
"""Seconds to wait for other tuners."""
_TABLES = """
CREATE TABLE IF NOT EXISTS workload (
    key TEXT PRIMARY KEY, program TEXT NOT NULL, tensors BLOB NOT NULL, checksum TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS record (
    id INTEGER PRIMARY KEY AUTOINCREMENT, workload TEXT NOT NULL, target TEXT NOT NULL, baseline TEXT NOT NULL, rules TEXT NOT NULL,
    program TEXT NOT NULL, schedule TEXT NOT NULL, status TEXT NOT NULL, message TEXT NOT NULL,
    seconds TEXT NOT NULL, reference TEXT NOT NULL, checksum TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS record_of ON record (workload, target, baseline);
CREATE TABLE IF NOT EXISTS quarantine (source TEXT NOT NULL, row TEXT NOT NULL, reason TEXT NOT NULL);
"""


class WorkloadRow(Struct, frozen=True, tag_field="kind", tag="workload"):
    """A function that was tuned: its structural hash, its module as text, and the tensors that this names."""

    key: str
    program: str
    tensors: bytes = b""


class Record(Struct, frozen=True, tag_field="kind", tag="record"):
    """A measurement. `workload` is a key of `WorkloadRow`; `baseline` and `program` are the structural hashes of the function that
    runs without tuning and of the scheduled one, `reference` and `seconds` the times of their calls. Only measurements with
    the same baseline can be compared.
    """

    workload: str
    target: str
    baseline: str
    rules: str
    program: str
    schedule: str
    status: str
    message: str = ""
    seconds: tuple[float, ...] = ()
    reference: tuple[float, ...] = ()


class Database:
    """Measurements in the file at `path`; ":memory:" is a database that is not stored."""

    def __init__(self, path: str | Path, *, read_only: bool = False) -> None:
        """Open a file; it is created unless `read_only`. Raises E1102 if it cannot be used."""
        self.path = str(path)
        self.notes: list[Diagnostic] = []
        """What was found damaged."""
        self._connection = _connect(self.path, read_only)
        with self._guarded():
            self._check_file(read_only)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- Rows

    def commit(self, records: Iterable[Record], workload: WorkloadRow | None = None) -> None:
        """Store measurements, and their workload, as one transaction. Raises E1103 if that is impossible."""
        with self._guarded(), self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            if workload is not None:
                row = (workload.key, workload.program, workload.tensors)
                self._connection.execute("INSERT OR IGNORE INTO workload VALUES (?, ?, ?, ?)", (*row, _checksum(row)))
            for record in records:
                row = _row(record)
                self._connection.execute(
                    "INSERT INTO record (workload, target, baseline, rules, program, schedule, status, message, seconds, reference, "
                    "checksum) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    (*row, _checksum(row)),
                )

    def records(
        self, workload: str | None = None, target: str | None = None, baseline: str | None = None
    ) -> list[Record]:
        """Return the intact measurements, in the order in which they were stored; of a workload, target and baseline if given."""
        conditions = {"workload = ?": workload, "target = ?": target, "baseline = ?": baseline}
        wanted = [(text, value) for text, value in conditions.items() if value is not None]
        where = " WHERE " + " AND ".join(text for text, _ in wanted) if wanted else ""
        query = f"SELECT * FROM record{where} ORDER BY id"
        with self._guarded():
            rows = self._connection.execute(query, [value for _, value in wanted]).fetchall()
        return list(self._intact(rows))

    def workloads(self) -> dict[str, WorkloadRow]:
        """Return the intact workloads by key."""
        with self._guarded():
            rows = self._connection.execute("SELECT * FROM workload ORDER BY rowid").fetchall()
        found: dict[str, WorkloadRow] = {}
        for row in rows:
            try:
                if _checksum(row[:3]) != row[3]:
                    raise ValueError("its checksum differs")
                found[row[0]] = WorkloadRow(*row[:3])
            except (ValueError, TypeError) as problem:
                self._set_aside("workload", "key = ?", row[0], row, str(problem))
        return found

    def best(self, workload: str, target: str, baseline: str) -> Record | None:
        """Return the fastest program of a workload, by its last measurement against a baseline; None if there is none."""
        last = {record.program: record for record in self.records(workload, target, baseline)}
        found = [record for record in last.values() if relative_time(record) < float("inf")]
        return min(found, key=relative_time, default=None)

    def prune(self, keep: int) -> int:
        """Remove all but the `keep` fastest measurements of each workload, target and baseline; return the number of removed ones."""
        groups: dict[tuple[str, str, str], list[tuple[float, int]]] = {}
        with self._guarded():
            for row in self._connection.execute("SELECT * FROM record").fetchall():
                record = next(self._intact([row]), None)
                if record is not None:
                    groups.setdefault((record.workload, record.target, record.baseline), []).append(
                        (relative_time(record), row[0])
                    )
            doomed = [number for rows in groups.values() for _, number in sorted(rows)[keep:]]
            with self._connection:
                self._connection.execute("BEGIN IMMEDIATE")
                self._connection.executemany("DELETE FROM record WHERE id = ?", [(number,) for number in doomed])
        return len(doomed)

    def quarantined(self) -> int:
        """Return the number of damaged rows that were set aside."""
        with self._guarded():
            return int(self._connection.execute("SELECT COUNT(*) FROM quarantine").fetchone()[0])

    # --- Damage

    def _intact(self, rows: Iterable[tuple[Any, ...]]) -> Iterator[Record]:
        for row in rows:
            try:
                if _checksum(row[1:11]) != row[11]:
                    raise ValueError("its checksum differs")
                times = [tuple([float(value) for value in json.loads(text)]) for text in row[9:11]]
                yield Record(*row[1:9], *times)
            except (ValueError, TypeError) as problem:
                self._set_aside("record", "id = ?", row[0], row, str(problem))

    def _set_aside(self, table: str, where: str, key: object, row: tuple[Any, ...], reason: str) -> None:
        """Move a damaged row to the quarantine if the file can be written, and note it."""
        shown = json.dumps([value.hex() if isinstance(value, bytes) else value for value in row])
        message = f"a damaged row of '{self.path}' is not used: {table} {key!r}: {reason}"
        self.notes.append(Diagnostic("E1102", message, None, "see it with: tvms db verify", severity="warning"))
        try:
            with self._connection:
                self._connection.execute("BEGIN IMMEDIATE")
                self._connection.execute("INSERT INTO quarantine VALUES (?, ?, ?)", (table, shown, reason))
                self._connection.execute(f"DELETE FROM {table} WHERE {where}", (key,))
        except sqlite3.Error:
            pass  # a read-only file keeps it

    def _check_file(self, read_only: bool) -> None:
        """Check that a file is of this program and version; make the tables of a new one."""
        application = self._connection.execute("PRAGMA application_id").fetchone()[0]
        version = self._connection.execute("PRAGMA user_version").fetchone()[0]
        tables = {row[0] for row in self._connection.execute("SELECT name FROM sqlite_master")}
        if application != _APPLICATION and (tables or read_only):
            raise error("E1102", f"'{self.path}' is not a database of tvms", None, "name another file; it is unchanged")
        if version > VERSION:
            reason = f"'{self.path}' is of version {version}, this is version {VERSION}"
            raise error("E1102", reason, None, "use a newer tvms, or another file")
        if not tables or application != _APPLICATION:
            with self._connection:
                self._connection.executescript(
                    f"PRAGMA application_id = {_APPLICATION}; PRAGMA user_version = {VERSION};{_TABLES}"
                )

    @contextmanager
    def _guarded(self) -> Generator[None]:
        """Turn the errors of SQLite into diagnostics."""
        try:
            yield
        except sqlite3.OperationalError as problem:
            raise _unwritable(self.path, str(problem)) from None
        except sqlite3.DatabaseError as problem:
            raise _unreadable(self.path, str(problem)) from None


def relative_time(record: Record) -> float:
    """Return the time of a measurement relative to its baseline; infinity if it has none."""
    from .protocol import typical

    if record.status != "ok" or not record.seconds or not record.reference:
        return float("inf")
    return typical(record.seconds) / typical(record.reference)


def _connect(path: str, read_only: bool) -> sqlite3.Connection:
    try:
        if read_only and not Path(path).exists():
            raise error("E1102", f"'{path}' does not exist", None, "make one with tvms tune FILE --db PATH")
        name = f"{Path(path).absolute().as_uri()}?mode=ro" if read_only else path
        connection = sqlite3.connect(name, timeout=_PATIENCE, uri=read_only, isolation_level=None)
        if not read_only and path != ":memory:":
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
        return connection
    except sqlite3.OperationalError as problem:
        raise _unwritable(path, str(problem)) from None
    except sqlite3.DatabaseError as problem:
        raise _unreadable(path, str(problem)) from None


def _unreadable(path: str, reason: str) -> TvmsError:
    help = "restore it from a copy, or name another file; it is unchanged"
    return error("E1102", f"the database '{path}' cannot be read: {reason}", None, help)


def _unwritable(path: str, reason: str) -> TvmsError:
    remedies = {
        "disk is full": "make room; all rows that were stored before are kept",
        "readonly": "check the permissions of the file and its folder",
        "unable to open": "check the path and its permissions",
        "locked": "another program keeps it locked; end that, and try again",
    }
    help = next((remedy for part, remedy in remedies.items() if part in reason), "name another file")
    return error("E1103", f"the database '{path}' cannot be written: {reason}", None, help)


def _row(record: Record) -> tuple[str, ...]:
    times = json.dumps(record.seconds), json.dumps(record.reference)
    return (
        record.workload, record.target, record.baseline, record.rules, record.program, record.schedule, record.status, record.message, *times,
    )  # fmt: skip


def _checksum(values: tuple[Any, ...]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for value in values:
        data = value if isinstance(value, bytes) else str(value).encode()
        digest.update(f"{type(value).__name__} {len(data)};".encode() + data)
    return digest.hexdigest()
