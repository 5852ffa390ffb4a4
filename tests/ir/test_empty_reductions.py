"""Reductions over nothing: their results are initial values, no check reports them, and compiled code computes the same."""

from __future__ import annotations

import numpy as np
import pytest
import tvms
from tvms.ir.empty_reductions import start_empty_reductions
from tvms.ir.interp.trap import Trap

PLAIN = """    for i, k in T.grid(4, {size}):
        with T.block("sum"):
            vi, vk = T.axis.remap("SR", [i, k])
            T.reads(A[vi, vk])
            T.writes(C[vi])
            with T.init():
                C[vi] = 7
            C[vi] = C[vi] + A[vi, vk]
"""
OF_TWO_AXES = """    for i, j, k in T.grid(4, 2, {size}):
        with T.block("sum"):
            vi, vj, vk = T.axis.remap("SRR", [i, j, k])
            T.reads(A[vi, vj + vk])
            T.writes(C[vi])
            with T.init():
                C[vi] = 7
            C[vi] = C[vi] + A[vi, vj + vk]
"""
GUARDED = """    for i, k, u0, u1 in T.grid(4, {size}, 1, 2):
        with T.block("sum"):
            vi, vk = T.axis.remap("SR", [i, k])
            T.where(u0 * 2 + u1 < 1)
            T.reads(A[vi, vk])
            T.writes(C[vi])
            with T.init():
                C[vi] = 7
            C[vi] = C[vi] + A[vi, vk]
"""
"""After a split of a unit loop inside: the predicate uses loops to which no axis is bound."""
INSIDE = """    for io in range(2):
        with T.block("outer"):
            vo = T.axis.spatial(2, io)
            T.reads(A[vo * 2:vo * 2 + 2, 0:{size}])
            T.writes(C[vo * 2:vo * 2 + 2])
            for i, k in T.grid(2, {size}):
                with T.block("sum"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    T.reads(A[vo * 2 + vi, vk])
                    T.writes(C[vo * 2 + vi])
                    with T.init():
                        C[vo * 2 + vi] = 7
                    C[vo * 2 + vi] = C[vo * 2 + vi] + A[vo * 2 + vi, vk]
"""
AROUND = """    for i, k in T.grid(4, {size}):
        with T.block("outer"):
            vi, vk = T.axis.remap("SR", [i, k])
            T.reads(A[vi, vk])
            T.writes(C[vi])
            with T.init():
                for x in range(1):
                    with T.block("init"):
                        vx = T.axis.spatial(1, x)
                        T.reads()
                        T.writes(C[vi])
                        C[vi] = 7
            for x in range(1):
                with T.block("sum"):
                    vx = T.axis.spatial(1, x)
                    T.reads(C[vi], A[vi, vk])
                    T.writes(C[vi])
                    C[vi] = C[vi] + A[vi, vk]
"""


@pytest.mark.parametrize("size", ["0", "n"])
@pytest.mark.parametrize("body", [PLAIN, OF_TWO_AXES, GUARDED, INSIDE, AROUND])
def test_a_reduction_over_nothing_is_its_initial_value(body: str, size: str) -> None:
    head = 'T.prim_func main(n: T.int32, A: T.Buffer((4, 8), "int32"), C: T.Buffer((4,), "int32")):\n'
    module = tvms.parse(head + body.format(size=size))
    func = module["main"]
    assert isinstance(func, tvms.tir.PrimFunc)
    for program in (func, start_empty_reductions(func)):
        assert tvms.verify(program, "races") == ()
    for run in (
        lambda *values: tvms.interpret(module, "main", list(values), observer=Trap(module)),
        tvms.compile(module)["main"],
    ):
        result = np.zeros(4, "int32")
        run(0, np.ones((4, 8), "int32"), result)
        assert result.tolist() == [7] * 4


def test_a_reduction_whose_extent_a_loop_determines() -> None:
    """The inner extent of a split uses that loop too, but the reduction starts anew in each of its iterations."""
    text = """
T.prim_func f(A: T.Buffer((4, 4), "int32"), C: T.Buffer((4,), "int32")):
    for i in range(4):
        for k0, k1 in T.grid(2, (i + 1) // 2):
            with T.block("sum"):
                vi = T.axis.spatial(4, i)
                vk = T.axis.reduce(i, k0 * ((i + 1) // 2) + k1)
                T.where(k0 * ((i + 1) // 2) + k1 < i)
                T.reads(A[vi, vk])
                T.writes(C[vi])
                with T.init():
                    C[vi] = 7
                C[vi] = C[vi] + A[vi, vk]
"""
    module, result = tvms.parse(text), np.zeros(4, "int32")
    tvms.interpret(module, "f", [np.ones((4, 4), "int32"), result])
    compiled = np.zeros(4, "int32")
    tvms.compile(module)["f"](np.ones((4, 4), "int32"), compiled)
    assert result.tolist() == compiled.tolist() == [7, 8, 9, 10]
