"""Laws of schedule rules: results are well formed and equivalent, and the printed recipe makes the same program."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvms
from msgspec.structs import replace
from tvms import dlight as dl
from tvms.codegen.dlight.base import suggest_threads_per_block
from tvms.codegen.gpu.ptxas import assemble, find_ptxas
from tvms.dsl.testing.oracle import assert_equivalent
from tvms.ir.equal import first_difference
from tvms.ir.passes import pipelines
from tvms.ir.schedule import Schedule
from tvms.target import Target

CASES = Path(__file__).parent.parent / "cases" / "dlight"
PROGRAMS = tvms.load(CASES / "programs.tvms")
RULES: dict[str, Any] = {
    rule.__name__: rule()
    for rule in (
        dl.gpu.Matmul, dl.gpu.GEMV, dl.gpu.LowBatchGEMV, dl.gpu.Reduction, dl.gpu.GeneralReduction, dl.gpu.Transpose,
        dl.gpu.RMSNorm, dl.gpu.Fallback,
    )
} | {"CPU GEMV": dl.cpu.GEMV()}  # fmt: skip
STAGES = ("library_dispatch", "legalize", "dataflow_lower", "finalize")
TARGETS = ("cuda", "metal", "llvm")
APPLIES = {
    "Matmul": {"matmul"},
    "GEMV": {"gemv", "gemv_and_epilogue"},
    "LowBatchGEMV": {"few_vectors"},
    "Reduction": {"rows", "rows_and_epilogue", "columns", "columns_and_epilogue", "gemv", "gemv_and_epilogue"},
    "GeneralReduction": {"softmax", "unknown_softmax"},
    "Transpose": {"transpose"},
    "RMSNorm": set(),
    "Fallback": {name for name in PROGRAMS.functions if name != "few_vectors"},
    "CPU GEMV": {"gemv", "gemv_and_epilogue"},
}
"""Functions that a rule must schedule for at least one target."""
SIZES = dict.fromkeys(("n", "m", "k"), 5)


def schedules(rule: str, name: str) -> list[tuple[str, Schedule]]:
    """Return the schedules of a function by a rule, for each target that it applies to."""
    found = [(target, RULES[rule].apply(PROGRAMS[name], Target(target), False)) for target in TARGETS]
    return [(target, sch) for target, sch in found if sch is not None]


@pytest.mark.deep(16)
@pytest.mark.parametrize("name", list(PROGRAMS.functions))
@pytest.mark.parametrize("rule", list(RULES))
def test_a_recipe_is_well_formed_equivalent_and_replays(rule: str, name: str) -> None:
    found = schedules(rule, name)
    assert found or name not in APPLIES[rule]
    for _, sch in found:
        before = Schedule(PROGRAMS[name]).mod
        tvms.verify(sch.mod)
        assert_equivalent(before, sch.mod, sizes=SIZES, integers=(-3, 4))
        written = tvms.parse(str(replace(before, schedules={"recipe": sch.text("recipe")})))
        replayed = Schedule(before)
        replayed.replay(written.schedules["recipe"])  # type: ignore[arg-type]
        assert first_difference(sch.mod, replayed.mod, map_free_vars=True) is None


@pytest.mark.deep(8)
@pytest.mark.parametrize("name", list(PROGRAMS.functions))
@pytest.mark.parametrize("rule", [rule for rule in RULES if rule != "CPU GEMV"])
def test_a_recipe_for_a_gpu_compiles_and_computes_the_same(rule: str, name: str) -> None:
    sch = RULES[rule].apply(PROGRAMS[name], Target("cuda"), False)
    if sch is not None:
        wanted, found = arguments(PROGRAMS[name]), arguments(PROGRAMS[name])
        tvms.interpret(PROGRAMS[name], "main", wanted)
        tvms.compile(sch.mod, target="cuda -simulate", level=0)["main"](*found)
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-2, atol=1e-2)


PRODUCT = """
T.prim_func main(X: T.Buffer((ROWS, 128), "OPERAND"), W: T.Buffer((128, 128), "OPERAND"), C: T.Buffer((ROWS, 128), "SUM")):
    T.func_attr({"tir.noalias": True})
    for i, j, k in T.grid(ROWS, 128, 128):
        with T.block("product"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.SUM(0)
            C[vi, vj] = C[vi, vj] + T.SUM(X[vi, vk]) * T.SUM(W[vj, vk])
"""


@pytest.mark.deep(6)
@pytest.mark.parametrize("rows", ["128", "m"])
@pytest.mark.parametrize(("operand", "sums"), [("float16", "float16"), ("float16", "float32"), ("int8", "int32")])
def test_products_on_tensor_cores_are_pipelines_that_compile(operand: str, sums: str, rows: str) -> None:
    text = (
        PRODUCT.replace("OPERAND", operand).replace("SUM", sums).replace("((ROWS", '(("m"' if rows == "m" else "((128")
    )
    function = tvms.parse(text.replace("ROWS", rows))["main"]
    sch = dl.gpu.Matmul().apply(function, Target("nvidia/geforce-rtx-3090-ti"), False)  # type: ignore[arg-type]
    assert sch is not None
    printed = str(sch.mod)
    assert '"software_pipeline_order": [0, 3, 1, 4, 5, 2, 6]' in printed
    assert '"software_pipeline_order": [0, 1, 2]' in printed
    random = np.random.default_rng(0)
    x, w = (random.integers(-3, 4, shape).astype(operand) for shape in ((100 if rows == "m" else 128, 128), (128, 128)))
    c = np.zeros((len(x), 128), sums)
    tvms.compile(sch.mod, target="cuda -arch=sm_80 -simulate=each", level=0)["main"](x, w, c)
    np.testing.assert_array_equal(c, x.astype("float32") @ w.T.astype("float32"))
    ptx, tool = tvms.emit(sch.mod, "ptx", "cuda -arch=sm_80"), find_ptxas()
    assert isinstance(ptx, str)
    assert tool is None or assemble(ptx, "sm_80", tool).image


def arguments(function: Any) -> list[Any]:
    """Return arrays of small integers for the buffers of a function; symbolic sizes are 5."""
    random = np.random.default_rng(0)
    buffers = [function.buffer_map[param] for param in function.params]
    shapes = [[getattr(extent, "value", 5) for extent in buffer.shape] for buffer in buffers]
    return [random.integers(-3, 4, shape).astype(buffer.dtype) for shape, buffer in zip(shapes, buffers, strict=True)]


def test_the_module_of_the_tutorial_is_reproduced_byte_for_byte() -> None:
    expected = (CASES / "customize_opt.txt").read_text(encoding="utf-8")
    with Target("cuda"):
        rules = (dl.gpu.Matmul(), dl.gpu.GEMV(), dl.gpu.Reduction(), dl.gpu.GeneralReduction(), dl.gpu.Fallback())
        mod = dl.ApplyDefaultSchedule(*rules)(tvms.load(CASES / "customize_opt.tvms"))
    printed = mod.script(dialect="tvm-0.21")
    assert printed[printed.index("    @T.prim_func") :].rstrip() == expected.rstrip()


def test_the_first_rule_that_applies_wins_and_scheduled_functions_stay() -> None:
    applied: list[str] = []

    @dl.ScheduleRule.from_callable("Never")
    def never(func: tvms.PrimFunc, target: Target, tunable: bool) -> None:
        applied.append(str(target.kind))

    with Target("cuda"):
        once = dl.ApplyDefaultSchedule(never, dl.gpu.Fallback())(tvms.IRModule({"f": PROGRAMS["rows"]}))
        twice = dl.ApplyDefaultSchedule(never)(once)
    assert applied == ["cuda"]
    assert twice["f"] is once["f"]
    assert once["f"].attrs["tir.is_scheduled"] is True


def test_a_text_is_a_rule() -> None:
    text = (
        str(PROGRAMS)
        + '\n    S.schedule inlined(elements):\n        b = S.get_block("double")\n        S.compute_inline(b)\n'
    )
    (recipe,) = tvms.parse(text).schedules.values()
    with Target("llvm"):
        mod = dl.ApplyDefaultSchedule(recipe)(tvms.IRModule({"f": PROGRAMS["elements"], "g": PROGRAMS["rows"]}))  # type: ignore[arg-type]
    assert "double" not in mod["f"].script()
    assert mod["g"] is PROGRAMS["rows"]


def test_a_pass_without_a_target_says_so() -> None:
    with pytest.raises(tvms.TvmsError) as raised:
        dl.ApplyDefaultSchedule(dl.gpu.Fallback())(tvms.IRModule({"f": PROGRAMS["rows"]}))
    assert str(raised.value) == (
        "error[E0601]: a default schedule needs a target\n  = help: call it inside 'with tvms.target.Target(…):'"
    )


def test_rules_for_gpus_leave_processors_alone() -> None:
    assert all(RULES[name].apply(PROGRAMS["rows"], Target("llvm"), False) is None for name in APPLIES if name not in ("RMSNorm", "CPU GEMV"))  # fmt: skip


def test_threads_are_powers_of_two_that_fit_in_a_block() -> None:
    loops = [Schedule(PROGRAMS[name]).mod["main"].body.block.body for name in ("rows", "unknown")]
    assert suggest_threads_per_block(Target("cuda"), loops[:1]) == [4]
    assert suggest_threads_per_block(Target("cuda"), [*loops, loops[0]]) == [4, 64, 4]


def test_limits_of_gpus_and_kinds_that_are_not_compiled() -> None:
    assert Target("cuda").max_threads_per_block == 1024
    assert Target("apple/m1-gpu-restricted").kind.name == "metal"
    assert Target("metal").max_shared_memory_per_block == 32768
    assert Target("opencl", host="llvm").host == "llvm"
    with pytest.raises(tvms.TvmsError) as raised:
        tvms.compile(PROGRAMS["rows"], target=Target("metal"))
    assert str(raised.value).startswith("error[E0601]: unknown target 'metal'")


@pytest.mark.parametrize("kind", ["c", "hexagon"])
def test_other_processors_are_targets_without_a_pipeline(kind: str) -> None:
    target = Target(f"{kind} -mcpu=v68")
    assert (target.kind.name, target.keys, target.mcpu) == (kind, ["cpu"], "v68")
    with pytest.raises(tvms.TvmsError, match=f"unknown target '{kind}'"):
        tvms.compile(PROGRAMS["rows"], target=target)
    for stage in (tvms.relax.get_default_pipeline, *[getattr(pipelines, f"{name}_passes") for name in STAGES]):
        with pytest.raises(ValueError, match="E0601") as raised:
            stage(target)
        assert str(raised.value) == (
            f"error[E0601]: pipelines for the target '{kind}' are not yet supported\n  = help: use llvm or cuda"
        )
        assert stage(Target("vulkan")) is not None
