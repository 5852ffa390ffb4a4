"""The files of TVM's tuner, as apache-tvm 0.27 writes them: `database_workload.json` and `database_tuning_record.json` in a folder.

A row that cannot be represented on the other side is reported with its reason; the others are converted. TVM's rows have the times of
programs, but not of their baselines: imported schedules are not compared with measured ones, but the next `tvms tune` measures them first.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from ...ir import script, tir
from ...ir.base import IRModule
from ...ir.diagnostics import Diagnostic, TvmsError, error
from ...ir.files import memory_limit, read_file, write_whole
from ...ir.schedule import Schedule
from ...ir.schedule.declaration import COMPOSITES
from ..traces import apply_trace

if TYPE_CHECKING:
    from ...codegen.tuner.database import Database, Record, WorkloadRow

WORKLOADS, RECORDS = "database_workload.json", "database_tuning_record.json"


def export_rows(database: Database, folder: Path) -> tuple[int, list[Diagnostic]]:
    """Write the rows of a database; return the number of measurements, and the rows that cannot be represented."""
    from ...codegen.tuner.tvm_graph import module_to_base64

    workloads: list[str] = []
    records: list[str] = []
    left: list[Diagnostic] = []
    for key, row in database.workloads().items():
        try:
            module = script.parse(row.program, "workload", row.tensors)
            row_of_workload = module_to_base64(module)
        except TvmsError as problem:
            left.append(_left(f"workload {key}", problem))
            continue
        workloads.append(json.dumps(row_of_workload))
        for record in database.records(key):
            try:
                records.append(json.dumps([len(workloads) - 1, _exported(record, row, module)]))
            except TvmsError as problem:
                left.append(_left(f"measurement of {record.program}", problem))
    folder.mkdir(parents=True, exist_ok=True)
    for name, lines in ((WORKLOADS, workloads), (RECORDS, records)):
        write_whole("".join(f"{line}\n" for line in lines), str(folder / name))
    return len(records), left


def _exported(record: Record, row: WorkloadRow, module: IRModule) -> list[Any]:
    from ...codegen.target import get_target
    from ...codegen.tuner.tasks import with_schedule
    from ...codegen.tuner.tvm_graph import instructions_of_tvm
    from ...codegen.tuner.tvm_records import FAILED, ArgInfo

    schedule = Schedule(module)
    for text in script.parse(with_schedule(row.program, record.schedule), "database", row.tensors).schedules.values():
        schedule.replay(text, "llvm")
    unknown = next((inst for inst in schedule.trace.insts if inst.primitive.name in COMPOSITES), None)
    if unknown is not None:
        raise error("E0018", f"TVM has no step {unknown.primitive.name}", None, "tune with a space of primitives")
    (function,) = module.functions.values()
    assert isinstance(function, tir.PrimFunc)
    target = get_target(record.target.partition(" [")[0])
    shown = {"kind": target.name, "keys": ["cpu"], "tag": "", **target.options}
    seconds = list(record.seconds) if record.status == "ok" else [FAILED]
    infos = [info.as_json() for info in ArgInfo.from_prim_func(function)]
    return [instructions_of_tvm(schedule.trace), seconds, shown, infos]


def _left(name: str, problem: TvmsError) -> Diagnostic:
    first = problem.diagnostics[0]
    return Diagnostic("E1102", f"{name} is left out: {first.message}", None, first.help, severity="warning")


# --- Import -----------------------------------------------------------------------------------------------------


def import_rows(folder: Path) -> tuple[dict[str, WorkloadRow], list[Record], list[Diagnostic]]:
    """Return the workloads and measurements of a folder, and the rows that cannot be represented. Raises E0001 if a file cannot be
    read, E1102 if a line is not a row.
    """
    from ...codegen.tuner.database import WorkloadRow
    from ...codegen.tuner.spaces import workload_of
    from ...codegen.tuner.tasks import workload_key

    functions: dict[int, tuple[str, tir.PrimFunc]] = {}
    rows: dict[str, WorkloadRow] = {}
    records: list[Record] = []
    left: list[Diagnostic] = []
    for number, row in _lines(folder / WORKLOADS, 2):
        try:
            name, function = _function(row)
        except TvmsError as problem:
            left.append(_left(f"line {number} of {WORKLOADS}", problem))
            continue
        functions[number - 1] = name, function
        key = workload_key(function)
        rows[key] = WorkloadRow(key, *script.dump(workload_of(function)))
    for number, (workload, given) in _lines(folder / RECORDS, 2):
        try:
            if workload not in functions:
                raise error("E1102", f"workload {workload} is missing or was left out", None, f"see {WORKLOADS}")
            records.append(_imported(*functions[workload], given))
        except TvmsError as problem:
            left.append(_left(f"line {number} of {RECORDS}", problem))
    return rows, records, left


def _lines(path: Path, count: int) -> Iterator[tuple[int, list[Any]]]:
    """Yield the rows of a file, each a list of `count` values, with their line numbers."""
    try:
        data = read_file(str(path), memory_limit())
    except OSError as problem:
        raise error(
            "E0001",
            f"'{path}' cannot be read: {problem.strerror}",
            None,
            f"name a folder with {WORKLOADS} and {RECORDS}",
        ) from None
    for number, line in enumerate(data.splitlines(), 1):
        try:
            row = json.loads(line)
        except ValueError:
            row = None
        if not isinstance(row, list) or len(row) != count:  # type: ignore[reportUnknownArgumentType]
            raise error(
                "E1102",
                f"line {number} of '{path}' is not a row of TVM",
                None,
                "nothing was imported; restore the file",
            )
        yield number, row


def _function(row: Any) -> tuple[str, tir.PrimFunc]:
    from ...codegen.tuner.tvm_graph import module_from_base64

    module = module_from_base64(row)
    if len(module.functions) != 1:
        raise error("E0018", f"it has {len(module.functions)} functions", None, "tune them one by one")
    ((name, function),) = module.functions.items()
    assert isinstance(function, tir.PrimFunc)
    return name, function


def _imported(name: str, function: tir.PrimFunc, given: Any) -> Record:
    from ...codegen.tuner.database import FOREIGN, Record
    from ...codegen.tuner.spaces import FUNCTION, key_of
    from ...codegen.tuner.tasks import workload_key
    from ...codegen.tuner.tvm_records import FAILED

    try:
        trace, seconds, target, _ = given
        times = tuple([float(value) for value in seconds or ()])
        options: Mapping[str, Any] = dict(target or {})
    except (TypeError, ValueError):
        raise error("E1102", "it is not a measurement", None, "restore the file") from None
    schedule = Schedule(IRModule({name: function}))
    apply_trace(json.dumps(trace), schedule)
    scheduled = schedule.mod.functions[name]
    assert isinstance(scheduled, tir.PrimFunc)
    attrs = {key: value for key, value in scheduled.attrs.items() if key != "global_symbol"}
    text = replace(schedule.trace.decided().simplified().as_text("imported"), function=FUNCTION)
    kind = " ".join(
        [
            str(options.get("kind", "llvm")),
            *(f"-{key}={options[key]}" for key in ("mcpu", "num-cores") if key in options),
        ]
    )
    is_ok = bool(times) and max(times) < FAILED / 10
    status, message = ("ok", "") if is_ok else ("crash", "it failed in TVM")
    return Record(
        workload_key(function), f"{kind} [measured by TVM]", "", FOREIGN, key_of(replace(scheduled, attrs=attrs)), text.script().strip("\n"),
        status, message, times if is_ok else (),
    )  # fmt: skip
