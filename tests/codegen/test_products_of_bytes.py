"""Products and convolutions of bytes: any sizes, signs and layouts give the integers of their sums."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvms
from tvms.codegen.target import get_target

Array = np.ndarray[Any, Any]
RANDOM = np.random.default_rng(20)
HAS_BYTE_DOTS = get_target("llvm").processor.has_byte_dots
needs_byte_dots = pytest.mark.skipif(not HAS_BYTE_DOTS, reason="the processor lacks byte dot products (VNNI)")


def codes(shape: tuple[int, ...], dtype: str) -> Array:
    limits = np.iinfo(dtype)
    return RANDOM.integers(limits.min, limits.max + 1, shape).astype(dtype)


PRODUCT = """
R.function main(a: R.Tensor(("m", {k}), "{left}"), b: R.Tensor({b}, "{right}")):
    with R.dataflow():
        w = {value}
        y = R.matmul(a, w, out_dtype="int32")
        R.output(y)
    return y
"""


@pytest.mark.deep(2)
@pytest.mark.parametrize(("k", "n"), [(1, 70), (3, 31), (64, 16), (61, 47), (1544, 33), (512, 100)])
@pytest.mark.parametrize("left", ["uint8", "int8"])
@pytest.mark.parametrize("order", ["kn", "nk"])
def test_products_of_bytes_are_exact(left: str, order: str, k: int, n: int) -> None:
    right = "int8" if left == "uint8" else "uint8"
    b = (k, n) if order == "kn" else (n, k)
    value = "b" if order == "kn" else "R.permute_dims(b)"
    executable = tvms.compile(tvms.parse(PRODUCT.format(k=k, b=b, left=left, right=right, value=value)))
    rules = {decision.rule for decisions in executable.decisions.values() for decision in decisions}
    assert not HAS_BYTE_DOTS or "matmul" in rules
    weights = codes(b, right)
    for m in (0, 1, 2, 11, 12, 13, 200):
        a = codes((m, k), left)
        expected = a.astype("int32") @ (weights if order == "kn" else weights.T).astype("int32")
        np.testing.assert_array_equal(executable["main"](a, weights), expected, strict=True, err_msg=f"{m}")


CONVOLUTION = """
R.function main(x: R.Tensor({x}, "uint8"), w: R.Tensor({w}, "int8"), b: R.Tensor((1, {f}, 1, 1), "int32"), s: R.Tensor((1, {f}, 1, 1), "float32")):
    with R.dataflow():
        y = R.nn.conv2d(x, w, strides={stride}, padding={padding}, groups={groups}, out_dtype="int32")
        z = R.multiply(R.astype(R.add(y, b), "float32"), s)
        q = R.astype(R.clip(R.round(z), 0, 255), "uint8")
        R.output(q)
    return q
"""
CONVOLUTIONS = [
    # channels in and out, window, stride, padding, groups
    (3, 9, 3, 1, 1, 1),
    (16, 24, 3, 2, 1, 2),
    (5, 20, 1, 1, 0, 1),
    (64, 13, 1, 2, 0, 1),
]


@pytest.mark.parametrize("number", range(len(CONVOLUTIONS)))
@pytest.mark.parametrize("is_known", [True, False])
def test_quantized_convolutions_are_exact(number: int, is_known: bool) -> None:
    """The sums, and what requantizes them, are those of the interpreter; the epilogue is computed on the tiles."""
    inputs, outputs, window, stride, padding, groups = CONVOLUTIONS[number]
    height, width = (9, 21) if is_known else ('"h"', '"w"')
    shape = (outputs, inputs // groups, window, window)
    text = CONVOLUTION.format(
        x=f"(2, {inputs}, {height}, {width})", w=shape, f=outputs, stride=stride, padding=padding, groups=groups
    )
    module = tvms.parse(text)
    executable = tvms.compile(module)
    rules = {decision.block: decision.rule for found in executable.decisions.values() for decision in found}
    wanted = {block for block, rule in rules.items() if rule in ("convolution", "matmul")}
    assert not HAS_BYTE_DOTS or (len(wanted) == 1 and "conv2d" in min(wanted) and "," in min(wanted))
    weights, bias = codes(shape, "int8"), codes((1, outputs, 1, 1), "int16").astype("int32")
    scale = RANDOM.random((1, outputs, 1, 1)).astype("float32") / 100
    for size in ((9, 21),) if is_known else ((1, 1), (3, 70), (12, 5)):
        x = codes((2, inputs, *size), "uint8")
        expected = tvms.interpret(module, "main", [x, weights, bias, scale])
        np.testing.assert_array_equal(executable["main"](x, weights, bias, scale), expected, strict=True)


DOT = """
T.prim_func main(A: T.Buffer((4,), "{a}"), B: T.Buffer((4,), "{b}"), C: T.Buffer((1,), "int32")):
    C[0] = T.dp4a(A[0:4], B[0:4], C[0])
"""


@pytest.mark.parametrize("a", ["uint8", "int8"])
@pytest.mark.parametrize("b", ["uint8", "int8"])
def test_dp4a_is_the_dot_product_of_four_bytes(a: str, b: str) -> None:
    entry = tvms.compile(tvms.parse(DOT.format(a=a, b=b)))["main"]
    for _ in range(20):
        x, y, total = codes((4,), a), codes((4,), b), codes((1,), "int32")
        expected = total + (x.astype("int32") * y.astype("int32")).sum(dtype="int32")
        entry(x, y, total)
        np.testing.assert_array_equal(total, expected)


@needs_byte_dots
def test_products_of_equal_signs_say_why_they_decline() -> None:
    text = PRODUCT.format(k=64, b=(64, 70), left="int8", right="int8", value="b")
    decisions = tvms.compile(tvms.parse(text)).decisions.values()
    reasons = [reason for found in decisions for decision in found for reason in decision.declined]
    assert ("matmul", "its factors are not unsigned and signed bytes") in reasons
