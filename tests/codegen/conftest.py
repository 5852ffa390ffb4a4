"""What the tests of compiled programs share: the law that they do what the interpreter does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import tvms
from tvms.ir.dtype import int_range
from tvms.ir.interp import run
from tvms.ir.numpy_dtype import numpy_dtype


def copy_all(args: Sequence[Any]) -> list[Any]:
    return [arg.copy() if isinstance(arg, np.ndarray) else arg for arg in args]


def assert_same(compiled: Any, interpreted: Any, ulps: int = 0, is_summed: bool = False) -> None:
    """Equal in kind and shape, and bit by bit but for the sign of NaN, or within some units in the last place.

    Those of each element; where it `is_summed`, those of the largest one.
    """
    if isinstance(interpreted, tuple):
        assert isinstance(compiled, tuple)
        for one, other in zip(compiled, interpreted, strict=True):
            assert_same(one, other, ulps, is_summed)
        return
    if not isinstance(interpreted, np.ndarray):
        assert compiled == interpreted
        return
    assert compiled.dtype == interpreted.dtype
    is_floating = "float" in interpreted.dtype.name
    if ulps and is_floating:
        precision = ulps * float(ml_dtypes.finfo(interpreted.dtype).eps)
        tiny = float(ml_dtypes.finfo(interpreted.dtype).tiny)
        wide = interpreted.astype("f8")
        largest = np.abs(wide, where=np.isfinite(wide), out=np.zeros_like(wide)).max(initial=0.0)
        atol = max(tiny, precision * float(largest)) if is_summed else tiny
        np.testing.assert_allclose(compiled.astype("f8"), wide, rtol=precision, atol=atol)
    elif is_floating:
        np.testing.assert_array_equal(compiled.astype("f8"), interpreted.astype("f8"), strict=True)
    else:
        np.testing.assert_array_equal(compiled, interpreted, strict=True)


@pytest.fixture
def agree() -> Callable[..., Any]:
    """Run function `name` of a text compiled and interpreted on copies of `args`; both must do the same.

    With default schedules, sums of floats may be rounded otherwise. Returns the compiled function's result and the
    arguments that it was given.
    """

    def check(text: str, *args: Any, name: str = "main", ulps: int = 0) -> tuple[Any, list[Any]]:
        module = tvms.parse(text)
        theirs = copy_all(args)
        expected = run(module, name, theirs)
        for schedule in (True, False):
            mine = copy_all(args)
            compiled = tvms.compile(module, schedule=schedule)[name](*mine)
            allowed = ulps + 16 if schedule else ulps
            for one, other in zip((compiled, *mine), (expected, *theirs), strict=True):
                assert_same(one, other, allowed, is_summed=schedule)
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
            low, high = int_range(dtype)
            values = generator.integers(max(low, -60), min(high + 1, 60), shape)
            values = np.abs(values) if positive else values
            return np.where((values == 0) & nonzero, min(3, high), values).astype(kind)
        values = generator.standard_normal(shape) * 4
        return (np.abs(values) if positive else values).astype(kind)

    return make
