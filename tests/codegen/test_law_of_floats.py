"""The law of floats (docs/law.md): compiled code does what the interpreter and NumPy do with NaN, infinities and zeros."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvms
from tvms.codegen.runtime.variants import compile_variants
from tvms.ir.numpy_dtype import numpy_dtype

ROWS = np.array(
    [
        [np.nan, 1, -0.0, 0, 2, 3, 4, 5, 6],
        [-np.inf] * 9,
        [1, np.nan, np.inf, np.nan, -np.inf, 2, 2, 7, 1e-40],
        [0, -0.0, 0, -0.0, -1e-40, -1, -np.inf, -0.0, -2],
        [3, 9, 9, 2, 9, 1, 0, -9, 9],
        [np.inf, -np.inf, np.inf, 1, 1, 1, 1, 1, np.inf],
    ],
    "float32",
)


def graph(value: str) -> Any:
    text = f"""
I.ir_module Module:
    R.function main(x: R.Tensor((6, 9), "float32")):
        with R.dataflow():
            y = {value}
            R.output(y)
        return y
"""
    return tvms.parse(text)


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("R.max(x, axis=1)", ROWS.max(1)),
        ("R.min(x, axis=1)", ROWS.min(1)),
        ("R.max(x, axis=0)", ROWS.max(0)),
        ("R.argmax(x, axis=1)", ROWS.argmax(1)),
        ("R.argmin(x, axis=1)", ROWS.argmin(1)),
        ("R.argmax(x)", ROWS.argmax()),
        ("R.nn.relu(x)", np.maximum(ROWS, 0)),
        ("R.maximum(x, R.negative(x))", np.maximum(ROWS, -ROWS)),
        ("R.minimum(x, R.const(1.0))", np.minimum(ROWS, 1)),
        ("R.clip(x, -1, 6)", np.clip(ROWS, -1, 6)),
        ("R.sign(x)", np.sign(ROWS)),
        ("R.round(R.multiply(x, R.const(0.5)))", np.rint(ROWS * 0.5)),
        ("R.floor_mod(x, R.const(-2.5))", lambda: np.mod(ROWS, np.float32(-2.5))),
        ("R.floor_divide(x, R.const(0.1))", lambda: np.floor_divide(ROWS, np.float32(0.1))),
        ("R.log_add_exp(x, x)", lambda: np.logaddexp(ROWS, ROWS)),
    ],
)
def test_graph_operators_agree_with_numpy(value: str, expected: Any) -> None:
    module, expected = graph(value), expected() if callable(expected) else expected
    np.testing.assert_allclose(tvms.interpret(module, "main", [ROWS]), expected, 1e-6)
    np.testing.assert_allclose(np.asarray(tvms.compile(module, target="llvm")["main"](ROWS)), expected, 1e-6)


LOOPS = """
T.prim_func main(A: T.Buffer((81,), "float32"), B: T.Buffer((81,), "float32"), C: T.Buffer((81,), "float32")):
    for i in range(81):
        with T.block("value"):
            vi = T.axis.spatial(81, i)
            C[vi] = {value}
