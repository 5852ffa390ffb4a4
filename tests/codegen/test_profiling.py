"""Profiles of compiled programs: rows, sums, work, source lines, JSON, comparisons and pictures."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
import tvms
from tvms.codegen.profiling.page import page, picture
from tvms.codegen.profiling.profiler import Profiler
from tvms.codegen.profiling.report import KernelCalls, Report, Roofline, compared
from tvms.codegen.profiling.work import sizes_of, work_of

STATIC = """
I.ir_module Module:
    R.function main(x: R.Tensor((256, 256), "float32"), w: R.Tensor((256, 256), "float32")) -> R.Tensor((256, 256), "float32"):
        a = R.matmul(x, w)
        b = R.matmul(a, w)
        c = R.nn.softmax(b)
        return c
"""
MIXED = """
I.ir_module Module:
    R.function inner(x: R.Tensor((8, 8), "float32")) -> R.Tensor((8, 8), "float32"):
        y = R.exp(x)
        z = R.add(y, R.const(1.0, "float32"))
        return z

    R.function main(x: R.Tensor((8, 8), "float32"), s: R.Tensor(("n",), "float32")):
        y = Module.inner(x)
        z = Module.inner(y)
        t = R.sqrt(s)
        return (z, t)
"""
MACHINE = Roofline(1e11, ((1 << 15, 1e11), (1 << 25, 1e10)))


def profiled(text: str, *args: np.ndarray, seconds: float = 0.0, target: str = "llvm") -> Report:
    """Return the profile of `main`."""
    profiler = Profiler(tvms.compile(tvms.parse(text), target))
    return profiler.measure(profiler.entries["main"], args, seconds)


def floats(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).random(shape, np.float32)


def test_native_functions_compute_the_same_with_ticks() -> None:
    executable = tvms.compile(tvms.parse(STATIC))
    args = floats(256, 256), floats(256, 256)
    found = Profiler(executable).entries["main"](*args)
    np.testing.assert_array_equal(found, executable["main"](*args))


def test_the_kernels_add_up_to_the_time_of_the_call() -> None:
    profiler = Profiler(tvms.compile(tvms.parse(STATIC), threads=1))
    args = floats(256, 256), floats(256, 256)
    reports = [profiler.measure(profiler.entries["main"], args) for _ in range(50)]
    for report in reports:
        assert sum(call.total for call in report.calls) <= report.total
        assert sum(line.total for line in report.lines) == pytest.approx(sum(call.total for call in report.calls))
    assert max(sum(call.total for call in report.calls) / report.total for report in reports) > 0.95


def test_work_and_lines_of_a_native_function() -> None:
    report = profiled(STATIC, floats(256, 256), floats(256, 256), seconds=0.02)
    product = next(call for call in report.calls if "matmul" in call.name)
    assert (product.count, product.operations, product.bytes) == (2, 2 * 2 * 256**3, 2 * 3 * 4 * 256**2)
    assert report.samples >= 1
    assert {line.name for line in report.lines} == {
        "<string>:4: a = R.matmul(x, w)", "<string>:5: b = R.matmul(a, w)", "<string>:6: c = R.nn.softmax(b)",
    }  # fmt: skip


def test_functions_with_symbolic_sizes_and_the_native_ones_they_call() -> None:
    report = profiled(MIXED, floats(8, 8), floats(1000))
    assert sorted(call.count for call in report.calls) == [1, 2, 2]
    root = next(call for call in report.calls if call.count == 1)
    assert root.bytes == 2 * 4 * 1000
    assert {line.name.split(": ", 1)[1] for line in report.lines} >= {"t = R.sqrt(s)"}


def test_kernels_with_simulated_threads_are_profiled_too() -> None:
    report = profiled(STATIC.replace("256", "16"), floats(16, 16), floats(16, 16), target="cuda -simulate")
    assert {call.count for call in report.calls} <= {1, 2}


def test_a_fault_in_a_kernel_is_reported() -> None:
    text = """
