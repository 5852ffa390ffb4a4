"""Mutated ONNX models end in an error of tvms or a program that runs: no other exception, no crash, no file that is opened, and at
most 1 GB and 10 s a step."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

pytest.importorskip("onnx", reason="onnx, the extra 'onnx', is not installed")

sys.path.insert(0, str(Path(__file__).parent))
from onnx_mutants import models, run  # after the check that there is anything to test

SEED = int(os.environ.get("TVMS_SEED", "20261124"))
COUNT = 80 * int(os.environ.get("TVMS_FUZZ", "1"))


def test_mutants() -> None:
    print(f"TVMS_SEED={SEED}")
    found = run(range(COUNT), SEED, models())
    assert len(found) == COUNT
    assert {number: said for number, said in found.items() if said.startswith("BAD")} == {}
