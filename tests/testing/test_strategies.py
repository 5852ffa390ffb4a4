"""Generated programs are valid, stay in bounds, shrink to few loops, and are what `st.from_type` gives."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import tvms
from hypothesis import Phase, find, given, seed, settings
from hypothesis import strategies as st
from tvms.ir import relax, tir
from tvms.ir.base import IRModule
from tvms.ir.diagnostics import Diagnostic
from tvms.ir.dtype import int_range
from tvms.ir.interp.expressions import compile_expr
from tvms.ir.visit import walk
from tvms.testing import assert_equivalent, expressions, graph_functions, modules, prim_funcs
from tvms.testing.campaign import BACKEND
from tvms.testing.choices import weighted
from tvms.testing.expressions import variables
from tvms.testing.features import FEATURES, features_of
from tvms.testing.scheduling import SUITS
from tvms.testing.stages import STAGES


def breaches(node: tir.PrimFunc | IRModule) -> list[Diagnostic]:
    return [diagnostic for diagnostic in tvms.verify(node) if diagnostic.severity == "error"]


@given(prim_funcs(), st.integers(0, 99))
def test_functions_keep_the_law_and_run(func: tir.PrimFunc, seed: int) -> None:
    assert breaches(func) == []
    assert_equivalent(func, func, seed=seed, integers=(-8, 9))


@given(modules())
@settings(max_examples=20)
def test_modules_keep_the_law(module: IRModule) -> None:
    assert breaches(module) == []


@pytest.mark.parametrize("stage", STAGES)
def test_every_stage_is_made(stage: str) -> None:
    @given(prim_funcs(stages=(stage,), max_blocks=2))
    @settings(max_examples=5)
    def check(func: tir.PrimFunc) -> None:
        assert breaches(func) == []

    check()


FEW = settings(max_examples=8, derandomize=True, deadline=None, database=None, phases=[Phase.generate])


def test_every_feature_is_drawn() -> None:
    met = set[str]()

    @given(prim_funcs())
    @settings(FEW, max_examples=400)
    def check(func: tir.PrimFunc) -> None:
        met.update(features_of(func))

    check()
    assert [name for name in FEATURES if name not in met] == []


@pytest.mark.deep(3)
@pytest.mark.parametrize("feature", FEATURES)
def test_a_feature_is_drawn_where_it_is_asked_for_and_not_where_it_is_excluded(feature: str) -> None:
    @given(prim_funcs(features={feature}), prim_funcs(without={feature}))
    @FEW
    def check(func: tir.PrimFunc, other: tir.PrimFunc) -> None:
        assert feature in features_of(func)
        assert feature not in features_of(other)
        assert breaches(func) == []

    check()


@given(prim_funcs(features={"strides", "reduction"}, without={"symbolic extent"}, dtypes=["int32"], max_extent=5))
@FEW
def test_filters_are_kept_together(func: tir.PrimFunc) -> None:
    assert {"strides", "reduction"} <= features_of(func)
    buffers = [node for node in walk(func) if isinstance(node, tir.Buffer)]
    assert {buffer.dtype for buffer in buffers} == {"int32"}
    assert all(size.value <= 5 for buffer in buffers if len(buffer.shape) > 1 for size in buffer.shape if isinstance(size, tir.IntImm))  # fmt: skip


@given(prim_funcs(max_blocks=1))
@FEW
def test_blocks_are_counted(func: tir.PrimFunc) -> None:
    assert sum(isinstance(node, tir.Block) and node.name_hint != "root" for node in walk(func)) <= 1


@given(
    prim_funcs(
        dtypes=["int32"], max_extent=3, operators=["add", "max"], stages=["elementwise"], leaf=lambda dtype: st.just(77)
    )
)
@FEW
def test_operators_and_leaves_are_those_asked_for(func: tir.PrimFunc) -> None:
    stores = [node.value for node in walk(func) if isinstance(node, tir.BufferStore)]
    kinds = {type(node) for value in stores for node in walk(value) if isinstance(node, tir.PrimExpr)}
    assert not kinds & {tir.Select, tir.Let, tir.Not}
    declared = {id(part) for node in walk(func) if isinstance(node, tir.Buffer) for part in walk(node)}
    numbers = [
        node for value in stores for node in walk(value) if isinstance(node, tir.IntImm) and id(node) not in declared
    ]
    assert all(node.value != 7 for node in numbers)


@pytest.mark.parametrize(
    ("options", "message", "help"),
    [
        ({"features": {"stride"}}, "there is no feature 'stride'", "did you mean 'strides'?"),
        ({"operators": ["addd"]}, "there is no operator 'addd'", "did you mean 'add'?"),
        ({"dtypes": ["float23"]}, "there is no dtype 'float23'", "did you mean 'float32'?"),
        ({"stages": ["scans"]}, "there is no stage 'scans'", "did you mean 'scan'?"),
        ({"features": {"scan"}, "without": {"scan"}}, "feature 'scan' is both in features and in without", None),
        ({"features": {"while"}, "stages": ["scan"]}, "no allowed stage has feature 'while'", "allow one of the stages: counted"),
        ({"features": {"nested blocks"}, "max_blocks": 1}, "feature 'nested blocks' needs 2 blocks, more than 1", None),
    ],
)  # fmt: skip
def test_what_cannot_be_drawn_is_an_error(options: dict[str, Any], message: str, help: str | None) -> None:
    with pytest.raises(tvms.TvmsError) as caught:
        prim_funcs(**options)
    (found,) = caught.value.diagnostics
    assert (found.code, found.message, found.help) == ("E0818", message, help)


def test_functions_whose_order_matters_are_drawn_where_they_are_named() -> None:
    met = set[str]()

    @given(prim_funcs(["int32"], stages=["disordered"], without={"symbolic extent"}))
    @settings(FEW, max_examples=200)
    def check(func: tir.PrimFunc) -> None:
        met.update(diagnostic.code for diagnostic in tvms.verify(func, "races") if diagnostic.severity == "error")

    check()
    assert met == {"E0421", "E0423", "E0424", "E0428", "E0429"}


def test_every_stage_suits_some_primitives() -> None:
    assert set(SUITS) == set(STAGES) - {"counted"}  # "counted" stages have no blocks to schedule


@given(st.from_type(tvms.PrimFunc))
@settings(max_examples=5)
def test_hypothesis_knows_the_type(func: tir.PrimFunc) -> None:
    assert isinstance(func, tir.PrimFunc)


@given(graph_functions(), st.integers(0, 99))
@settings(max_examples=20)
def test_graph_functions_keep_the_law_and_run(function: tvms.Function, seed: int) -> None:
    assert breaches(IRModule({"main": function})) == []
    assert_equivalent(function, function, seed=seed)


def test_graph_functions_have_what_graphs_have() -> None:
    met = set[str]()

    @given(graph_functions())
    @settings(FEW, max_examples=300)
    def check(function: tvms.Function) -> None:
        text = IRModule({"main": function}).script()
        info = [param.struct_info for param in function.params if isinstance(param.struct_info, relax.TensorStructInfo)]
        met.update(f"dtype {tensor_struct_info.dtype}" for tensor_struct_info in info)
        met.update(name for name, part in (("tensor constant", "R.const(["), ("tuple", "-> R.Tuple("), ("size 0", "(0")) if part in text)  # fmt: skip

    check()
    assert {"dtype bool", "dtype int32", "tensor constant", "tuple", "size 0"} <= met


@given(graph_functions(operators=["binary"], shapes=[(2, 3)], broadcasting=True, constants=[5]))
@FEW
def test_graph_functions_are_as_asked_for(function: tvms.Function) -> None:
    text = IRModule({"main": function}).script()
    assert 'x: R.Tensor((2, 3), "' in text
    assert "R.matmul" not in text
    assert not re.search(r"R\.const\((?!5|\[5)", text)


def test_kinds_of_operators_are_checked() -> None:
    with pytest.raises(tvms.TvmsError, match=r"E0818\]: there is no operator 'binari'(?s:.*)did you mean 'binary'"):
        graph_functions(operators=["binari"])


def test_without_hypothesis_it_says_so() -> None:
    script = (
        "import sys; sys.modules['hypothesis'] = None; import importlib.util as u; u.find_spec = lambda name: None\n"
        "import tvms.testing as t; t.assert_allclose(1, 1); t.requires_llvm(lambda: None); t.parameter(1, 2); t.modules"
    )
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False).stderr
    assert said.endswith(
        "error[E0812]: tvms.testing.modules needs Hypothesis, which is not installed\n"
        "  = help: pip install 'tvms-lang[fuzz]'\n"
    )


SCOPE = variables("x", "y")


@given(expressions(SCOPE, "int8"), st.integers(-9, 9), st.integers(-9, 9))
def test_expressions_have_their_dtype_and_a_value(expr: tir.PrimExpr, x: int, y: int) -> None:
    assert expr.dtype == "int8"
    low, high = int_range("int8")
    with np.errstate(all="ignore"):
        value = compile_expr(expr)(dict(zip(SCOPE, (x, y), strict=True)))  # type: ignore[arg-type]
    assert low <= value <= high


def test_a_failing_example_shrinks_to_few_loops() -> None:
    def has_reduction(func: tir.PrimFunc) -> bool:
        return any(isinstance(node, tir.Block) and node.init is not None for node in walk(func))

    smallest = find(prim_funcs(max_blocks=1), has_reduction)
    assert sum(isinstance(node, tir.For) for node in walk(smallest)) <= 3
    assert len(str(smallest).splitlines()) <= 12


def test_options_are_drawn_as_often_as_their_weights_say() -> None:
    found: list[str] = []

    @seed(1)
    @settings(max_examples=300, database=None, backend=BACKEND, phases=[Phase.generate])
    @given(weighted((9, st.just("often")), (1, st.just("rarely"))))
    def draw(option: str) -> None:
        found.append(option)

    draw()
    assert 240 < found.count("often") < 295
