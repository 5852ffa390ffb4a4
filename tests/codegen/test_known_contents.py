"""Passes that use known contents of memory if an option asks for it: results stay, also where contents change meanwhile."""

from __future__ import annotations

from textwrap import dedent, indent
from typing import Any

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

KNOWNS = {"propagate_knowns_to_prove_conditional": True}
LOADS = {"propagate_knowns_to_simplify_expressions": True}
DATAFLOW = {"use_dataflow_analysis": True}
CHANGED: dict[str, tuple[str, str, dict[str, bool]]] = {
    "a stored value": ("Simplify", "A[0] = 0\nif A[0] == 0:\n    B[0] = 1", KNOWNS),
    "a value per iteration": (
        "Simplify",
        "for i in range(16):\n    A[i] = i\nfor j in range(16):\n    if A[j] < 20:\n        B[j] = 1",
        KNOWNS,
    ),
    "part of a loop": (
        "Simplify",
        "for i in range(3, 9):\n    A[i] = 5\nfor j in range(16):\n    if j > 3:\n        if j < 8:\n            if A[j] == 5:\n                B[j] = 1",
        KNOWNS,
    ),
    "before it changes": (
        "Simplify",
        "for i in range(16):\n    A[i] = 1\nfor i in range(16):\n    if A[i] == 1:\n        A[i] = B[i]",
        KNOWNS,
    ),
    "a condition": ("Simplify", "if A[0] == x:\n    if A[0] == x:\n        B[0] = 1", KNOWNS),
    "a sum": ("Simplify", "A[0] = 5\nA[0] = A[0] + 7\nB[0] = A[0]", LOADS),
    "lanes": ("Simplify", "A[0:4] = T.Ramp(11, 1, 4)\nif A[2] == 13:\n    B[0] = 1", KNOWNS),
    "two dimensions of loops": (
        "Simplify",
        "for i in range(4):\n    for j in range(4):\n        C[i, j] = i * 4 + j\nfor i in range(4):\n    if C[i, 2] >= 0:\n        B[i] = 1",
        KNOWNS,
    ),
    "a store twice": ("RemoveNoOp", "for i in range(16):\n    A[i] = 1\n    A[i] = B[i]", DATAFLOW),
    "a part of a loop": (
        "RemoveNoOp",
        "for i in range(4, 12):\n    A[i] = 1\nfor i in range(16):\n    A[i] = B[i]",
        DATAFLOW,
    ),
    "conditions alike": (
        "RemoveNoOp",
        "for i in range(16):\n    if i < 10:\n        A[i] = 1\nfor i in range(16):\n    if i // 4 < 3:\n        A[i] = B[i]",
        DATAFLOW,
    ),
    "splits": (
        "RemoveNoOp",
        "for i in range(16):\n    A[i] = 1\nfor i, j in T.grid(4, 4):\n    A[i * 4 + j] = B[j]",
        DATAFLOW,
    ),
    "a known value": ("RemoveNoOp", "for i in range(16):\n    A[i] = i\nA[4] = 4", DATAFLOW),
    "loops alike": ("RemoveNoOp", "for i in range(16):\n    A[i] = i\nfor i in range(16):\n    A[i] = i", DATAFLOW),
    "the same element": (
        "RemoveNoOp",
        "for i in range(16):\n    if i == 3:\n        A[i] = A[3]\n    else:\n        A[i] = 1",
        {},
    ),
    "adding zero": (
        "ReduceBranchingThroughOvercompute",
        "for i in range(16):\n    if i > 0:\n        A[0] = A[0] + i * i",
        DATAFLOW,
    ),
    "sides alike": (
        "ReduceBranchingThroughOvercompute",
        "for i in range(16):\n    if i < 14:\n        A[i] = 1\n        T.evaluate(0)\n    else:\n        A[i] = 1",
        {},
    ),
    "stored again": (
        "ReduceBranchingThroughOvercompute",
        "for i in range(16):\n    if i < 14:\n        A[i] = 1\nfor i in range(16):\n    if i >= 14:\n        A[i] = 2",
        DATAFLOW,
    ),
}
KEPT: dict[str, tuple[str, str, dict[str, bool]]] = {
    "changed in between": ("Simplify", "A[0] = 0\nA[x] = 1\nif A[0] == 0:\n    B[0] = 1", KNOWNS),
    "perhaps changed": ("Simplify", "A[0] = 0\nif x > 2:\n    A[0] = 1\nif A[0] == 0:\n    B[0] = 1", KNOWNS),
    "changed by the loop": (
        "Simplify",
        "A[0] = 0\nfor i in range(16):\n    if A[0] < 9:\n        A[0] = A[0] + i\n    else:\n        B[i] = 1",
        KNOWNS,
    ),
    "changed by earlier iterations": (
        "Simplify",
        "for i in range(16):\n    A[i] = 1\nfor i in range(15):\n    if A[i] == 1:\n        B[i] = 1\n    A[i + 1] = 0",
        KNOWNS,
    ),
    "another part": (
        "Simplify",
        "for i in range(3, 9):\n    A[i] = 5\nfor j in range(16):\n    if A[j] == 5:\n        B[j] = 1",
        KNOWNS,
    ),
    "overlapping iterations": (
        "Simplify",
        "for i in range(8):\n    A[i] = i\n    A[i + 1] = 0\nfor j in range(8):\n    if A[j] == j:\n        B[j] = 1",
        KNOWNS,
    ),
    "a view": (
        "Simplify",
        "V = T.decl_buffer((8,), 'int32', data=A.data)\nA[0] = 0\nV[0] = 7\nif A[0] == 0:\n    B[0] = 1",
        KNOWNS,
    ),
    "a loop that may be empty": (
        "Simplify",
        "A[0] = 1\nfor i in range(x):\n    A[0] = 0\nif A[0] == 0:\n    B[0] = 1",
        KNOWNS,
    ),
    "without dimensions": (
        "Simplify",
        "Z = T.decl_buffer((), 'int32')\nZ[()] = 3\nZ[()] = x\nif Z[()] == 3:\n    B[0] = 1",
        KNOWNS,
    ),
    "without the option": ("Simplify", "A[0] = 0\nif A[0] == 0:\n    B[0] = 1", {}),
    "read in between": (
        "RemoveNoOp",
        "for i in range(16):\n    A[i] = 1\nB[0] = A[3]\nfor i in range(16):\n    A[i] = 2",
        DATAFLOW,
    ),
    "read by the second store": (
        "RemoveNoOp",
        "for i in range(15):\n    A[i + 1] = 1\nfor i in range(15):\n    A[i + 1] = A[i]",
        DATAFLOW,
    ),
    "not all": ("RemoveNoOp", "for i in range(16):\n    A[i] = 1\nfor i in range(15):\n    A[i] = 2", DATAFLOW),
    "not every second": (
        "RemoveNoOp",
        "for i in range(8):\n    A[i] = 1\nfor i in range(8):\n    A[i * 2] = 2",
        DATAFLOW,
    ),
    "stores without the option": ("RemoveNoOp", "for i in range(16):\n    A[i] = 1\n    A[i] = 2", {}),
    "values of other elements": (
        "ReduceBranchingThroughOvercompute",
        "for i in range(16):\n    if i < 14:\n        A[i] = 1\nfor i in range(16):\n    if i >= 14:\n        A[i] = A[i] + 1",
        DATAFLOW,
    ),
    "an index out of bounds": (
        "ReduceBranchingThroughOvercompute",
        "for i in range(20):\n    if i < 14:\n        A[T.min(i, 15)] = B[i]\nfor i in range(16):\n    A[i] = 2",
        DATAFLOW,
    ),
    "more than zero": (
        "ReduceBranchingThroughOvercompute",
        "for i in range(16):\n    if i > 1:\n        A[0] = A[0] + i * i",
        DATAFLOW,
    ),
}


