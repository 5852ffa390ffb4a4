"""Python in decorated functions: f-strings, `is`, `nonlocal` and `global`, whose names belong to the Python program."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import pytest
import tvms
from tvms.script import from_source
from tvms.script import relax as R
from tvms.script import tir as T

NAME, BIAS = "gemm", None
SIZE = 4


def doubled(n: int) -> int:
    return n * 2


def test_f_strings_are_constants() -> None:
    @T.prim_func
    def f(A: T.Buffer((4,), "float32")) -> None:
        T.func_attr({"global_symbol": f"main_{NAME}", "kind": f"{doubled(3)}/{NAME!r}"})
        with T.block(f"é_{NAME}"):
            A[0] = 1.0

    assert f.attrs["global_symbol"] == "main_gemm"
    assert f.attrs["kind"] == "6/'gemm'"
    assert 'T.block("é_gemm")' in f.script()


def test_functions_of_the_program_make_nodes_of_loop_functions() -> None:
    def widened(x: Any, y: Any) -> Any:
        return T.Cast("float32", x * y) + T.Select(x > y, T.float32(1), T.float32(0))

    @T.prim_func(private=True)
    def f(A: T.Buffer((4,), "float16"), B: T.Buffer((4,), "float32")) -> None:
        for i in range(4):
            B[i] = widened(A[i], A[i])

    @T.prim_func(private=True)
    def expected(A: T.Buffer((4,), "float16"), B: T.Buffer((4,), "float32")) -> None:
        for i in range(4):
            B[i] = T.Cast("float32", A[i] * A[i]) + T.Select(A[i] > A[i], T.float32(1), T.float32(0))

    tvms.ir.assert_structural_equal(f, expected)


class Code(IntEnum):
    STORE = 3


def test_members_of_enumerations_are_numbers() -> None:
    @R.function(pure=False)
    def f(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        R.call_packed("vm.builtin.match_shape", x, Code.STORE, sinfo_args=[R.Tuple()])
        return x

    module = tvms.IRModule({"f": f})
    assert "R.prim_value(3)" in f.script()
    assert tvms.structural_equal(tvms.parse(module.script()), module)
    tvms.compile(module)  # packs the program


@pytest.mark.parametrize("bias", [None, 2])
def test_identity_with_none_is_a_constant(bias: int | None) -> None:
    @T.prim_func
    def f(A: T.Buffer((4,), "int32")) -> None:
        A[3 if bias is not None else 2] = 0 if bias is None else bias

    index = 2 if bias is None else 3
    tvms.ir.assert_structural_equal(
        f.with_attr("global_symbol", "f"),
        from_source(f"T.prim_func f(A: T.Buffer((4,), 'int32')):\n    A[{index}] = {bias or 0}").with_attr(
            "global_symbol", "f"
        ),
    )


def test_in_graph_functions() -> None:
    @R.function
    def f(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        R.func_attr({"name": f"{NAME}_{doubled(1)}"})
        gv = R.add(x, x) if BIAS is None else x
        return gv  # noqa: RET504

    assert f.attrs["name"] == "gemm_2"
    assert "x + x" in f.script() or "R.add(x, x)" in f.script()


def test_other_errors_show_the_line_as_it_is_written() -> None:
    with pytest.raises(tvms.TvmsError) as caught:

        @T.prim_func
        def f(A: T.Buffer((4,), "float32")) -> None:
            T.func_attr({f"name_{NAME}": missing})  # noqa: F821  # type: ignore[reportUndefinedVariable]

    assert 'T.func_attr({f"name_{NAME}": missing})' in str(caught.value)
    assert "name 'missing' is not defined" in str(caught.value)


def test_an_exception_is_an_error() -> None:
    def broken() -> Any:
        raise KeyError("k")

    with pytest.raises(tvms.TvmsError, match=r"error\[E0207\]: the Python expression raised KeyError: 'k'"):

        @T.prim_func
        def f(A: T.Buffer((4,), "float32")) -> None:
            T.func_attr({"name": f"{broken()}"})


def test_nonlocal_and_global_names_of_the_program_are_left_out() -> None:
    dtype, n = "float16", 3

    @tvms.script.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((n, SIZE), dtype)) -> R.Tensor((n, SIZE), dtype):
            nonlocal dtype, n  # for the annotations
            global SIZE
            gv = R.astype(x, dtype)
            return gv  # noqa: RET504

    @T.prim_func
    def f(A: T.Buffer((n,), dtype)) -> None:
        nonlocal n
        for i in range(n):
            A[i] = T.cast(n, dtype)

    n = dtype = None
    text = """
