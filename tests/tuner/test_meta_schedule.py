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
from tvms.meta_schedule import postproc, schedule_rule, space_generator
from tvms.meta_schedule.testing import te_workload
from tvms.meta_schedule.testing.space_generation import check_sketches, generate_design_space, print_sketches

from tests.tuner.workloads import MATMUL, ROWS, SMALL, TARGET, TOTAL, module

GRAPH = """#tvms 1
I.ir_module Module:
    R.function main(x: R.Tensor((8, 16), "float32"), w: R.Tensor((16, 12), "float32")) -> R.Tensor((8, 12), "float32"):
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
    x, w = (np.random.default_rng(0).random(shape, np.float32) - 0.5 for shape in ((8, 16), (16, 12)))
    np.testing.assert_allclose(tvms.compile(tuned)["main"](x, w), np.maximum(x @ w, 0), rtol=1e-4, atol=1e-5)
    assert (tmp_path / "work" / meta_schedule.FILE).exists()


def test_the_pipeline_that_tunes(tmp_path: Path) -> None:
    options = {"target": "llvm", "work_dir": str(tmp_path / "work"), "cpu_weight_prepack": True}
    for trials in (2, 0):
        tuned = relax.get_pipeline("static_shape_tuning", total_trials=trials, **options)(tvms.parse(GRAPH))
    x, w = (np.random.default_rng(0).random(shape, np.float32) - 0.5 for shape in ((8, 16), (16, 12)))
    np.testing.assert_allclose(tvms.compile(tuned)["main"](x, w), np.maximum(x @ w, 0), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        (
            "static_shape_tuning", {"target": "llvm"},
            "error[E0902]: pipeline 'static_shape_tuning': missing a required argument: 'total_trials'\n"
            "  = help: its options are: total_trials, target, work_dir, cpu_weight_prepack",
        ),
        (
            "zero", {"trials": 1},
            "error[E0902]: pipeline 'zero': got an unexpected keyword argument 'trials'\n  = help: it takes no options",
        ),
    ],
)  # fmt: skip
def test_wrong_options_of_a_pipeline(name: str, options: dict[str, object], message: str) -> None:
    with pytest.raises(TvmsError) as raised:
        relax.get_pipeline(name, **options)
    assert str(raised.value) == message


def test_tasks_of_graphs() -> None:
    """Equal functions are one task with the number of their calls; parameters that are bound change nothing else."""
    text = """#tvms 1
