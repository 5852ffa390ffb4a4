"""What all tests share: seeded randomness that says its seed, and how long property-based tests run."""

from __future__ import annotations

import os
import secrets

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("default", deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("fuzz", settings.get_profile("default"), max_examples=5000)
settings.load_profile("default")


@pytest.fixture
def random() -> np.random.Generator:
    """A generator whose seed is shown where the test fails; `TVMS_SEED=…` gives the same again."""
    seed = int(os.environ.get("TVMS_SEED", secrets.randbits(32)))
    print(f"TVMS_SEED={seed}")
    return np.random.default_rng(seed)
