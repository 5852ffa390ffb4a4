"""`LowerIntrin`: floor divisions in terms of truncated ones have the same results for all signs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import tvms
from tvms.ir import tir
from tvms.ir.base import IRModule
from tvms.ir.interp import run
from tvms.ir.programs import as_module
from tvms.ir.visit import walk
from tvms.tir import transform


def module(dtype: str, a: str, b: str) -> IRModule:
    body = f"    for i in range(64):\n        C[i] = {a} // {b}\n        D[i] = {a} % {b}\n"
    params = ", ".join(f'{name}: T.Buffer((64,), "{dtype}")' for name in "ABCD")
    return as_module(tvms.parse(f"#tvms 1\nT.prim_func main({params}):\n{body}"))


def computed(mod: IRModule, dtype: str) -> list[np.ndarray]:
    values = [-7, -4, -3, -1, 1, 2, 4, 7] if dtype.startswith("int") else [1, 2, 3, 4, 5, 7, 8, 200]
    a, b = (np.array(column, dtype) for column in zip(*itertools.product(values, values), strict=True))
    arrays = [a, b, np.zeros(64, dtype), np.zeros(64, dtype)]
    run(mod, "main", arrays)
    return arrays[2:]


@pytest.mark.parametrize("dtype", ["int32", "int64", "int16", "uint8"])
@pytest.mark.parametrize("b", ["B[i]", "8", "3", "1"])
def test_results_stay(dtype: str, b: str) -> None:
    divisor = b if b == "B[i]" else f"T.{dtype}({b})"
    before = module(dtype, "A[i]", divisor)
    after = transform.LowerIntrin()(before)
    assert not any(isinstance(node, tir.FloorDiv | tir.FloorMod) for node in walk(after["main"]))
    for found, expected in zip(computed(after, dtype), computed(before, dtype), strict=True):
        assert np.array_equal(found, expected), after


def test_numbers_that_are_not_negative_need_no_correction() -> None:
    text = str(transform.LowerIntrin()(module("int32", "i", "(i + 3)")))
    assert ("T.Select" in text, "T.truncmod" in text or "T.Mod" in text) == (False, True)
