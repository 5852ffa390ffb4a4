"""Calls of compiled functions: what is checked before machine code runs, and what is said then."""

from __future__ import annotations

import threading
from textwrap import dedent
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import tvms

TEXT = """
I.ir_module Module:
    T.prim_func scale(x: T.handle, y: T.handle, factor: T.float32):
        T.func_attr({"tir.noalias": True})
        n = T.int64()
        X = T.match_buffer(x, (n, 4), "float32")
        Y = T.match_buffer(y, (n, 8), "float32")
        for i, j in T.grid(n, 8):
            Y[i, j] = X[i, j // 2] * factor

    T.prim_func half(x: T.handle, y: T.handle):
        n = T.int64()
        X = T.match_buffer(x, (n * 2,), "bfloat16")
        Y = T.match_buffer(y, (n,), "bfloat16")
        for i in range(n):
            Y[i] = X[i * 2]

    T.prim_func checked(A: T.Buffer((4,), "int32"), d: T.int8) -> T.int32:
        assert A[0] > 0, "the first element must be positive"
        return A[1] // T.Cast("int32", d)
"""


@pytest.fixture(scope="module")
def compiled() -> tvms.Executable:
    return tvms.compile(tvms.parse(TEXT))


def message(entry: Any, *args: Any, **named: Any) -> str:
    with pytest.raises(tvms.TvmsError) as raised:
        entry(*args, **named)
    lines = str(raised.value).splitlines()
    return "\n".join(line.strip() for line in lines if line.startswith("error") or "help:" in line)


def test_names_and_numbers(compiled: tvms.Executable) -> None:
    assert compiled.entry_names == ("scale", "half", "checked")
    assert repr(compiled) == "<Executable for llvm: scale, half, checked>"
    assert repr(compiled["checked"]) == "<PrimEntry checked(A, d)>"
    assert compiled.stats["total"] > 0
    x, y = np.ones((3, 4), "f4"), np.zeros((3, 8), "f4")
    compiled["scale"](x, factor=2.5, y=y)
    assert (y == 2.5).all()
    compiled["scale"](x, y, np.float32(3))
    assert (y == 3).all()
    compiled["scale"](np.zeros((0, 4), "f4"), np.zeros((0, 8), "f4"), 1)


X, Y = np.ones((3, 4), "f4"), np.zeros((3, 8), "f4")
READ_ONLY = np.zeros((3, 8), "f4")
READ_ONLY.flags.writeable = False
SHARED = np.zeros((3, 12), "f4")

FAULTS: list[tuple[tuple[Any, ...], str]] = [
    ((X, Y), "error[E0701]: scale: missing argument 3, 'factor'\n= help: write scale(x, y, factor)"),
    (
        (X, Y, 1, 2),
        "error[E0701]: scale: expected at most 3 arguments by position, got 4\n= help: write scale(x, y, factor)",
    ),
    (
        ([1.0], Y, 1),
        "error[E0702]: argument 'x' of 'scale': expected an array, got list\n= help: pass numpy.asarray of it",
    ),
    ((X, Y, "2"), "error[E0702]: argument 'factor' of 'scale': expected a number, got str"),
    (
        (X, READ_ONLY, 1),
        "error[E0702]: argument 'y' of 'scale': the function writes it, but it is read-only\n= help: pass a writeable array",
    ),
    (
        (X.astype("f8"), Y, 1),
        "error[E0703]: argument 'x' of 'scale': expected dtype float32, got float64\n"
        "= help: convert it: x.astype(float32)",
    ),
    (
        (X[0], Y, 1),
        "error[E0704]: argument 'x' of 'scale': expected shape (n, 4) with ndim 2, got (4,)\n= help: pass an array of 2 dimensions",
    ),
    (
        (X[:, :3], Y, 1),
        "error[E0705]: argument 'x' of 'scale': expected shape (n, 4) with n = 3, got (3, 3)\n"
        "= help: dimension 1 must be 4, not 3",
    ),
    (
        (X, np.zeros((2, 8), "f4"), 1),
        "error[E0705]: argument 'y' of 'scale': expected shape (n, 8) with n = 3, got (2, 8)\n"
        "= help: dimension 0 must be 3, not 2",
    ),
    (
        (np.ones((4, 3), "f4").T, Y, 1),
        "error[E0706]: argument 'x' of 'scale': expected a contiguous row-major array\n"
        "= help: pass numpy.ascontiguousarray of it",
    ),
    (
        (SHARED.reshape(-1)[:12].reshape(3, 4), SHARED.reshape(-1)[8:32].reshape(3, 8), 1),
        "error[E0719]: argument 'y' of 'scale': the function writes it, but it overlaps argument 'x' in memory\n"
        "= help: pass arrays that do not overlap, or drop tir.noalias from the function",
    ),
]


@pytest.mark.parametrize(("args", "expected"), FAULTS)
def test_arguments_that_do_not_fit(compiled: tvms.Executable, args: tuple[Any, ...], expected: str) -> None:
    assert message(compiled["scale"], *args) == expected


