"""Passes on random graphs: what they make keeps the law, reads back, and computes the same."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import tvms
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tvms.dsl.cli.opt_command import parse_passes
from tvms.ir.passes.instrument import VerifyEach
from tvms.ir.passes.pipelines import PIPELINES, get_pipeline
from tvms.ir.passes.transform import PassContext, Sequential, get_pass
from tvms.testing import assert_equivalent, network_functions
from tvms.testing.oracle import as_module

sys.path.insert(0, str(Path(__file__).parent))
from complete_passes import COMPLETE


def check(transform: Any, function: Any, tolerance: float | None = None) -> None:
    module = as_module(function)
    with PassContext(opt_level=3, instruments=[VerifyEach()]):
        after = transform(module)
    if after is not module:
        assert tvms.structural_equal(tvms.parse(after.script()), after)
        assert_equivalent(module, after, tolerance=tolerance)


TRAINING = {"DecomposeOpsForInference": False, "DecomposeOpsForTraining": True}
"""Whether batch normalisation is in training where a pass takes it to be so."""


ROUNDING = {"ToMixedPrecision": 0.1}
"""How far results may be from those before, where a pass computes less exactly."""
STEPS = ("floor", "less", "greater", "equal")
"""Operators whose results jump where their operands differ a little."""


@pytest.mark.parametrize("name", COMPLETE)
@settings(max_examples=max(settings().max_examples // 10, 5))
@given(st.data())
def test_a_pass_changes_no_result(name: str, data: st.DataObject) -> None:
    function = data.draw(network_functions(TRAINING.get(name)))
    assume(name not in ROUNDING or not any(step in function.script() for step in STEPS))
    check(get_pass(name), function, ROUNDING.get(name))


@pytest.mark.parametrize("name", PIPELINES)
@settings(max_examples=max(settings().max_examples // 5, 5))
@given(network_functions())
def test_a_pipeline_changes_no_result(name: str, function: Any) -> None:
    check(get_pipeline(name), function)


SEQUENCES = (
    'ConvertLayout({"relax.nn.conv2d": ["NHWC", "OHWI"]})',
    'ConvertLayout({"relax.nn.conv2d": ["NCHW2c", "OIHW2o"]})',
    "LegalizeOps, RewriteDataflowReshape, CallTIRRewrite, StaticPlanBlockMemory, LowerAllocTensor, KillAfterLastUse",
    "LambdaLift, LegalizeOps, CallTIRRewrite, StaticPlanBlockMemory(pack=True), KillAfterLastUse",
    "LambdaLift, InlinePrivateFunctions",
)
"""Passes that have something to do only after others."""


@pytest.mark.parametrize("names", SEQUENCES)
@settings(max_examples=max(settings().max_examples // 5, 5))
@given(network_functions())
def test_a_sequence_changes_no_result(names: str, function: Any) -> None:
    check(Sequential(parse_passes(names)), function)
