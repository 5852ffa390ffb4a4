"""The simplifier: a normal form is equal to the expression at every point, and its own normal form."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent.parent / "ir"))
from evaluate_expressions import check_narrow, check_wide

NARROW, WIDE = (70_000, 15_000) if settings().max_examples > 1000 else (200, 50)
"""`make fuzz` compares 210,000 expressions at narrow widths and 90,000 at wide ones."""


@pytest.mark.parametrize("dtype", ["int32", "int4", "uint4"])
def test_normal_forms_at_every_point_of_narrow_variables(dtype: str, random: np.random.Generator) -> None:
    check_narrow(random, dtype, NARROW)


@pytest.mark.parametrize("dtype", ["int32", "int8", "uint8", "int16", "uint16", "uint32"])
def test_normal_forms_at_some_points_of_wide_variables(dtype: str, random: np.random.Generator) -> None:
    check_wide(random, dtype, WIDE)
