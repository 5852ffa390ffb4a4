"""Databases under TVM's names (`tvm.meta_schedule.database`): in memory, and in the files of TVM's tuner.

`tvms tune` keeps its measurements in SQLite (`database`); these classes are for programs that store and query schedules themselves.
A row is `[trace, seconds, target, arguments]`, as apache-tvm 0.27 writes it.
"""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from functools import partial
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Literal, TypeVar

from ...ir.base import IRModule
from ...ir.diagnostics import ArgumentError, Diagnostic, TvmsError, error
from ...ir.equal import structural_equal
from ...ir.files import memory_limit, read_file
from ...ir.programs import as_module
from ...ir.schedule import Schedule
from ..target import TargetLike
from .tvm_records import ArgInfo, TensorInfo, TuningRecord, Workload, no_row

__all__ = [
    "ArgInfo", "Database", "JSONDatabase", "MemoryDatabase", "OrderedUnionDatabase", "PyDatabase", "ScheduleFnDatabase", "TensorInfo",
    "TuningRecord", "UnionDatabase", "Workload", "create",
]  # fmt: skip
_EQUALITIES = ("structural", "ignore-ndarray", "ignore-tensor", "anchor-block")
_Row = TypeVar("_Row")
_CURRENT: ContextVar[Database | None] = ContextVar("database", default=None)


class Database(ABC):
    """A database; within `with database:`, `Database.current()` is it (TVM: `Database`, `PyDatabase`)."""

    @abstractmethod
    def has_workload(self, mod: IRModule) -> bool:
        """Return whether a module was committed."""
        ...

    @abstractmethod
    def commit_workload(self, mod: IRModule) -> Workload:
        """Store a module, and return its workload; that of an equal one if there is one."""
        ...

    @abstractmethod
    def commit_tuning_record(self, record: TuningRecord) -> None:
        """Store a record."""
        ...

    @abstractmethod
    def get_all_tuning_records(self) -> list[TuningRecord]:
        """Return all records, in the order in which they were stored."""
        ...

    @abstractmethod
    def get_top_k(self, workload: Workload, top_k: int) -> list[TuningRecord]:
        """Return up to `top_k` records of a workload that were measured, fastest first."""
        ...

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of records."""
        ...

    def query_tuning_record(
        self, mod: IRModule, target: TargetLike, workload_name: str = "main"
    ) -> TuningRecord | None:
        """Return the fastest record of a module; None if there is none."""
        found = self.get_top_k(self.commit_workload(mod), 1) if self.has_workload(mod) else []
        return found[0] if found else None

    def query_schedule(self, mod: IRModule, target: TargetLike, workload_name: str = "main") -> Schedule | None:
        """Return the fastest schedule of a module; None if there is none."""
        record = self.query_tuning_record(mod, target, workload_name)
        if record is None:
            return None
        schedule = Schedule(record.workload.mod)
        record.trace.apply_to_schedule(schedule)
        return schedule

    def query_ir_module(self, mod: IRModule, target: TargetLike, workload_name: str = "main") -> IRModule | None:
        """Return a module with its fastest schedule applied; None if there is none."""
        schedule = self.query_schedule(mod, target, workload_name)
        return None if schedule is None else schedule.mod

    def query(
        self, mod: IRModule, target: TargetLike, *, workload_name: str = "main",
        kind: Literal["schedule", "record", "ir_module"] = "schedule",
    ) -> Schedule | IRModule | TuningRecord | None:  # fmt: skip
        """Return the result of `query_schedule`, `query_tuning_record` or `query_ir_module`."""
        found = {"schedule": self.query_schedule, "record": self.query_tuning_record, "ir_module": self.query_ir_module}
        return found[_among("kind", kind, tuple(found))](mod, target, workload_name)

    def dump_pruned(self, destination: Database) -> None:
        """Store the fastest record of each workload in another database."""
        best: list[TuningRecord] = []
        for record in self.get_all_tuning_records():
            (fastest,) = self.get_top_k(record.workload, 1) or [record]
            if not any(fastest is other for other in best):
                best.append(fastest)
        for record in best:
            workload = destination.commit_workload(record.workload.mod)
            destination.commit_tuning_record(
                TuningRecord(record.trace, workload, record.run_secs, record.target, record.args_info)
            )

    def __enter__(self) -> Database:
        self._token = _CURRENT.set(self)
        return self

    def __exit__(self, *_: object) -> None:
        _CURRENT.reset(self._token)

    @staticmethod
    def current() -> Database | None:
        """Return the database of the innermost `with`; None outside of one."""
        return _CURRENT.get()

    @staticmethod
    def create(kind: Any = "json", *args: Any, **options: Any) -> Database:
        """Return a new database: "json", "memory", "union" or "ordered_union", or of a function that schedules."""
        if not isinstance(kind, str):
            return ScheduleFnDatabase(kind, *args, **options)
        kinds: dict[str, Callable[..., Database]] = {
            "json": JSONDatabase, "memory": MemoryDatabase, "union": UnionDatabase, "ordered_union": OrderedUnionDatabase,
        }  # fmt: skip
        return kinds[_among("kind", kind, tuple(kinds))](*args, **options)


PyDatabase = Database
create = Database.create


class MemoryDatabase(Database):
    """Workloads and records in lists (TVM: `MemoryDatabase`)."""

    def __init__(self, module_equality: str = "structural") -> None:
        """Modules are compared structurally; TVM's other names of `module_equality` are accepted, and mean the same here."""
        _among("module_equality", module_equality, _EQUALITIES)
        self._workloads: list[Workload] = []
        self._records: list[TuningRecord] = []

    def has_workload(self, mod: IRModule) -> bool:
        """See `Database`."""
        return self._known(mod) is not None

    def commit_workload(self, mod: IRModule) -> Workload:
        """See `Database`."""
        found = self._known(mod)
        if found is None:
            found = Workload(as_module(mod))
            self._workloads.append(found)
        return found

    def commit_tuning_record(self, record: TuningRecord) -> None:
        """See `Database`."""
        self._records.append(record)

    def get_all_tuning_records(self) -> list[TuningRecord]:
        """See `Database`."""
        return list(self._records)

    def get_top_k(self, workload: Workload, top_k: int) -> list[TuningRecord]:
        """See `Database`."""
        own = [record for record in self._records if record.workload is workload and record.seconds < float("inf")]
        return sorted(own, key=lambda record: record.seconds)[:top_k]

    def __len__(self) -> int:
        """See `Database`."""
        return len(self._records)

    def _known(self, mod: IRModule) -> Workload | None:
        return next((found for found in self._workloads if structural_equal(found.mod, as_module(mod))), None)


