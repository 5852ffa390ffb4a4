"""The files of TVM's tuner: what is exported can be imported again, and what has no equivalent is reported."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path

import pytest
import tvms
from tvms.codegen.tuner.database import FOREIGN, Database, Record, WorkloadRow
from tvms.codegen.tuner.tuning import Plan
from tvms.codegen.tuner.tvm_graph import module_from_json, module_to_json
from tvms.dsl.cli import main
from tvms.ir.diagnostics import TvmsError
from tvms.ir.equal import structural_equal

from tests.tuner.workloads import MATMUL, ROWS, SimulatedRunner, module, tuned

STATEMENTS = """
T.prim_func main(A: T.Buffer((16, 16), "float32"), B: T.Buffer((16, 16), "float32", scope="global"), n: T.int32):
    T.func_attr({"tir.noalias": True, "note": "text", "ratio": 1.5})
    with T.block("root"):
        C = T.alloc_buffer((16, 16), "float32", scope="shared")
        for i in T.parallel(16):
            for j in T.vectorized(16, annotations={"p": [1, 2]}):
                with T.block("first"):
                    vi, vj = T.axis.remap("SR", [i, j])
                    T.where(i < 15 and not j == 3)
                    T.reads(A[vi, vj])
                    T.writes(C[vi, vj])
                    T.block_attr({"k": 1})
                    with T.init():
                        C[vi, vj] = T.float32(0)
                    C[vi, vj] = T.Select(A[vi, vj] > T.float32(0), T.exp(A[vi, vj]), T.max(T.Cast("float32", vi // 2 + vj % 3), A[vi, vj] / T.float32(3)))
        for i in range(4):
            for j in T.thread_binding(4, thread="threadIdx.x"):
                with T.block("second"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    D = T.match_buffer(C[0:4, 0:4], (4, 4), scope="shared", offset_factor=1)
                    if vi >= n:
                        B[vi, vj] = T.if_then_else(vi <= 3, D[vi, vj], T.float32(2))
                    else:
                        B[vi, vj] = T.float32(0)
"""


def test_modules_survive_the_json_of_tvm() -> None:
    """All statements and terms that loop functions are made of."""
    for text in (MATMUL, ROWS, STATEMENTS):
        mod = tvms.parse("#tvms 1" + text)
        assert structural_equal(module_from_json(module_to_json(mod)), mod)


def test_what_that_json_lacks_is_refused() -> None:
    """Nodes without an equivalent, and texts that are no module."""
    mod = tvms.parse(
        '#tvms 1\nT.prim_func f(A: T.Buffer((4,), "float32")):\n    with T.LetStmt(T.int32(1)) as x:\n        A[x] = T.float32(0)\n'
    )
    with pytest.raises(TvmsError, match=r"E0018.*'LetStmt' has no equivalent in the JSON of apache-tvm 0\.27"):
        module_to_json(mod)
    for text in ("", "[]", '{"nodes": [], "root_index": 3}', '{"nodes": [{"type": "tirx.While"}], "root_index": 0}'):
        with pytest.raises(TvmsError, match=r"E0018.*this is not a module in the JSON of apache-tvm"):
            module_from_json(text)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a database: a product whose default schedule is a composite step, and rows."""
    monkeypatch.chdir(tmp_path)
    with Database("a.db") as database:
        for text in (MATMUL, ROWS):
            tuned(text, Plan(trials=12, seed=3), SimulatedRunner(failures=2), database)
    return tmp_path


def test_rows_come_back(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Schedules of primitives come back with their times and programs; composite steps are reported one by one."""
    with Database("a.db") as database:
        ours = {record.program: record for record in reversed(database.records())}
        total = len(database.records())
    assert main(["db", "export", "out", "--tvm", "--db", "a.db"]) == 0
    out, err = capsys.readouterr()
    rows = [json.loads(line) for line in (folder / "out" / "database_tuning_record.json").read_text().splitlines()]
    left = set(
        re.findall(
            r"warning\[E1102\]: measurement of (\w+) is left out: TVM has no step (?:gemm_tiles|vector_rows)\n", err
        )
    )
    assert left
    with Database("a.db") as database:
        count = sum(record.program in left for record in database.records())
    assert out == f"out: {len(rows)} measurements, {count} rows have no equivalent in TVM\n"
    assert len(rows) + count == total
    for _, (_, seconds, target, arguments) in rows:
        assert target["kind"] == "llvm"
        assert arguments[0][:2] == ["TENSOR", "float32"]
        assert seconds
    assert main(["db", "import", "out", "--tvm", "--db", "b.db"]) == 0
    assert main(["db", "import", "out", "--tvm", "--db", "b.db"]) == 0
    assert capsys.readouterr().out.splitlines()[1] == f"b.db: added 0 measurements, {len(rows)} were known"
    with Database("b.db") as database:
        for record in database.records():
            same = ours[record.program]
            assert (record.workload, record.rules) == (same.workload, FOREIGN)
            assert (record.status == "ok", record.seconds) == (same.status == "ok", same.seconds)
            assert record.target.endswith("[measured by TVM]")
            assert database.best(record.workload, record.target, "") is None


def test_imported_schedules_are_measured_first(folder: Path) -> None:
    """TVM's rows have no times of a baseline here: they begin the next search."""
    assert main(["db", "export", "out", "--tvm", "--db", "a.db"]) == 0
    assert main(["db", "import", "out", "--tvm", "--db", "b.db"]) == 0
    with Database("b.db") as database:
        given = {record.program for record in database.records() if record.status == "ok"}
        tuned(MATMUL, Plan(trials=16, seed=9), SimulatedRunner(), database)
        first = [record.program for record in database.records() if record.rules != FOREIGN][:16]
    mine = [program for program in first if program in given]
    assert len(mine) >= 4


def test_rows_of_other_kinds_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A row that cannot be read is named with its line, and the others are imported; a file that is none of TVM imports nothing."""
    monkeypatch.chdir(tmp_path)
    graph = module_to_json(module(MATMUL.replace("matmul(", "main("))).encode()
    good = base64.b64encode(len(graph).to_bytes(8, "little") + graph).decode()
    text = '[[["GetSBlock", [], ["matmul", "main"], ["b0"]], ["GetLoops", ["b0"], [], ["l1", "l2", "l3"]], ["{}", ["l1"], [], []]], []]'
    (tmp_path / "database_workload.json").write_text(f'["1", "{good}"]\n["2", "AAAA"]\n')
    lines = [
        f"[0, [{text.format('Parallel')}, [0.5], {{}}, []]]",
        f"[0, [{text.format('Nonsense')}, [0.5], {{}}, []]]",
        "[1, [[[], []], [0.5], {}, []]]",
    ]
    (tmp_path / "database_tuning_record.json").write_text("\n".join(lines) + "\n")
    assert main(["db", "import", ".", "--tvm", "--db", "a.db"]) == 0
    out, err = capsys.readouterr()
    assert out == "a.db: added 1 measurements, 0 were known\n"
    assert {line for line in err.splitlines() if line.startswith("warning")} == {
        "warning[E1102]: line 2 of database_workload.json is left out: this is not a module in the JSON of apache-tvm 0.27: "
        "JSONDecodeError: Expecting value: line 1 column 1 (char 0)",
        "warning[E1102]: line 2 of database_tuning_record.json is left out: invalid trace: unknown instruction 'Nonsense'",
        "warning[E1102]: line 3 of database_tuning_record.json is left out: workload 1 is missing or was left out",
    }
    (tmp_path / "database_tuning_record.json").write_text("[0, []]\ntorn")
    assert main(["db", "import", ".", "--tvm", "--db", "b.db"]) == 1
    assert "error[E1102]: line 2 of 'database_tuning_record.json' is not a row of TVM" in capsys.readouterr().err
    assert main(["db", "import", "none", "--tvm", "--db", "b.db"]) == 2
    assert (
        "error[E0001]: 'none/database_workload.json' cannot be read: No such file or directory"
        in capsys.readouterr().err
    )


def test_records_of_wrong_types_are_reported(folder: Path) -> None:
    """A workload that TVM cannot have is left out with all its measurements."""
    with Database("c.db") as database:
        database.commit([Record("0" * 16, "llvm", "", "r", "p", "", "ok")], WorkloadRow("0" * 16, "no module"))
    assert main(["db", "export", "out", "--tvm", "--db", "c.db"]) == 0
    assert (folder / "out" / "database_workload.json").read_text() == ""
