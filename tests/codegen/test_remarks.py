"""Remarks on machine code that differs from its schedule: scalar loops, gathers, accumulators in memory, spills."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tvms
from tvms.codegen.build import Settings
from tvms.codegen.llvm.accumulators import accumulators_in_memory
from tvms.codegen.remarks import remarks, report
from tvms.codegen.target import get_target
from tvms.dsl.cli import main
from tvms.ir.programs import as_module

SAMPLES = Path(__file__).parents[2] / "samples" / "schedules"
TARGET = "llvm -mcpu=x86-64-v4 -mtriple=x86_64-unknown-linux-gnu"


def texts(program: str, **settings: bool) -> list[str]:
    module = as_module(tvms.parse(program))
    found = remarks(module, get_target(TARGET), Settings(**settings))  # type: ignore[arg-type]
    return [str(remark) for some in found.values() for remark in some]


LOOP = """
T.prim_func main(A: T.Buffer((256,), "float32"), B: T.Buffer((256,), "float32")):
    for i in T.vectorized({extent}):
        {statement}
"""


@pytest.mark.parametrize(
    ("extent", "statement", "remark"),
    [
        (128, "B[i] = A[i]", "vectorized loop 'i' is scalar: its extent is not a constant from 2 to 64"),
        (16, "B[0] = B[0] + A[i]", "vectorized loop 'i' is scalar: all lanes store to one element of 'B'"),
        (
            16, "B[i + 1] = B[i]",
            "vectorized loop 'i' is scalar: an iteration may access elements of 'B' that another one writes",
        ),
        (16, "B[i] = A[i * 5]", "vector load of 'A' is a gather: 16 lanes 5 elements apart"),
        (16, "B[i] = A[i * i]", "vector load of 'A' is a gather: 16 lanes at computed places"),
        (16, "B[i * 5] = A[i]", "vector store to 'B' is a scatter: 16 lanes 5 elements apart"),
    ],
)  # fmt: skip
def test_vectors_that_are_none(extent: int, statement: str, remark: str) -> None:
    found = texts(LOOP.format(extent=extent, statement=statement), schedule=False)
    line = "line 3" if remark.startswith("vectorized") else "line 4"
    assert found == [f"{line}: {remark}"]


@pytest.mark.parametrize("statement", ["B[i] = A[i + 3]", "B[i] = A[7]", "B[i] = A[i * 2]"])
def test_vectors_without_remarks(statement: str) -> None:
    assert texts(LOOP.format(extent=16, statement=statement), schedule=False) == []


def test_tiles_in_registers_have_no_remarks() -> None:
    module = tvms.load(SAMPLES / "gemm_register_tile.tvms")
    assert report(module, get_target(TARGET), Settings()) == "main: as scheduled"


def test_accumulators_that_may_be_overwritten_stay_in_memory() -> None:
    """Without default schedules the arguments may overlap, and a store may change a factor."""
    text = (SAMPLES / "gemm_register_tile.tvms").read_text().replace('        T.func_attr({"tir.noalias": True})\n', "")
    assert texts(text) == []
    (remark,) = texts(text, schedule=False)
    assert remark == "accumulator in memory: an innermost loop stores the same 8 places of 'C' in every step"


def test_tiles_larger_than_the_registers_spill() -> None:
    text = (SAMPLES / "gemm_register_tile.tvms").read_text().replace("rows=8", "rows=32")
    (remark,) = texts(text)
    assert remark.endswith("vector registers spilled to the stack")


IR = """
define i32 @k(ptr %C, ptr %A) {
entry:
  br label %i.loop

i.loop:                                           ; preds = %i.end, %entry
  %i = phi i64 [ 0, %entry ], [ %i.next, %i.end ]
  %place = getelementptr float, ptr %C, i64 %i
  store float 0.0, ptr %place, align 4
  br label %k.loop

k.loop:                                           ; preds = %k.next, %i.loop
  %k = phi i64 [ 0, %i.loop ], [ %next, %k.next ]
  %from = getelementptr float, ptr %A, i64 %k
  %x = load float, ptr %from, align 4
  %c = fcmp olt float %x, 0.0
  br i1 %c, label %k.next, label %k.add

k.add:                                            ; preds = %k.loop
  store float %x, ptr %from, align 4
  STORE
  br label %k.next

k.next:                                           ; preds = %k.add, %k.loop
  %next = add i64 %k, 1
  %done = icmp eq i64 %next, 8
  br i1 %done, label %i.end, label %k.loop

i.end:                                            ; preds = %k.next
  store float 1.0, ptr %C, align 4
  %i.next = add i64 %i, 1
  %all = icmp eq i64 %i.next, 8
  br i1 %all, label %end, label %i.loop

end:                                              ; preds = %i.end
  ret i32 0
}
"""


@pytest.mark.parametrize(
    ("store", "found"),
    [("", {}), ("store float %x, ptr %place, align 4", {"C": 1}), ("store float %x, ptr %A, align 4", {"A": 1})],
)
def test_stores_in_innermost_loops_are_found(store: str, found: dict[str, int]) -> None:
    assert accumulators_in_memory(IR.replace("STORE", store)) == {"k": found}


SHIFT = """
T.prim_func main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for i0 in range(4):
        for i1 in T.vectorized(16):
            with T.block("B"):
                vi = T.axis.spatial(64, i0 * 16 + i1)
                B[vi] = A[vi] + T.float32(1)
"""


def test_overlapping_arguments_of_scheduled_functions_are_computed_in_order() -> None:
    values = np.arange(80, dtype=np.float32)
    expected = values.copy()
    for start in range(0, 64, 16):
        expected[start + 4 : start + 20] = expected[start : start + 16] + 1
    tvms.compile(tvms.parse(SHIFT))["main"](values[:64], values[4:68])
    np.testing.assert_array_equal(values, expected)


def test_commands_print_remarks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(SAMPLES / "transpose.tvms")
    remark = "line 10: vector load of 'A' is a gather: 16 lanes 1024 elements apart"
    assert main(["compile", path, "--report", "--target", TARGET]) == 0
    assert capsys.readouterr().out == f"main: 1 remark\n  {remark}\n"
    assert main(["schedule", path, "--explain", "--target", TARGET]) == 0
    out = capsys.readouterr().out
    assert out.endswith(f"        # in machine code: {remark}\n")
    explained = tmp_path / "explained.tvms"
    explained.write_text(out)
    assert main(["check", str(explained)]) == 0
