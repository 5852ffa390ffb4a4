"""What the tests of kernels share: a driver that needs no GPU."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tvms.codegen.gpu.driver import use_driver

_SPEC = importlib.util.spec_from_file_location("fake_driver", Path(__file__).with_name("fake_driver.py"))
assert _SPEC is not None
assert _SPEC.loader is not None
_FAKE: Any = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(_FAKE)


@pytest.fixture
def driver() -> Iterator[Any]:
    """Let kernels run on memory of the host."""
    fake = _FAKE.FakeDriver()
    use_driver(fake)
    yield fake
    use_driver(None)