def test_names_that_do_not_fit(compiled: tvms.Executable) -> None:
    scale = compiled["scale"]
    assert message(scale, X, Y, 1, y=Y).startswith("error[E0701]: scale: argument 'y' is given twice")
    expected = "error[E0701]: scale: unknown argument 'z'\n= help: write scale(x, y, factor)"
    assert message(scale, X, Y, z=1) == expected
    assert message(lambda: compiled["main"]) == (
        "error[E0102]: the module has no function 'main'\n= help: functions are: scale, half, checked"
    )


def test_sizes_that_are_expressions(compiled: tvms.Executable) -> None:
    x = np.arange(6).astype(ml_dtypes.bfloat16)
    y = np.zeros(3, ml_dtypes.bfloat16)
    compiled["half"](x, y)
    assert y.astype("f4").tolist() == [0, 2, 4]
    assert message(compiled["half"], x, np.zeros(2, ml_dtypes.bfloat16)) == (
        "error[E0705]: argument 'x' of 'half': expected shape (n * 2,) with n = 2, got (6,)\n"
        "= help: dimension 0 must be 4, not 6"
    )


def test_faults_while_running(compiled: tvms.Executable) -> None:
    checked, a = compiled["checked"], np.array([1, -7, 0, 0], "i4")
    assert checked(a, 2) == -4
    assert message(checked, a, 0) == "error[E0708]: division by zero"
    assert message(checked, -a, 1) == "error[E0711]: the first element must be positive"
    assert message(checked, a, 200) == "error[E0703]: argument 'd' of 'checked': 200 does not fit in int8"


class Foreign:
    """An array of another library, which shares its memory by DLPack."""

    def __init__(self, array: np.ndarray, device: int = 1) -> None:
        self.array, self.device = array, device

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device, 0

    def __dlpack__(self, **_: Any) -> Any:
        return self.array.__dlpack__()


def test_arrays_of_other_libraries_are_not_copied(compiled: tvms.Executable) -> None:
    y = np.zeros((3, 8), "f4")
    compiled["scale"](Foreign(X), Foreign(y), 4)
    assert (y == 4).all()
    assert message(compiled["scale"], Foreign(X, device=2), y, 4) == (
        "error[E0718]: argument 'x' of 'scale': it is on another device\n"
        "= help: move it to the processor first, as with x.cpu()"
    )


def test_faults_of_compilation_are_all_reported() -> None:
    text = """
I.ir_module Module:
    T.prim_func one(A: T.Buffer((4,), "float32")):
        A[0] = T.call_extern("float32", "system", T.float32(1))

    T.prim_func two(A: T.Buffer((4,), "float32")):
        T.evaluate(T.tvm_storage_sync("shared"))
        A[0] = T.call_extern("float32", "expf", T.float64(1))
"""
    assert message(tvms.compile, tvms.parse(text)) == (
        "error[E0603]: unknown external function 'system'\n"
        "= help: use an intrinsic, or call a Python function from the graph level with R.call_dps_packed\n"
        "error[E0602]: the intrinsic 'tir.tvm_storage_sync' does not exist on target 'llvm'"
    )
    assert message(tvms.compile, tvms.parse(text), target="z80") == (
        "error[E0601]: unknown target 'z80'\n= help: use one of llvm, cuda, nvptx"
    )


def test_functions_of_the_c_library() -> None:
    text = """
T.prim_func main(A: T.Buffer((4,), "float32")):
    for i in range(4):
        A[i] = T.call_pure_extern("float32", "fmaxf", A[i], T.float32(2))
"""
    a = np.arange(4, dtype="f4")
    tvms.compile(tvms.parse(text))["main"](a)
    assert a.tolist() == [2, 2, 2, 3]


