"""Means, variances and standard deviations of float16 and bfloat16 are computed in float32."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
import tvms


@pytest.mark.parametrize("name", ["mean", "variance", "std"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("count", [300, 8192, 65600])
def test_moments_do_not_overflow(name: str, dtype: str, count: int) -> None:
    """Neither the sum nor the number of elements has to be a float16."""
    kind = np.float16 if dtype == "float16" else ml_dtypes.bfloat16
    x = np.random.default_rng(count).choice([-30, 10, 40], (2, count)).astype(kind)
    module = tvms.parse(f"""#tvms 1
I.ir_module Module:
    R.function main(x: R.Tensor((2, {count}), "{dtype}")):
        return R.{name}(x, axis=[1])
""")
    function = {"mean": np.mean, "variance": np.var, "std": np.std}[name]
    expected = function(x.astype(np.float64), axis=1)
    for found in (tvms.compile(module)["main"](x), tvms.interpret(module, "main", [x])):
        np.testing.assert_allclose(np.asarray(found).astype(np.float64), expected, rtol=1e-2)
