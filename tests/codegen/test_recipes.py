"""Default schedules as texts: they replay to the functions that are compiled, and refuse wrong knobs under the argument."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tvms
from msgspec.structs import replace
from tvms.codegen.build import lower_program
from tvms.codegen.default_schedules import default_schedules
from tvms.codegen.gpu.rules import bind_threads
from tvms.codegen.rules import apply_rules, rules_for
from tvms.codegen.target import get_target
from tvms.dsl.load import parse
from tvms.ir import tir
from tvms.ir.base import IRModule
from tvms.ir.schedule import Schedule, ScheduleError
from tvms.ir.schedule.declaration import COMPOSITES, load_composites

SAMPLES = sorted((Path(__file__).parents[2] / "samples").glob("*.tvms"))
PRODUCT = """#tvms 1

I.ir_module Module:
    T.prim_func main(A: T.Buffer((48, 64), "float32"), B: T.Buffer((64, 32), "float32"), C: T.Buffer((48, 32), "float32")):
        # The product.
        for i, j, k in T.grid(48, 32, 64):
            with T.block("matmul"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]

    S.schedule tiled(main):
        matmul = S.get_block("matmul")
        S.{step}
"""


def applied(module: IRModule, name: str, target: str) -> object:
    """The function that is compiled for a target, without its attributes."""
    function = module.functions[name]
    assert isinstance(function, tir.PrimFunc)
    chosen = get_target(target)
    rules = rules_for(chosen.processor) if target == "llvm" else None
    scheduled = apply_rules(function, rules)[0] if rules else bind_threads(function, chosen.arch)[0]
    return replace(scheduled, attrs=function.attrs)


@pytest.mark.deep(4)
@pytest.mark.parametrize("target", ["llvm", "cuda"])
@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_the_default_schedules_of_samples_replay(path: Path, target: str) -> None:
    chosen = get_target(target)
    module = lower_program(replace(tvms.load(path), schedules={}), chosen)
    for name, found in default_schedules(module, chosen).items():
        if found.text is None:
            assert [decision for decision in found.decisions if decision.rule] == []
            continue
        alone = replace(module, functions={name: module.functions[name]}, schedules={found.text.name: found.text})
        read = parse(str(alone)).schedules[found.text.name]
        assert read.script() == found.text.script()
        schedule = Schedule(replace(alone, schedules={}))
        schedule.replay(read)
        assert tvms.structural_equal(schedule.mod.functions[name], applied(module, name, target))


def test_a_kept_schedule_computes_the_same_bits() -> None:
    module = parse(PRODUCT.replace("S.{step}", "pass").replace('        matmul = S.get_block("matmul")\n', ""))
    module = replace(module, schedules={})
    (found,) = default_schedules(module, get_target("llvm")).values()
    assert found.text is not None
    kept = replace(module, schedules={found.text.name: found.text})
    a, b = (np.random.default_rng(0).standard_normal(size).astype("float32") for size in ((48, 64), (64, 32)))
    results = [np.zeros((48, 32), "float32") for _ in range(2)]
    for program, c in zip((module, kept), results, strict=True):
        tvms.compile(program)["main"](a, b, c)
    assert results[0].tobytes() == results[1].tobytes()
    assert np.abs(results[0] - a @ b).max() < 1e-4


MATRIX_VECTOR = """#tvms 1

I.ir_module Module:
    T.prim_func main(A: T.Buffer((64, 512), "float32"), X: T.Buffer((512,), "float32"), Y: T.Buffer((64,), "float32")):
        for j, k in T.grid(64, 512):
            with T.block("product"):
                vj, vk = T.axis.remap("SR", [j, k])
                with T.init():
                    Y[vj] = T.float32(0)
                Y[vj] = Y[vj] + A[vj, vk] * X[vk]
