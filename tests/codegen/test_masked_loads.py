"""Vectors that are loaded under a mask, for several processors; LLVM has mistakes where no lane of a register is on."""

from __future__ import annotations

import numpy as np
import pytest
import tvms
from tvms.codegen import emit
from tvms.codegen.target import get_target

IS_X86 = get_target("llvm").words[0].startswith("x86_64")
PROCESSORS = ("x86-64", "ivybridge", "haswell", "x86-64-v4")
DTYPES = ("float32", "float64", "int32", "int64", "float16", "int8")
MASKED = """
    T.prim_func load_{lanes}_{low}_{high}(c: T.int32, A: T.Buffer(({lanes},), "{dtype}"), B: T.Buffer(({lanes},), "{dtype}")):
        B[T.Ramp(0, 1, {lanes})] = A.vload(
            [T.Ramp(0, 1, {lanes})],
            predicate=T.And(T.Broadcast(c < 7, {lanes}), T.And(T.Ramp(0, 1, {lanes}) >= T.Broadcast({low}, {lanes}),
                T.Ramp(0, 1, {lanes}) < T.Broadcast({high}, {lanes}))))
"""
"""A load of the lanes from `low` to `high` if `c < 7`."""


@pytest.mark.deep(4)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("processor", PROCESSORS)
def test_lanes_that_are_off_are_not_loaded(processor: str, dtype: str) -> None:
    if not IS_X86:
        pytest.skip("the processors are of x86")
    size = np.dtype(dtype).itemsize
    forms = [
        (lanes, low, high)
        for lanes in (32 // size, 48 // size, 64 // size, 128 // size)
        for low, high in ((0, lanes // 2), (lanes // 2, lanes), (0, 1), (1, lanes - 1), (0, 0))
    ]  # fmt: skip
    functions = (
        MASKED.format(dtype=dtype, lanes=lanes, low=low, high=high) for lanes, low, high in dict.fromkeys(forms)
    )
    module = tvms.parse("I.ir_module Loads:\n" + "".join(functions))
    try:
        loads = tvms.compile(module, target=f"llvm -mcpu={processor}")
    except tvms.TvmsError as error:
        if "E0617" not in str(error):  # else this processor lacks instructions
            raise
        assert emit(module, "obj", f"llvm -mtriple=x86_64-linux-gnu -mcpu={processor}")
        pytest.skip(str(error))
    for lanes, low, high in forms:
        a = np.arange(1, lanes + 1).astype(dtype)
        for c in (6, 7):
            b = np.ones(lanes, dtype)
            loads[f"load_{lanes}_{low}_{high}"](c, a, b)
            is_on = (np.arange(lanes) >= low) & (np.arange(lanes) < high) & (c < 7)
            assert (b == np.where(is_on, a, a.dtype.type(0))).all(), (lanes, low, high, c)
