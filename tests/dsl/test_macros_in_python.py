"""Macros in Python programs: functions decorated with `T.macro`, used by decorated functions of the same or of another file."""

from __future__ import annotations

from typing import Any

import pytest
import tvms
from tvms.script import from_source
from tvms.script import relax as R
from tvms.script import tir as T

STEP = 2


@T.macro
def store(A: Any, i: Any, value: Any = T.float32(1)) -> None:  # noqa: B008
    A[i * STEP] = value


@T.macro(hygienic=False)
def store_twice(A: Any, i: Any) -> None:
    store(A, i)
    store(A, i + offset)  # noqa: F821  # type: ignore[reportUndefinedVariable]


def same(func: Any, text: str) -> None:
    tvms.ir.assert_structural_equal(
        func.with_attr("global_symbol", "f"), from_source(text).with_attr("global_symbol", "f")
    )


def test_a_macro_is_expanded_where_it_is_used() -> None:
    @T.prim_func
    def f(A: T.Buffer((8,), "float32")) -> None:
        for i in range(4):
            store(A, value=T.float32(3), i=i)

    same(f, "T.prim_func f(A: T.Buffer((8,), 'float32')):\n    for i in range(4):\n        A[i * 2] = T.float32(3)")


def test_macros_use_macros_and_names_of_their_use() -> None:
    @T.prim_func
    def f(A: T.Buffer((8,), "float32")) -> None:
        offset = T.meta_var(1)  # noqa: F841
        store_twice(A, 0)

    same(f, "T.prim_func f(A: T.Buffer((8,), 'float32')):\n    A[0] = T.float32(1)\n    A[2] = T.float32(1)")


def test_errors_in_macros_are_placed_in_the_file() -> None:
    @T.macro
    def wrong(A: Any) -> None:
        A[0] = missing  # noqa: F821  # type: ignore[reportUndefinedVariable]

    line = test_errors_in_macros_are_placed_in_the_file.__code__.co_firstlineno + 3
    with pytest.raises(tvms.TvmsError) as caught:

        @T.prim_func
        def f(A: T.Buffer((8,), "float32")) -> None:
            wrong(A)

    assert f"test_macros_in_python.py:{line}:12" in str(caught.value)


def test_a_macro_is_not_a_function() -> None:
    with pytest.raises(TypeError, match=r"^'store' is a macro: use it in a function decorated with T\.prim_func$"):
        store(1, 2)


shift = 1


@R.macro
def shifted(x: Any, k: Any = 1) -> Any:
    y = R.add(x, R.const(float(shift * k), "float32"))
    return y  # noqa: RET504


@R.macro(hygienic=False)
def shifted_here(x: Any) -> Any:
    return R.add(shifted(x), R.const(float(shift), "float32"))


shift = 2


def test_a_macro_of_graph_functions_keeps_the_values_around_its_definition() -> None:
    @R.function
    def f(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        z = shifted_here(shifted(x, k=3))
        return z  # noqa: RET504

    same(
        f,
        """R.function f(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
    y = R.add(x, R.const(3.0, "float32"))
    y1 = R.add(y, R.const(1.0, "float32"))
    z = R.add(y1, R.const(2.0, "float32"))
    return z""",
    )


def test_a_macro_of_loop_functions_keeps_the_values_around_its_definition() -> None:
    at = 1

    @T.macro
    def first(A: Any) -> None:
        A[at] = T.float32(1)

    @T.macro(hygienic=False)
    def second(A: Any) -> None:
        A[at] = T.float32(2)

    at = 3

    @T.prim_func
    def f(A: T.Buffer((8,), "float32")) -> None:
        first(A)
        second(A)

    same(f, "T.prim_func f(A: T.Buffer((8,), 'float32')):\n    A[1] = T.float32(1)\n    A[3] = T.float32(2)")


def test_names_of_a_macro_are_not_defined_after_it() -> None:
    with pytest.raises(tvms.TvmsError) as caught:

        @R.function
        def f(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            z = shifted(x)  # noqa: F841
            return y  # noqa: F821  # type: ignore[reportUndefinedVariable]

    assert [found.code for found in caught.value.diagnostics] == ["E0101"]


def test_a_macro_of_graph_functions_is_not_a_function() -> None:
    with pytest.raises(TypeError, match=r"^'shifted' is a macro: use it in a function decorated with R\.function$"):
        shifted(1)
