"""Macros in Python programs: functions decorated with `T.macro`, used by decorated functions of the same or of another file."""

from __future__ import annotations

from typing import Any

import pytest
import tvms
from tvms.script import from_source
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
    with pytest.raises(
        TypeError, match=r"^'store' is a macro: use it as a statement of a function decorated with T\.prim_func$"
    ):
        store(1, 2)