"""
PAIRS = np.array(np.meshgrid(*[[np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, -2.5, 0.5, 3e38]] * 2), "float32").reshape(
    2, -1
)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("T.max(A[vi], B[vi])", lambda a, b: np.maximum(a, b)),
        ("T.min(A[vi], B[vi])", lambda a, b: np.minimum(a, b)),
        ("T.max(A[vi], T.float32(1))", lambda a, b: np.maximum(a, 1)),
        ("T.min(T.float32(-1), A[vi])", lambda a, b: np.minimum(a, -1)),
        ("A[vi] * T.float32(0) + T.float32(0)", lambda a, b: a * 0 + 0),
        ("T.float32(0) * A[vi]", lambda a, b: a * 0),
        ("A[vi] + T.float32(0)", lambda a, b: a + 0),
        ("A[vi] - A[vi]", lambda a, b: a - a),
        ("T.float32(0) / A[vi]", lambda a, b: 0 / a),
        ("A[vi] / T.float32(0)", lambda a, b: a / np.float32(0)),
        ("T.Select(not (A[vi] < B[vi]), A[vi], B[vi])", lambda a, b: np.where(~(a < b), a, b)),
        ("T.round(A[vi]) + T.round(B[vi] + T.float32(1))", lambda a, b: np.rint(a) + np.rint(b + 1)),
        ('T.Cast("float32", T.Cast("int32", A[vi]))', lambda a, b: saturated(a)),
    ],
)
def test_loops_agree_with_numpy(value: str, expected: Any) -> None:
    module = tvms.parse(LOOPS.format(value=value))
    with np.errstate(all="ignore"):
        wanted = expected(*PAIRS)
    found = np.empty_like(wanted)
    tvms.interpret(module, "main", [*PAIRS, found])
    check(found, wanted, value)
    for executable in compile_variants(module).values():
        found[:] = 7
        executable["main"](*PAIRS, found)
        check(found, wanted, value)


def check(found: np.ndarray, wanted: np.ndarray, value: str) -> None:
    np.testing.assert_array_equal(found, wanted)
    if "T.max" not in value and "T.min" not in value:
        numbers = ~np.isnan(wanted)
        np.testing.assert_array_equal(np.signbit(found[numbers]), np.signbit(wanted[numbers]))


def saturated(a: np.ndarray) -> np.ndarray:
    return np.clip(np.nan_to_num(a.astype("float64")), -(2**31), 2**31 - 1).astype("int64").astype("float32")


@pytest.mark.parametrize(
    ("value", "folded"),
    [
        ('T.max(T.float32(1), T.float32("nan"))', 'T.float32("nan")'),
        ('T.min(T.float32("nan"), T.float32(1))', 'T.float32("nan")'),
        ("A[0] * T.float32(1)", "A[0]"),
        ("A[0] - T.float32(0)", "A[0]"),
        ("A[0] + T.float32(-0.0)", "A[0]"),
        ("A[0] - T.float32(-0.0)", "A[0] - -0.0"),
        ("A[0] * T.float32(0)", "A[0] * 0.0"),
        ("A[0] + T.float32(0)", "A[0] + 0.0"),
        ("T.float32(0) / A[0]", "0.0 / A[0]"),
    ],
)
def test_folding_keeps_what_is_computed(value: str, folded: str) -> None:
    assert str(tvms.parse(LOOPS.format(value=value))).endswith(f" C[vi] = {folded}")


@pytest.mark.parametrize("source", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("target", ["int8", "uint8", "int16", "int32", "uint32", "int64", "uint64"])
def test_casts_to_integers_saturate(source: str, target: str) -> None:
    values = np.array([np.nan, np.inf, -np.inf, 9.3e18, -9.3e18, 2.0**31, 300.5, -1.5, 0.99], "float64")
    with np.errstate(all="ignore"):
        given = values.astype(numpy_dtype(source))
    limits = np.iinfo(target)
    numbers = [0.0 if np.isnan(x) else float(x) for x in given]
    wanted = [limits.min if x <= limits.min else limits.max if x >= limits.max else int(x) for x in numbers]
    module = tvms.parse(
        f"""
T.prim_func main(A: T.Buffer((9,), "{source}"), C: T.Buffer((9,), "{target}")):
    for i in range(9):
        with T.block("value"):
            vi = T.axis.spatial(9, i)
            C[vi] = T.Cast("{target}", A[vi])
"""
    )
    found = np.zeros(9, target)
    tvms.interpret(module, "main", [given, found])
    assert found.tolist() == wanted
    for executable in compile_variants(module).values():
        found[:] = 1
        executable["main"](given, found)
        assert found.tolist() == wanted


POOL = """
T.prim_func main(A: T.Buffer((3, {extent}, {extent}), "{dtype}"), B: T.Buffer((3, 7, 18), "{dtype}")):
    T.func_attr({{"tir.noalias": True}})
    for n, y, x, a, b in T.grid(3, 7, 18, {size}, {size}):
        with T.block("pool"):
            vn, vy, vx, va, vb = T.axis.remap("SSSRR", [n, y, x, a, b])
            with T.init():
                B[vn, vy, vx] = {start}
            B[vn, vy, vx] = T.{name}(B[vn, vy, vx], A[vn, vy * {step} + va, vx * {step} + vb])
