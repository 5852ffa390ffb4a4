"""Operators of numbers that `LegalizeOps` computes, names of its loop functions, and joined tensors of unknown sizes."""

from __future__ import annotations

import re

import numpy as np
import pytest
import tvms
from tvms import relax


def legalized(body: str, head: str = "main()") -> tvms.IRModule:
    text = f"#tvms 1\n\nI.ir_module M:\n    R.function {head}:\n        y = {body}\n        return y\n"
    return relax.transform.LegalizeOps()(tvms.parse(text))


@pytest.mark.parametrize(
    ("body", "value"),
    [
        ('R.arange(1, 10, 2, dtype="int64")', np.arange(1, 10, 2)),
        ('R.arange(0, 1024, 1, dtype="float32")', np.arange(1024, dtype="float32")),
        ('R.astype(R.const(1.5, "float32"), dtype="int32")', np.int32(1)),
    ],
)
def test_small_results_of_numbers_are_constants(body: str, value: np.ndarray) -> None:
    module = legalized(body)
    assert list(module.functions) == ["main"]
    constant = module["main"].body.blocks[0].bindings[0].value
    assert isinstance(constant, relax.Constant)
    assert constant.data.dtype == value.dtype
    np.testing.assert_array_equal(constant.data, value)


def test_large_results_and_those_of_variables_are_loops() -> None:
    assert list(legalized('R.arange(0, 1025, 1, dtype="int64")').functions) == ["arange", "main"]
    assert list(legalized('R.astype(x, dtype="int32")', 'main(x: R.Tensor((), "float32"))').functions) == [
        "cast",
        "main",
    ]


@pytest.mark.parametrize("name", ["isfinite", "isinf", "isnan"])
def test_names_of_functions_of_c_are_not_taken(name: str) -> None:
    module = legalized(f"R.{name}(x)", 'main(x: R.Tensor((4,), "float32"))')
    assert list(module.functions) == [f"tir_{name}", "main"]


def test_joined_and_reversed_tensors_of_unknown_sizes() -> None:
    head = 'main(a: R.Tensor(("k",), "float32"), b: R.Tensor(("m",), "float32"), c: R.Tensor(("n",), "float32"))'
    module = legalized("R.concat((a, b, c), axis=0)", head)
    assert re.search(r"T.if_then_else\(0 <= (\w+) - k - m, c\[\1 - k - m\]", str(module))
    a, b, c = (np.arange(size, dtype="float32") for size in (2, 3, 4))
    np.testing.assert_array_equal(tvms.compile(module)["main"](a, b, c), np.concatenate([a, b, c]))
    flipped = legalized("R.flip(a, axis=0)", 'main(a: R.Tensor(("k",), "float32"))')
    assert re.search(r"a\[k - \w+ - 1\]", str(flipped))
    np.testing.assert_array_equal(tvms.compile(flipped)["main"](c), c[::-1])


def test_small_tensors_of_one_value_are_folded() -> None:
    text = "#tvms 1\n\nR.function main():\n    with R.dataflow():\n        y = R.SIZES\n        R.output(y)\n    return y\n"
    for made, value in {
        'ones(R.shape([2, 512]), "float32")': np.ones((2, 512), "float32"),
        'zeros(R.shape([2, 513]), "float32")': None,
        'arange(0, 4, 1, dtype="int32")': np.arange(4, dtype="int32"),
    }.items():
        result = relax.transform.FoldConstant()(tvms.parse(text.replace("SIZES", made)))["main"].body.body
        assert isinstance(result, relax.Constant) == (value is not None)
        if value is not None:
            np.testing.assert_array_equal(result.data, value)
