"""TVM's names of the tuner: functions and passes."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest
import tvms
from msgspec.structs import replace
from tvms import meta_schedule, relax
from tvms.ir.diagnostics import TvmsError
from tvms.ir.equal import structural_equal
from tvms.ir.schedule import BlockRV
from tvms.meta_schedule import schedule_rule, space_generator

from tests.tuner.workloads import MATMUL, ROWS, TARGET, TOTAL, module

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
    with pytest.raises(AttributeError, match=r"'MultiLevelTilingTensorCore': tvms tunes for processors"):
        _ = schedule_rule.MultiLevelTilingTensorCore  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match=r"'runner': meta_schedule\.tune_tir builds, measures and searches itself"):
        _ = meta_schedule.runner.LocalRunner  # type: ignore[attr-defined]
    for wrong in (
        partial(schedule_rule.MultiLevelTiling, "SSSRRSRS"),
        partial(schedule_rule.MultiLevelTiling, "SSRSRS", tile_binds=["blockIdx.x"]),
        partial(schedule_rule.ReuseType, "often"),
        partial(space_generator.PostOrderApply, postprocs=[1]),
        partial(space_generator.ScheduleFn, print, rules=[]),
        partial(meta_schedule.tune_tir, module(MATMUL), "llvm", tmp_path, 1, strategy="replay-func"),
    ):
        with pytest.raises(TypeError, match="E0702"):
            wrong()


def _spaces(generator: space_generator.SpaceGenerator, text: str = MATMUL) -> list[str]:
    context = meta_schedule.TuneContext(module(text), target="llvm", space_generator=generator)
    return [schedule.script() for schedule in context.generate_design_space()]


def test_rules_make_spaces() -> None:
    """Each rule acts on the blocks that it knows, and leaves other ones as they are."""
    apply = space_generator.PostOrderApply
    rule = schedule_rule.MultiLevelTiling("SSRSRS", reuse_write=schedule_rule.ReuseType("may"))
    plain, cached = _spaces(apply(sch_rules=[rule]))
    assert plain.count("S.sample_perfect_tile(") == 3
    assert ("S.cache_write(" in plain, "S.cache_write(" in cached) == (False, True)
    (rows,) = _spaces(apply(sch_rules=[schedule_rule.ParallelizeVectorizeUnroll()]), ROWS)
    assert "S.sample_categorical(" in rows
    assert "S.parallel(" in rows
    assert "S.vectorize(" in rows
    whole, parts = _spaces(apply(sch_rules=[schedule_rule.AddRFactor()]), TOTAL)
    assert ("S.rfactor(" in whole, "S.rfactor(" in parts) == (False, True)
    assert len(_spaces(apply())) == 4
    assert "S.split(" not in _spaces(apply(lambda block: False))[0]
    assert _spaces(apply(sch_rules=[rule]), ROWS) == _spaces(apply(sch_rules=[]), ROWS)


def test_rules_of_users_are_applied() -> None:
    """A subclass of ScheduleRule, and a function that a block names."""

    @meta_schedule.derived_object
    class Unrolled(schedule_rule.PyScheduleRule):
        def apply(self, sch: tvms.Schedule, block: BlockRV) -> list[tvms.Schedule]:
            sch.unroll(sch.get_loops(block)[-1])
            return [sch]

    @tvms.register_func("meta_schedule.cpu.tests.tuner.tiled", override=True)
    def tiled(sch: tvms.Schedule, block: BlockRV) -> list[tvms.Schedule]:
        sch.split(sch.get_loops(block)[0], factors=sch.sample_perfect_tile(sch.get_loops(block)[0], 2, 16))
        return [sch]

    assert "S.unroll(k)" in _spaces(space_generator.PostOrderApply(sch_rules=[Unrolled()]))[0]
    named = MATMUL.replace(
        "with T.init():", 'T.block_attr({"schedule_rule": "tests.tuner.tiled"})\n                with T.init():'
    )
    custom = space_generator.PostOrderApply(sch_rules=[schedule_rule.ApplyCustomRule()])
    assert "S.sample_perfect_tile(" in _spaces(custom, named)[0]
    assert "S.sample_perfect_tile(" not in _spaces(custom)[0]


def test_a_generator_makes_the_spaces_of_a_search(tmp_path: Path) -> None:
    """The functions of `ScheduleFn` are spaces whose draws stay open; the measured schedules come from them."""

    def drawn(sch: tvms.Schedule) -> None:
        i, j, k = sch.get_loops(sch.get_block("matmul"))
        first, second = sch.split(j, factors=sch.sample_perfect_tile(j, 2, 16))
        sch.reorder(i, first, k, second)

    def fixed(sch: tvms.Schedule) -> None:
        sch.parallel(sch.get_loops(sch.get_block("matmul"))[0])

    union = space_generator.SpaceGeneratorUnion(
        [space_generator.ScheduleFn(drawn), space_generator.ScheduleFn(sch_fn=fixed)]
    )
    texts = space_generator.generated_spaces(union, module(MATMUL), TARGET)
    assert "decision" not in texts[0].script()
    assert ["S.sample_perfect_tile(" in text.script() for text in texts] == [True, False]
    with meta_schedule.tune_tir(module(MATMUL), "llvm", tmp_path, 8, space=union) as database:
        found = [record.schedule for record in database.records()]
    assert any("S.reorder(" in text and "S.split(" in text for text in found)