"""


@pytest.mark.deep(4)
@pytest.mark.parametrize("name", ["max", "min"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize(("size", "step"), [(2, 2), (3, 1), (3, 2), (5, 1), (7, 1)])
def test_windows_keep_nan_wherever_it_is(size: int, step: int, dtype: str, name: str) -> None:
    """Windows become one expression, in which NaN is looked for apart."""
    extent = 17 * step + size
    start = f'T.min_value("{dtype}")' if name == "max" else f'T.max_value("{dtype}")'
    text = POOL.format(extent=extent, dtype=dtype, start=start, size=size, step=step, name=name)
    module = tvms.parse(text)
    data = np.random.default_rng(5).standard_normal((3, extent, extent)).astype(dtype)
    kind = data.ravel()
    kind[::5], kind[3::7] = np.inf, -np.inf
    kind[::11] = 0.0
    data[1, ::4, ::3], data[2, 5, 5], data[2, 6, 11] = np.nan, np.nan, -np.nan
    windows = np.lib.stride_tricks.sliding_window_view(data, (size, size), (1, 2))[:, ::step, ::step][:, :7, :18]
    limit = np.finfo(dtype).min if name == "max" else np.finfo(dtype).max
    with np.errstate(invalid="ignore"):
        whole = getattr(windows, name)(axis=(3, 4))
        expected = np.maximum(whole, limit) if name == "max" else np.minimum(whole, limit)
    for settings in ({"schedule": True}, {"schedule": False}, {"level": 0}):
        result = np.zeros((3, 7, 18), dtype)
        tvms.compile(module, **settings)["main"](data, result)  # type: ignore[arg-type]
        np.testing.assert_array_equal(result, expected, err_msg=str(settings))


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@pytest.mark.parametrize("columns", [127, 128, 259, 1024])
def test_long_rows_find_the_first_greatest_element(columns: int, name: str) -> None:
    """After their first step, vectors of long rows hold indices of their own, and no condition compares them."""
    text = f"""
I.ir_module M:
    R.function main(x: R.Tensor((40, {columns}), "float32")) -> R.Tensor((40,), "int64"):
        return R.{name}(x, axis=1)
"""
    rows = np.random.default_rng(columns).integers(-2, 3, (40, columns)).astype("f4")
    limit = -np.inf if name == "argmax" else np.inf
    rows[0], rows[1], rows[2] = limit, np.nan, -limit
    rows[3], rows[3, 100] = limit, np.finfo("f4").min
    rows[4], rows[4, columns - 1] = limit, 0
    for row, at in zip(range(5, 20), range(0, columns, columns // 15 + 1), strict=False):
        rows[row, at:] = np.where(np.arange(columns - at) % 3, rows[row, at:], np.nan)
        rows[row + 15, :at] = limit
    found = tvms.compile(tvms.parse(text))["main"](rows)
    np.testing.assert_array_equal(np.asarray(found), getattr(np, name)(rows, axis=1))


REQUESTED = """
T.prim_func main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    T.func_attr({"tir.noalias": True, "tir.fast_math": "FLAGS"})
    for i in range(64):
        B[i] = T.max(A[i], B[i]) + A[i]
"""


def test_functions_request_fast_arithmetic_by_name() -> None:
    def emitted(flags: str) -> str:
        return tvms.emit(tvms.parse(REQUESTED.replace("FLAGS", flags)), "llvm")

    assert "nnan" not in emitted("")
    text = emitted("nnan, contract")
    assert "fadd nnan contract" in text
    assert "maximum" in text
    with pytest.raises(tvms.TvmsError) as caught:
        emitted("quick")
    (problem,) = caught.value.diagnostics
    assert (problem.code, problem.message) == (
        "E0606", "unknown flag 'quick' in the attribute 'tir.fast_math'",
    )  # fmt: skip
    assert problem.help == "use flags from fast, nnan, ninf, nsz, arcp, contract, reassoc"
