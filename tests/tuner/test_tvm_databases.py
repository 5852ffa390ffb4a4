"""Databases under TVM's names: what is committed is found again, also from the files, and torn lines cost only themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tvms
from tvms import meta_schedule as ms
from tvms.ir.diagnostics import ArgumentError
from tvms.ir.equal import structural_equal
from tvms.meta_schedule import database as databases

from tests.tuner.workloads import MATMUL

ADD = """
I.ir_module Module:
    T.prim_func main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        for i in range(64):
            with T.block("add"):
                vi = T.axis.spatial(64, i)
                B[vi] = A[vi] + T.float32(1)
"""


@pytest.fixture(name="module")
def _module() -> tvms.IRModule:
    return tvms.parse("#tvms 1\n" + MATMUL)


def schedule_of(module: tvms.IRModule, factor: int) -> tvms.Schedule:
    """Return the product with its columns in parts."""
    schedule = tvms.Schedule(module)
    _, j, _ = schedule.get_loops(schedule.get_block("matmul"))
    schedule.split(j, factors=[None, factor])
    return schedule


def commit(database: databases.Database, module: tvms.IRModule, factor: int, seconds: list[float] | None) -> None:
    """Store a schedule with its times."""
    infos = databases.ArgInfo.from_entry_func(module)
    workload = database.commit_workload(module)
    trace = schedule_of(module, factor).trace
    database.commit_tuning_record(databases.TuningRecord(trace, workload, seconds, tvms.target.Target("llvm"), infos))


@pytest.mark.parametrize("kind", ["memory", "json"])
def test_the_fastest_schedule_is_found(kind: str, module: tvms.IRModule, tmp_path: Path) -> None:
    """Records without times, and those of programs that failed, are not answers; other modules have none."""
    database = databases.Database.create(kind, **({"work_dir": tmp_path} if kind == "json" else {}))
    for factor, seconds in ((2, [3.0, 5.0]), (4, [1.0, 2.0]), (8, None), (16, []), (32, [1e10])):
        commit(database, module, factor, seconds)
    assert len(database) == 5
    workload = database.commit_workload(module)
    assert [record.seconds for record in database.get_top_k(workload, 9)] == [1.5, 4.0]
    found = database.query(module, "llvm", kind="ir_module")
    assert structural_equal(found, schedule_of(module, 4).mod)
    assert not database.has_workload(tvms.parse("#tvms 1\n" + ADD))
    with database:
        assert databases.Database.current() is database
    assert databases.Database.current() is None
    schedule = ms.compile_tir(database, module, "llvm")
    assert schedule is not None
    assert structural_equal(schedule.mod, schedule_of(module, 4).mod)
    smaller = databases.MemoryDatabase()
    database.dump_pruned(smaller)
    assert [record.seconds for record in smaller.get_all_tuning_records()] == [1.5]


def test_the_files_of_a_database_are_read_again(module: tvms.IRModule, tmp_path: Path) -> None:
    """A torn last line is left out with a note, and what is committed afterwards begins a new line."""
    paths = str(tmp_path / "workloads.json"), str(tmp_path / "records.json")
    commit(databases.JSONDatabase(*paths), module, 4, [1.0])
    (tmp_path / "records.json").write_bytes((tmp_path / "records.json").read_bytes() + b'[0, [["torn')
    again = databases.JSONDatabase(*paths)
    assert [note.message for note in again.notes] == [f"line 2 of '{paths[1]}' is left out: it is not JSON"]
    commit(again, module, 8, [0.5])
    last = databases.JSONDatabase(*paths)
    assert [record.seconds for record in last.get_all_tuning_records()] == [1.0, 0.5]
    (first, _) = last.get_all_tuning_records()
    assert str(first.trace) == str(schedule_of(module, 4).trace)
    assert structural_equal(first.workload.mod, module)
    assert [info.as_json() for info in first.args_info or ()] == [["TENSOR", "float32", [64, 64]]] * 3


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ([], "expected a trace, seconds, a target, and arguments"),
        ([[[], []], ["fast"], None, None], "expected a trace, seconds, a target, and arguments"),
        ([[[], []], [1.0], None, [["SCALAR"]]], "an argument is not ['TENSOR', dtype, shape]"),
    ],
)
def test_other_rows_are_refused(row: list[Any], reason: str, module: tvms.IRModule) -> None:
    """A value that is not a row is a diagnostic, whatever is wrong with it."""
    with pytest.raises(tvms.TvmsError) as caught:
        databases.TuningRecord.from_json(row, databases.Workload(module))
    assert caught.value.diagnostics[0].message == f"this is not a row of TVM: {reason}"


def test_unions_answer_from_their_databases(module: tvms.IRModule) -> None:
    """The union takes the fastest record, the ordered one that of the first database; neither stores anything."""
    slow, fast = databases.MemoryDatabase(), databases.MemoryDatabase()
    commit(slow, module, 4, [1.0])
    commit(fast, module, 8, [0.5])
    for union, seconds in (
        (databases.UnionDatabase(slow, fast), 0.5),
        (databases.OrderedUnionDatabase(slow, fast), 1.0),
    ):
        record = union.query_tuning_record(module, "llvm")
        assert record is not None
        assert record.seconds == seconds
        assert (len(union), union.has_workload(module)) == (2, True)
        with pytest.raises(ArgumentError, match="only answers queries"):
            union.commit_workload(module)


def test_a_function_can_be_a_database(module: tvms.IRModule) -> None:
    """The function schedules modules with the block `matmul` and returns False for others."""

    def parts(schedule: tvms.Schedule) -> bool:
        names = [schedule.get(block).name_hint for block in schedule.get_child_blocks(schedule.get_block("root"))]
        if names != ["matmul"]:
            return False
        _, j, _ = schedule.get_loops(schedule.get_block("matmul"))
        schedule.split(j, factors=[None, 4])
        return True

    database = databases.create(parts)
    assert structural_equal(database.query_ir_module(module, "llvm"), schedule_of(module, 4).mod)
    assert database.query_schedule(tvms.parse("#tvms 1\n" + ADD), "llvm") is None
