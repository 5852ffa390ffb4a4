"""Loops that are cut by request: their parts compute what the loop computes, without the conditions that are known in them."""

from __future__ import annotations

from textwrap import indent

import numpy as np
import pytest
import tvms
from tvms.ir import tir
from tvms.ir.base import IRModule
from tvms.ir.interp import run
from tvms.ir.passes.transform import PassContext
from tvms.ir.programs import as_module
from tvms.ir.visit import walk
from tvms.tir import transform

HINT = 'annotations={"pragma_loop_partition_hint": 1}'
BODIES = {
    "three parts": f"""
for i in T.serial(24, {HINT}):
    if i < 5:
        A[i] = 1
    elif i < 20 and 5 <= i:
        A[i] = B[i]
    else:
        A[i] = B[i] + i
""",
    "one value": f"""
for i in T.serial(3, 20, {HINT}):
    if i == 11:
        A[i] = 7
    else:
        A[i] = B[i - 1]
""",
    "backwards": f"""
for i in T.serial(24, {HINT}):
    if 30 - 2 * i > 3:
        A[23 - i] = B[i]
    if not i != 4:
        A[i] = 9
""",
    "inner loops": f"""
for i in T.serial(6, {HINT}):
    for j in range(4):
        if i * 4 + j < 17:
            A[i * 4 + j] = B[j] + i
""",
    "hints inside": f"""
for i in T.serial(4, {HINT}):
    if i == 1:
        for j in T.serial(6, {HINT}):
            if j > 2:
                A[i * 6 + j] = i
    else:
        for j in T.serial(6, {HINT}):
            if j // 2 == 1:
                A[i * 6 + j] = B[j]
""",
    "vectors": f"""
for i in T.vectorized(24, {HINT}):
    if i // 8 == 1:
        A[i] = B[i] * 2
""",
    "likely": """
for i in range(6):
    for j in range(4):
        if T.likely(i * 4 + j < 21):
            A[i * 4 + j] = B[i * 4 + j] + T.Select(T.likely(j > 1), 5, i)
""",
    "ignored": f"""
for i in T.serial(24, {HINT}):
    if T.ignore_loop_partition(i < 9):
        A[i] = B[i]
    if i >= 12:
        A[i] = 3
""",
    "memory": f"""
for i in T.serial(24, {HINT}):
    if B[i] < 3 and i < 9:
        A[i] = B[i]
""",
    "jumps": f"""
for i in T.serial(24, {HINT}):
    if i == 9:
        break
    A[i] = i
""",
    "domains that vary": f"""
for i in T.serial(5, {HINT}):
    for j in range(i, 2 * i + 1):
        if j < 4:
            A[j] = A[j] + i
        if i + j == 8:
            A[0] = j
""",
    "remainders": f"""
for i in T.serial(24, {HINT}):
    if i % 2 == 0:
        A[i] = i
    if i % 12 < 6:
        B[i] = i
""",
}
ALL = {"partition_const_loop": True}


def module(body: str) -> IRModule:
    text = '#tvms 1\nT.prim_func main(A: T.Buffer((24,), "int32"), B: T.Buffer((24,), "int32")):\n'
    return as_module(tvms.parse(text + indent(body.strip("\n"), "    ") + "\n"))


def cut(body: str, **options: bool) -> IRModule:
    with PassContext(config={"tir.LoopPartition": options}):
        return transform.LoopPartition()(module(body))


def conditions(mod: IRModule) -> list[tir.PrimExpr]:
    return [node.condition for node in walk(mod["main"]) if isinstance(node, tir.IfThenElse)]


@pytest.mark.parametrize(
    "options",
    [{}, ALL, {**ALL, "no_unroll_loop_with_extent_one": True, "unroll_loop_with_partition_hint_no_interval": True}],
)
@pytest.mark.parametrize("name", BODIES)
def test_the_parts_compute_what_the_loop_computes(name: str, options: dict[str, bool]) -> None:
    before, after = module(BODIES[name]), cut(BODIES[name], **options)
    texts = (str(after), "likely" in str(after), "partition" in str(after))
    assert texts[1:] == (False, False)
    results = []
    for mod in (before, after):
        arrays = [np.arange(24, dtype="int32") % 7, np.arange(24, dtype="int32")[::-1].copy()]
        run(mod, "main", arrays)
        results.append(np.concatenate(arrays))
    assert np.array_equal(*results), after


@pytest.mark.parametrize("name", ["three parts", "one value", "backwards", "hints inside", "vectors"])
def test_no_condition_remains_that_is_known_in_each_part(name: str) -> None:
    assert not conditions(cut(BODIES[name]))


def test_conditions_on_inner_loops_remain_only_where_they_are_unknown() -> None:
    assert [str(part) for part in conditions(cut(BODIES["inner loops"]))] == ["T.Mul(4, 4) + j < 17"]


def test_loops_of_constant_length_with_likely_conditions_are_cut_by_an_option() -> None:
    body = BODIES["likely"]
    assert len(conditions(cut(body))) == 1
    assert not conditions(cut(body, **ALL))


def test_parts_whose_conditions_are_unknown_are_unrolled_by_an_option() -> None:
    after = cut(
        f"""
for i in T.serial(7, {HINT}):
    for j in range(8):
        if i * 2 + j >= 5:
            A[i * 2 + j] = 1
""",
        unroll_loop_with_partition_hint_no_interval=True,
    )
    kinds = [(node.kind.value, str(node.extent)) for node in walk(after["main"]) if isinstance(node, tir.For)]
    assert kinds == [("unroll", "3"), ("serial", "8"), ("serial", "4"), ("serial", "8")]


def test_other_annotations_stay() -> None:
    after = cut("""
for i in T.serial(24, annotations={"pragma_loop_partition_hint": 1, "other": 5}):
    if i < 8:
        A[i] = 1
""")
    assert [node.annotations for node in walk(after["main"]) if isinstance(node, tir.For)] == [
        {"other": 5},
        {"other": 5},
    ]


def test_comparisons_that_wrap_around_are_not_judged() -> None:
    after = cut(f"""
for i in T.serial(24, {HINT}):
    if i * 200000000 < 1000:
        A[i] = 1
""")
    assert len(conditions(after)) == 1