I.ir_module Module:
    T.prim_func(private=True) pick(A: T.Buffer((4,), "float32"), I: T.Buffer((4,), "int32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.block("pick"):
                vi = T.axis.spatial(4, i)
                B[vi] = A[I[vi]]

    R.function main(x: R.Tensor((4,), "float32"), i: R.Tensor((4,), "int32")) -> R.Tensor((4,), "float32"):
        y = R.call_tir(Module.pick, (x, i), out_sinfo=R.Tensor((4,), "float32"))
        return y
"""
    with pytest.raises(tvms.TvmsError, match="E0707"):
        profiled(text, floats(4), np.array([0, 1, 2, 4], "i4"))


def test_results_that_are_arguments_constants_or_tuples() -> None:
    text = """
R.function main(x: R.Tensor((4,), "float32")):
    y = R.exp(x)
    z = R.sqrt(x)
    return ((y, x), R.const([1.0, 2.0], "float32"), z)
"""
    executable, x = tvms.compile(tvms.parse(text)), floats(4)
    (y, same), constant, z = Profiler(executable).entries["main"](x)
    np.testing.assert_allclose(y, np.exp(x), rtol=1e-6)
    np.testing.assert_array_equal(same, x)
    assert constant.tolist() == [1.0, 2.0]
    np.testing.assert_allclose(z, np.sqrt(x), rtol=1e-6)


# --- Reports

REPORT = Report((KernelCalls("a", 2, 3e-3, 60_000_000, 1 << 16), KernelCalls("b<", 1, 1e-3)), 5e-3)


def test_the_table_has_the_rates_and_the_share_of_the_limit() -> None:
    assert REPORT.bounded(MACHINE).table().splitlines() == [
        "Name               Calls  Duration (us)   Share  Mean (us)  GFLOP/s  GB/s  Limit",
        "a                      2        3000.00   60.0%    1500.00     20.0   0.0    20%",
        "b<                     1        1000.00   20.0%    1000.00                      ",
        "(between kernels)               1000.00   20.0%                                 ",
        "Total                           5000.00  100.0%                                 ",
    ]


def test_the_limit_is_that_of_the_slower_resource() -> None:
    assert MACHINE.limit(10**9, 4) == 1e-2
    assert MACHINE.limit(4, 10**9) == 1e-1
    assert MACHINE.limit(4, 1 << 20) == (1 << 20) / 1e11
    assert MACHINE.limit(4, 1 << 26, 1 << 20) == (1 << 26) / 1e11


def test_reports_survive_json_and_csv_lists_them() -> None:
    report = REPORT.bounded(MACHINE)
    assert tvms.runtime.profiling.Report.from_json(report.json()) == report
    assert REPORT.csv() == (
        "Name,Count,Seconds,Operations,Bytes,Limit\na,2,0.003,60000000,65536,0.0\nb<,1,0.001,0,0,0.0\n"
    )


def test_comparisons_show_all_kernels_of_both() -> None:
    after = Report((KernelCalls("a", 2, 1e-3), KernelCalls("c", 1, 1e-4)), 2e-3)
    assert compared(REPORT, after).splitlines() == [
        "Name               Before (us)  After (us)  Difference  Ratio",
        "a                      3000.00     1000.00    -2000.00   0.33",
        "b<                     1000.00                -1000.00       ",
        "c                                   100.00     +100.00       ",
        "(between kernels)      1000.00      900.00     -100.00   0.90",
        "Total                  5000.00     2000.00    -3000.00   0.40",
    ]


def test_the_picture_is_well_formed_and_names_what_it_shows() -> None:
    many = tuple(KernelCalls(f"k{number}", 1, 1e-4) for number in range(30))
    for report in (REPORT, REPORT.bounded(MACHINE), Report((), 1e-3), Report(many, 4e-3)):
        drawn = picture(report, "a <title> & more")
        root = ElementTree.fromstring(drawn)
        texts = [element.text or "" for element in root.iter("{http://www.w3.org/2000/svg}text")]
        assert texts[0].startswith("a <title> & more: ")
        assert ("100 GFLOP/s" in texts) == (report.machine is not None)
        assert ("(10 other kernels)" in texts) == (report.calls == many)


def test_the_page_is_self_contained() -> None:
    text = page(REPORT.bounded(MACHINE), "b< & c")
    assert "<h1>b&lt; &amp; c</h1>" in text
    assert "<td>b&lt;</td>" in text
    assert not any(word in text for word in ("<script", "src=", "href=", "@import"))


def test_work_counts_with_symbolic_sizes() -> None:
    text = """
T.prim_func main(a: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n, 4), "float32")
    B = T.match_buffer(b, (n, 4), "float32")
    for i, j in T.grid(n, 4):
        B[i, j] = A[i, j] * T.float32(2) + T.float32(1)
"""
    function = tvms.parse(text)["main"]
    known = work_of(function, sizes_of(function, (floats(5, 4), floats(5, 4))))
    assert (known.operations, known.bytes) == (2 * 20, 2 * 80)
    unknown = work_of(function, {})
    assert (unknown.operations, unknown.bytes) == (0, 0)
