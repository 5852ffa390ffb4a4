"""`BF16ComputeLegalize`, `FP8ComputeLegalize` and the passes on memory: results stay, and operations on small floats disappear."""

from __future__ import annotations

import itertools
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import tvms
from tvms.ir import tir
from tvms.ir.base import IRModule
from tvms.ir.dtype import parse_dtype
from tvms.ir.interp import run
from tvms.ir.programs import as_module
from tvms.ir.verify import verify
from tvms.ir.visit import walk
from tvms.tir import transform

DTYPES: dict[str, Any] = {
    "bfloat16": ml_dtypes.bfloat16,
    "float8_e4m3fn": ml_dtypes.float8_e4m3fn,
    "float8_e5m2": ml_dtypes.float8_e5m2,
}
OPERATIONS = (tir.Add, tir.Sub, tir.Mul, tir.Div, tir.Min, tir.Max, tir.LT, tir.LE, tir.GT, tir.GE, tir.EQ, tir.NE)


def module(dtype: str, count: int) -> IRModule:
    text = f"""#tvms 1
T.prim_func main(A: T.Buffer(({count},), "{dtype}"), B: T.Buffer(({count},), "{dtype}"), D: T.Buffer(({count},), "{dtype}"), E: T.Buffer((2,), "float32")):
    C = T.decl_buffer(({count},), "{dtype}", scope="local")
    for i in range({count}):
        C[i] = A[i] * B[i] + A[i]
        if C[i] < B[i]:
            C[i] = T.max(C[i], A[i] - B[i])
        last: T.{dtype} = C[i]
        D[i] = last + T.cast(T.cast(B[i], "float32"), "{dtype}")
        D[i] = T.if_then_else(C[i] > last, T.sqrt(T.abs(C[i])), D[i])
    for i in T.vectorized(2):
        E[i] = T.cast(C[i], "float32")
"""
    return as_module(tvms.parse(text))


def passes(dtype: str) -> list[Any]:
    if dtype == "bfloat16":
        return [transform.BF16ComputeLegalize(), transform.BF16StorageLegalize()]
    return [transform.FP8ComputeLegalize("float32"), transform.FP8StorageLegalize()]


def values(dtype: str) -> tuple[Any, Any]:
    """Return numbers of all sizes, infinities and NaN among them, in all pairs."""
    kind = DTYPES[dtype]
    numbers = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        1.125,
        1.0078125,
        3.0,
        448.0,
        -0.015625,
        0.001953125,
        57344.0,
        1e30,
        np.inf,
        -np.inf,
        np.nan,
    ]
    pairs = np.array([*itertools.product(numbers, numbers)], "float32").astype(kind)
    return np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])


@pytest.mark.parametrize("dtype", DTYPES)
def test_results_stay_and_operations_are_wide(dtype: str) -> None:
    a, b = values(dtype)
    before = module(dtype, len(a))
    compute, store = passes(dtype)
    wide = compute(before)
    versions = (before, wide, store(wide), store(before), transform.FlattenBuffer()(store(wide)))
    results = []
    for version in versions:
        assert not verify(version)
        d, e = np.zeros(len(a), DTYPES[dtype]), np.zeros(2, "float32")
        run(version, "main", [a, b, d, e])
        results.append((d.astype("float32"), e))
    for d, e in results[1:]:
        np.testing.assert_array_equal(d, results[0][0])
        np.testing.assert_array_equal(e, results[0][1])
    narrow = [node for node in walk(wide["main"]) if isinstance(node, OPERATIONS) and node.a.dtype == dtype]
    assert not narrow
    own = [node.dtype for node in walk(versions[2]["main"]) if isinstance(node, tir.Allocate)]
    assert own == ["float32"]
    bits = f"uint{parse_dtype(dtype).bits}"
    assert [node.dtype for node in walk(versions[3]["main"]) if isinstance(node, tir.Allocate)] == [bits]


def test_targets_with_instructions_keep_their_operations() -> None:
    before = transform.BindTarget("cuda -arch=sm_90")(module("bfloat16", 4))
    assert transform.BF16ComputeLegalize()(before) is before
    tiny = transform.BindTarget("cuda -arch=sm_80")(module("float8_e5m2", 4))
    assert transform.FP8ComputeLegalize()(tiny) is not tiny


def test_bfloat16_is_converted_by_operations_on_bits() -> None:
    text = """#tvms 1
T.prim_func main(A: T.Buffer((65536,), "bfloat16"), F: T.Buffer((65536,), "float32"), D: T.Buffer((65536,), "bfloat16")):
    for i in range(256):
        for j in range(256):
            D[i * 256 + j] = T.cast(F[i * 256 + j], "bfloat16")
            F[i * 256 + j] = T.cast(A[i * 256 + j], "float32")
"""
    after = transform.BF16ComputeLegalize()(as_module(tvms.parse(text)))
    assert not any(
        isinstance(node, tir.Cast) and "bfloat16" in (node.dtype, node.value.dtype) for node in walk(after["main"])
    )
    a = np.arange(65536, dtype="uint16").view(ml_dtypes.bfloat16)
    bits = np.arange(65536, dtype="uint32") << 16 | np.resize([0x7FFF, 0x8000, 0x8001, 0, 1, 0xFFFF], 65536).astype(
        "uint32"
    )
    f, d = bits.view("float32").copy(), np.zeros(65536, ml_dtypes.bfloat16)
    with np.errstate(invalid="ignore"):
        expected = f.astype(ml_dtypes.bfloat16)
    tvms.compile(after)["main"](a, f, d)
    np.testing.assert_array_equal(d.astype("float32"), expected.astype("float32"))
    np.testing.assert_array_equal(f, a.astype("float32"))


def test_reductions_across_threads_are_wide() -> None:
    text = """#tvms 1
T.prim_func main(A: T.Buffer((32,), "bfloat16"), D: T.Buffer((1,), "bfloat16")):
    with T.launch_thread("threadIdx.x", 32) as tx:
        total = T.decl_buffer((1,), "bfloat16", scope="local")
        with T.attr(T.comm_reducer(lambda x, y: x + y, [T.bfloat16(0)]), "reduce_scope", T.reinterpret("handle", T.uint64(0))):
            T.tvm_thread_allreduce(T.uint32(1), A[tx], T.bool(True), total[0], tx)
        if tx == 0:
            D[0] = total[0]
"""
    after = transform.BF16ComputeLegalize()(as_module(tvms.parse(text)))
    assert not verify(after)
    assert [node.dtype for node in walk(after["main"]) if isinstance(node, tir.Allocate)] == ["float32"]
    a, d = np.full(32, 1.0078125, ml_dtypes.bfloat16), np.zeros(1, ml_dtypes.bfloat16)
    run(after, "main", [a, d])
    assert float(d[0]) == 32.25
