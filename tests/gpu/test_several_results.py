"""Reductions to several values across threads: simulated in three orders, they give what the interpreter gives."""

from __future__ import annotations

import re
from collections.abc import Sequence
from textwrap import indent
from typing import Any

import numpy as np
import pytest
import tvms
from tvms import te
from tvms.codegen.build import Settings, prepare
from tvms.codegen.default_schedules import default_schedules
from tvms.codegen.gpu.estimate import estimate
from tvms.codegen.gpu.program import build_program
from tvms.codegen.target import get_target
from tvms.ir import interp, tir
from tvms.ir.base import IRModule
from tvms.ir.programs import as_module
from tvms.ir.schedule import Schedule
from tvms.ir.schedule.apply import apply_schedules
from tvms.tir import transform

EACH = "cuda -arch=sm_80 -simulate=each"
SHARED = """
T.prim_func f(A: T.Buffer((7, {m}), "{dtype}"), I: T.Buffer((7,), "{first}"), V: T.Buffer((7,), "{dtype}")):
    for i in T.thread_binding(7, thread="blockIdx.x"):
        for ko in range(({m} + {threads} - 1) // {threads}):
            for tx in T.thread_binding({threads}, thread="threadIdx.x"):
                with T.block("both"):
                    vi = T.axis.spatial(7, i)
                    vk = T.axis.reduce({m}, ko * {threads} + tx)
                    T.where(ko * {threads} + tx < {m})
                    with T.init():
                        I[vi] = {init}
                        V[vi] = {start}
                    v_i: T.{first} = {update}
                    v_v: T.{dtype} = {value}
                    I[vi] = v_i
                    V[vi] = v_v
"""
FIRST_GREATEST = {
    "first": "int32", "init": "-1", "start": 'T.min_value("{dtype}")', "update": "T.Select(V[vi] >= A[vi, vk], I[vi], vk)",
    "value": "T.Select(V[vi] >= A[vi, vk], V[vi], A[vi, vk])",
}  # fmt: skip
LOWEST_LEAST = {
    "first": "int32", "init": "-1", "start": 'T.max_value("{dtype}")',
    "update": "T.Select(V[vi] < A[vi, vk] or V[vi] == A[vi, vk] and I[vi] < vk, I[vi], vk)",
    "value": "T.Select(V[vi] < A[vi, vk], V[vi], A[vi, vk])",
}  # fmt: skip
LOWEST_GREATEST = {
    "first": "int32", "init": "-1", "start": 'T.min_value("{dtype}")',
    "update": "T.Select(V[vi] > A[vi, vk] or V[vi] == A[vi, vk] and I[vi] < vk, I[vi], vk)",
    "value": "T.Select(V[vi] > A[vi, vk], V[vi], A[vi, vk])",
}  # fmt: skip
SUMS = {
    "first": "float32", "init": "T.float32(0)", "start": "T.{dtype}(0)", "update": 'I[vi] + T.Cast("float32", A[vi, vk])',
    "value": "V[vi] + A[vi, vk] * A[vi, vk]",
}  # fmt: skip


def shared(form: dict[str, str], dtype: str, m: int, threads: int) -> IRModule:
    parts = {name: text.replace("{dtype}", dtype) for name, text in form.items()}
    return tvms.parse("#tvms 1\n" + SHARED.format(m=m, threads=threads, dtype=dtype, **parts))


def check(module: IRModule, arguments: Sequence[Any], name: str = "f", target: str = EACH) -> list[Any]:
    """Compare the simulation with the interpreter, and return the results of the latter."""
    expected, found = ([value.copy() for value in arguments] for _ in range(2))
    interp.run(module, name, expected)
    tvms.compile(module, target)[name](*found)
    for mine, right in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, right, rtol=1e-4, atol=1e-4)
    return expected


