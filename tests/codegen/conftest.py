"""What the tests of compiled programs share: the law that they do what the interpreter does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import tvms
from tvms.ir.interp import run
from tvms.ir.numpy_dtype import numpy_dtype


def copy_all(args: Sequence[Any]) -> list[Any]:
    return [arg.copy() if isinstance(arg, np.ndarray) else arg for arg in args]


def assert_same(compiled: Any, interpreted: Any, ulps: int = 0) -> None:
    """Equal in kind and shape, and bit by bit but for the sign of NaN, or within some units in the last place."""
    if isinstance(interpreted, tuple):
        assert isinstance(compiled, tuple)
        for one, other in zip(compiled, interpreted, strict=True):
            assert_same(one, other, ulps)
        return
    if not isinstance(interpreted, np.ndarray):
        assert compiled == interpreted
        return
    assert compiled.dtype == interpreted.dtype
    if ulps:
        precision = ulps * float(ml_dtypes.finfo(interpreted.dtype).eps)
        tiny = float(ml_dtypes.finfo(interpreted.dtype).tiny)
        np.testing.assert_allclose(compiled.astype("f8"), interpreted.astype("f8"), rtol=precision, atol=tiny)
    elif interpreted.dtype.kind in "fV":
        np.testing.assert_array_equal(compiled.astype("f8"), interpreted.astype("f8"), strict=True)
    else:
        np.testing.assert_array_equal(compiled, interpreted, strict=True)


@pytest.fixture
def agree() -> Callable[..., Any]:
    """Run function `name` of a text compiled and interpreted on copies of `args`; both must do the same.

    Returns the compiled function's result and the arguments that it was given.
    """

    def check(text: str, *args: Any, name: str = "main", ulps: int = 0) -> tuple[Any, list[Any]]:
        module = tvms.parse(text)
        mine, theirs = copy_all(args), copy_all(args)
        compiled = tvms.compile(module)[name](*mine)
        assert_same(compiled, run(module, name, theirs), ulps)
        for one, other in zip(mine, theirs, strict=True):
            assert_same(one, other, ulps)
        return compiled, mine

    return check


@pytest.fixture
def numbers() -> Callable[..., np.ndarray]:
    """Make an array of a dtype: small numbers of both signs, never zero where `nonzero`, not negative where asked."""
    generator = np.random.default_rng(20260101)

    def make(shape: Any, dtype: str, *, nonzero: bool = False, positive: bool = False) -> np.ndarray:
        kind = numpy_dtype(dtype)
        if dtype == "bool":
            return generator.random(shape) < 0.5
        if "int" in dtype:
            bounds = np.iinfo(kind)
            values = generator.integers(max(int(bounds.min), -60), 60, shape).astype(kind)
            values = np.abs(values) if positive else values
            return np.where(values == 0, kind.type(3), values) if nonzero else values
        values = generator.standard_normal(shape) * 4
        return (np.abs(values) if positive else values).astype(kind)

    return make
