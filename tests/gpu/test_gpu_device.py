"""On a machine with a GPU (`make gpu-test`): kernels do there what they do here."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import tvms
from tvms.codegen.gpu.driver import find_driver, why_missing
from tvms.ir import tir
from tvms.testing.oracle import first_difference, random_inputs

SAMPLES = sorted((Path(__file__).parents[2] / "samples").glob("*_gpu_*.tvms"))
MISSING = why_missing()
pytestmark = pytest.mark.skipif(bool(MISSING) and not os.environ.get("TVMS_GPU"), reason=f"there is no GPU: {MISSING}")


def test_the_gpu_is_there() -> None:
    assert find_driver().arch.startswith("sm_")


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_samples(path: Path) -> None:
    module = tvms.load(path)
    there, here = tvms.compile(module, target=f"cuda -arch={find_driver().arch}"), tvms.compile(module)
    for name, function in module.functions.items():
        if not isinstance(function, tir.PrimFunc):
            continue
        values = random_inputs(function, np.random.default_rng(0))
        expected = [value.copy() for value in values]
        here[name](*expected)
        arrays = [tvms.nd.array(value, tvms.cuda()) for value in values]
        there[name](*arrays)
        for found, wanted in zip(arrays, expected, strict=True):
            difference = first_difference(found.numpy(), wanted)
            assert difference is None, difference