class JSONDatabase(MemoryDatabase):
    """The files of TVM's tuner; each commit appends a line (TVM: `JSONDatabase`)."""

    def __init__(
        self, path_workload: str | PathLike[str] | None = None, path_tuning_record: str | PathLike[str] | None = None, *,
        work_dir: str | PathLike[str] | None = None, allow_missing: bool = True, module_equality: str = "structural",
    ) -> None:  # fmt: skip
        """Read the files, which have TVM's names in `work_dir`; new ones are made with `allow_missing`.

        A line that is not a row, such as one that was torn, is left out and noted in `notes`. Raises E1102 if a file cannot be read or made.
        """
        super().__init__(module_equality)
        folder = Path(work_dir) if work_dir is not None else None
        self.path_workload = _path(path_workload, folder, "workload")
        self.path_tuning_record = _path(path_tuning_record, folder, "tuning_record")
        self.notes: list[Diagnostic] = []
        """Which lines were left out, and why."""
        known = self._rows(self.path_workload, allow_missing, Workload.from_json)
        self._count = len(known)
        self._numbers = {id(workload): number for number, workload in enumerate(known) if workload is not None}
        self._workloads = [workload for workload in known if workload is not None]
        records = self._rows(self.path_tuning_record, allow_missing, partial(_record_of, known))
        self._records = [record for record in records if record is not None]

    def commit_workload(self, mod: IRModule) -> Workload:
        """See `Database`. Raises E0018 for a module that the files cannot represent."""
        found = self._known(mod)
        if found is None:
            found = Workload(as_module(mod))
            _append(self.path_workload, found.as_json())
            self._workloads.append(found)
            self._numbers[id(found)] = self._count
            self._count += 1
        return found

    def commit_tuning_record(self, record: TuningRecord) -> None:
        """See `Database`. Raises E0018 for a trace that the files cannot represent."""
        number = self._numbers[id(self.commit_workload(record.workload.mod))]
        _append(self.path_tuning_record, [number, record.as_json()])
        super().commit_tuning_record(record)

    def _rows(self, path: str, allow_missing: bool, read: Callable[[Any], _Row]) -> list[_Row | None]:
        """Return what the lines of a file hold; None and a note for each line that cannot be used."""
        found: list[_Row | None] = []
        try:
            if allow_missing:
                Path(path).touch()
            lines = read_file(path, memory_limit()).splitlines()
        except OSError as problem:
            raise error("E1102", f"'{path}' cannot be read: {problem.strerror}", None, "name another file") from None
        for number, line in enumerate(lines, 1):
            try:
                found.append(read(json.loads(line)))
            except (ValueError, TvmsError) as problem:
                reason = problem.diagnostics[0].message if isinstance(problem, TvmsError) else "it is not JSON"
                message = f"line {number} of '{path}' is left out: {reason}"
                self.notes.append(Diagnostic("E1102", message, None, "restore the file", severity="warning"))
                found.append(None)
        return found


