"""Strategies that compose: schedules of a program, arguments of a function, modules of given functions, graphs around a pattern."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest
import tvms
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from tvms.ir import relax, tir
from tvms.ir.base import IRModule
from tvms.ir.equal import structural_equal
from tvms.ir.schedule import Schedule
from tvms.ir.schedule.text import ScheduleText
from tvms.ir.visit import walk
from tvms.testing import assert_equivalent, graph_functions, inputs, modules, prim_funcs, schedules

FEW = settings(max_examples=10, derandomize=True, deadline=None, database=None, phases=[Phase.generate])
PROGRAM = tvms.parse("""
T.prim_func main(A: T.Buffer((6, 4), "float32"), C: T.Buffer((6,), "float32"), n: T.int32):
    for i, k in T.grid(6, 4):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi, vk]
""")
FUNCTION = PROGRAM.functions["main"]
assert isinstance(FUNCTION, tir.PrimFunc)
PATTERN = tvms.parse("""
R.function main(x: R.Tensor((2, 4), "float32"), w: R.Tensor((4, 3), "float32")) -> R.Tensor((2, 3), "float32"):
    with R.dataflow():
        h = R.matmul(x, w)
        y = R.nn.relu(h)
        R.output(y)
    return y
""").functions["main"]
assert isinstance(PATTERN, relax.Function)


@given(schedules(PROGRAM))
@FEW
def test_schedules_apply_print_and_follow_a_program(schedule: ScheduleText) -> None:
    applied = Schedule(PROGRAM)
    applied.replay(schedule)
    (again,) = tvms.parse(f"{PROGRAM}\n{schedule}").schedules.values()
    other = Schedule(PROGRAM)
    other.replay(again)
    assert structural_equal(applied.mod, other.mod)
    assert_equivalent(PROGRAM, applied.mod)


def test_schedules_have_the_primitives_asked_for() -> None:
    met = set[str]()

    @given(schedules(PROGRAM, primitives=["split", "rfactor"], max_steps=4))
    @settings(FEW, max_examples=40)
    def check(schedule: ScheduleText) -> None:
        met.update(step.primitive for step in schedule.steps)

    check()
    assert {"split", "rfactor"} <= met <= {"split", "rfactor", "get_block", "get_loops"}


@given(inputs(FUNCTION, ranges={"A": (0, 1)}, elements={"n": st.just(7)}))
@FEW
def test_inputs_have_names_shapes_and_ranges(values: dict[str, Any]) -> None:
    assert list(values) == ["A", "C", "n"]
    assert values["A"].shape == (6, 4)
    assert np.all((values["A"] >= 0) & (values["A"] <= 1))
    assert values["n"] == 7
    tvms.interpret(PROGRAM, "main", list(values.values()))


def test_inputs_have_edge_values() -> None:
    met = set[bool]()

    @given(inputs(FUNCTION, profiles=["dense"]))
    @FEW
    def check(values: dict[str, Any]) -> None:
        met.add(bool(np.isnan(values["A"]).any()))

    check()
    assert True in met


@given(modules(loops=prim_funcs(["int8"], 1, without={"while"}), graphs=graph_functions(["matmul"]), max_functions=3))
@settings(FEW, max_examples=30)
def test_modules_are_made_of_given_functions(module: IRModule) -> None:
    assert [diagnostic for diagnostic in tvms.verify(module) if diagnostic.severity == "error"] == []
    functions = [function for function in module.functions.values() if isinstance(function, tir.PrimFunc)]
    buffers = [node for function in functions for node in walk(function) if isinstance(node, tir.Buffer)]
    assert {buffer.dtype for buffer in buffers} <= {"int8"}
    assert structural_equal(tvms.parse(str(module)), module)


@given(graph_functions(pattern=PATTERN))
@FEW
def test_graphs_contain_the_pattern(function: relax.Function) -> None:
    values = {binding.var: binding.value for block in function.body.blocks for binding in block.bindings}
    calls = [value for value in values.values() if isinstance(value, relax.Call)]
    inner = [values.get(call.args[0]) for call in calls if getattr(call.op, "name", "") == "relax.nn.relu"]
    assert any(getattr(getattr(expr, "op", None), "name", "") == "relax.matmul" for expr in inner)
    assert_equivalent(function, function)


@pytest.mark.parametrize(
    ("make", "message", "help"),
    [
        (lambda: schedules(PROGRAM, primitives=["spilt"]), "there is no primitive 'spilt'", "did you mean 'split'?"),
        (lambda: inputs(FUNCTION, ranges={"B": (0, 1)}), "there is no parameter 'B'", "choose from: A, C, n"),
        (lambda: inputs(FUNCTION, profiles=["denser"]), "there is no profile 'denser'", "did you mean 'dense'?"),
        (
            lambda: modules(loops=cast(Any, 3)), "'loops' must be a strategy, got a value of type int",
            "give a strategy of Hypothesis, such as tvms.testing.prim_funcs(), or hypothesis.strategies.just(loop)",
        ),
        (lambda: modules(max_functions=0), "'max_functions' must be an integer of at least 1, got 0", "give a positive number"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_errors(make: Any, message: str, help: str) -> None:
    with pytest.raises(tvms.TvmsError) as caught:
        make()
    (found,) = caught.value.diagnostics
    assert (found.code, found.message, found.help) == ("E0818", message, help)