def module(body: str) -> IRModule:
    head = 'T.prim_func main(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32"), C: T.Buffer((4, 4), "int32"), x: T.int32):'
    return as_module(tvms.parse(f"#tvms 1\n{head}\n{indent(dedent(body), '    ')}\n"))


def after(name: str, before: IRModule, options: dict[str, bool]) -> IRModule:
    with PassContext(config={f"tir.{name}": options}):
        return getattr(transform, name)()(before)


def results(mod: IRModule, x: int) -> list[Any]:
    arrays: list[Any] = [np.arange(16, dtype="int32") % 3, np.arange(16, dtype="int32"), np.zeros((4, 4), "int32")]
    run(mod, "main", [*arrays, x])
    return arrays


def size(mod: IRModule) -> int:
    return sum(1 for node in walk(mod["main"]) if isinstance(node, tir.IfThenElse | tir.BufferStore | tir.BufferLoad))


@pytest.mark.parametrize("name", CHANGED)
def test_programs_become_shorter_and_compute_the_same(name: str) -> None:
    kind, body, options = CHANGED[name]
    before = module(body)
    found = after(kind, before, options)
    assert size(found) < size(after("Simplify", before, {}) if kind == "Simplify" else before), found
    for x in (0, 1, 5):
        assert all(map(np.array_equal, results(found, x), results(before, x))), found


@pytest.mark.parametrize("name", KEPT)
def test_contents_that_may_have_changed_are_not_used(name: str) -> None:
    kind, body, options = KEPT[name]
    before = after("Simplify", module(body), {})
    found = after(kind, before, options)
    assert size(found) == size(before), found
    for x in (0, 1, 5):
        assert all(map(np.array_equal, results(found, x), results(before, x))), found


def test_effects_of_values_that_are_overwritten_stay() -> None:
    before = module("for i in range(16):\n    A[i] = T.call_extern('int32', 'rand')\n    A[i] = 42")
    text = str(after("RemoveNoOp", before, DATAFLOW))
    assert (text.count("call_extern"), text.count("A[i] = ")) == (1, 1)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("x < 3 or y < 5 and x < 9", "(x < 3 or y < 5) and x < 9"),
        ("A[0] == 1 or A[1] == 1 and A[2] == 1", "(A[0] == 1 or A[1] == 1) and (A[0] == 1 or A[2] == 1)"),
        ("(x == 0 or y == 20) and (y != 30 or x == 0)", "y == 20 or x == 0"),
        ("A[0] == 1 or x < 16 and A[x] == 1", "A[0] == 1 or x < 16 and A[x] == 1"),
    ],
)
def test_conditions_as_conjunctions_of_disjunctions(condition: str, expected: str) -> None:
    head = 'T.prim_func main(A: T.Buffer((16,), "int32"), x: T.int32, y: T.int32):'
    mod = as_module(tvms.parse(f"#tvms 1\n{head}\n    if {condition}:\n        A[0] = 1\n"))
    found = after("Simplify", mod, {"convert_boolean_to_and_of_ors": True})
    assert f"    if {expected}:\n" in str(found)
