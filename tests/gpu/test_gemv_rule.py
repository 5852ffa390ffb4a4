"""Products of few rows by default: the matrix is read once, and decoded in registers."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import tvms
from gpu.gemv_programs import HALF, INT4, SCORES, Weights, arguments, gemv
from hypothesis import given
from hypothesis import strategies as st
from tvms.codegen.gpu.ptxas import assemble, find_ptxas
from tvms.ir.schedule import Schedule

EACH = "cuda -arch=sm_80 -simulate=each"
TOLERANCES = {"float16": 1e-2, "float32": 2e-6, "int32": 0}


def rules(executable: Any) -> list[str | None]:
    return [decision.rule for decision in executable.decisions["main"]]


def assert_right(
    module: Any, executable: Any, tolerance: float, seed: int = 0, sizes: dict[str, int] | None = None
) -> None:
    """Compare a result, the last argument, with that of the program without a schedule on the processor."""
    values = arguments(module["main"], seed, sizes)
    expected = [value.copy() for value in values]
    executable["main"](*values)
    tvms.compile(module, schedule=False)["main"](*expected)
    found, wanted = (list_of[-1].astype(np.float64) for list_of in (values, expected))
    assert np.abs(found - wanted).max(initial=0) <= tolerance * max(np.abs(wanted).max(initial=0), 1)


CASES = {
    "int4": (gemv((1, 300, 512)), "float16"),
    "int4, some tokens": (gemv((3, 300, 512)), "float16"),
    "int4, many tokens": (gemv((16, 256, 128), INT4, "float32"), "float32"),
    "int4 in bytes": (gemv((2, 512, 256), Weights("uint8", "float16", 2, 64), "float32"), "float32"),
    "int2": (gemv((1, 257, 2048), Weights("uint32", "float16", 16, 128)), "float16"),
    "int8": (gemv((5, 260, 256), Weights("int8", "float32", 1, 32), "float32"), "float32"),
    "float8": (gemv((1, 512, 256), Weights("float8_e4m3fn", "float16", 1, 64), "float32"), "float32"),
    "bfloat16 scales": (gemv((1, 512, 256), Weights("uint32", "bfloat16", 8, 32), "float32"), "float32"),
    "a group of 40": (gemv((1, 256, 320), Weights("uint32", "float32", 8, 40), "float32"), "float32"),
    "parts of 4": (gemv((1, 256, 100), Weights("int8", "float32", 1, 4), "float32"), "float32"),
    "an epilogue": (gemv((3, 300, 512), has_epilogue=True), "float16"),
    "elements": (gemv((1, 256, 512), HALF, "float32"), "float32"),
    "elements, seven tokens": (gemv((7, 256, 64), HALF, "float32"), "float32"),
}


@pytest.mark.parametrize("name", CASES)
def test_each_element_is_decoded_once(name: str) -> None:
    text, dtype = CASES[name]
    module = tvms.parse(text)
    executable = tvms.compile(module, target=EACH)
    assert rules(executable) == ["gemv"]
    assert_right(module, executable, TOLERANCES[dtype])


@pytest.mark.parametrize("n", [0, 1, 37, 300])
def test_scores_of_symbolic_length(n: int) -> None:
    module = tvms.parse(SCORES)
    executable = tvms.compile(module, target=EACH)
    assert rules(executable) == ["gemv"]
    assert_right(module, executable, 1e-2, 0, {"n": n})


@st.composite
def _products(draw: Any) -> tuple[str, str]:
    words, pack = draw(st.sampled_from([("uint32", 8), ("uint32", 4), ("uint8", 2), ("int8", 1), ("float16", 1)]))
    scale, result = draw(st.sampled_from([("float16", "float32"), ("float32", "float32"), ("float16", "float16")]))
    group = 0 if words == scale == "float16" else draw(st.sampled_from([8, 16, 24, 32, 64]))
    m, n, parts = draw(st.integers(1, 9)), draw(st.integers(256, 330)), draw(st.integers(1, 6))
    k = (group or 8) * parts
    weights = Weights(words, scale, pack, group, draw(st.booleans()) and bool(group))
    return gemv((m, n, k), weights, result, draw(st.booleans())), result


@given(_products(), st.integers(0, 9))
def test_random_products(product: tuple[str, str], seed: int) -> None:
    text, result = product
    module = tvms.parse(text)
    assert_right(module, tvms.compile(module, target=EACH), TOLERANCES[result], seed)


@pytest.mark.parametrize(
    ("threads", "results", "chunk"), [(1, 1, 1), (2, 8, 64), (32, 2, 8), (64, 4, 16), (256, 1, 2), (8, 1, 128)]
)
def test_all_knobs_compute_the_same(threads: int, results: int, chunk: int) -> None:
    module = tvms.parse(gemv((2, 260, 512), INT4, "float32", has_epilogue=True))
    schedule = Schedule(module)
    blocks = [schedule.get_block(name) for name in ("decode", "matmul", "bias", "silu")]
    schedule.apply("inline_values", blocks[0])
    schedule.apply("gemv_threads", blocks[1], epilogue=blocks[2:], threads=threads, results=results, chunk=chunk)
    assert_right(module, tvms.compile(schedule.mod, target=EACH), TOLERANCES["float32"])


TURNED = Weights("uint32", "float16", 8, 32, is_turned=True)


def test_words_of_several_rows_are_read_once() -> None:
    module = tvms.parse(gemv((1, 300, 1024), TURNED))
    executable = tvms.compile(module, target=EACH)
    assert rules(executable) == ["columns"]
    assert_right(module, executable, TOLERANCES["float16"])
    ptx = str(tvms.emit(module, "ptx", "cuda -arch=sm_80"))
    assert len(re.findall(r"ld\.global[.a-z]*\.b32\s", ptx)) == 4, "32 terms are four words"


@pytest.mark.parametrize(("parts", "chunk"), [(2, 8), (4, 16), (32, 3), (16, 1)])
def test_chunks_of_columns_compute_the_same(parts: int, chunk: int) -> None:
    module = tvms.parse(gemv((2, 260, 96), TURNED, "float32"))
    schedule = Schedule(module)
    schedule.apply("inline_values", schedule.get_block("decode"))
    schedule.apply("warp_columns", schedule.get_block("matmul"), parts=parts, chunk=chunk)
    assert_right(module, tvms.compile(schedule.mod, target=EACH), TOLERANCES["float32"])


def test_words_are_read_as_vectors() -> None:
    module = tvms.parse(gemv((1, 4096, 4096)))
    ptx = str(tvms.emit(module, "ptx", "cuda -arch=sm_80"))
    loads = re.findall(r"ld\.global[.a-z]*\.(v4\.b32|b16)\s", ptx)
    assert (loads.count("v4.b32"), loads.count("b16")) == (2 + 4, 2), "words of two results, x, and two scales"
    assert "st.local" not in ptx


@pytest.mark.parametrize("rows", [1, 4, 16])
def test_nothing_is_spilled(rows: int) -> None:
    tool = find_ptxas()
    if tool is None:
        pytest.skip("there is no ptxas")
    ptx = str(tvms.emit(tvms.parse(gemv((rows, 4096, 4096))), "ptx", "cuda -arch=sm_80"))
    (usage,) = assemble(ptx, "sm_80", tool).usage.values()
    assert (usage.stack_bytes, usage.spill_bytes) == (0, 0)


DECLINED = {
    "many rows": (
        gemv((17, 256, 64)),
        "no factor has few rows and meets a large matrix that is contiguous along the sum",
    ),
    "few columns": (
        gemv((1, 255, 64)),
        "no factor has few rows and meets a large matrix that is contiguous along the sum",
    ),
    "columns": (
        gemv((1, 256, 64), Weights("uint32", "float16", 8, 32, True)),
        "no factor has few rows and meets a large matrix that is contiguous along the sum",
    ),
    "a short sum": (
        gemv((1, 256, 32)),
        "no factor has few rows and meets a large matrix that is contiguous along the sum",
    ),
}


@pytest.mark.parametrize("name", DECLINED)
def test_others_are_declined(name: str) -> None:
    text, reason = DECLINED[name]
    decisions = tvms.compile(tvms.parse(text), target="cuda -arch=sm_80").decisions["main"]
    assert "gemv" not in [decision.rule for decision in decisions]
    assert ("gemv", reason) in [found for decision in decisions for found in decision.declined]


def test_chunks_of_columns_that_do_not_fit() -> None:
    schedule = Schedule(tvms.parse(gemv((1, 256, 96), TURNED)))
    schedule.apply("inline_values", schedule.get_block("decode"))
    with pytest.raises(tvms.ScheduleError, match="a column does not consist of parts of 5 elements"):
        schedule.apply("warp_columns", schedule.get_block("matmul"), parts=16, chunk=5)


REFUSED = {
    "a chunk": ({"threads": 32, "results": 1, "chunk": 64}, "the sum does not consist of aligned parts of 64 terms"),
    "neighbors": ({"threads": 8, "results": 4, "chunk": 8}, "4 neighboring results have different rows"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_knobs_that_do_not_fit(name: str) -> None:
    knobs, reason = REFUSED[name]
    module = tvms.parse(gemv((1, 256, 96), HALF)) if name == "a chunk" else tvms.parse(SCORES)
    schedule = Schedule(module)
    with pytest.raises(tvms.ScheduleError, match=reason):
        schedule.apply("gemv_threads", schedule.get_block("matmul" if name == "a chunk" else "scores"), **knobs)


CONDITION = """
T.prim_func main(A: T.Buffer((1, 128), "float32"), B: T.Buffer((300, 128), "float32"), C: T.Buffer((1, 320), "float32")):
    for i, j, k in T.grid(1, 320, 128):
        with T.block("matmul"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * {}
"""
GUARDED = {
    "rows": "T.if_then_else(vj < 300, B[vj, vk], T.float32(0))",
    "the first rows": "T.if_then_else(20 <= vj, B[vj - 20, vk], T.float32(0))",
    "a condition that reads": 'T.Cast("float32", T.And(vj < 300, B[vj, vk] > T.float32(0)))',
    "some": "T.if_then_else(20 <= vj, B[T.min(vj, 299), vk] * B[vj - 20, vk], T.float32(0))",
}


@pytest.mark.parametrize("name", GUARDED)
def test_loads_are_not_moved_before_their_conditions(name: str) -> None:
    module = tvms.parse(CONDITION.format(GUARDED[name]))
    executable = tvms.compile(module, target=EACH)
    assert rules(executable)[-1] == ("gemv" if name == "some" else "a block for each row")
    assert_right(module, executable, TOLERANCES["float32"])
    schedule = Schedule(module)
    if name == "some":
        schedule.apply("gemv_threads", schedule.get_block("matmul"), threads=32, results=1, chunk=4)
        assert_right(module, tvms.compile(schedule.mod, target=EACH), TOLERANCES["float32"])
        return
    with pytest.raises(tvms.ScheduleError, match="no factor has few rows"):
        schedule.apply("gemv_threads", schedule.get_block("matmul"), threads=32, results=1, chunk=4)


def test_loads_with_conditions_that_are_valid_without_them_are_read_as_vectors() -> None:
    text = CONDITION.format("T.if_then_else(vk < 100, B[T.min(vj, 299), vk], T.float32(0))")
    module = tvms.parse(text)
    executable = tvms.compile(module, target=EACH)
    assert rules(executable) == ["gemv"]
    assert_right(module, executable, TOLERANCES["float32"])
    assert "v4.b32" in str(tvms.emit(module, "ptx", "cuda -arch=sm_80"))


@pytest.mark.parametrize(("pack", "bits"), [(10, 3), (5, 6), (6, 5), (3, 10)])
def test_packs_of_any_number(pack: int, bits: int) -> None:
    weight = f'T.shift_right(B[vj, vk // {pack}], T.Cast("uint32", vk % {pack} * {bits})) & T.uint32({2**bits - 1})'
    text = CONDITION.format(f'T.Cast("float32", {weight})').replace('(300, 128), "float32"', '(320, 32), "uint32"')
    module = tvms.parse(text.replace("128", str(32 * pack)))
    executable = tvms.compile(module, target=EACH)
    assert rules(executable) == ["gemv"]
    assert_right(module, executable, TOLERANCES["float32"])


@pytest.mark.parametrize(
    ("b", "rule", "reason"),
    [
        ("vj, vk", "gemv", "a sum has more than 1073741824 terms"),
        ("vk, vj", "columns", "a column has more than 1073741824 elements"),
    ],
)
def test_sums_of_more_terms_than_32_bits_count(b: str, rule: str, reason: str) -> None:
    text = CONDITION.format(f"B[{b}]").replace("T.grid(1, 320, 128)", "T.grid(T.int64(1), T.int64(320), N)")
    text = text.replace("(300, 128)", "(320, N)" if b == "vj, vk" else "(N, 320)").replace("128", "N")
    for size, is_declined in ((1 << 30, False), (1 << 31, True), (1 << 32, True)):
        module = tvms.parse(re.sub(r"\bN\b", f"T.int64({size})", text))
        decisions = tvms.compile(module, target="cuda -arch=sm_80").decisions["main"]
        assert ((rule, reason) in [found for decision in decisions for found in decision.declined]) == is_declined
        assert (rule in [decision.rule for decision in decisions]) != is_declined
        ptx = str(tvms.emit(module, "ptx", "cuda -arch=sm_80"))
        assert "fma.rn.f32" in ptx, "without a fault at once"
