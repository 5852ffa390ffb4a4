"""The interpreter's graph level: bindings, calls, control flow, symbolic sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import tvms
from tvms.ir.interp import run


def call(text: str, *args: Any, **options: Any) -> Any:
    """Call the function `main` of `text`."""
    return run(tvms.parse(text), "main", args, **options)


def test_operators_mean_what_their_oracles_say(random: np.random.Generator) -> None:
    text = """
R.function main(x: R.Tensor(("n", 4), "float32"), w: R.Tensor((4, 3), "float32"), b: R.Tensor((3,), "float32")):
    with R.dataflow():
        y = R.matmul(x, w)
        z = R.add(y, b)
        gv = R.nn.relu(z)
        R.output(gv)
    return gv
"""
    x, w, b = (random.standard_normal(shape).astype("float32") for shape in ((5, 4), (4, 3), (3,)))
    np.testing.assert_allclose(call(text, x, w, b), np.maximum(x @ w + b, 0), rtol=1e-5, atol=1e-6)


CALL_TIR = """
I.ir_module Module:
    T.prim_func add(a: T.handle, b: T.handle, c: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n,), "float32")
        B = T.match_buffer(b, (n,), "float32")
        C = T.match_buffer(c, (n,), "float32")
        for i in range(n):
            with T.block("add"):
                vi = T.axis.spatial(n, i)
                C[vi] = A[vi] + B[vi]

    R.function main(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        n = T.int64()
        cls = Module
        y = R.call_tir(cls.add, (x, x), out_sinfo=R.Tensor((n,), "float32"))
        z = R.call_tir(cls.add, (x, y), out_sinfo=R.Tensor((n,), "float32"))
        return z
"""


def test_call_tir_gives_memory_for_the_result(random: np.random.Generator) -> None:
    x = random.random(6, "float32")
    np.testing.assert_allclose(call(CALL_TIR, x), 3 * x, rtol=1e-6)


def test_external_functions_are_given() -> None:
    text = """
R.function main(x: R.Tensor((4,), "float32")):
    y = R.call_dps_packed("twice", (x,), out_sinfo=R.Tensor((4,), "float32"))
    return y
"""

    def twice(source: np.ndarray, target: np.ndarray) -> None:
        target[:] = source * 2

    x = np.arange(4, dtype="float32")
    np.testing.assert_array_equal(call(text, x, functions={"twice": twice}), x * 2)


def test_tuples_branches_and_calls() -> None:
    text = """
I.ir_module Module:
    R.function swap(a: R.Tensor((2,), "float32"), b: R.Tensor((2,), "float32")) -> R.Tuple(R.Tensor((2,), "float32"), R.Tensor((2,), "float32")):
        return (b, a)

    R.function main(c: R.Tensor((), "bool"), a: R.Tensor((2,), "float32"), b: R.Tensor((2,), "float32")):
        cls = Module
        if c:
            p = cls.swap(a, b)
            r = p[0]
        else:
            r = R.add(a, b)
        return (r, a)
"""
    a, b = np.array([1, 2], "float32"), np.array([10, 20], "float32")
    yes, no = np.array(True), np.array(False)
    np.testing.assert_array_equal(call(text, yes, a, b)[0], b)
    np.testing.assert_array_equal(call(text, no, a, b)[0], a + b)


def test_match_cast_binds_symbolic_sizes() -> None:
    text = """
R.function main(x: R.Tensor(dtype="float32", ndim=2)):
    n = T.int64()
    m = T.int64()
    y = R.match_cast(x, R.Tensor((n, m), "float32"))
    s = R.shape([m, n * m])
    return s
"""
    assert call(text, np.zeros((3, 5), "float32")) == (5, 15)


def test_local_functions_see_what_is_around_them() -> None:
    text = """
R.function main(x: R.Tensor((2,), "float32"), y: R.Tensor((2,), "float32")):
    R.function add_y(z: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        w = R.add(z, y)
        return w
    a = add_y(x)
    b = add_y(a)
    return b
"""
    x, y = np.array([1, 2], "float32"), np.array([10, 20], "float32")
    np.testing.assert_array_equal(call(text, x, y), x + 2 * y)
