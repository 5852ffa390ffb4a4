"""What all tests share: seeded randomness that says its seed, and how long property-based tests run.

`make test` runs the same examples each time, so that it fails only for a change; `make fuzz` runs fresh ones. Of a test marked
`deep(share)`, `make test` runs one cell in `share`, and `make fuzz` all.
"""

from __future__ import annotations

import gc
import os
import tempfile
from zlib import crc32

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import engine

settings.register_profile(
    "default", deadline=None, max_examples=50, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "fuzz", settings.get_profile("default"), max_examples=5000, derandomize=False, print_blob=True
)
settings.load_profile("default")
if "TVMS_FUZZ" not in os.environ:
    engine.MAX_SHRINKING_SECONDS = 20  # type: ignore[reportAttributeAccessIssue]
"""A property that fails in `make test` is shrunk for seconds; Hypothesis would do so for five minutes."""

gc.set_threshold(20_000, 20, 20)
"""Garbage is collected rarely: a collection visits the tests themselves, of which there are thousands."""

os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="tvms-state-")
"""The secret that signs machine code is the tests' own."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out cells of tests marked `deep`, always the same ones, unless TVMS_FUZZ is set or tests are named or chosen by `-k`."""
    if "TVMS_FUZZ" in os.environ or config.option.keyword or any("::" in arg for arg in config.args):
        return
    matrices: dict[tuple[str, int], list[pytest.Item]] = {}
    for item in items:
        mark = item.get_closest_marker("deep")
        if mark is not None:
            matrices.setdefault((item.nodeid.partition("[")[0], mark.args[0]), []).append(item)
    left_out = set[pytest.Item]()
    for (_, share), cells in matrices.items():
        cells.sort(key=lambda item: crc32(item.nodeid.encode()))
        left_out.update(cells[-(-len(cells) // share) :])
    config.hook.pytest_deselected(items=list(left_out))
    items[:] = [item for item in items if item not in left_out]


@pytest.fixture
def random(request: pytest.FixtureRequest) -> np.random.Generator:
    """A generator with a seed of the test's own, shown where it fails; `TVMS_SEED=…` gives another."""
    seed = int(os.environ.get("TVMS_SEED", crc32(request.node.nodeid.encode())))
    print(f"TVMS_SEED={seed}")
    return np.random.default_rng(seed)
