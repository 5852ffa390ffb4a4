"""Helpers of tests under the names of `tvm.testing`."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar

_Test = TypeVar("_Test", bound=Callable[..., Any])


def assert_allclose(actual: Any, desired: Any, rtol: float = 1e-7, atol: float = 1e-7, verbose: bool = True) -> None:
    """Raise AssertionError if two arrays differ by more than the tolerances, or in shape
    (TVM: `tvm.testing.assert_allclose`).
    """
    import numpy as np

    actual, desired = np.asanyarray(actual), np.asanyarray(desired)
    np.testing.assert_allclose(actual.shape, desired.shape)
    np.testing.assert_allclose(actual, desired, rtol=rtol, atol=atol, verbose=verbose)


def requires_gpu(function: _Test) -> _Test:
    """Skip a test on a machine without a GPU (TVM: `tvm.testing.requires_gpu`)."""
    exists = import_module("tvms").cuda().exist
    mark: Any = import_module("pytest").mark.skipif(not exists, reason="needs a GPU")
    return mark(function)


def main() -> None:
    """Run the tests of the calling file with pytest, and exit (TVM: `tvm.testing.main`)."""
    caller = inspect.stack()[1].filename
    sys.exit(import_module("pytest").main([caller, *sys.argv[1:]]))
