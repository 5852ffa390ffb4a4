"""Index arithmetic of tiling and fusion in its normal form, as one finds it in every scheduled program."""

from __future__ import annotations

import pytest
from tvms.ir import make, tir
from tvms.ir.base import Op
from tvms.ir.dtype import parse_dtype
from tvms.ir.equal import structural_equal
from tvms.ir.simplify import simplify
from tvms.ir.te import expr as te

i, j, k, f, x, y = (te.var(name) for name in "ijkfxy")
n, m = te.size_var("n"), te.size_var("m")
Domain = dict[tir.PrimExpr, te.Value]

SPLITS: list[tuple[te.Value, te.Value, Domain]] = [
    ((i * 32 + j) // 32, i, {j: 32}),
    ((i * 32 + j) % 32, j, {j: 32}),
    ((i * 4 + j) % 4, j % 4, {}),
    ((i * 4 + j) // 4, j // 4 + i, {}),
    (i * 45 // 4, i * 11, {i: 4}),
    ((i * 9 + j * 4) // 8, i, {i: 4, j: 2}),
    ((i * 7 + j) // 4, (i * 7 + j) // 4, {i: 4, j: 2}),
    (((i * 4 + j) * 8 + k) // 32, i, {j: 4, k: 8}),
    (((i * 4 + j) * 8 + k) % 32 // 8, j, {j: 4, k: 8}),
    (((i * 4 + j) * 8 + k) // 8 % 4, j, {j: 4, k: 8}),
    (((i * 4 + j) * 8 + k) % 8, k, {j: 4, k: 8}),
    ((i * 64 + j * 8 + k) // 16, i * 4 + j // 2, {j: 8, k: 8}),
    ((i * 64 + j * 8 + k) % 16, j % 2 * 8 + k, {j: 8, k: 8}),
    ((i * 16 + j * 4 + 3) // 4, i * 4 + j, {}),
    ((i * 4 + 2) // 8, i // 2, {}),
    ((i * 8 + j) // 4, i * 2 + j // 4, {j: 8}),
    ((i * 8 + j) % 4, j % 4, {j: 8}),
    ((i * 6 + j) // 4, (i * 6 + j) // 4, {j: 6}),
    ((i * 9 + j * 3 + k) // 3 % 3, j, {j: 3, k: 3}),
    ((i * 32 + j + 32) // 32, i + 1, {j: 32}),
    ((i * 32 + j - 32) // 32, i - 1, {j: 32}),
    ((i * 32 + j) // -32, j * -1 // 32 - i, {j: 32}),
    (te.truncdiv(i * 32 + j, 32), i, {i: 4, j: 32}),
    (te.truncmod(i * 32 + j, 32), j, {i: 4, j: 32}),
]
FUSIONS: list[tuple[te.Value, te.Value, Domain]] = [
    (f // 16 * 16 + f % 16, f, {}),
    (f // 64 * 64 + f % 64 // 8 * 8 + f % 8, f, {}),
    (f // 64 * 4 + f % 64 // 16, f // 16, {}),
    (f % 64 // 16 * 16 + f % 16, f % 64, {}),
    (f // 16 % 4, f % 64 // 16, {}),
    (f % 64 % 16, f % 16, {}),
    (f // 4 // 8, f // 32, {}),
    ((f // 4 + 3) // 8, (f + 12) // 32, {}),
    (f % 128, f, {f: 128}),
    (f // 128, te.const(0), {f: 128}),
    (f % 16 % 64, f % 16, {}),
    ((f % 16 * 4 + j) // 4, f % 16, {j: 4}),
    (f - f // 8 * 8, f % 8, {}),
    (f // 8 * 8 - f, f % 8 * -1, {}),
    ((f + 8) % 8, f % 8, {}),
    ((f + 13) // 8, (f + 5) // 8 + 1, {}),
    ((f * 3 + f) % 4, te.const(0), {}),
    ((f // 12 * 12 + f % 12 // 4 * 4 + f % 4) // 12, f // 12, {}),
    ((i * 12 + j * 4 + k) % 12 // 4, j, {j: 3, k: 4}),
    (((i * 12 + j * 4 + k) // 12) * 12 + (i * 12 + j * 4 + k) % 12, i * 12 + j * 4 + k, {j: 3, k: 4}),
]
SYMBOLS: list[tuple[te.Value, te.Value, Domain]] = [
    ((i * n + j) // n, i, {j: n}),
    ((i * n + j) % n, j, {j: n}),
    (f // n * n + f % n, f, {}),
    (f - f // n * n, f % n, {}),
    ((i * n * m + j * m + k) // m, i * n + j, {k: m}),
    ((i * n * m + j * m + k) % m, k, {k: m}),
    (i * n // n, i, {}),
    (i * n % n, te.const(0), {}),
    ((n * m + m) // m, n + 1, {}),
    (f % n // n, te.const(0), {}),
    ((n + 3) // 4 * 4 - n < 4, te.const(1, "bool"), {}),
    (i < n, te.const(1, "bool"), {i: n}),
    (i * 16 + j < n * 16, te.const(1, "bool"), {i: n, j: 16}),
]
GUARDS: list[tuple[te.Value, te.Value, Domain]] = [
    (i * 16 + j < 128, te.const(1, "bool"), {i: 8, j: 16}),
    (i * 16 + j < 100, i * 16 + j < 100, {i: 8, j: 16}),
    (i * 32 + j * 8 + k < 64, i < 2, {j: 4, k: 8}),
    (i // 4 < 3, i < 12, {}),
    (i * 4 < 15, i < 4, {}),
    (te.minimum(i * 16 + 16, 128) - i * 16, te.const(16), {i: 8}),
    (te.minimum(i, i + 1), i, {}),
    (te.maximum(te.minimum(i, j), i), i, {}),
    (te.minimum(i + 4, j + 4), te.minimum(i, j) + 4, {}),
    (te.maximum(i, i // 4 * 4), i, {}),
    (te.minimum(i, te.maximum(i + 1, j)), i, {}),
    (te.maximum(i, te.minimum(i - 1, j)), i, {}),
    (te.maximum(n * 2, te.minimum(n, i)), n * 2, {}),
    (te.minimum(n, te.maximum(n * 2, i)), n, {}),
    (te.minimum(i, te.minimum(i + 1, j)), te.minimum(i, j), {}),
    (te.all(i < 4, i < 8), i < 4, {}),
    (te.any(i < 4, i < 8), i < 8, {}),
    (te.all(f // 128 < 127, f % 128 < 127), te.all(f < 16255, f % 128 < 127), {}),
    (te.all(f % 16 < 10, f < 256), te.all(f % 16 < 10, f < 250), {}),
    (te.all(f < 250, f % 16 < 10, f % 3 < 1), te.all(f < 250, f % 16 < 10, f % 3 < 1), {}),
    (te.if_then_else(i < 8, te.minimum(i, 8), j), te.if_then_else(i < 8, i, j), {}),
    (te.equal(i * 2, j * 2 + 1), te.const(0, "bool"), {}),
    (te.equal(i * 4 + j, k * 4 + j), te.equal(i, k), {}),
    (te.select(i < 8, i % 8, j), i, {i: 8}),
]
TOGETHER: list[tuple[te.Value, te.Value, Domain]] = [
    (te.minimum(te.maximum(i, j), te.maximum(k, i)), te.maximum(te.minimum(j, k), i), {}),
    (te.maximum(te.minimum(i, j), te.minimum(i, k)), te.minimum(te.maximum(j, k), i), {}),
    (te.minimum(i // 8, j // 8), te.minimum(i, j) // 8, {}),
    (te.maximum(i // 8, j // 8) * 8, te.maximum(i, j) // 8 * 8, {}),
    (te.minimum(i - j, i - k), i - te.maximum(j, k), {}),
    (te.minimum(j * -1, k * -1), te.maximum(j, k) * -1, {}),
    (
        te.minimum(te.select(i < 4, j, k), te.select(i < 4, k, 0)),
        te.select(i < 4, te.minimum(j, k), te.minimum(k, 0)),
        {},
    ),
    (te.select(i < 4, j, 0) + te.select(i < 4, 1, k), te.select(i < 4, j + 1, k), {}),
    ((f - f % 16) // 16, f // 16, {}),
    ((f + j - f % 16) // 16, f // 16, {j: 16}),
    (te.all(te.equal(f // 8, 3), te.equal(f % 8, 4)), te.equal(f, 28), {}),
    (te.all(te.equal(f % 8, 4), te.equal(f // 8, 3)), te.equal(f, 28), {}),
    (te.all(te.equal(f // 8, 0), f % 8 < 2), te.all(te.const(0) <= f, f < 2), {}),
    (te.truncdiv(f, 3) < 2, f < 6, {}),
    (te.truncdiv(f, 3) < -1, f < -5, {}),
    ((f + 5) // 3 - f // 3, (f % 3 + 2) // 3 + 1, {}),
    (f // 2 + f % 2, (f + 1) // 2, {}),
    (f % 2 * 2 - (f + 1) % 2 - (f + 1) // 2, f % 2 * 2 - f // 2 - 1, {}),
    ((f + 1) // 2 - f % 2, f // 2, {}),
    (f % 2 + (f + 3) % 2, 1, {}),
    (te.minimum(f, x) * te.maximum(x, f), f * x, {}),
    (te.minimum(te.truncdiv(f, -3), te.truncdiv(x, -3)), te.truncdiv(te.maximum(f, x), -3), {}),
    (te.truncdiv(f * 8, 32), te.truncdiv(f, 4), {}),
    (te.truncmod(f * 8, 32), te.truncmod(f, 4) * 8, {}),
    ((i * n + j) * m // (n * m), i, {j: n}),
    ((i * n + j) * m % (n * m), j * m, {j: n}),
    (i * 32 * i % (i * j), i * 32 % j * i, {}),
    (te.truncdiv(i * 2 * j, j * 4 * k), te.truncdiv(i, k * 2), {}),
    ((i - i % j) % j, te.const(0), {}),
    (n * (m + 1) - n * m, n, {}),
    ((n + 1) * (m + 1) - n * m - n - m, te.const(1), {}),
    (te.equal((i + j) * n, j * n + i * n), te.const(1, "bool"), {}),
    (te.cast(i + j + 1, "int64") - te.cast(i, "int64"), te.cast(j, "int64") + 1, {}),
    (te.cast(i * 8 + j, "int64") < te.cast(i, "int64") * 8 + 8, te.const(1, "bool"), {j: 8}),
]
ORDERS: list[tuple[te.Value, te.Value, Domain]] = [
    (i + j * 4, j * 4 + i, {}),
    (i - j * 3 + k * 2, k * 2 + i - j * 3, {}),
    (f % 4 + j // 4 + i, j // 4 + i + f % 4, {}),
    (i + j % 8 // 4 * 4 + k, j % 8 // 4 * 4 + i + k, {}),
    (n * i + j * 16 + k, j * 16 + n * i + k, {}),
]


def domains_of(extents: Domain) -> dict[tir.Var, tir.Range]:
    return {variable: tir.Range(make.const(0), te.operand(extent)) for variable, extent in extents.items()}  # type: ignore[misc]


IDENTITIES = [*SPLITS, *FUSIONS, *SYMBOLS, *GUARDS, *TOGETHER, *ORDERS]


@pytest.mark.parametrize(("before", "after", "extents"), IDENTITIES, ids=[f"{a} is {b}" for a, b, _ in IDENTITIES])
def test_identities(before: te.Value, after: te.Value, extents: Domain) -> None:
    domains = domains_of(extents)
    found = simplify(te.operand(before), domains)
    assert structural_equal(found, te.operand(after)), str(found)
    assert structural_equal(simplify(found, domains), found)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32", "int64", "uint64"])
def test_bitwise_operations_with_constants_are_arithmetic(dtype: str) -> None:
    a = tir.Var(dtype, "a")

    def bits(name: str, number: int) -> tir.PrimExpr:
        return simplify(tir.Call(dtype, Op(f"tir.{name}"), (a, make.const(number, dtype))))

    for exponent in range(parse_dtype(dtype).bits - 1):
        power = tir.IntImm(dtype, 1 << exponent)
        assert structural_equal(bits("shift_left", exponent), simplify(tir.Mul(dtype, a, power)))
        assert structural_equal(bits("shift_right", exponent), simplify(tir.FloorDiv(dtype, a, power)))
        assert structural_equal(bits("bitwise_and", power.value - 1), simplify(tir.FloorMod(dtype, a, power)))
    ones = -1 if dtype.startswith("int") else (1 << parse_dtype(dtype).bits) - 1
    assert all(
        bits(name, number) is a for name, number in (("bitwise_or", 0), ("bitwise_xor", 0), ("bitwise_and", ones))
    )


def test_conditions_around_count() -> None:
    guard = i * 16 + j < 100
    assert str(simplify((i * 16 + j < 101), given=[guard])) == "T.bool(True)"
    assert str(simplify((te.minimum(i * 16 + j, 99)), given=[guard])) == "i * 16 + j"
    assert str(simplify((f // 8 * 8), given=[te.equal(f % 8, 0)])) == "f"
    assert str(simplify((f + j), given=[te.equal(j, 3)])) == "f + 3"
    assert str(simplify(te.any(i < 4, j < 2), given=[(i < 4)])) == "T.bool(True)"


def test_floats_are_rearranged_only_where_that_is_exact() -> None:
    a, b = te.var("a", "float32"), te.var("b", "float32")
    same = [a + b - b, a * 0.0, a - a, te.equal(a, a), a / 3.0 * 3.0, a + 0.5 + 0.5]
    assert all(structural_equal(simplify(expr), expr) for expr in same)
    assert simplify(tir.Sub("float32", a, tir.FloatImm("float32", 0.0))) is a
    assert simplify(tir.Mul("float32", a, tir.FloatImm("float32", 1.0))) is a
    wide = tir.Cast("float32", tir.Cast("float64", a))
    assert simplify(wide) is a
    narrow = tir.Cast("float32", tir.Cast("float16", a))
    assert simplify(narrow) is narrow


def test_vectors_are_ramps_of_normal_forms() -> None:
    lanes = make.ramp((i * 32 + j * 4), 1, 4)
    eight = make.broadcast(make.const(8), 4)
    domains = domains_of({j: 8})
    assert str(simplify(make.floordiv(lanes, eight), domains)) == "T.Broadcast(i * 4 + j // 2, 4)"
    assert str(simplify(make.floormod(lanes, eight), domains)) == "T.Ramp(j % 2 * 4, 1, 4)"
    assert str(simplify(make.add(lanes, make.ramp(i, 1, 4)))) == "T.Ramp(i * 33 + j * 4, 2, 4)"
    assert str(simplify(make.sub(make.broadcast(j, 4), lanes))) == "T.Ramp(j * -3 - i * 32, -1, 4)"
    far = make.ramp((i * 8 + 7), 9, 4)
    assert str(simplify(make.floormod(far, eight))) == "T.Ramp(7, 1, 4) % T.Broadcast(8, 4)"


def test_lets_are_seen_through() -> None:
    inner = tir.Var("int32", "inner")
    assert str(simplify(tir.Let("int32", inner, i, (inner - i)))) == "0"
    remainder = tir.Let("int32", inner, (i * 8 + 3), (inner % 4))
    assert str(simplify(remainder).body) == "3"  # type: ignore[attr-defined]


def test_remainders_that_are_given_meet() -> None:
    given = [te.equal(f % 3, 2), te.equal(te.truncmod(f, 5), 3)]
    assert str(simplify((f % 15), given=given)) == "8"


def test_remainders_of_sums_that_wrap_stay() -> None:
    """`3 + j` is -8 for 5 in int4, so that its remainder is not `j - 3`."""
    j = tir.Var("int4", "j")
    three, six = (tir.IntImm("int4", value) for value in (3, 6))
    remainder = tir.FloorMod("int4", tir.Add("int4", three, j), six)
    assert str(simplify(remainder, {j: tir.Range(three, six)})) == "(j + T.int4(3)) % T.int4(6)"


def test_calls_with_effects_stay() -> None:
    called = make.call("tir.call_extern", (tir.StringImm("handle", "f"), (i + 0)), "int32")
    both = tir.Sub("int32", called, called)
    assert structural_equal(simplify(both), both)
    assert str(simplify(tir.Mul("int32", called, (i - i)))) == 'T.Mul(T.call_extern("int32", "f", i), 0)'
    exponential = make.call("tir.exp", (te.var("a", "float32"),), "float32")
    assert (
        simplify(tir.EQ("bool", tir.Cast("int32", exponential), tir.Cast("int32", exponential))).script()
        == "T.bool(True)"
    )


def test_any_depth() -> None:
    deep_sum, deep_choice = i, i
    for number in range(10_000):
        deep_sum = tir.Add("int32", deep_sum, j)
        deep_choice = tir.Max(
            "int32", tir.FloorDiv("int32", deep_choice, tir.IntImm("int32", 3)), tir.IntImm("int32", number)
        )
    assert str(simplify(deep_sum)) == "j * 10000 + i"
    simplify(deep_choice)
