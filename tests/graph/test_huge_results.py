"""Results that no memory can hold are errors, not exceptions of NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import tvms

TEXT = """
R.function main(x: R.Tensor((1, 3, 8, 8), "float32"), w: R.Tensor((4, 3, 3, 3), "float32")):
    return R.nn.conv2d(x, w, padding=[1000000000, 1000000000])
"""


@pytest.mark.parametrize("native", [True, False])
def test_a_result_beyond_the_address_space(native: bool) -> None:
    call = tvms.compile(tvms.parse(TEXT), native=native)["main"]
    with pytest.raises(tvms.TvmsError) as caught:
        call(np.zeros((1, 3, 8, 8), "f4"), np.zeros((4, 3, 3, 3), "f4"))
    (found,) = caught.value.diagnostics
    assert found.code == "E0717"
    assert found.message.startswith("there is no memory left for a tensor of shape (1, ")
