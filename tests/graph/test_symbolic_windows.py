"""Windows of convolutions and pooling whose sizes are symbolic compute what constant ones do: interpreted, as loops, compiled."""

from __future__ import annotations

import numpy as np
import pytest
import tvms
from tvms.ir.base import IRModule
from tvms.ir.interp import run
from tvms.ir.verify import verify

OPERATORS = {
    "max_pool2d": "x, pool_size=[3, 3]",
    "avg_pool2d": "x, pool_size=[3, 3]",
    "conv2d": "x, w",
    "conv2d_transpose": "x, w",
}
ATTRIBUTES = {
    "padding=[n, n, n, n]": OPERATORS,
    "padding=[1, 0, n, 1]": OPERATORS,
    "strides=[n, n]": OPERATORS,
    "dilation=[n, n]": OPERATORS,
    "strides=[3, 3], output_padding=[n, 0]": ("conv2d_transpose",),
}
CALLS = [f"{name}({OPERATORS[name]}, {attribute})" for attribute, names in ATTRIBUTES.items() for name in names]
CALLS += [
    f"{name}(x, pool_size=[n, 3], {rest})"
    for name in ("max_pool2d", "avg_pool2d")
    for rest in ("strides=[1, n]", "ceil_mode=True")
]
SIZE = 2


def module(call: str) -> IRModule:
    return tvms.parse(f"""
R.function main(s: R.Tensor(("n",), "float32"), x: R.Tensor((1, 2, 8, 8), "float32"), w: R.Tensor((2, 2, 3, 3), "float32")):
    n = T.int64()
    y = R.nn.{call}
    return y
""")


@pytest.mark.deep(8)
@pytest.mark.parametrize("call", CALLS)
def test_symbolic_windows_compute_what_constant_ones_do(call: str) -> None:
    random = np.random.default_rng(20261126)
    args = [
        np.zeros(SIZE, "f4"),
        *(random.standard_normal(shape).astype("f4") for shape in ((1, 2, 8, 8), (2, 2, 3, 3))),
    ]
    symbolic = module(call)
    loops = tvms.relax.transform.LegalizeOps()(symbolic)
    assert [problem for problem in verify(loops) if problem.severity == "error"] == []
    assert f"R.nn.{call.partition('(')[0]}(" not in loops.script() or "transpose" in call
    expected = run(module(call.replace("n,", f"{SIZE},").replace("n]", f"{SIZE}]")), "main", args)
    for found in (
        run(symbolic, "main", args),
        run(loops, "main", args),
        tvms.compile(symbolic, target="llvm")["main"](*args),
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.deep(8)
@pytest.mark.parametrize("name", ["max_pool1d", "avg_pool1d"])
@pytest.mark.parametrize("rest", ["", ", padding=[1, 0]", ", dilation=[2]", ", count_include_pad=True"])
@pytest.mark.parametrize("size", [5, 6, 7, 8])
def test_windows_that_end_after_data_of_symbolic_size(name: str, rest: str, size: int) -> None:
    text = f"R.nn.{name}(x, pool_size=[2], strides=[3], ceil_mode=True{rest})"
    head = 'R.function main(x: R.Tensor((2, 1, {}), "float32")):\n    y = {}\n    return y\n'
    x = np.random.default_rng(size).standard_normal((2, 1, size)).astype("f4")
    expected = run(tvms.parse(head.format(size, text)), "main", [x])
    symbolic = tvms.parse(head.format('"n"', text))
    loops = tvms.relax.transform.LegalizeOps()(symbolic)
    for found in (run(symbolic, "main", [x]), run(loops, "main", [x]), tvms.compile(symbolic)["main"](x)):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_sizes_of_a_tensor_whose_elements_are_not_used() -> None:
    text = 'R.function main(x: R.Tensor((2, "n"), "float32")):\n    y = R.size(x)\n    return y\n'
    module = tvms.parse(text)
    loops = tvms.relax.transform.LegalizeOps()(module)
    assert [problem for problem in verify(loops) if problem.severity == "error"] == []
    x = np.zeros((2, 3), "f4")
    for found in (run(module, "main", [x]), run(loops, "main", [x]), tvms.compile(module)["main"](x)):
        assert found == 6