I.ir_module Module:
    R.function main(x: R.Tensor((3, 4), "float16")) -> R.Tensor((3, 4), "float16"):
        gv = R.astype(x, "float16")
        return gv
"""
    tvms.ir.assert_structural_equal(Module, tvms.parse(text))
    expected = from_source(
        "T.prim_func f(A: T.Buffer((3,), 'float16')):\n    for i in range(3):\n        A[i] = T.float16(3)"
    )
    tvms.ir.assert_structural_equal(f, expected)


def test_a_call_has_the_inferred_type_of_an_earlier_function() -> None:
    @tvms.script.ir_module
    class Module:
        @R.function
        def first(x: R.Tensor(("n", 4), "float32")):  # noqa: ANN202
            return R.sum(x, axis=1)

        @R.function
        def main(x: R.Tensor((3, 4), "float32")):  # noqa: ANN202
            y = Module.first(x)
            return y + y

    expected = '-> R.Tensor((3,), "float32")'
    assert str(Module["main"].ret_struct_info) == expected.removeprefix("-> ")
    assert expected in Module["main"].script()


def test_nonlocal_names_that_a_definition_assigns_are_refused() -> None:
    index = 2
    message = r"(?s)error\[E0013\]: `nonlocal` is not part of the language.*nonlocal index.*= help: pass the value as a parameter"
    with pytest.raises(tvms.TvmsError, match=message):

        @T.prim_func
        def f(A: T.Buffer((4,), "float32")) -> None:
            nonlocal index
            index = T.int32(1)
            A[index] = 0.0

    text = "@T.prim_func\ndef f(A: T.Buffer((4,), 'float32')):\n    nonlocal index\n    A[index] = 0.0"
    with pytest.raises(tvms.TvmsError, match=message):
        from_source(text, {"index": index})


def test_variables_of_the_definition_and_texts_have_no_f_strings() -> None:
    with pytest.raises(tvms.TvmsError, match=r"error\[E0013\]: an f-string is not part of the language"):

        @T.prim_func
        def f(A: T.Buffer((4,), "float32")) -> None:
            for i in range(4):
                T.evaluate(T.call_extern("int32", f"f{i}"))

    text = '@T.prim_func\ndef f(A: T.Buffer((4,), "float32")):\n    T.func_attr({"name": f"{name}"})'
    with pytest.raises(tvms.TvmsError, match=r"error\[E0013\]: an f-string is not part of the language"):
        from_source(text, {"name": "x"})


def test_accesses_outside_of_memory_are_told_when_a_function_is_verified_or_runs() -> None:
    import numpy as np

    @T.prim_func
    def f(A: T.Buffer((2,), "float32")) -> None:
        A[2] = 0.0

    assert [found.code for found in tvms.verify(tvms.IRModule({"f": f}))] == ["E0414"]
    with pytest.raises(tvms.TvmsError, match=r"error\[E0707\]: A\[2\] is outside the buffer"):
        tvms.compile(tvms.IRModule({"f": f}))["f"](np.zeros(2, "float32"))
    with pytest.raises(tvms.TvmsError, match="E0414"):
        from_source("T.prim_func f(A: T.Buffer((2,), 'float32')):\n    A[2] = 0.0")
