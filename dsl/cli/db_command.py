"""`tvms db ACTION`: list, show, check, prune, export and import the measurements of a tuner."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ...ir.diagnostics import Note, error
from ...ir.files import memory_limit, read_file, write_whole
from ...ir.sanitize import Safe, emit, json_text, say, write_program
from ...ir.spelling import did_you_mean
from .reporting import UsageError, report_notes

if TYPE_CHECKING:
    from ...codegen.tuner.database import Database, Record, WorkloadRow


def run(arguments: argparse.Namespace) -> int:
    """Perform the action; return 1 if `verify` finds damage."""
    from ...codegen.tuner.database import Database

    is_read = arguments.action in ("list", "show", "export")
    if arguments.argument is None and arguments.action in ("show", "export", "import"):
        raise UsageError(f"tvms db {arguments.action} needs an argument", help="see tvms db --help")
    if not Path(arguments.db).exists() and arguments.action != "import":
        raise error(
            "E1102", f"the database '{arguments.db}' does not exist", None, "make one with tvms tune FILE --db PATH"
        )
    with Database(arguments.db, read_only=is_read) as database:
        code = ACTIONS[arguments.action](arguments, database)
        report_notes(tuple(database.notes))
    return code


def _list(arguments: argparse.Namespace, database: Database) -> int:
    """Print the workloads with the number of their measurements, and the best gain for each target."""
    from ...codegen.tuner.database import relative_time
    from ...codegen.tuner.tasks import is_of_estimates

    records = database.records()
    groups = Counter((record.workload, record.target, record.baseline) for record in records)
    for (workload, target, baseline), count in groups.items():
        best = database.best(workload, target, baseline)
        what = "estimates" if is_of_estimates(target) else "measurements"
        gain = (
            "nothing measured" if best is None else f"best {1 / relative_time(best):.2f} times as fast as the baseline"
        )
        say(f"{workload}  {count} {what}, {gain}  {target}")
    say(f"{arguments.db}: {len(records)} measurements of {len({workload for workload, _, _ in groups})} workloads")
    return 0


def _show(arguments: argparse.Namespace, database: Database) -> int:
    """Print a workload and its fastest schedule for each target."""
    from ...codegen.tuner.database import relative_time
    from ...codegen.tuner.tasks import with_schedule

    key = _key(arguments.argument, database)
    row = database.workloads()[key]
    measured = dict.fromkeys((record.target, record.baseline) for record in database.records(key))
    bests = [(target, database.best(key, target, baseline)) for target, baseline in measured]
    if not any(best for _, best in bests):
        write_program(row.program)
    for target, best in bests:
        if best is not None:
            say(f"# {target}: {1 / relative_time(best):.2f} times as fast as the baseline")
            write_program(with_schedule(row.program, best.schedule))
    return 0


def _verify(arguments: argparse.Namespace, database: Database) -> int:
    """Read all rows, and say how many are damaged."""
    records, workloads = database.records(), database.workloads()
    orphans = [record for record in records if record.workload not in workloads]
    damaged = database.quarantined()
    say(f"{arguments.db}: {len(records)} measurements, {len(workloads)} workloads; {damaged} damaged rows, set aside")
    if orphans:
        say(f"{len(orphans)} measurements belong to workloads that are missing")
    return 1 if damaged or orphans or database.notes else 0


def _prune(arguments: argparse.Namespace, database: Database) -> int:
    say(f"{arguments.db}: removed {database.prune(arguments.keep)} measurements")
    return 0


def _key(start: str, database: Database) -> str:
    """Return the key of the workload that starts with a text."""
    keys = list(database.workloads())
    found = [key for key in keys if key.startswith(start)]
    if len(found) == 1:
        return found[0]
    help = did_you_mean(start, keys) or "tvms db list shows the keys"
    problem = "several workloads start" if found else "no workload starts"
    raise error("E1102", f"{problem} with '{start}' in '{database.path}'", None, help)


# --- Export and import ------------------------------------------------------------------------------------------


def _export(arguments: argparse.Namespace, database: Database) -> int:
    """Write all rows as lines of JSON: each workload, then its measurements; or as the files of TVM."""
    if arguments.tvm:
        from .tvm_rows import export_rows

        count, left = export_rows(database, Path(arguments.argument))
        report_notes(tuple(left))
        say(f"{arguments.argument}: {count} measurements, {len(left)} rows have no equivalent in TVM")
        return 0
    lines: list[Safe] = []
    for key, row in database.workloads().items():
        rows = [row, *database.records(key)]
        lines += [json_text(msgspec.to_builtins({"row": one})) for one in rows]
    if arguments.argument == "-":
        for line in lines:
            emit(line)
    else:
        write_whole("".join(f"{line}\n" for line in lines), arguments.argument)
    return 0


def _import(arguments: argparse.Namespace, database: Database) -> int:
    """Add the rows of lines of JSON; all or, if a line is invalid, none."""
    workloads, records = _given(arguments)
    known = set(database.records())
    fresh = [record for record in records if record not in known]
    for key, row in workloads.items():
        database.commit([record for record in fresh if record.workload == key], row)
    say(f"{arguments.db}: added {len(fresh)} measurements, {len(records) - len(fresh)} were known")
    return 0


def _given(arguments: argparse.Namespace) -> tuple[dict[str, WorkloadRow], list[Record]]:
    """Return the rows to import."""
    path = arguments.argument
    if arguments.tvm:
        from .tvm_rows import import_rows

        workloads, records, left = import_rows(Path(path))
        report_notes(tuple(left))
        return workloads, records
    try:
        data = sys.stdin.buffer.read() if path == "-" else read_file(path, memory_limit())
    except OSError as problem:
        raise error(
            "E0001", f"'{path}' cannot be read: {problem.strerror}", None, "check the path and its permissions"
        ) from None
    return _rows(path, data)


def _rows(path: str, data: bytes) -> tuple[dict[str, WorkloadRow], list[Record]]:
    from ...codegen.tuner.database import Record, WorkloadRow

    workloads: dict[str, WorkloadRow] = {}
    records: list[Record] = []
    for number, line in enumerate(data.splitlines(), 1):
        try:
            found = msgspec.json.decode(line, type=dict[str, WorkloadRow | Record])
        except msgspec.MsgspecError as problem:
            note = Note("nothing was imported", None)
            raise error(
                "E1102",
                f"line {number} of '{path}' is not a row: {problem}",
                None,
                "write such a file with tvms db export",
                note,
            ) from None
        for row in found.values():
            if isinstance(row, WorkloadRow):
                workloads[row.key] = row
            else:
                records.append(row)
    missing = {record.workload for record in records} - workloads.keys()
    if missing:
        raise error(
            "E1102",
            f"'{path}' has measurements of the workload {min(missing)}, but not the workload",
            None,
            "write such a file with tvms db export",
        )
    return workloads, records


ACTIONS = {"list": _list, "show": _show, "verify": _verify, "prune": _prune, "export": _export, "import": _import}
