"""TVM's names of the tuner: functions and passes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tvms
from msgspec.structs import replace
from tvms import meta_schedule, relax
from tvms.ir.diagnostics import TvmsError
from tvms.ir.equal import structural_equal

from tests.tuner.workloads import MATMUL, module

GRAPH = """#tvms 1
I.ir_module Module:
    R.function main(x: R.Tensor((32, 64), "float32"), w: R.Tensor((64, 48), "float32")) -> R.Tensor((32, 48), "float32"):
        with R.dataflow():
            y = R.matmul(x, w)
            z = R.nn.relu(y)
            R.output(z)
        return z
"""


def test_passes_tune_and_apply(tmp_path: Path) -> None:
    """The program of TVM's documentation: legalize, tune, apply. The module stays correct."""
    work = str(tmp_path / "work")
    with tvms.target.Target("llvm"):
        legal = relax.get_pipeline("zero")(tvms.parse(GRAPH))
        tuned = tvms.transform.Sequential(
            [
                relax.transform.MetaScheduleTuneTIR(work_dir=work, max_trials_global=4),
                relax.transform.MetaScheduleApplyDatabase(work_dir=work),
            ]
        )(legal)
    x, w = (np.random.default_rng(0).random(shape, np.float32) - 0.5 for shape in ((32, 64), (64, 48)))
    np.testing.assert_allclose(tvms.compile(tuned)["main"](x, w), np.maximum(x @ w, 0), rtol=1e-4, atol=1e-5)
    assert (tmp_path / "work" / meta_schedule.FILE).exists()


def test_the_best_schedule_is_applied(tmp_path: Path) -> None:
    """`compile_tir` and the pass apply the schedule that was measured as the fastest; others keep their functions."""
    mod = module(MATMUL)
    database = meta_schedule.tune_tir(mod, "llvm", tmp_path, 2)
    record = database.records()[0]
    text = 'S.schedule candidate(main, target="llvm"):\n    block = S.get_block("matmul")\n    i, j, k = S.get_loops(block)\n    S.parallel(i)'
    fast = replace(record, program="f" * 16, schedule=text, status="ok", message="", seconds=(1e-9,), reference=(1.0,))
    database.commit([fast])
    schedule = meta_schedule.compile_tir(database, mod, "llvm")
    assert schedule is not None
    assert "T.parallel(64)" in schedule.mod.script()
    with tvms.target.Target("llvm"):
        applied = relax.transform.MetaScheduleApplyDatabase(str(tmp_path))(mod)
    assert structural_equal(applied, schedule.mod)
    database.commit([replace(fast, baseline="0" * 16, program="e" * 16, schedule="S.schedule", seconds=(1e-12,))])
    again = meta_schedule.compile_tir(database, mod, "llvm")
    assert again is not None
    assert structural_equal(again.mod, schedule.mod)  # what was measured against another baseline does not count
    other = module(
        MATMUL.replace("64, 64, 64", "32, 64, 64")
        .replace("A: T.Buffer((64, 64)", "A: T.Buffer((32, 64)")
        .replace("C: T.Buffer((64, 64)", "C: T.Buffer((32, 64)")
    )
    assert meta_schedule.compile_tir(database, other, "llvm") is None
    assert structural_equal(relax.transform.MetaScheduleApplyDatabase(str(tmp_path))(other), other)
    database.close()


def test_what_is_missing_says_why(tmp_path: Path) -> None:
    """A missing database, and parts of TVM's tuner that do not exist here."""
    with pytest.raises(TvmsError, match="E1102"):
        relax.transform.MetaScheduleApplyDatabase(str(tmp_path))(module(MATMUL))
    with pytest.raises(AttributeError, match=r"'space_generator': a search space is an S\.schedule that draws numbers"):
        _ = meta_schedule.space_generator.PostOrderApply  # type: ignore[attr-defined]