@pytest.mark.deep(8)
@pytest.mark.parametrize("form", [FIRST_GREATEST, LOWEST_LEAST, SUMS], ids=["first greatest", "lowest least", "sums"])
@pytest.mark.parametrize("threads", [1, 7, 16, 32, 64, 96, 256])
def test_threads_share_a_reduction_to_two_values(form: dict[str, str], threads: int) -> None:
    """In a part of a warp, in a warp, in several warps, and in numbers of threads that are not powers of two; many values are
    equal.
    """
    random = np.random.default_rng(threads)
    for dtype, m in (("float32", 100), ("int32", 97), ("float32", 3)):
        a = random.integers(-3, 3, (7, m)).astype(dtype)
        a[0] = a[0, 0]
        check(shared(form, dtype, m, threads), [a, np.zeros(7, form["first"]), np.zeros(7, dtype)])


def test_the_first_of_equal_values_wins() -> None:
    """Also where no value is better than the start."""
    a = np.full((7, 40), np.finfo(np.float32).min, np.float32)
    a[1:, 5:] = 2
    found = check(shared(FIRST_GREATEST, "float32", 40, 16), [a, np.zeros(7, np.int32), np.zeros(7, np.float32)])
    assert list(found[1]) == [-1, 5, 5, 5, 5, 5, 5]


def test_parts_of_rfactor_are_shared_by_threads() -> None:
    """The parts and their combination both reduce to two values."""
    text = SHARED.format(
        m=96, threads=1, dtype="float32", **{k: v.replace("{dtype}", "float32") for k, v in LOWEST_LEAST.items()}
    )
    text = re.sub(r'T\.thread_binding\((\d+), thread="\S+"\)', r"range(\1)", text).replace(
        "                    T.where(ko * 1 + tx < 96)\n", ""
    )
    schedule = Schedule(tvms.parse("#tvms 1\n" + text))
    block = schedule.get_block("both")
    _, ko, tx = schedule.get_loops(block)
    k = schedule.fuse(ko, tx)
    _, inner = schedule.split(k, factors=[None, 32])
    parts = schedule.rfactor(inner, 0)
    for part in (parts, block):
        loops = schedule.get_loops(part)
        schedule.bind(loops[0], "blockIdx.x")
    own, rest = schedule.get_loops(parts)[-1], schedule.get_loops(block)[-1]
    schedule.bind(own, "threadIdx.x")
    schedule.bind(rest, "threadIdx.x")
    a = np.random.default_rng(1).integers(0, 9, (7, 96)).astype(np.float32)
    check(schedule.mod, [a, np.zeros(7, np.int32), np.zeros(7, np.float32)], next(iter(schedule.mod.functions)))


GRAPH = """#tvms 1
I.ir_module M:
    R.function main(x: R.Tensor({shape}, "{dtype}")):
        with R.dataflow():
            gv = R.{operator}(x, axis={axis})
            R.output(gv)
        return gv
"""