def _record_of(workloads: Sequence[Workload | None], row: Any) -> TuningRecord:
    match row:
        case [int() as number, given] if 0 <= number < len(workloads) and (workload := workloads[number]) is not None:
            return TuningRecord.from_json(given, workload)
        case _:
            raise no_row("its workload is missing")


def _path(given: str | PathLike[str] | None, folder: Path | None, name: str) -> str:
    if given is not None:
        return fspath(given)
    if folder is None:
        message = f"argument 'path_{name}' to JSONDatabase: expected a path"
        raise ArgumentError([Diagnostic("E0702", message, None, "pass it, or work_dir")])
    return str(folder / f"database_{name}.json")


def _append(path: str, row: Any) -> None:
    """Append a line; a last line that was torn stays a line of its own."""
    try:
        with open(path, "rb+") as file:
            is_torn = file.seek(0, os.SEEK_END) > 0 and file.seek(-1, os.SEEK_END) >= 0 and file.read(1) != b"\n"
            file.seek(0, os.SEEK_END)
            file.write(b"\n" * is_torn + json.dumps(row).encode() + b"\n")
    except OSError as problem:
        help = "make room, or check the permissions"
        raise error("E1103", f"'{path}' cannot be written: {problem.strerror}", None, help) from None


class UnionDatabase(Database):
    """The fastest record of several databases; nothing can be stored in it (TVM: `UnionDatabase`)."""

    def __init__(self, *databases: Database) -> None:
        self._databases = databases

    def query_tuning_record(
        self, mod: IRModule, target: TargetLike, workload_name: str = "main"
    ) -> TuningRecord | None:
        """See `Database`."""
        found = [database.query_tuning_record(mod, target, workload_name) for database in self._databases]
        return self._chosen([record for record in found if record is not None])

    def _chosen(self, found: list[TuningRecord]) -> TuningRecord | None:
        return min(found, key=lambda record: record.seconds, default=None)

    def has_workload(self, mod: IRModule) -> bool:
        """See `Database`."""
        return any(database.has_workload(mod) for database in self._databases)

    def commit_workload(self, mod: IRModule) -> Workload:
        """Refused with E0702: the databases of the union store."""
        raise _only_queries(self)

    def commit_tuning_record(self, record: TuningRecord) -> None:
        """Refused with E0702: the databases of the union store."""
        raise _only_queries(self)

    def get_all_tuning_records(self) -> list[TuningRecord]:
        """See `Database`."""
        return [record for database in self._databases for record in database.get_all_tuning_records()]

    def get_top_k(self, workload: Workload, top_k: int) -> list[TuningRecord]:
        """See `Database`."""
        known = [database for database in self._databases if database.has_workload(workload.mod)]
        found = [
            record for database in known for record in database.get_top_k(database.commit_workload(workload.mod), top_k)
        ]
        return sorted(found, key=lambda record: record.seconds)[:top_k]

    def __len__(self) -> int:
        """See `Database`."""
        return sum(len(database) for database in self._databases)


class OrderedUnionDatabase(UnionDatabase):
    """The record of the first of several databases that has one (TVM: `OrderedUnionDatabase`)."""

    def _chosen(self, found: list[TuningRecord]) -> TuningRecord | None:
        return found[0] if found else None


class ScheduleFnDatabase(MemoryDatabase):
    """Schedules that a function makes: it takes a schedule, and returns whether it has scheduled it (TVM: `ScheduleFnDatabase`)."""

    def __init__(self, schedule_fn: Callable[[Schedule], bool], module_equality: str = "structural") -> None:
        super().__init__(module_equality)
        self._function = schedule_fn

    def query_tuning_record(
        self, mod: IRModule, target: TargetLike, workload_name: str = "main"
    ) -> TuningRecord | None:
        """See `Database`."""
        schedule = Schedule(mod)
        made = self._function(schedule)
        return TuningRecord(schedule.trace, Workload(as_module(mod)), None, target) if made else None


def _only_queries(database: Database) -> ArgumentError:
    message = f"{type(database).__name__} only answers queries"
    return ArgumentError([Diagnostic("E0702", message, None, "commit to one of its databases")])


def _among(name: str, value: Any, expected: Sequence[str]) -> str:
    if value not in expected:
        message = f"argument '{name}': expected {', '.join(map(repr, expected))}, got {value!r}"
        raise ArgumentError([Diagnostic("E0702", message, None, f"use {expected[0]!r}")])
    return value
