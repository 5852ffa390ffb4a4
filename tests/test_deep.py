"""Tests marked `deep` run a fixed part of their cells, and all of them where somebody asks for that; failing properties are shrunk for seconds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from hypothesis.internal.conjecture import engine

FILE = "tests/codegen/test_masked_loads.py"
NAME = "test_lanes_that_are_off_are_not_loaded"


def collected(*args: str, **variables: str) -> list[str]:
    """Return the cells of the marked test that pytest collects."""
    env = {key: value for key, value in os.environ.items() if key != "TVMS_FUZZ"} | variables
    command = [sys.executable, "-m", "pytest", "--collect-only", *args]
    done = subprocess.run(command, cwd=Path(__file__).parents[1], env=env, capture_output=True, text=True, check=False)
    return [line for line in done.stdout.splitlines() if f"::{NAME}[" in line]


def test_an_ordinary_run_has_a_part_of_the_cells() -> None:
    part, whole = collected(FILE), collected(FILE, TVMS_FUZZ="1")
    assert 0 < len(part) == -(-len(whole) // 4) < len(whole)
    assert set(part) < set(whole)
    assert collected(f"{FILE}::{NAME}") == collected(FILE, "-k", NAME) == whole


def test_a_failing_property_is_not_shrunk_for_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hypothesis heeds the limit that `conftest.py` sets: without any time, it checks fewer examples."""
    assert ("TVMS_FUZZ" in os.environ) == (engine.MAX_SHRINKING_SECONDS > 20)
    calls: list[int] = []

    @settings(database=None, derandomize=True, phases=[Phase.generate, Phase.shrink])
    @given(st.lists(st.integers()))
    def check(values: list[int]) -> None:
        calls[-1] += 1
        assert sum(values) < 1000

    for limit in (0, 20):
        calls.append(0)
        monkeypatch.setattr(engine, "MAX_SHRINKING_SECONDS", limit)
        with pytest.raises(AssertionError):
            check()
    assert calls[0] < calls[1]
