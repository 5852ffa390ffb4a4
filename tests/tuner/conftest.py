"""What all tests of the tuner share."""

from __future__ import annotations

import pytest
from tvms.codegen.tuner import runner


@pytest.fixture(autouse=True)
def measure_shortly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let workers measure for a tenth of the time: tests look at the way of a measurement, not at the schedule that wins."""
    shorter = "from tvms.codegen.tuner import trial; trial._REPETITION, trial._BUDGET = 2e-4, 4e-3; "
    assert runner._PROGRAM.startswith("import tvms; ")
    monkeypatch.setattr(runner, "_PROGRAM", runner._PROGRAM.replace("import tvms; ", "import tvms; " + shorter, 1))
