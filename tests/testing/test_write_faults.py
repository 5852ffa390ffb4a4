"""A sample of the faults that `write_faults.py` injects: each file is unchanged or completely replaced."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from write_faults import campaign


@pytest.mark.parametrize("fault", ["SIGKILL", "ENOSPC", "EIO"])
def test_what_was_there_stays_or_is_replaced(fault: str) -> None:
    assert campaign(fault, 4, seed=20261122) == (4, [])