def test_threads_may_call_at_once(compiled: tvms.Executable) -> None:
    results = [np.zeros((50, 8), "f4") for _ in range(8)]

    def work(index: int) -> None:
        for _ in range(20):
            compiled["scale"](np.full((50, 4), index, "f4"), results[index], 2)

    threads = [threading.Thread(target=work, args=(index,)) for index in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all((result == 2 * index).all() for index, result in enumerate(results))


STRIDED = """
T.prim_func main(a: T.handle, b: T.handle):
    T.func_attr({"tir.noalias": True})
    A = T.match_buffer(a, (4, 4), "float32", strides=(8, 1))
    B = T.match_buffer(b, (4, 4), "float32", strides=(8, 1))
    for i, j in T.grid(4, 4):
        B[i, j] = A[i, j] * T.float32(2)
"""


@pytest.mark.parametrize(("start", "is_refused"), [(16, True), (27, True), (28, False)])
def test_the_span_of_strided_arguments_may_not_overlap(start: int, is_refused: bool) -> None:
    """An array with strides reaches further than its number of bytes: here, 28 elements instead of 16."""
    memory = np.zeros(64, "f4")
    a, b = (np.lib.stride_tricks.as_strided(memory[at:], (4, 4), (32, 4)) for at in (0, start))
    function = tvms.compile(tvms.parse(STRIDED))["main"]
    if is_refused:
        assert message(function, a, b).startswith("error[E0719]: argument 'b' of 'main'")
    else:
        function(a, b)


UNKNOWN_STRIDES = """
T.prim_func main(a: T.handle, b: T.handle):
    A = T.match_buffer(a, (4, 4), "float32", strides=("s", 1))
    B = T.match_buffer(b, (4, 4), "float32", strides=("t", 1))
    for i, j in T.grid(4, 4):
        B[i, j] = A[i, j] * T.float32(2)
"""


@pytest.mark.parametrize(("read", "written", "is_refused"), [(1, 4, False), (4, 3, True), (4, 0, True), (0, 5, False)])
def test_elements_of_a_written_array_do_not_share_memory(read: int, written: int, is_refused: bool) -> None:
    """If the strides are known at the call only: rows that are read may overlap, as windows do."""
    a, b = (np.lib.stride_tricks.as_strided(np.ones(64, "f4"), (4, 4), (4 * step, 4)) for step in (read, written))
    function = tvms.compile(tvms.parse(UNKNOWN_STRIDES))["main"]
    if is_refused:
        assert message(function, a, b) == (
            "error[E0719]: argument 'b' of 'main': the function writes it, but some of its elements share memory\n"
            "= help: pass a copy of it, whose elements are apart"
        )
    else:
        function(a, b)
        assert (b == 2).all()


def test_arguments_of_a_known_kind_are_told_from_others() -> None:
    """A call is checked again if a shape, dtype, flag or number differs from those of earlier calls."""
    text = """
    T.prim_func main(x: T.handle, y: T.handle, m: T.int64):
        T.func_attr({"tir.noalias": True})
        n = T.int64()
        X = T.match_buffer(x, (n,), "float32")
        Y = T.match_buffer(y, (n * m,), "float32")
        for i in range(n * m):
            Y[i] = X[i // m]
    """
    call = tvms.compile(tvms.parse(dedent(text)))["main"]
    x, y = np.arange(3, dtype="f4"), np.empty(6, "f4")
    for _ in range(6):
        call(x, y, 2)
    np.testing.assert_array_equal(y, np.repeat(x, 2))
    fixed = np.empty(6, "f4")
    fixed.flags.writeable = False
    bad: list[tuple[tuple[Any, ...], str]] = [
        ((x, y, 3), r"expected shape \(n \* m,\) with n = 3, m = 3, got \(6,\)"),
        ((x[:2], y, 2), r"expected shape \(n \* m,\) with n = 2, m = 2, got \(6,\)"),
        ((x.astype("f8"), y, 2), "expected dtype float32, got float64"),
        ((np.arange(6, dtype="f4")[::2], y, 2), "expected a contiguous row-major array"),
        ((x, fixed, 2), "it is read-only"),
    ]
    for arguments, reason in bad:
        with pytest.raises(tvms.TvmsError, match=reason):
            call(*arguments)
    call(x, np.empty(9, "f4"), 3)


@pytest.mark.parametrize(
    ("args", "kind"),
    [
        ((), TypeError),
        ((np.zeros((2, 3), "float32"), "text"), TypeError),
        ((np.zeros((2, 3), "float64"), 1), ValueError),
        ((np.zeros(2, "float32"), 1), ValueError),
        ((np.zeros((2, 4), "float32"), 1), ValueError),
    ],
)
def test_refused_arguments_raise_what_python_and_tvm_raise(args: tuple[Any, ...], kind: type[Exception]) -> None:
    module = tvms.parse('R.function main(x: R.Tensor(("n", 3), "float32"), m: R.Prim("int64")):\n    return x\n')
    for call in (tvms.compile(module)["main"], lambda *given: tvms.interpret(module, "main", given)):
        with pytest.raises(kind) as caught:
            call(*args)
        assert isinstance(caught.value, tvms.TvmsError)
        assert isinstance(caught.value, RuntimeError)


def test_a_scalar_of_numpy_is_an_array_without_axes_that_cannot_be_written() -> None:
    run = tvms.compile(tvms.parse('R.function main(x: R.Tensor((), "float32")):\n    return R.add(x, x)\n'))["main"]
    assert run(np.float32(2)) == 4
    with pytest.raises(tvms.TvmsError, match="E0703"):
        run(np.float64(2))
    store = tvms.compile(tvms.parse("T.prim_func f(A: T.Buffer((), 'float32')):\n    A[()] = T.float32(1)\n"))["f"]
    with pytest.raises(tvms.TvmsError, match="E0702"):
        store(np.float32(2))


def test_devices_follow_from_targets() -> None:
    assert tvms.device_from_target("llvm -mcpu=haswell") == tvms.cpu()
    assert tvms.device_from_target(tvms.target.Target("llvm")) == tvms.cpu()
