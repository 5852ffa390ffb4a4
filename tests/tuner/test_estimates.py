"""Estimates for GPUs: they order schedules as GPUs are known to, stay above what the GPU could do at best, and are called estimates."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import tvms
from hypothesis import given
from hypothesis import strategies as st
from tvms.codegen.build import Settings, prepare
from tvms.codegen.gpu.addresses import evaluate_all
from tvms.codegen.gpu.estimate import Estimate, estimate
from tvms.codegen.gpu.figures import FIGURES
from tvms.codegen.gpu.program import build_program
from tvms.codegen.target import get_target
from tvms.codegen.tuner.database import Database
from tvms.dsl.cli import main
from tvms.ir import make, tir
from tvms.ir.analysis.evaluate import evaluate

ARCHITECTURES = ["sm_80", "sm_86", "sm_90"]
COPY = """
T.prim_func f(A: T.Buffer(({n},), "float32"), B: T.Buffer(({n},), "float32")):
    for bx in T.thread_binding({n} // {threads}, thread="blockIdx.x"):
        for tx in T.thread_binding({threads}, thread="threadIdx.x"):
            B[bx * {threads} + tx] = A[{index}]
"""
TRANSPOSE = """
T.prim_func f(A: T.Buffer((4096, 4096), "float32"), B: T.Buffer((4096, 4096), "float32")):
    for by in T.thread_binding(128, thread="blockIdx.y"):
        for bx in T.thread_binding(128, thread="blockIdx.x"):
            S = T.alloc_buffer((32, {row}), scope="shared")
            for i in range(4):
                for ty in T.thread_binding(8, thread="threadIdx.y"):
                    for tx in T.thread_binding(32, thread="threadIdx.x"):
                        S[ty * 4 + i, tx] = A[by * 32 + ty * 4 + i, bx * 32 + tx]
            for i in range(4):
                for ty in T.thread_binding(8, thread="threadIdx.y"):
                    for tx in T.thread_binding(32, thread="threadIdx.x"):
                        B[bx * 32 + ty * 4 + i, by * 32 + tx] = S[tx, ty * 4 + i]
"""
PRODUCT = """
I.ir_module Module:
    T.prim_func f(A: T.Buffer(({m}, {k}), "{dtype}"), B: T.Buffer(({k}, {n}), "{dtype}"), C: T.Buffer(({m}, {n}), "float32")):
        for i, j, k in T.grid({m}, {n}, {k}):
            with T.block("product"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + {product}

    S.schedule one(f, target="cuda"):
        block = S.get_block("product")
        {steps}
"""
PLAIN = """i, j, k = S.get_loops(block)
        i0, i1 = S.split(i, factors=[None, {rows}])
        j0, j1 = S.split(j, factors=[None, {columns}])
        S.reorder(i0, j0, i1, j1, k)
        S.bind(i0, "blockIdx.y")
        S.bind(j0, "blockIdx.x")
        S.bind(i1, "threadIdx.{y}")
        S.bind(j1, "threadIdx.{x}")"""


def estimated(text: str, arch: str = "sm_80") -> Estimate:
    target = get_target(f"cuda -arch={arch}")
    return estimate(build_program(prepare(tvms.parse("#tvms 1\n" + text), target), target, Settings()), target)


def seconds(text: str, arch: str) -> float:
    return estimated(text, arch).seconds


def copy(index: str, threads: int = 256, n: int = 1 << 24) -> str:
    return COPY.format(n=n, threads=threads, index=index)


def product(steps: str, m: int = 1024, n: int = 1024, k: int = 1024, dtype: str = "float32") -> str:
    factors = "A[vi, vk]", "B[vk, vj]"
    text = " * ".join(factors if dtype == "float32" else [f'T.Cast("float32", {factor})' for factor in factors])
    return PRODUCT.format(m=m, n=n, k=k, dtype=dtype, steps=steps, product=text)


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_coalesced_accesses_are_faster(arch: str) -> None:
    """Neighboring threads read neighboring elements, elements at a distance, or elements in far sectors."""
    times = [
        seconds(copy(index), arch)
        for index in ("bx * 256 + tx", "(bx * 512 + tx * 2) % 16777216", "(tx * 65536 + bx) % 16777216")
    ]
    assert times[0] < times[1]
    assert times[2] > 1.1 * times[0]


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_padded_tiles_are_faster_than_conflicting_ones(arch: str) -> None:
    """Rows of 33 elements put the elements of a column into different banks; rows of 34 into half as many."""
    times = [estimated(TRANSPOSE.format(row=row), arch) for row in (33, 34, 32)]
    shared = [found.kernels[0].terms["L1 cache and shared memory"] for found in times]
    assert shared[0] < shared[1] < shared[2]
    assert times[0].seconds < times[2].seconds


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_tiny_blocks_are_slower(arch: str) -> None:
    """A block of fewer threads than a warp wastes lanes; one of a warp leaves most of a multiprocessor idle."""
    times = [seconds(copy(f"bx * {threads} + tx", threads), arch) for threads in (256, 32, 8, 1)]
    assert times[0] < times[1] < times[2] < times[3]
    assert times[3] > 8 * times[0]


@pytest.mark.deep(3)
@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_products_are_ordered_by_what_their_tiles_reuse(arch: str) -> None:
    """Tiles in registers beat a thread for each element; that beats uncoalesced accesses; tensor cores beat all."""
    times = [
        seconds(product(steps), arch)
        for steps in (
            "S.thread_tiles(block, rows=64, columns=64)", PLAIN.format(rows=8, columns=32, y="y", x="x"),
            PLAIN.format(rows=8, columns=32, y="x", x="y"),
        )
    ]  # fmt: skip
    assert times[0] < times[1] < times[2]
    tensor = seconds(product("S.tensor_core_tiles(block, rows=128, columns=64, arch=80)", dtype="float16"), arch)
    assert tensor < times[0] / 2


def test_products_by_warpgroups_beat_those_by_warps() -> None:
    """The ratio of the rates of `wgmma` and `mma.sync` is 1.6; wider tiles reuse more."""
    steps = ["S.tensor_core_tiles(block, rows=128, columns=128, arch=90)"]
    steps += [f"S.warpgroup_tiles(block, rows=128, columns={columns})" for columns in (64, 128, 256)]
    by_warps, *by_warpgroups = (seconds(product(step, 4096, 4096, 4096, dtype="float16"), "sm_90a") for step in steps)
    assert by_warpgroups[0] > by_warpgroups[1] > by_warpgroups[2]
    assert by_warps > 1.2 * by_warpgroups[2] > 2 * 4096**3 / 990e12


@pytest.mark.deep(3)
@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_large_tiles_are_for_large_products(arch: str) -> None:
    """Tiles of 128 × 128 are best at 4096; at 256 they would be four blocks, which leave the GPU idle."""

    def times(size: int) -> list[float]:
        steps = [f"S.thread_tiles(block, rows={tile}, columns={tile})" for tile in (128, 32)]
        return [seconds(product(text, size, size, size), arch) for text in steps]

    large, small = times(4096), times(256)
    assert large[0] < large[1]
    assert small[0] > small[1]


@pytest.mark.deep(3)
@pytest.mark.parametrize("arch", list(FIGURES))
def test_estimates_stay_above_the_peaks(arch: str) -> None:
    """A copy takes at least its bytes by the bandwidth, and not twice that; a product its operations by the peak rate."""
    figures = FIGURES[arch]
    least = 2 * 4 * (1 << 24) / (figures.bandwidth * 1e9)
    assert least <= seconds(copy("bx * 256 + tx"), arch) <= 2 * least
    least = 4096**3 / (figures.multiprocessors * figures.float32 * figures.clock * 1e9)
    found = seconds(product("S.thread_tiles(block, rows=128, columns=128)", 4096, 4096, 4096), arch)
    assert least <= found <= 3 * least


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_estimates_grow_with_the_work(arch: str) -> None:
    """Twice the elements take longer, and not more than twice as long."""
    times = [seconds(copy("bx * 256 + tx", n=1 << bits), arch) for bits in (10, 18, 22, 24, 26)]
    assert times == sorted(times)
    assert times[4] <= 4.01 * times[3]


def _combined(inner: st.SearchStrategy[tir.PrimExpr]) -> st.SearchStrategy[tir.PrimExpr]:
    divided = st.tuples(st.sampled_from((make.floordiv, make.floormod)), inner, st.sampled_from(_LEAVES[2:]))
    others = st.tuples(st.sampled_from((make.add, make.sub, make.mul)), inner, inner)
    return st.one_of(divided, others).map(lambda parts: parts[0](parts[1], parts[2]))


_LEAVES: list[tir.PrimExpr] = [
    tir.Var("int64", "a"),
    tir.Var("int64", "b"),
    *[tir.IntImm("int64", value) for value in range(1, 40)],
]
EXPRESSIONS: st.SearchStrategy[tir.PrimExpr] = st.recursive(st.sampled_from(_LEAVES), _combined, max_leaves=8)


@given(EXPRESSIONS, st.lists(st.integers(0, 100), min_size=1, max_size=4))
def test_arrays_of_indices_are_evaluated_like_numbers(expr: tir.PrimExpr, numbers: list[int]) -> None:
    """Each element is what the scalar evaluation gives, wherever that gives a value."""
    names = {node for node in tvms.ir.visit.walk(expr) if isinstance(node, tir.Var)}
    found = evaluate_all(expr, {name: np.asarray(numbers, np.int64) for name in names})
    assert found is not None
    for at, number in enumerate(numbers):
        expected = evaluate(expr, dict.fromkeys(names, number))
        if expected is not None:
            assert np.broadcast_to(found, (len(numbers),))[at] == expected


def test_the_registers_are_unknown_without_ptxas(monkeypatch: pytest.MonkeyPatch) -> None:
    """The estimate says so, and is made all the same."""
    monkeypatch.setattr("tvms.codegen.gpu.estimate.find_ptxas", lambda: None)
    found = estimated(copy("bx * 256 + tx"))
    assert str(found) == "limited by memory; registers unknown, occupancy 50%"
    assert found.seconds > 0


# --- The command ----------------------------------------------------------------------------------------------------

FILE = """#tvms 1
I.ir_module Module:
    T.prim_func matmul(A: T.Buffer((512, 512), "float32"), B: T.Buffer((512, 512), "float32"), C: T.Buffer((512, 512), "float32")):
        for i, j, k in T.grid(512, 512, 512):
            with T.block("matmul"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]

    T.prim_func transpose(A: T.Buffer((512, 256), "float32"), B: T.Buffer((256, 512), "float32")):
        for i, j in T.grid(256, 512):
            with T.block("transpose"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vj, vi]

    R.function main(x: R.Tensor((64, 100), "float32")) -> R.Tensor((64, 100), "float32"):
        with R.dataflow():
            gv = R.nn.softmax(x, axis=-1)
            R.output(gv)
        return gv
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "a.tvms").write_text(FILE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_functions_are_tuned_for_a_gpu_by_estimates(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is called a measurement; the schedule is in the file, and compiled code computes the same with it."""
    options = ["--func", "matmul", "--func", "transpose", "--trials", "8", "--write"]
    assert main(["tune", "a.tvms", "--target", "nvidia/nvidia-a100", *options]) == 0
    said = capsys.readouterr().out
    assert "  matmul:     estimated: " in said
    assert "before: limited by " in said
    assert "Nothing was measured: all times are estimates of a model, for A100 SXM4 40 GB.\n" in said
    assert main(["db", "list"]) == 0
    assert " estimates, best " in capsys.readouterr().out
    text = (folder / "a.tvms").read_text(encoding="utf-8")
    assert '    S.schedule matmul_tuned(matmul, target="cuda"):\n        # Tuned: estimated: ' in text
    a, b = np.random.default_rng(0).random((2, 512, 512), np.float32) - 0.5
    for source, database in ((text, None), (FILE, "tvms-tuning.db")):
        c = np.zeros((512, 512), np.float32)
        compiled = tvms.compile(tvms.parse(source), "cuda -arch=sm_80 -simulate=ascending", database=database)
        compiled["matmul"](a, b, c)
        np.testing.assert_allclose(c, a @ b, rtol=1e-4, atol=1e-4)


def test_a_graph_operator_is_tuned_for_a_gpu(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The rows of the database are estimates of their target."""
    options = ["--func", "softmax", "--trials", "3", "--json"]
    assert main(["tune", "a.tvms", "--target", "cuda -arch=sm_90", *options]) == 0
    (task,) = json.loads(capsys.readouterr().out)["tasks"]
    assert task["is_estimated"]
    assert task["outcomes"]["ok"] >= 2
    with Database("tvms-tuning.db", read_only=True) as database:
        assert {record.target for record in database.records()} == {"cuda -arch=sm_90 [estimates for H100 SXM5]"}


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (
            "cuda -arch=sm_100",
            "error[E1104]: times for 'sm_100' cannot be estimated: no figures of such a GPU are known\n"
            "  = help: tune for one of sm_70, sm_75, sm_80, sm_86, sm_89, sm_90: schedules are the same text\n",
        ),
        (
            "cuda -arch=sm_80 -simulate=random",
            "error[E1104]: the times of a simulated GPU say nothing: 'cuda -arch=sm_80 -simulate=random' cannot be tuned\n"
            "  = help: leave -simulate out: times of 'cuda -arch=sm_80' are estimated\n",
        ),
    ],
)
def test_targets_without_estimates(folder: Path, target: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", "a.tvms", "--target", target]) == 1
    assert capsys.readouterr().err == message


def test_sizes_of_symbolic_functions_count(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A size that --dim gives is that of the estimate; nothing of that size is computed."""
    (folder / "n.tvms").write_text(
        "#tvms 1\nT.prim_func f(a: T.handle, b: T.handle):\n    n = T.int64()\n    A = T.match_buffer(a, (n, 128))\n"
        "    B = T.match_buffer(b, (n, 128))\n    for i, j in T.grid(n, 128):\n        with T.block('add'):\n"
        "            vi, vj = T.axis.remap('SS', [i, j])\n            B[vi, vj] = A[vi, vj] + T.float32(1)\n",
        encoding="utf-8",
    )
    times: list[float] = []
    for n in (1_000, 1_000_000):
        options = ["--dim", f"n={n}", "--trials", "1", "--json", "--db", f"{n}.db"]
        assert main(["tune", "n.tvms", "--target", "cuda -arch=sm_80", *options]) == 0
        times.append(json.loads(capsys.readouterr().out)["tasks"][0]["baseline"])
    assert 2e-6 < times[0] < 1e-5
    assert 2 * 128 * 4e6 / 1555e9 < times[1] < 4 * 128 * 4e6 / 1555e9
