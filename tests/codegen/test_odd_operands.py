"""Operands that are allowed, but odd: the interpreter and compiled code agree on them, or each says what is wrong."""

from __future__ import annotations

import numpy as np
import pytest
import tvms
from tvms.ir.interp import run

HEAD = "T.prim_func main(A: T.Buffer((4,), 'float32'), B: T.Buffer((4,), 'int32'), E: T.Buffer((4,), 'uint64')):\n    "


def arguments() -> tuple[np.ndarray, ...]:
    return np.array([1, -2, 3, 4], "f4"), np.array([3, 2, 7, 0], "i4"), np.array([2**63, 3, 2**32, 0], "u8")


def told(statement: str, is_compiled: bool) -> str:
    """Return what is said of a program, or the elements of A after it."""
    given = arguments()
    text = HEAD + statement.replace("; ", "\n    ")
    try:
        module = tvms.parse(text)
        if is_compiled:
            tvms.compile(module)["main"](*given)
        else:
            run(module, "main", given)
    except tvms.TvmsError as problem:
        return "; ".join(f"{diagnostic.code}: {diagnostic.message}" for diagnostic in problem.diagnostics)
    return str(given[0].tolist())


@pytest.mark.parametrize("is_compiled", [False, True], ids=["interpreted", "compiled"])
@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("A[0] = T.ldexp(A[0], E[0])", "[inf, -2.0, 3.0, 4.0]"),
        ("A[0] = T.ldexp(A[0], E[2])", "[inf, -2.0, 3.0, 4.0]"),
        ("A[1] = T.ldexp(A[1], T.int64(-99999999999))", "[1.0, -0.0, 3.0, 4.0]"),
        ("A[1] = T.ldexp(A[1], B[0])", "[1.0, -16.0, 3.0, 4.0]"),
        ("A[E[1]] = 8.0", "[1.0, -2.0, 3.0, 8.0]"),
        ("A[0] = T.Shuffle([T.Broadcast(A[1], 3), A[3]], [3])", "[4.0, -2.0, 3.0, 4.0]"),
    ],
)
def test_values(statement: str, expected: str, is_compiled: bool) -> None:
    assert told(statement, is_compiled) == expected


INDEX = "E0707: A[4294967296] is outside the buffer: its dimension 0 has 4 elements"
VECTOR = "E0443: T.ret takes a scalar or a handle as 'val', not float32x4"
ERRORS = [
    ("T.evaluate(T.ret(T.Broadcast(A[0], 4)))", VECTOR, VECTOR),
    ("A[E[2]] = 8.0", INDEX, INDEX),
    ("X = T.decl_buffer((2, 2), 'float32', data=A.data, strides=[1]); X[0, 0] = 1.0",
     "E0704: 'X' has 2 dimensions, but 1 strides", "E0606: buffer 'X' has 2 dimensions, but 1 strides"),
    ("X = T.alloc_buffer((4,), 'int128'); X[0] = T.int128(1)",
     "E0712: 'X' has elements of dtype int128, which memory cannot hold", "E0604: values of dtype 'int128' cannot be compiled"),
    ("X = T.alloc_buffer((4,), 'handle'); X[0] = A.data",
     "E0712: 'X' has elements of dtype handle, which memory cannot hold", "[1.0, -2.0, 3.0, 4.0]"),
    ("A[0] = T.Shuffle([T.Broadcast(A[0], 3)], [B[2]])",
     "E0707: a shuffle takes lane 7 of 3", "E0606: the indices of a shuffle are not constant"),
    ("A[0] = T.tvm_warp_shuffle(T.uint32(1), A[0], 0, B[3], 32)",
     "E0712: the width of a shuffle is 0",
     "E0602: the intrinsic 'tir.tvm_warp_shuffle' does not exist on target 'llvm'"),
    ("T.evaluate(T.tvm_thread_allreduce(T.uint32(1), A[0], T.bool(True), A[1], B[0]))",
     "E0712: a reduction across threads has no reducer",
     "E0602: the intrinsic 'tir.tvm_thread_allreduce' does not exist on target 'llvm'"),
]  # fmt: skip


@pytest.mark.parametrize(("statement", "interpreted", "compiled"), ERRORS)
def test_errors(statement: str, interpreted: str, compiled: str) -> None:
    assert told(statement, False) == interpreted
    assert told(statement, True) == compiled


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("A.vstore([], A[0])", "E0235: buffer 'A' has 1 dimension, but is accessed with 0 indices"),
        ("A[0] = A.vload([], 'float32')", "E0235: buffer 'A' has 1 dimensions but is indexed by 0"),
        ("T.evaluate(A.access_ptr('r', content_lanes=0))", "E0231: a vector cannot have 0 lanes"),
        ("T.evaluate(T.Broadcast(A[0], 2**31))", "E0231: a vector of 2147483648 lanes"),
        ("T.evaluate(T.assume())", "E0105: T.assume: missing argument 1, 'cond'"),
        ("T.evaluate(T.call_packed(A, A))", "E0443: T.call_packed takes a string as 'func_name', not handle"),
    ],
)
def test_what_is_refused(statement: str, expected: str) -> None:
    with pytest.raises(tvms.TvmsError) as caught:
        raise tvms.TvmsError(tvms.verify(tvms.parse(HEAD + statement)))
    assert "; ".join(f"{diagnostic.code}: {diagnostic.message}" for diagnostic in caught.value.diagnostics) == expected
