"""Smart constructors: dtypes as TVM promotes them, constants as TVM folds them, and folding never changes a value."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tvms.ir import make, tir
from tvms.ir.diagnostics import TvmsError
from tvms.ir.dtype import int_range, with_lanes_of

INTS = ["int8", "int32", "int64", "uint8", "uint32", "uint64"]
numbers = st.integers(-(2**31), 2**31 - 1)
X = tir.Var("int32", "x")


def value(node: tir.PrimExpr) -> float:
    assert isinstance(node, tir.IntImm | tir.FloatImm)
    return node.value


@pytest.mark.parametrize(
    ("a", "b", "result"),
    [
        ("float16", "float32", "float32"),
        ("int64", "float16", "float16"),
        ("bfloat16", "float32", "float32"),
        ("bfloat16", "float16", "float16"),
        ("bfloat16", "int32", "bfloat16"),
        ("float8_e4m3fn", "int8", "float8_e4m3fn"),
        ("float8_e4m3fn", "bfloat16", "bfloat16"),
        ("float4_e2m1fn", "float6_e2m3fn", "float6_e2m3fn"),
        ("int8", "int32", "int32"),
        ("int32", "uint32", "uint32"),
        ("uint8", "int32", "int32"),
        ("bool", "int32", "int32"),
        ("int32", "int32x4", "int32x4"),
        ("float32", "int32x4", "float32x4"),
        ("float32xvscalex4", "float32", "float32xvscalex4"),
    ],
)
def test_promotion_is_symmetric(a: str, b: str, result: str) -> None:
    left, right = tir.Var(a, "a"), tir.Var(b, "b")
    for node in (make.add(left, right), make.add(right, left)):
        assert isinstance(node, tir.Add)
        assert node.dtype == node.a.dtype == node.b.dtype == result
    assert make.less(left, right).dtype == with_lanes_of("bool", result)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("handle", "int32"),
        ("int32x4", "int32x8"),
        ("float8_e4m3fn", "float8_e5m2"),
        ("int32x4", "int32xvscalex4"),
    ],
)
def test_operands_that_do_not_go_together(a: str, b: str) -> None:
    with pytest.raises(TvmsError) as caught:
        make.add(tir.Var(a, "a"), tir.Var(b, "b"))
    assert [d.code for d in caught.value.diagnostics] == ["E0230"]
    assert caught.value.diagnostics[0].message == f"operands of dtype {a} and {b} are incompatible"


@given(numbers, numbers, st.sampled_from(INTS))
def test_integers_fold_to_what_the_machine_computes(a: int, b: int, dtype: str) -> None:
    low, high = int_range(dtype)
    a, b = max(low, min(a, high)), max(low, min(b, high))
    x, y = make.const(a, dtype), make.const(b, dtype)
    assert (value(make.add(x, y)) - (a + b)) % (high - low + 1) == 0
    assert (value(make.mul(x, y)) - a * b) % (high - low + 1) == 0
    assert low <= value(make.add(x, y)) <= high
    assert value(make.minimum(x, y)) == min(a, b)
    assert value(make.less(x, y)) == (a < b)
    assert make.less(x, y).dtype == "bool"
    if b:
        assert value(make.floordiv(x, y)) == (a // b if a // b <= high else low)


@given(numbers, numbers.filter(bool))
def test_remainders_fit_their_quotients(a: int, b: int) -> None:
    x, y = make.const(a, "int64"), make.const(b, "int64")
    assert value(make.truncdiv(x, y)) == math.trunc(a / b)
    assert value(make.truncdiv(x, y)) * b + value(make.truncmod(x, y)) == a
    assert value(make.floordiv(x, y)) * b + value(make.floormod(x, y)) == a


def test_neutral_and_absorbing_constants() -> None:
    zero = make.const(0)
    assert make.add(X, 0) is make.add(0, X) is make.sub(X, 0) is make.mul(X, 1) is make.mul(1, X) is X
    assert make.floordiv(X, 1) is make.truncdiv(X, 1) is make.div(X, 1) is X
    assert make.mul(X, zero) is make.mul(zero, X) is make.floormod(zero, X) is zero
    assert value(make.floormod(X, 1)) == 0
    assert make.minimum(X, X) is make.maximum(X, X) is X
    assert make.left_shift(X, 0) is X
    assert make.if_then_else(True, X, zero) is X


def test_floats_fold_in_their_precision() -> None:
    assert value(make.add(make.const(0.1, "float32"), make.const(0.2, "float32"))) == 0.30000001192092896
    assert value(make.mul(make.const(3e38, "float32"), make.const(3e38, "float32"))) == math.inf
    half = make.add(make.const(0.5, "float16"), make.const(0.25, "float16"))
    assert isinstance(half, tir.Add)


@given(st.floats(allow_nan=False), st.sampled_from((make.floor, make.ceil, make.trunc, make.round_even)))
def test_rounding_keeps_the_sign_of_zeros(number: float, rounding: Any) -> None:
    """A folded constant is what `T.ceil` and the like compute: -0.0 for -0.5."""
    rounded = value(rounding(tir.FloatImm("float64", number)))
    assert math.copysign(1.0, rounded) == math.copysign(1.0, number)
    assert math.isinf(number) or abs(rounded - number) <= 1


def test_minus_is_a_product_and_numbers_have_tvms_dtypes() -> None:
    node = make.neg(X)
    assert isinstance(node, tir.Mul)
    assert value(node.b) == -1
    assert [make.const(v).dtype for v in (True, 1, 2**31, 1.5)] == ["bool", "int32", "int64", "float32"]


@pytest.mark.parametrize(
    ("build", "code"),
    [
        (lambda: make.floordiv(X, 0), "E0232"),
        (lambda: make.floormod(X, 0), "E0232"),
        (lambda: make.const(300, "int8"), "E0231"),
        (lambda: make.const(-1, "uint32"), "E0231"),
        (lambda: make.const(math.nan, "int32"), "E0231"),
        (lambda: make.const(1e39, "float32"), "E0231"),
        (lambda: make.left_shift(X, 32), "E0231"),
        (lambda: make.broadcast(X, 1), "E0231"),
        (lambda: make.const(0, "handle"), "E0233"),
        (lambda: make.const(0, "int33"), "E0233"),
        (lambda: make.floordiv(1.0, 2.0), "E0233"),
        (lambda: make.logical_and(X, True), "E0233"),
        (lambda: make.power(X, X), "E0233"),
        (lambda: make.reinterpret("float64", X), "E0233"),
        (lambda: make.ramp(0, 1, X), "E0233"),
        (lambda: make.cast(tir.Var("handle", "p"), "int64"), "E0233"),
        (lambda: make.select(X, 1, 2), "E0233"),
        (lambda: make.select(make.less(X, 1), 1, 2.0), "E0230"),
        (lambda: make.buffer_load(tir.Buffer(tir.Var("handle", "A"), "float32", (X,), "A"), (X, X)), "E0235"),
    ],
)
def test_impossible_operands_are_diagnosed(build: object, code: str) -> None:
    with pytest.raises(TvmsError) as caught:
        build()  # type: ignore[operator]
    assert [d.code for d in caught.value.diagnostics] == [code]


def test_vectors() -> None:
    ramp = make.ramp(X, 1, 4)
    assert ramp.dtype == "int32x4"
    assert make.cast(ramp, "int64x4").dtype == "int64x4"
    scalable = make.ramp(X, 1, make.mul(make.vscale(), 4))
    assert scalable.dtype == "int32xvscalex4"
    buffer = tir.Buffer(tir.Var("handle", "A"), "float32x2", (X,), "A")
    assert make.buffer_load(buffer, (ramp,)).dtype == "float32x8"
    assert make.buffer_load(buffer, (X,)).dtype == "float32x2"
