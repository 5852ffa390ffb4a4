"""`tvms tour`: every stage is named with the code behind it, and the stages are those of the compiler."""

from __future__ import annotations

from pathlib import Path

import pytest
import tvms
from tvms.codegen import aot
from tvms.codegen.tour import tour
from tvms.dsl.cli import main
from tvms.ir.equal import structural_equal

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "samples"


@pytest.mark.parametrize("name", ["02_matmul", "04_perceptron", "07_schedule"])
def test_the_loops_are_those_that_are_compiled(name: str) -> None:
    module = tvms.load(SAMPLES / f"{name}.tvms")
    compiled = aot.lowered(module, "llvm")
    last = {stage.function: stage.text for stage in tour(module) if stage.function and stage.text}
    for function, text in last.items():
        if function in compiled.functions:  # not the drivers of graph functions
            (shown,) = tvms.parse(text).functions.values()
            assert structural_equal(shown, compiled.functions[function]), function
    assert set(last) >= {
        name for name, function in compiled.functions.items() if isinstance(function, tvms.ir.tir.PrimFunc)
    }


def test_every_stage_names_its_code() -> None:
    for stage in tour(tvms.load(SAMPLES / "04_perceptron.tvms")):
        file, line = stage.code.split(":")
        code = (ROOT / file).read_text().splitlines()[int(line) - 1 :]
        assert any(text.startswith("def ") for text in code[:6]), stage.code
        assert stage.purpose


def test_stages_are_listed_and_selected(capsys: pytest.CaptureFixture[str]) -> None:
    file = str(SAMPLES / "07_schedule.tvms")
    assert main(["tour", file, "--list"]) == 0
    listed = capsys.readouterr().out
    assert "FlattenBuffer of matmul · codegen/lower/flatten.py:" in listed
    assert "UnrollLoop of matmul · codegen/lower/unroll.py:" in listed
    assert "T.prim_func" not in listed
    assert main(["tour", file, "--stage", "schedules"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("# 2. schedules · ir/schedule/apply.py:")
    assert "T.vectorized(16)" in shown
    assert main(["tour", file, "--stage", "Nope"]) == 2
    assert "unknown stage 'Nope'" in capsys.readouterr().err


def test_a_tour_is_for_the_processor() -> None:
    with pytest.raises(tvms.TvmsError, match="tvms tour shows code for the processor, not for 'cuda'"):
        list(tour(tvms.load(SAMPLES / "02_matmul.tvms"), "cuda"))