"""


@pytest.mark.parametrize("target", ["llvm", "cuda"])
def test_a_kept_schedule_needs_no_more_checks(target: str) -> None:
    module = parse(MATRIX_VECTOR)
    (found,) = default_schedules(module, get_target(target)).values()
    assert found.text is not None
    kept = replace(module, schedules={found.text.name: found.text})
    assert tvms.compile(module, target=target).safety["main"].checked == 0
    assert tvms.compile(kept, target=target).safety["main"].checked == 0


def test_a_text_cannot_claim_that_its_indices_are_proven() -> None:
    head, body = MATRIX_VECTOR.replace("A[vj, vk]", "A[vj + 8, vk]").split(":\n        for", 1)
    claim = f'{head}:\n        T.func_attr({{"tvms.proven_indices": True}})\n        for{body}'
    arrays = [np.zeros(size, "float32") for size in ((64, 512), (512,), (64,))]
    with pytest.raises(tvms.TvmsError, match="E0707"):
        tvms.compile(parse(claim))["main"](*arrays)


WRONG = {
    "rows=99": (
        "argument 3, 'rows' to gemm_tiles: expected an integer from 1 to 64, got 99",
        "it is the number of rows of a register tile; choose a value in this range",
    ),
    "lanes=12": (
        "argument 2, 'lanes' to gemm_tiles: expected a power of two from 2 to 64, got 12",
        "it is the number of elements of a vector; choose a value in this range",
    ),
    "columns=24": (
        "argument 4, 'columns' to gemm_tiles: expected a multiple of lanes, 16, got 24",
        "a tile consists of whole vectors",
    ),
    'parallel="all"': (
        "argument 8, 'parallel' to gemm_tiles: expected 'batch' or 'tiles', got 'all'",
        "it is what threads share; choose a value in this range",
    ),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_knob_out_of_range_is_underlined(wrong: str) -> None:
    name, value = wrong.split("=")
    knobs = {"lanes": "16", "rows": "12", "columns": "32", "depth": "64", name: value}
    text = PRODUCT.replace("{step}", f"gemm_tiles(matmul, {', '.join([f'{key}={knobs[key]}' for key in knobs])})")
    module = parse(text)
    with pytest.raises(ScheduleError) as caught:
        tvms.compile(module)
    (found,) = caught.value.diagnostics
    assert (found.code, found.span.source.text[found.span.start : found.span.end]) == ("E0594", value)
    message, help = WRONG[wrong]
    assert (found.message.split(", ", 1)[1], found.help) == (message.split(", ", 1)[1], help)


def test_a_step_for_another_block_is_refused() -> None:
    module = parse(PRODUCT.replace("{step}", "transpose_squares(matmul, lanes=16)"))
    with pytest.raises(ScheduleError, match="E0595") as caught:
        tvms.compile(module)
    assert "argument 1, 'block' to transpose_squares: it is not a copy" in str(caught.value)


def test_comments_of_blocks_stay_above_their_kernels() -> None:
    module = parse(PRODUCT.replace("{step}", "gemm_tiles(matmul, lanes=8, rows=4, columns=16, depth=16)"))
    schedule = Schedule(replace(module, schedules={}))
    (text,) = module.schedules.values()
    schedule.replay(text)
    assert str(schedule.mod).count("# The product.") == 1


def test_every_composite_step_says_what_it_preserves_and_how_it_is_tuned() -> None:
    load_composites()
    for name, step in COMPOSITES.items():
        assert "Preserves:" in step.doc, name
        named = {argument.name for argument in step.arguments if argument.keyword_only}
        assert set(step.knobs) <= named, name
        assert {"block", "blocks"} & {argument.name for argument in step.arguments} or name in (
            "single_thread",
            "own_memory",
        )


CONVOLUTION = """\
I.ir_module Module:
    T.prim_func main(I_1: T.Buffer((11, 11, 3), "float32"), W: T.Buffer((2, 3, 3, 3), "float32"), O: T.Buffer((9, 9, 2), "float32")):
        for y0, x0, f0, c0, u0, v0 in T.grid(9, 9, 2, 3, 3, 3):
            with T.block("convolution"):
                y, x, f, c, u, v = T.axis.remap("SSSRRR", [y0, x0, f0, c0, u0, v0])
                with T.init():
                    O[y, x, f] = T.float32(0)
                O[y, x, f] = O[y, x, f] + W[f, c, u, v] * I_1[y + u, x + v, c]

    S.schedule gathered(main):
        S.im2col(S.get_block("convolution"), chunk=%d, lanes=4, rows=%d, columns=4, depth=28)
"""


@pytest.mark.deep(4)
@pytest.mark.parametrize("rows", [2, 4, 6, 8])
@pytest.mark.parametrize("chunk", [8, 9, 18, 27, 80, 81])
def test_chunks_of_any_size_have_all_tiles_of_rows(chunk: int, rows: int) -> None:
    random = np.random.default_rng(chunk)
    image, weights = (random.integers(-8, 8, shape).astype("f4") / 4 for shape in ((11, 11, 3), (2, 3, 3, 3)))
    found = np.zeros((9, 9, 2), "f4")
    tvms.compile(tvms.parse(CONVOLUTION % (chunk, rows)))["main"](image, weights, found)
    windows = np.lib.stride_tricks.sliding_window_view(image, (3, 3), (0, 1))
    np.testing.assert_allclose(found, np.einsum("yxcuv,fcuv->yxf", windows, weights), rtol=1e-5)
