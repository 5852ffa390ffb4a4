"""Layouts and the conversions between them (TVM: `tvm.tir.data_layout`)."""

from __future__ import annotations

import re

import numpy as np
import pytest
from tvms import tir


def test_the_parts_of_a_layout() -> None:
    layout = tir.layout("NCHW16c")
    assert [*layout] == ["N", "C", "H", "W", "c"]
    assert (len(layout), layout[1], layout[-1], str(layout)) == (5, "C", "c", "NCHW16c")
    assert (layout.factor_of("c"), layout.factor_of("C"), layout.factor_of("N")) == (16, 16, -1)
    assert (layout.index_of("c"), layout.index_of("O")) == (4, -1)
    assert "c" in layout
    assert "O" not in layout
    assert layout == tir.layout("NCHW16c") != tir.layout("NCHW4c")
    assert str(tir.layout("NC4c", "int64").axes[1].dom) == "T.Range(T.int64(0), C_shape)"
    assert [axis.var.dtype for axis in tir.layout("NC4c", "int64").axes] == ["int64"] * 3


@pytest.mark.parametrize("text", ["NC", "CN", "NC2c", "CN2c", "NC2c3n", "C3n2cN", "NC4c2c"])
def test_conversion_moves_every_element_as_numpy_does(text: str) -> None:
    source, shape = "NC", (6, 16)
    conversion = tir.bijective_layout(source, text)
    assert conversion is not None
    new_shape = [int(size) for size in conversion.forward_shape(shape)]
    assert tuple(int(size) for size in conversion.backward_shape(new_shape)) == shape
    seen = np.zeros(new_shape, bool)
    for index in np.ndindex(*shape):
        place = tuple(int(item) for item in conversion.forward_index(index))
        assert not seen[place]
        seen[place] = True
        assert tuple(int(item) for item in conversion.backward_index(place)) == index
    assert seen.all()


def test_what_cannot_be_converted() -> None:
    for pair in (("NCHW", "ABCD"), ("__undef__", "NCHW"), ("NCHW", "")):
        assert tir.bijective_layout(*pair) is None


def test_misuse() -> None:
    with pytest.raises(TypeError, match=r"^the axes of a layout have the dtype int32 or int64, not float32$"):
        tir.layout("NCHW", dtype="float32")
    with pytest.raises(
        ValueError, match=re.escape('"NCHWc" is not a layout; write capitals, and blocks as in "NCHW4c"')
    ):
        tir.layout("NCHWc")
    conversion = tir.bijective_layout("NC", "CN")
    assert conversion is not None
    with pytest.raises(ValueError, match=r"^expected 2 values for the layout, got 3$"):
        conversion.forward_index((1, 2, 3))
