"""Comparison of results: parts of large arrays, and values that are not finite."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from tvms.ir.interp.compare import difference
from tvms.ir.interp.guarded import guarded


@pytest.mark.parametrize("place", [0, 32767, 32768, 99_999])
def test_each_element_of_a_large_array_counts(place: int) -> None:
    """The scale is the root mean square of the whole reference, wherever the difference is."""
    reference = np.full(100_000, 4, np.float32)
    result = reference.copy()
    result[place] = 6
    assert difference(result, reference) == pytest.approx(0.5, rel=1e-3)
    assert difference(result.reshape(1000, 100), reference.reshape(1000, 100)) == pytest.approx(0.5, rel=1e-3)
    assert difference(reference, reference.copy()) == 0


def test_values_that_are_not_finite() -> None:
    """Equal ones do not differ; a NaN or an infinity instead of a number is infinitely far away."""
    reference = np.array([1, np.nan, np.inf, -np.inf], np.float32)
    assert difference(reference.copy(), reference) == 0
    for place, value in ((0, np.nan), (0, np.inf), (1, 1), (2, -np.inf), (3, 1)):
        result = reference.copy()
        result[place] = value
        assert difference(result, reference) > 1e300
    assert difference(np.zeros(0, np.float32), np.zeros(0, np.float32)) == 0
    assert difference(np.zeros(2, np.float32), np.zeros(3, np.float32)) == np.inf


@pytest.mark.parametrize("at_end", [False, True])
@pytest.mark.parametrize("step", [1, 2])
def test_writes_beside_guarded_elements_are_noticed(at_end: bool, step: int) -> None:
    """The page has other bytes on one side of the elements, and between those of an array with strides."""
    values = np.arange(64, dtype=np.int32)[::step]
    (array,), (guard,) = guarded([values], at_end)
    assert array.tolist() == values.tolist()
    array[...] = 7
    assert guard.is_kept()
    size = array.itemsize + (array.size - 1) * array.strides[0]
    for offset in [-1 if at_end else size, *([4] if step == 2 else [])]:
        byte = ctypes.c_uint8.from_address(array.ctypes.data + offset)
        byte.value ^= 1
        assert not guard.is_kept()
        byte.value ^= 1
        assert guard.is_kept()
