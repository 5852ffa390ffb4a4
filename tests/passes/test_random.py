"""Passes on random graphs: the law of `tvms fuzz passes`, of each pass, each pipeline, and with options."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tvms.dsl.cli.opt_command import parse_passes
from tvms.ir.passes.transform import Sequential, get_pass
from tvms.testing import network_functions
from tvms.testing.data import PROFILES
from tvms.testing.laws.passes import ROUNDING, TOGETHER, TRAINING, check_pass
from tvms.testing.oracle import as_module

sys.path.insert(0, str(Path(__file__).parent))
from complete_passes import COMPLETE


@pytest.mark.parametrize("name", COMPLETE)
@settings(max_examples=max(settings().max_examples // 10, 5))
@given(st.data())
def test_a_pass_changes_no_result(name: str, data: st.DataObject) -> None:
    profiles = ("plain",) if name in ROUNDING else PROFILES  # what rounds may make an infinity, and NaN of two of them
    check_pass(as_module(data.draw(network_functions(TRAINING.get(name)))), get_pass(name), [name], profiles=profiles)


WITH_OPTIONS = (
    'ConvertLayout({"relax.nn.conv2d": ["NHWC", "OHWI"]})',
    'ConvertLayout({"relax.nn.conv2d": ["NCHW2c", "OIHW2o"]})',
    "LambdaLift, LegalizeOps, CallTIRRewrite, StaticPlanBlockMemory(pack=True), KillAfterLastUse",
)


@pytest.mark.parametrize("names", [*map(", ".join, TOGETHER), *WITH_OPTIONS])
@settings(max_examples=max(settings().max_examples // 5, 5))
@given(network_functions())
def test_a_sequence_changes_no_result(names: str, function: Any) -> None:
    check_pass(as_module(function), Sequential(parse_passes(names)), names.split(", "))
