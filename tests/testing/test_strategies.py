"""Generated programs keep the law, run inside their buffers, shrink to little, and are what `st.from_type` gives."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import tvms
from hypothesis import find, given, settings
from hypothesis import strategies as st
from tvms.ir import tir
from tvms.ir.base import IRModule
from tvms.ir.diagnostics import Diagnostic
from tvms.ir.dtype import int_range
from tvms.ir.interp.expressions import compile_expr
from tvms.ir.visit import walk
from tvms.testing import assert_equivalent, expressions, graph_functions, modules, prim_funcs
from tvms.testing.expressions import variables
from tvms.testing.stages import STAGES


def breaches(node: tir.PrimFunc | IRModule) -> list[Diagnostic]:
    return [each for each in tvms.verify(node) if each.severity == "error"]


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
    @given(prim_funcs(stages=(stage,), max_stages=1))
    @settings(max_examples=5)
    def check(func: tir.PrimFunc) -> None:
        assert breaches(func) == []

    check()


@given(st.from_type(tvms.PrimFunc))
@settings(max_examples=5)
def test_hypothesis_knows_the_type(func: tir.PrimFunc) -> None:
    assert isinstance(func, tir.PrimFunc)


@given(graph_functions(), st.integers(0, 99))
@settings(max_examples=20)
def test_graph_functions_keep_the_law_and_run(function: tvms.Function, seed: int) -> None:
    assert breaches(IRModule({"main": function})) == []
    assert_equivalent(function, function, seed=seed)


def test_without_hypothesis_it_says_so() -> None:
    script = "import sys; sys.modules['hypothesis'] = None; import importlib.util as u; u.find_spec = lambda name: None; import tvms.dsl.testing"
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False).stderr
    assert said.endswith(
        "error[E0812]: tvms.testing needs Hypothesis, which is not installed\n  = help: pip install 'tvms-lang[fuzz]'\n"
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

    smallest = find(prim_funcs(), has_reduction)
    assert sum(isinstance(node, tir.For) for node in walk(smallest)) <= 2
    assert len(str(smallest).splitlines()) <= 10