I.ir_module Module:
    R.function main(x: R.Tensor((8, 8), "float32"), w: R.Tensor((8, 8), "float32")) -> R.Tensor((8, 8), "float32"):
        with R.dataflow():
            a = R.call_tir(Module.matmul, (x, w), out_sinfo=R.Tensor((8, 8), "float32"))
            b = R.call_tir(Module.matmul, (a, w), out_sinfo=R.Tensor((8, 8), "float32"))
            R.output(b)
        return b

    T.prim_func matmul(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
        for i, j, k in T.grid(8, 8, 8):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""
    mod = tvms.parse(text)
    tasks = meta_schedule.relax_integration.extract_tasks(mod, "llvm", {"w": np.eye(8, dtype="float32")})
    assert [(task.task_name, task.weight) for task in tasks] == [("matmul", 2)]
    assert list(tasks[0].mod.functions) == ["main"]
    with pytest.raises(TvmsError) as caught:
        meta_schedule.relax_integration.extract_tasks(mod, "llvm", module_equality="alike")
    assert "module_equality" in str(caught.value)


def test_graphs_are_compiled_with_a_database(tmp_path: Path) -> None:
    database = meta_schedule.relax_integration.tune_relax(tvms.parse(GRAPH), {}, "llvm", tmp_path, 2)
    x, w = (np.random.default_rng(1).random(shape, np.float32) - 0.5 for shape in ((8, 16), (16, 12)))
    compiled = meta_schedule.relax_integration.compile_relax(database, tvms.parse(GRAPH), "llvm", {"w": w})
    np.testing.assert_allclose(compiled["main"](x), np.maximum(x @ w, 0), rtol=1e-4, atol=1e-5)
    assert "R.function main" in compiled.as_text()
    assert compiled.as_python().startswith("# from tvm.script import ir as I")


def test_the_best_schedule_is_applied(tmp_path: Path) -> None:
    """`compile_tir` and the pass apply the schedule that was measured as the fastest; others keep their functions."""
    mod = module(SMALL)
    database = meta_schedule.tune_tir(mod, "llvm", tmp_path, 2)
    record = database.records()[0]
    text = 'S.schedule candidate(main, target="llvm"):\n    block = S.get_block("matmul")\n    i, j, k = S.get_loops(block)\n    S.parallel(i)'
    fast = replace(record, program="f" * 16, schedule=text, status="ok", message="", seconds=(1e-9,), reference=(1.0,))
    database.commit([fast])
    schedule = meta_schedule.compile_tir(database, mod, "llvm")
    assert schedule is not None
    assert "T.parallel(16)" in schedule.mod.script()
    with tvms.target.Target("llvm"):
        applied = relax.transform.MetaScheduleApplyDatabase(str(tmp_path))(mod)
    assert structural_equal(applied, schedule.mod)
    database.commit([replace(fast, baseline="0" * 16, program="e" * 16, schedule="S.schedule", seconds=(1e-12,))])
    again = meta_schedule.compile_tir(database, mod, "llvm")
    assert again is not None
    assert structural_equal(again.mod, schedule.mod)  # what was measured against another baseline does not count
    other = module(
        SMALL.replace("16, 16, 16", "8, 16, 16")
        .replace("A: T.Buffer((16, 16)", "A: T.Buffer((8, 16)")
        .replace("C: T.Buffer((16, 16)", "C: T.Buffer((8, 16)")
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
    with pytest.raises(AttributeError, match=r"'RPCRunner': 'tvms tune --scheduler' measures on other machines"):
        _ = meta_schedule.runner.RPCRunner  # type: ignore[attr-defined]
    for wrong in (
        partial(schedule_rule.MultiLevelTiling, "SSX"),
        partial(schedule_rule.MultiLevelTiling, "SSR", reuse_write={"req": "must", "levels": [4], "scope": "global"}),
        partial(schedule_rule.ScheduleRule.create, "hexagon"),
        partial(postproc.Postproc.create, "hexagon"),
        partial(schedule_rule.ReuseType, "often"),
        partial(space_generator.PostOrderApply, postprocs=[1]),
        partial(space_generator.ScheduleFn, print, rules=[]),
        partial(meta_schedule.tune_tir, module(MATMUL), "llvm", tmp_path, 1, strategy="random"),
    ):
        with pytest.raises(TypeError, match="E0702"):
            wrong()


def _spaces(generator: space_generator.SpaceGenerator, text: str = MATMUL) -> list[str]:
    context = meta_schedule.TuneContext(module(text), target="llvm", space_generator=generator)
    return [schedule.script() for schedule in context.generate_design_space()]


def test_rules_make_spaces() -> None:
    """Each rule acts on the blocks that it knows, and leaves other ones as they are."""
    apply = space_generator.PostOrderApply
    write = schedule_rule.ReuseType("may", [1, 2], "global")
    rule = schedule_rule.MultiLevelTiling("SSRSRS", reuse_write=write)
    found = _spaces(apply(sch_rules=[rule]))
    assert all(text.count("S.sample_perfect_tile(") == 3 for text in found)
    assert [text.count("S.cache_write(") for text in found] == [0, 1, 1]
    (rows,) = _spaces(apply(sch_rules=[schedule_rule.ParallelizeVectorizeUnroll()]), ROWS)
    assert '"meta_schedule.vectorize", ann_val=16' in rows
    *parts, whole = _spaces(apply(sch_rules=[schedule_rule.AddRFactor(max_innermost_factor=64)]), TOTAL)
    assert ["S.rfactor(" in text for text in (*parts, whole)] == [True, True, False]
    assert len(_spaces(apply())) == 3
    assert "S.split(" not in _spaces(apply(lambda block: False))[0]
    assert _spaces(apply(sch_rules=[rule]), ROWS) == _spaces(apply(sch_rules=[]), ROWS)


@pytest.mark.parametrize("text", [MATMUL, ROWS, TOTAL])
def test_schedules_of_the_default_rules_are_right(text: str) -> None:
    """Postprocessors make loops parallel and vectors; each sample computes what the function computes."""
    mod = module(text)
    (function,) = mod.functions.values()
    assert isinstance(function, tvms.tir.PrimFunc)
    shapes = [[int(str(size)) for size in function.buffer_map[param].shape] for param in function.params]
    random = np.random.default_rng(0)
    given = [random.random(shape, np.float32) - 0.5 for shape in shapes]
    expected = [value.copy() for value in given]
    tvms.compile(mod)[next(iter(mod.functions))](*expected)
    generator = space_generator.PostOrderApply()
    for schedule in meta_schedule.TuneContext(mod, target="llvm", space_generator=generator).generate_design_space():
        assert generator.complete(schedule) == ""
        assert "T.vectorized" in schedule.mod.script() or text is not ROWS
        assert "meta_schedule.parallel" not in schedule.mod.script()
        found = [value.copy() for value in given]
        tvms.compile(schedule.mod)[next(iter(mod.functions))](*found)
        for result, wanted in zip(found, expected, strict=True):
            np.testing.assert_allclose(result, wanted, rtol=1e-4, atol=1e-4)


INTEGERS = """#tvms 1
I.ir_module Module:
    T.prim_func main(A: T.Buffer((64, 64), "uint8"), B: T.Buffer((4, 16, 16, 4), "int8"), C: T.Buffer((64, 64), "int32")):
        for i, j, k in T.grid(64, 64, 64):
            with T.block("product"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = 0
                C[vi, vj] = C[vi, vj] + T.Cast("int32", A[vi, vk]) * T.Cast("int32", B[vj // 16, vk // 4, vj % 16, vk % 4])
"""


def test_intrinsics_compute_the_innermost_tiles() -> None:
    """The innermost tiles of a product of integers are those of the instruction; other functions stay as they are."""
    rule = schedule_rule.MultiLevelTilingWithIntrin(
        "dot_16x4_vnni", "SSRSRS", reuse_write={"req": "may", "levels": [1, 2]}
    )
    found = generate_design_space("llvm", tvms.parse(INTEGERS), "llvm", None, [rule])
    assert [sketch.script().count("S.cache_write(") for sketch in found] == [0, 1, 1]
    random = np.random.default_rng(0)
    a, b = random.integers(0, 9, (64, 64), np.uint8), random.integers(-9, 9, (4, 16, 16, 4), np.int8)
    expected = a.astype(np.int32) @ b.transpose(0, 2, 1, 3).reshape(64, 64).T.astype(np.int32)
    for sketch in found:
        assert "meta_schedule.auto_tensorize" in sketch.mod.script()
        assert all(made.apply(sketch) for made in postproc.Postproc.create("vnni"))
        assert "dot_16x4" in sketch.script()
        c = np.zeros((64, 64), np.int32)
        tvms.compile(sketch.mod)["main"](a, b, c)
        assert (c == expected).all()
    floats = te_workload.create_te_workload("GMM", 0)
    (plain,) = generate_design_space("llvm", floats, "llvm", None, [rule])
    assert not plain.trace.simplified().insts


def test_sketches_are_compared_with_programs(capsys: pytest.CaptureFixture[str]) -> None:
    """A sketch is replayed with the expected decisions; another program, other decisions or another number of sketches are wrong."""

    @meta_schedule.derived_object
    class Halves(schedule_rule.PyScheduleRule):
        def apply(self, sch: tvms.Schedule, block: BlockRV) -> list[tvms.Schedule]:
            loops = sch.get_loops(block)
            if loops:
                sch.split(loops[0], factors=sch.sample_perfect_tile(loops[0], 2, 16))
            return [sch]

    mod = module(ROWS.replace("T.prim_func scale", "T.prim_func main"))
    found = generate_design_space("llvm", mod, "llvm", None, [Halves()])
    expected = tvms.Schedule(mod)
    (first, *_) = expected.get_loops(expected.get_block("scale"))
    expected.split(first, factors=[16, 4])
    check_sketches(mod, found, [expected.mod], [[("SamplePerfectTile", [16, 4])]])
    for decisions in ([], [("SamplePerfectTile", [4, 16])], [("SampleCategorical", 1)]):
        with pytest.raises(AssertionError, match="no sketch makes the expected program 0"):
            check_sketches(mod, found, [expected.mod], [decisions])
    with pytest.raises(AssertionError, match="expected 2 sketches, got 1"):
        check_sketches(mod, found, [expected.mod] * 2, [[], []])
    print_sketches(found)
    assert "('SamplePerfectTile', [" in capsys.readouterr().out


@pytest.mark.parametrize("name", te_workload.CONFIGS)
def test_workloads_are_lawful(name: str) -> None:
    """Each function of the workloads can be checked, and has blocks."""
    function = te_workload.create_te_workload(name, 0)
    assert tvms.verify(tvms.IRModule({"main": function}), "types") == ()


def test_rules_of_users_are_applied() -> None:
    """A subclass of ScheduleRule, and a function that a block names."""

    @meta_schedule.derived_object
    class Unrolled(schedule_rule.PyScheduleRule):
        def apply(self, sch: tvms.Schedule, block: BlockRV) -> list[tvms.Schedule]:
            loops = sch.get_loops(block)  # the root has none
            if loops:
                sch.unroll(loops[-1])
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
    texts = space_generator.generated_spaces(union, module(SMALL), TARGET)
    assert "decision" not in texts[0].script()
    assert ["S.sample_perfect_tile(" in text.script() for text in texts] == [True, False]
    with meta_schedule.tune_tir(module(SMALL), "llvm", tmp_path, 8, space=union) as database:
        found = [record.schedule for record in database.records()]
    assert any("S.reorder(" in text and "S.split(" in text for text in found)
