"""Passes on random graphs: the law of `tvms fuzz passes`, of each pass, each pipeline, and with options."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tvms.dsl.cli.fuzz_command import compiled
from tvms.dsl.cli.opt_command import parse_passes
from tvms.ir.base import Source
from tvms.ir.passes.transform import Sequential, get_pass, passes
from tvms.testing import network_functions
from tvms.testing.data import PROFILES
from tvms.testing.laws.passes import LAW, REASSOCIATING, TOGETHER, TRAINING, check_pass, made, profiles_of
from tvms.testing.oracle import as_module

sys.path.insert(0, str(Path(__file__).parent))
from complete_passes import COMPLETE


@pytest.mark.deep(4)
@pytest.mark.parametrize("name", COMPLETE)
@settings(max_examples=max(settings().max_examples // 10, 5))
@given(st.data())
def test_a_pass_changes_no_result(name: str, data: st.DataObject) -> None:
    module = as_module(data.draw(network_functions(TRAINING.get(name))))
    check_pass(module, get_pass(name), [name], profiles=profiles_of([name], PROFILES))


INFINITE = """# passes: ExpandMatmulOfSum
R.function main(x: R.Tensor((2, 3), "float32"), a: R.Tensor((3, 2), "float32"), b: R.Tensor((3, 2), "float32")):
    with R.dataflow():
        lv = R.add(a, b)
        gv = R.matmul(x, lv)
        R.output(gv)
    return gv
"""


@pytest.mark.parametrize("seed", range(12))
def test_a_pass_that_reorders_additions_gets_finite_inputs(seed: int) -> None:
    LAW.check(replace(LAW.read(Source("infinite.tvms", INFINITE)), seed=seed), compiled)


@pytest.mark.parametrize("name", REASSOCIATING)
def test_a_pass_that_reorders_additions_says_so(name: str) -> None:
    assert "An infinite operand or an overflow may give NaN" in (passes()[name].__doc__ or "")


WITH_OPTIONS = (
    'ConvertLayout({"relax.nn.conv2d": ["NHWC", "OHWI"]})',
    'ConvertLayout({"relax.nn.conv2d": ["NCHW2c", "OIHW2o"]})',
    "LambdaLift, LegalizeOps, CallTIRRewrite, StaticPlanBlockMemory(pack=True), KillAfterLastUse",
)


@pytest.mark.deep(3)
@pytest.mark.parametrize("names", TOGETHER, ids=", ".join)
@settings(max_examples=max(settings().max_examples // 5, 5))
@given(network_functions())
def test_a_sequence_changes_no_result(names: tuple[str, ...], function: Any) -> None:
    check_pass(as_module(function), Sequential([made(name) for name in names]), names)


@pytest.mark.parametrize("text", WITH_OPTIONS)
@settings(max_examples=max(settings().max_examples // 5, 5))
@given(network_functions())
def test_a_sequence_with_options_changes_no_result(text: str, function: Any) -> None:
    check_pass(as_module(function), Sequential(parse_passes(text)), text.split(", "))