@pytest.mark.deep(8)
@pytest.mark.parametrize("operator", ["argmax", "argmin"])
@pytest.mark.parametrize(
    ("shape", "axis", "dtype"),
    [
        ((5, 300), 1, "float32"), ((3, 300), 1, "float16"), ((300, 40), 0, "float32"), ((4, 70, 3), 1, "float32"),
        ((9, 300), 1, "int32"), ((1, 70), 1, "float32"), ((6, 5), 1, "float32"), ((500,), 0, "float32"),
        ((131, 70), 0, "float32"), ((3, 100, 45), 1, "float32"), ((200, 33), 0, "float16"), ((64, 2600), 0, "int32"),
    ],
)  # fmt: skip
def test_the_default_rule_for_argmax(operator: str, shape: tuple[int, ...], axis: int, dtype: str) -> None:
    """Ties, infinities and NaN are decided like in NumPy, in each order of threads."""
    random = np.random.default_rng(len(shape))
    x = random.integers(-4, 4, shape).astype(dtype)
    if dtype.startswith("float"):
        x.flat[:: x.size // 2 or 1] = np.nan
        x.flat[1 :: x.size // 3 or 1] = np.inf
    module = tvms.parse(GRAPH.format(shape=shape, axis=axis, dtype=dtype, operator=operator))
    found = tvms.relax.VirtualMachine(tvms.compile(module, EACH), tvms.cpu())["main"](x)
    np.testing.assert_array_equal(
        np.asarray(found.numpy() if hasattr(found, "numpy") else found), getattr(np, operator)(x, axis=axis)
    )


def test_symbolic_columns_are_shared() -> None:
    module = tvms.parse(GRAPH.format(shape='("n", "m")', axis=0, dtype="float32", operator="argmax"))
    machine = tvms.relax.VirtualMachine(tvms.compile(module, EACH), tvms.cpu())
    for shape in ((70, 33), (300, 5)):
        x = np.random.default_rng(0).integers(-4, 4, shape).astype(np.float32)
        np.testing.assert_array_equal(machine["main"](x).numpy(), np.argmax(x, axis=0))


COLUMNS = """#tvms 1
I.ir_module M:
    T.prim_func f(A: T.Buffer((2, {m}, {n}), "{dtype}"), I: T.Buffer((2, {n}), "{first}"), V: T.Buffer((2, {n}), "{dtype}")):
        for h, i, k in T.grid(2, {n}, {m}):
            with T.block("both"):
                vh, vi, vk = T.axis.remap("SSR", [h, i, k])
                with T.init():
                    I[vh, vi] = {init}
                    V[vh, vi] = {start}
                v_i: T.{first} = {update}
                v_v: T.{dtype} = {value}
                I[vh, vi] = v_i
                V[vh, vi] = v_v
"""
COLUMN_SCHEDULE = """
    S.schedule columns(f):
        both = S.get_block("both")
        S.several_results(both, threads={threads}, columns={columns})
"""


def columns_of(form: dict[str, str], dtype: str, m: int, n: int) -> str:
    text = COLUMNS
    for name, part in form.items():
        text = text.replace(f"{{{name}}}", part.replace("vi, vk]", "vh, vk, vi]").replace("[vi]", "[vh, vi]"))
    return text.replace("{dtype}", dtype).format(m=m, n=n)


@pytest.mark.deep(8)
@pytest.mark.parametrize(("form", "dtype"), [(LOWEST_GREATEST, "int32"), (LOWEST_LEAST, "int32"), (SUMS, "float32")])
@pytest.mark.parametrize(
    ("m", "n", "threads", "columns"),
    [(96, 64, 32, 32), (70, 37, 16, 8), (131, 33, 4, 32), (5, 3, 8, 2), (300, 9, 128, 4)],
)
def test_a_block_reduces_neighboring_columns(
    form: dict[str, str], dtype: str, m: int, n: int, threads: int, columns: int
) -> None:
    """Of equal values, the first one wins as in the loops without a schedule, also if the scheduled loops run in order."""
    text = columns_of(form, dtype, m, n)
    plain, scheduled = tvms.parse(text), tvms.parse(text + COLUMN_SCHEDULE.format(threads=threads, columns=columns))
    random = np.random.default_rng(m)
    a = random.integers(-2, 3, (2, m, n)).astype(dtype)
    a[:, :, 0] = a[:, :1, 0]
    arguments = [a, np.zeros((2, n), form["first"]), np.zeros((2, n), dtype)]
    expected = check(plain, arguments)
    for right, mine in zip(expected, check(scheduled, arguments), strict=True):
        np.testing.assert_array_equal(mine, right)
    in_order = [value.copy() for value in arguments]
    interp.run(apply_schedules(scheduled, "cuda"), "f", in_order)
    for right, mine in zip(expected, in_order, strict=True):
        np.testing.assert_array_equal(mine, right)


@pytest.mark.parametrize(
    ("dtype", "m", "n", "knobs"),
    [
        ("int32", 4096, 4096, "threads=32, columns=32"), ("int32", 65536, 64, "threads=128, columns=8"),
        ("int16", 65536, 64, "threads=64, columns=16"), ("int32", 64, 30000, "threads=8, columns=32"),
        ("int32", 4096, 4, "threads=256"), ("int32", 40, 4096, "threads=1"), ("int32", 128, 1 << 18, "threads=1"),
    ],
)  # fmt: skip
def test_the_default_rule_divides_columns(dtype: str, m: int, n: int, knobs: str) -> None:
    """Narrow blocks, of at least 32 contiguous bytes, for few results, and fewer threads for many or short columns; none where each
    result can have a thread or the columns are too short.
    """
    module = tvms.parse(columns_of(LOWEST_GREATEST, dtype, m, n))
    text = default_schedules(module, get_target("cuda -arch=sm_80"))["f"].text
    assert text is not None
    assert f"S.several_results(both, {knobs})" in text.script()


def test_divided_columns_are_estimated_to_be_faster() -> None:
    target, seconds = get_target("cuda -arch=sm_80"), []
    for schedule in ("", COLUMN_SCHEDULE.format(threads=1, columns=1), COLUMN_SCHEDULE.format(threads=256, columns=1)):
        module = tvms.parse(columns_of(LOWEST_GREATEST, "int32", 4096, 4096) + schedule)
        seconds.append(estimate(build_program(prepare(module, target), target, Settings()), target).seconds)
    assert seconds[0] < min(seconds[1:]) / 2


@pytest.mark.parametrize("operator", ["argmax", "argmin"])
def test_threads_combine_without_branches(operator: str) -> None:
    """The loop body has no branches, so that elements of later iterations can be loaded ahead."""
    module = tvms.parse(GRAPH.format(shape=(16384, 16384), axis=0, dtype="float32", operator=operator))
    target = get_target("cuda -arch=sm_80")
    code = build_program(prepare(module, target), target, Settings()).llvm
    loop, end, _ = code.partition("@llvm.nvvm.")[2].partition("store i64")
    assert end
    assert loop.count("load float, ptr addrspace(1)") > 1
    assert loop.count("br i1") == 1


def test_a_block_has_no_more_than_1024_threads() -> None:
    text = columns_of(SUMS, "float32", 64, 64) + COLUMN_SCHEDULE.format(threads=64, columns=32)
    with pytest.raises(tvms.TvmsError) as caught:
        tvms.compile(tvms.parse(text), EACH)
    first = caught.value.diagnostics[0]
    assert (first.code, first.message, first.help) == (
        "E0594",
        "argument 3, 'columns' to several_results: block 'both' can be computed with at most 16 columns of 64 threads, got 32",
        "choose a value in the range",
    )


PLAIN = """#tvms 1
T.prim_func f(A: T.Buffer((3, {m}), "float32"), I: T.Buffer((3,), "int32"), V: T.Buffer((3,), "float32")):
    for i, k in T.grid(3, {m}):
        with T.block("best"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                I[vi] = {init}
                V[vi] = {start}
            v_i: T.int32 = {update}
            v_v: T.float32 = {value}
            I[vi] = v_i
            V[vi] = v_v
"""


def plain(form: dict[str, str], m: int = 300) -> IRModule:
    parts = {name: text.replace("{dtype}", "float32") for name, text in form.items() if name != "first"}
    return tvms.parse(PLAIN.format(m=m, **parts))


@pytest.mark.parametrize(("form", "m"), [(FIRST_GREATEST, 300), (LOWEST_LEAST, 300), (FIRST_GREATEST, 5)])
def test_the_default_rule_keeps_the_order_that_matters(form: dict[str, str], m: int) -> None:
    """NaN makes these reductions depend on their order, so that one thread computes each result."""
    module = plain(form, m)
    compiled = tvms.compile(module, EACH)
    assert [str(decision) for decision in compiled.decisions["f"]] == ["block 'best': several results"]
    a = np.random.default_rng(0).integers(-2, 2, (3, m)).astype(np.float32)
    a[1, 1::3] = np.nan
    check(module, [a, np.zeros(3, np.int32), np.zeros(3, np.float32)])


def test_each_row_of_any_reduction_has_a_thread() -> None:
    """Sums that feed back: no rule shares them, but rows are independent."""
    update = {
        "update": 'T.Cast("int32", V[vi]) + vk',
        "value": 'V[vi] + (A[vi, vk] - V[vi]) / T.Cast("float32", vk + 1)',
    }
    module = plain({**FIRST_GREATEST, "init": "0", "start": "T.float32(0)", **update}, 50)
    assert [str(decision) for decision in tvms.compile(module, EACH).decisions["f"]] == [
        "block 'best': several results"
    ]
    a = np.random.default_rng(0).random((3, 50), np.float32)
    check(module, [a, np.zeros(3, np.int32), np.zeros(3, np.float32)])


# --- Means and variances in one pass -----------------------------------------------------------------------------

RUNNING = """#tvms 1
T.prim_func f(A: T.Buffer((5, {m}), "float32"), {params}):
    for LOOPS:
        with T.block("running"):
            vi = T.axis.spatial(5, i)
            vk = T.axis.reduce({m}, {index})
            T.where({index} < {m})
            with T.init():
{inits}
{update}
"""
COUNTED = "N[vi] = N[vi] + {one}\nd: T.float32 = A[vi, vk] - M[vi]\n"
MOMENTS: dict[str, str] = {
    "mean": "M[vi] = M[vi] + (A[vi, vk] - M[vi]) / T.Cast(\"float32\", vk + 1)",
    "mean and squares": (
        "m: T.float32 = M[vi] + (A[vi, vk] - M[vi]) / T.Cast(\"float32\", vk + 1)\n"
        "s: T.float32 = S[vi] + (A[vi, vk] - M[vi]) * (A[vi, vk] - m)\nM[vi] = m\nS[vi] = s"
    ),
    "squares before the mean": (
        "S[vi] = S[vi] + (A[vi, vk] - M[vi]) * (A[vi, vk] - M[vi]) * T.Cast(\"float32\", vk) / T.Cast(\"float32\", vk + 1)\n"
        "M[vi] = (M[vi] * T.Cast(\"float32\", vk) + A[vi, vk]) / T.Cast(\"float32\", vk + 1)"
    ),
    "count, mean and squares": COUNTED + "M[vi] = M[vi] + d / N[vi]\nS[vi] = S[vi] + d * (A[vi, vk] - M[vi])",
    "an integer count": (
        'N[vi] = N[vi] + {one}\nd: T.float32 = A[vi, vk] * A[vi, vk] - M[vi]\nM[vi] = M[vi] + d * (T.float32(1) / T.Cast("float32", N[vi]))'
    ),
}  # fmt: skip
"""Updates of the mean M, the sum S of squared differences, and the count N."""


def running(
    update: str, m: int, threads: int, *, count: str = "float32", index: str = "", bound: bool = True
) -> IRModule:
    """Return a function with an update of `MOMENTS`, whose iterations `threads` threads share if it is `bound`; without threads, a plain
    nest.
    """
    update = update.replace("{one}", f"T.{count}(1)")
    names = [name for name in "NMS" if f"{name}[vi] = " in update]
    dtypes = {"N": count}
    params = ", ".join(f'{name}: T.Buffer((5,), "{dtypes.get(name, "float32")}")' for name in names)
    inits = "\n".join(f"{' ' * 16}{name}[vi] = T.{dtypes.get(name, 'float32')}(0)" for name in names)
    lines = "\n".join(" " * 12 + line for line in update.split("\n"))
    place, steps = index or (f"ko * {threads} + tx" if threads else "k"), -(-m // threads) if threads else 0
    text = RUNNING.format(m=m, params=params, inits=inits, update=lines, index=place)
    head, _, body = text.partition("    for LOOPS:\n")
    if not threads:
        body = "".join(line + "\n" for line in body.split("\n") if "T.where" not in line)
        return tvms.parse(f"{head}    for i, k in T.grid(5, {m}):\n{body}")
    if not bound:
        return tvms.parse(f"{head}    for i, ko, tx in T.grid(5, {steps}, {threads}):\n{body}")
    loops = [
        'i in T.thread_binding(5, thread="blockIdx.x")',
        f"ko in range({steps})",
        f'tx in T.thread_binding({threads}, thread="threadIdx.x")',
    ]
    lines = "".join(f"{'    ' * level}for {loop}:\n" for level, loop in enumerate(loops, 1))
    return tvms.parse(head + lines + indent(body, " " * 8))


def results_of(module: IRModule, m: int, target: str = EACH) -> list[Any]:
    """Compare the simulation with the interpreter, and both with NumPy in float64."""
    function = module.functions["f"]
    assert isinstance(function, tir.PrimFunc)
    names = [buffer.name for buffer in function.buffer_map.values()][1:]
    a = (np.random.default_rng(m).random((5, m)) + 3).astype(np.float32)
    zeros = [
        np.zeros(5, np.int32 if buffer.dtype == "int32" else np.float32)
        for buffer in list(function.buffer_map.values())[1:]
    ]
    found = check(module, [a, *zeros], target=target)
    wide = a.astype(np.float64) ** (2 if "A[vi, vk] * A[vi, vk] - M" in str(module) else 1)
    expected = {"N": np.full(5, m), "M": wide.mean(1), "S": wide.var(1) * m}
    for name, values in zip(names, found[1:], strict=True):
        np.testing.assert_allclose(values, expected[name], rtol=1e-4)
    return found


@pytest.mark.deep(4)
@pytest.mark.parametrize("form", MOMENTS)
@pytest.mark.parametrize(("m", "threads"), [(100, 32), (97, 256), (300, 64), (3, 7), (96, 16)])
def test_threads_share_means_and_variances(form: str, m: int, threads: int) -> None:
    """Threads without elements do not matter, nor does the form of the recurrence. Results differ in rounding only."""
    results_of(running(MOMENTS[form], m, threads, count="int32" if "integer" in form else "float32"), m)


@pytest.mark.parametrize("form", ["mean and squares", "count, mean and squares"])
def test_the_default_rule_shares_means_and_variances(form: str) -> None:
    module = running(MOMENTS[form], 700, 0)
    text = default_schedules(module, get_target("cuda -arch=sm_80"))["f"].text
    assert text is not None
    assert "S.several_results(running, threads=256)" in text.script()
    results_of(module, 700)


def test_a_reducer_of_te_is_shared() -> None:
    """A tuple of count, mean and squared differences, combined as by Chan, Golub and LeVeque (1979)."""
    a, k = te.placeholder((6, 700), "float32", name="A"), te.reduce_axis((0, 700), name="k")

    def combine(x: Any, y: Any) -> Any:
        n, d = x[0] + y[0], y[1] - x[1]
        return n, x[1] + d * y[0] / n, x[2] + y[2] + d * d * x[0] * y[0] / n

    moments = te.comm_reducer(combine, lambda *dtypes: tuple(te.const(0, dtype) for dtype in dtypes))
    one, zero = te.const(1, "float32"), te.const(0, "float32")
    results = te.compute((6,), lambda i: moments((one, a[i, k], zero), axis=k), name="moments")
    module = as_module(te.create_prim_func([a, *results]))
    text = default_schedules(module, get_target("cuda -arch=sm_80"))["main"].text
    assert text is not None
    assert "S.several_results(moments, threads=256)" in text.script()
    x = np.random.default_rng(0).random((6, 700)).astype(np.float32)
    found = check(module, [x, *(np.zeros(6, np.float32) for _ in range(3))], "main")
    np.testing.assert_allclose(found[3], x.astype(np.float64).var(1) * 700, rtol=1e-4)


def test_parts_of_rfactor_share_means() -> None:
    """Both the recurrence of each part and the combination of the parts are known."""
    schedule = Schedule(running(MOMENTS["count, mean and squares"], 96, 32, bound=False))
    block = schedule.get_block("running")
    parts = schedule.rfactor(schedule.get_loops(block)[2], 0)
    for name in (parts, block):
        schedule.bind(schedule.get_loops(name)[0], "blockIdx.x")
        schedule.bind(schedule.get_loops(name)[-1], "threadIdx.x")
    results_of(schedule.mod, 96)


def test_the_pass_of_tvm_shares_means() -> None:
    module = running(MOMENTS["count, mean and squares"], 100, 32)
    lowered = transform.LowerCrossThreadReduction()(module)
    assert "running_cross_thread" in str(lowered)
    results_of(lowered, 100)


_FEEDS_BACK = "a loop of the reduction accesses the memory of its results"
_PARTIAL = "the new values of block 'running' depend on its partial result"
_MORE = "block 'running' does more than store elements"
_IN_TURN = "block 'running' stores one element before it computes another"
NOT_MOMENTS = {
    "another divisor": (MOMENTS["mean"].replace("vk + 1", "vk + 2"), _FEEDS_BACK),
    "half of the difference": ("M[vi] = M[vi] + (A[vi, vk] - M[vi]) * T.float32(0.5)", _FEEDS_BACK),
    "a product with the sum": ("M[vi] = M[vi] + A[vi, vk] * M[vi]", _FEEDS_BACK),
    "squares of the old difference": (MOMENTS["mean and squares"].replace("(A[vi, vk] - m)", "(A[vi, vk] - M[vi])"), _PARTIAL),
    "a count in steps of two": (MOMENTS["count, mean and squares"].replace("{one}", "T.float32(2)"), _MORE),
    "a count that is too low": (MOMENTS["squares before the mean"].replace("vk + 1", "vk"), _IN_TURN),
}  # fmt: skip


@pytest.mark.parametrize("form", NOT_MOMENTS)
def test_other_recurrences_are_not_shared(form: str) -> None:
    with pytest.raises(tvms.TvmsError) as caught:
        tvms.compile(running(NOT_MOMENTS[form][0], 64, 32), EACH)
    first = caught.value.diagnostics[0]
    assert (first.code, first.message) == (
        "E0612",
        f"threads cannot share the reduction of block 'running': {NOT_MOMENTS[form][1]}",
    )


@pytest.mark.parametrize("index", ["tx * 2 + ko", "63 - (ko * 32 + tx)"])
def test_a_mean_that_counts_iterations_needs_them_in_order(index: str) -> None:
    """A stored count does not."""
    with pytest.raises(tvms.TvmsError) as caught:
        tvms.compile(running(MOMENTS["mean"], 64, 32, index=index), EACH)
    first = caught.value.diagnostics[0]
    reasons = {
        "tx * 2 + ko": "its mean divides by an index that is not the number of values of a thread",
        "63 - (ko * 32 + tx)": "its T.init may execute in several iterations, and reset the result",
    }
    assert (first.code, first.message) == (
        "E0612", f"threads cannot share the reduction of block 'running': {reasons[index]}",
    )  # fmt: skip
    if index == "tx * 2 + ko":
        assert first.help == "store the count as another result"
        results_of(running(MOMENTS["count, mean and squares"], 64, 32, index=index), 64)


@pytest.mark.parametrize(
    ("module", "reason"),
    [
        (
            shared({**FIRST_GREATEST, "update": "T.Select(V[vi] >= A[vi, vk], I[vi], vk * 2)"}, "float32", 64, 32),
            "it keeps the first of equal values, whose index is not the iterator of its reduction",
        ),
    ],
)
def test_reductions_that_threads_cannot_share(module: IRModule, reason: str) -> None:
    with pytest.raises(tvms.TvmsError) as caught:
        tvms.compile(module, EACH)
    first = caught.value.diagnostics[0]
    assert (first.code, first.message) == ("E0612", f"threads cannot share the reduction of block 'both': {reason}")
    assert first.help
