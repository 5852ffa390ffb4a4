"""What all tests share: seeded randomness that says its seed, and how long property-based tests run.

`make test` runs the same examples each time, so that it fails only for a change; `make fuzz` runs fresh ones.
"""

from __future__ import annotations

import os
import tempfile
from zlib import crc32

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "default", deadline=None, max_examples=50, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "fuzz", settings.get_profile("default"), max_examples=5000, derandomize=False, print_blob=True
)
settings.load_profile("default")

os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="tvms-state-")
"""The secret that signs machine code is the tests' own."""


@pytest.fixture
def random(request: pytest.FixtureRequest) -> np.random.Generator:
    """A generator with a seed of the test's own, shown where it fails; `TVMS_SEED=…` gives another."""
    seed = int(os.environ.get("TVMS_SEED", crc32(request.node.nodeid.encode())))
    print(f"TVMS_SEED={seed}")
    return np.random.default_rng(seed)
