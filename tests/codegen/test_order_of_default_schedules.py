"""Default schedules keep the order on which a result depends: what may not run in any order stays as it stands."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvms
from tvms.ir.interp import run

TWO = 'A: T.Buffer((33, 300), "int32"), {}: T.Buffer((33,), "int32"), {}: T.Buffer((33,), "int32")'
PAIR = """
    for i, k in T.grid(33, 300):
        with T.block("pair"):
            vi, vk = T.axis.remap("SR", [i, k])
            {where}
            with T.init():
                I[vi] = -1
                V[vi] = {start}
            x: T.int32 = T.Select({keeps}, I[vi], {index})
            y: T.int32 = T.Select({better}, V[vi], A[vi, vk])
            I[vi] = x
            V[vi] = y
"""
LEAST_INDEX = "V[vi] > A[vi, vk] or V[vi] == A[vi, vk] and I[vi] < vk"


def pair(keeps: str, better: str, start: int = -100, index: str = "vk", where: str = "T.where(i < 33)") -> str:
    return TWO.format("I", "V") + PAIR.format(keeps=keeps, better=better, start=start, index=index, where=where)


def block(parameters: str, loops: str, kinds: str, *statements: str) -> str:
    names = [part.split()[0] for part in loops.split(";")]
    text, indent = parameters, "    "
    for part in loops.split(";"):
        name, limits = part.split(maxsplit=1)
        text += f"\n{indent}for {name} in range({limits}):"
        indent += "    "
    text += f'\n{indent}with T.block("b"):'
    axes = ", ".join(f"v{name}" for name in names)
    text += f'\n{indent}    {axes} = T.axis.remap("{kinds}", [{", ".join(names)}])'
    return text + "".join(f"\n{indent}    {line}" for line in statements) + "\n"


MATRIX, ROW = 'A: T.Buffer((64, 64), "int32")', 'C: T.Buffer((64,), "int32")'
LONG = 'R: T.Buffer((40001,), "int32")'
SUM = ("with T.init():", "    C[vi] = 0", "C[vi] = C[vi] + A[vi, vk]")

TWO_SUMS = (
    TWO.format("S", "Q")
    + """
    for i, k in T.grid(33, 300):
        with T.block("sums"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                S[vi] = 0
                Q[vi] = 0
            s: T.int32 = S[vi] + A[vi, vk]
            q: T.int32 = Q[vi] + A[vi, vk] * FACTOR
            S[vi] = s
            Q[vi] = q
"""
)

PROGRAMS = {
    "sums in lets": TWO_SUMS.replace("FACTOR", "A[vi, vk]"),
    "sums that depend on each other": TWO_SUMS.replace("FACTOR", "(S[vi] & 7)"),
    "the first of equal values": pair("V[vi] >= A[vi, vk]", "V[vi] >= A[vi, vk]"),
    "the last of equal values": pair("V[vi] > A[vi, vk]", "V[vi] > A[vi, vk]"),
    "the first of the least": pair("V[vi] <= A[vi, vk]", "V[vi] <= A[vi, vk]", 100),
    "an index times two": pair(LEAST_INDEX, "V[vi] > A[vi, vk]", index="vk * 2"),
    "a choice under a predicate": pair(LEAST_INDEX, "V[vi] > A[vi, vk]", where="T.where(k < 7)"),
    "a scan": block(LONG, "i 40000", "S", "R[vi + 1] = R[vi + 1] + R[vi] * 3"),
    "a shift": block(LONG, "i 40000", "S", "R[vi + 1] = R[vi]"),
    "a shift back": block(LONG, "i 40000", "S", "R[vi] = R[vi + 1] + 1"),
    "a mirror": block(LONG, "i 40001", "S", "R[vi] = R[40000 - vi] + 1"),
    "a transposition in place": block('A: T.Buffer((256, 256), "int32")', "i 256;j 256", "SS", "A[vi, vj] = A[vj, vi]"),
    "a histogram": block(f"{LONG}, {ROW}", "i 40001", "S", "C[R[vi] & 63] = C[R[vi] & 63] + 1"),
    "the last one wins": block(f"{LONG}, {ROW}", "i 40001", "S", "C[R[vi] & 63] = vi"),
    "the last step of a reduction": block(f"{MATRIX}, {ROW}", "i 64;k 64", "SR", "C[vi] = A[vi, vk]"),
    "a start that depends on the step": block(f"{MATRIX}, {ROW}", "i 64;k 64", "SR", "with T.init():", "    C[vi] = vk + vi", SUM[2]),
    "a start that is an update": block(f"{MATRIX}, {ROW}", "i 64;k 64", "SR", "with T.init():", "    C[vi] = C[vi] + 1", SUM[2]),
    "a start from memory": block(f"{MATRIX}, {ROW}, Z{ROW[1:]}", "i 64;k 64", "SR", "with T.init():", "    C[vi] = Z[vi]", "C[vi] = T.max(C[vi], A[vi, vk])"),
    "reductions only": block(f"{MATRIX}, {ROW}", "i 64;k 64", "RR", *SUM),
    "a factor of itself": block(f"{MATRIX}, {ROW}", "i 64;k 64", "SR", "with T.init():", "    C[vi] = 1", "C[vi] = C[vi] + C[vi] * A[vi, vk]"),
    "a triangle": block(f"{MATRIX}, B{MATRIX[1:]}", "i 64;j i + 1", "SS", "B[vi, vj] = A[vi, vj] + 1"),
    "the other triangle": block(f"{MATRIX}, B{MATRIX[1:]}", "i 64;j i, 64", "SS", "B[vi, vj] = A[vi, vj] + 1"),
    "sums of a triangle": block(f"{MATRIX}, {ROW}", "i 64;k i + 1", "SR", *SUM),
    "loops that do not start at zero": block(f"{MATRIX}, {ROW}", "i 3, 64;k 2, 60", "SR", *SUM),
}  # fmt: skip


@pytest.mark.deep(8)
@pytest.mark.parametrize("target", ["llvm", "cuda -simulate=descending"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_depends_on_order_is_computed_in_its_order(name: str, target: str) -> None:
    parameters, _, body = PROGRAMS[name].partition("\n")
    module = tvms.parse(f"T.prim_func main({parameters}):\n{body}")
    random, (function,) = np.random.default_rng(0), module.functions.values()
    inputs = [random.integers(-8, 9, shape).astype("i4") for shape in shapes_of(function)]
    expected, found = ([value.copy() for value in inputs] for _ in range(2))
    run(module, "main", expected)
    tvms.compile(module, target=target)["main"](*found)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def shapes_of(function: Any) -> list[tuple[int, ...]]:
    return [tuple([extent.value for extent in buffer.shape]) for buffer in function.buffer_map.values()]


def test_a_choice_that_is_the_same_in_any_order_runs_by_vectors() -> None:
    text = pair(LEAST_INDEX, "V[vi] > A[vi, vk]", where="T.reads()").replace("            T.reads()\n", "")
    parameters, _, body = text.partition("\n")
    executable = tvms.compile(tvms.parse(f"T.prim_func main({parameters}):\n{body}"))
    assert [str(decision) for decision in executable.decisions["main"]] == ["block 'pair': argument"]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        (
            "sums that depend on each other",
            "argument: its update does not select one of two pairs independently of the order",
        ),
        ("a scan", "all: iterations of block 'b' read elements that other iterations store"),
        ("a histogram", "all: iterations may store the same element of 'C'"),
        ("reductions only", "all: the stored element of block 'b' depends on a reduced axis"),
        ("a start that is an update", "all: block 'b' has a T.init that depends on its result or a reduced axis"),
        ("a triangle", "all: the extent of loop 'j' depends on loop 'i'"),
    ],
)
def test_rules_say_which_order_they_would_break(name: str, reason: str) -> None:
    parameters, _, body = PROGRAMS[name].partition("\n")
    executable = tvms.compile(tvms.parse(f"T.prim_func main({parameters}):\n{body}"))
    (decision,) = map(str, executable.decisions["main"])
    assert reason in decision
