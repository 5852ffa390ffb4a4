"""Graph functions with symbolic sizes and branches as machine code: they compute what the executor and the interpreter compute."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import tvms
from tvms.codegen.graph.native_entry import NativeEntry
from tvms.codegen.graph.plan import ALIGNMENT, share_rooms
from tvms.ir import tir
from tvms.ir.ops import dims as d
from tvms.ir.visit import substitute


def floats(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape, np.float32)


def flat(value: Any) -> list[np.ndarray]:
    return [array for part in value for array in flat(part)] if isinstance(value, tuple) else [np.asarray(value)]


def both(text: str, *calls: tuple[Any, ...], is_native: bool = True) -> None:
    """Check calls of `main`: machine code, the executor and the interpreter give the same, or the same error."""
    module = tvms.parse(text)
    native, executed = (tvms.compile(module, native=native)["main"] for native in (True, False))
    assert isinstance(native, NativeEntry) == is_native
    assert not isinstance(executed, NativeEntry)
    for args in calls * 2:
        expected, message = outcome(executed, args)
        if expected is None:
            assert outcome(native, args) == (None, message)
            continue
        interpreted = tvms.interpret(module, "main", [*args])
        for _ in range(5):  # the first calls check all arguments in Python
            for got, want, defined in zip(flat(native(*args)), flat(executed(*args)), flat(interpreted), strict=True):
                assert (got.shape, got.dtype) == (want.shape, want.dtype)
                np.testing.assert_array_equal(got, want)
                np.testing.assert_allclose(got, defined, rtol=1e-5, atol=1e-5)
        assert len(flat(expected)) == len(flat(interpreted))


def outcome(function: Any, args: tuple[Any, ...]) -> tuple[Any, str]:
    """Return the value of a call; None and the message if it is an error."""
    try:
        return function(*args), ""
    except tvms.TvmsError as problem:
        return None, str(problem)


NETWORK = """
R.function main(x: R.Tensor(("n", 8), "float32"), w: R.Tensor((8, "m"), "float32")):
    n = T.int64()
    m = T.int64()
    with R.dataflow():
        y = R.matmul(x, w)
        z = R.nn.softmax(y)
        r = R.reshape(z, R.shape([m, n]))
        s = R.nn.softmax(r)
        t = R.concat((s, s), axis=0)
        u = R.sum(t, axis=1)
        gv = R.reshape(s, R.shape([n, m]))
        R.output(gv, u)
    return (gv, (u, x))
"""


def test_sizes_come_from_the_arguments() -> None:
    sizes = [(3, 4), (50, 7), (1, 1), (0, 3), (3, 0), (9, 33)]
    both(NETWORK, *[(floats(n, 8), floats(8, m)) for n, m in sizes])


def test_arguments_that_do_not_fit_are_reported_as_by_the_executor() -> None:
    x, w = floats(3, 8), floats(8, 4)
    wrong = [(x,), (x, w, w), (x, x), (x.T, w), ([1.0], w), (x.astype("f8"), w), (x[:, ::-1], w), (x[0], w)]
    both(NETWORK, (x, w), *wrong)


BRANCH = """
R.function main(x: R.Tensor(("n", 4), "float32"), c: R.Tensor((), "bool"), y: R.Tensor(("n", 4), "float32")):
    n = T.int64()
    if c:
        a = R.exp(x)
        b = R.add(a, y)
        r = (b, x, R.sum(b, axis=1))
    else:
        e = R.sqrt(R.abs(y))
        f = R.multiply(e, e)
        r = (f, f, R.sum(x, axis=1))
    s = R.add(r[0], r[1])
    return (r[0], s, r[2])
"""


def test_branches_are_branches() -> None:
    """Their values are computed in place, or copied if they exist outside of the branch or occur twice."""
    both(BRANCH, *[(floats(n, 4), np.array(c), floats(n, 4) * 2) for n in (1, 5, 64, 0) for c in (True, False)])


NESTED = """
R.function main(x: R.Tensor(("n",), "float32"), c: R.Tensor((), "bool"), b: R.Tensor((), "bool")):
    n = T.int64()
    y = R.exp(x)
    if c:
        if b:
            p = R.add(y, x)
            q = p
        else:
            q = y
        r = q
    else:
        if b:
            s = R.const(7, "float32")
            t = R.multiply(x, s)
        else:
            t = x
        r = t
    z = R.subtract(r, y)
    return (z, r)
"""


def test_branches_nest() -> None:
    choices = [(np.array(c), np.array(b)) for c in (True, False) for b in (True, False)]
    both(NESTED, *[(floats(n), *choice) for n in (3, 100) for choice in choices])


MATCHED = """
R.function main(x: R.Tensor(("n", "m"), "float32"), k: R.Tensor((2,), "int64")):
    n = T.int64()
    m = T.int64()
    p = T.int64()
    q = T.int64()
    y = R.exp(x)
    z = R.match_cast(y, R.Tensor((p, q), "float32"))
    w = R.reshape(z, R.shape([p * q]))
    v = R.match_cast(w, R.Tensor((2 * n,), "float32"))
    s = R.tensor_to_shape(k)
    t = R.match_cast(s, R.Shape([n, 2]))
    u = R.shape_to_tensor(R.shape([n, m + 1]))
    a = R.add(v, v)
    b = R.add(u, k)
    return (a, b)
"""


def test_checks_at_run_time_are_those_of_the_executor() -> None:
    """They compare sizes of tensors, and the elements of a shape that is data."""
    calls = [((3, 2), (3, 2)), ((3, 2), (3, 1)), ((3, 2), (2, 2)), ((3, 3), (3, 2)), ((5, 2), (5, 2)), ((0, 2), (0, 2))]
    both(MATCHED, *[(floats(*shape), np.array(sizes)) for shape, sizes in calls])


CALLED = """
I.ir_module Module:
    R.function main(x: R.Tensor(("n", 4), "float32")):
        n = T.int64()
        a = Module.half(x)
        y = R.concat((x, x), axis=0)
        b = Module.half(y)
        return (a, b)

    R.function half(x: R.Tensor(("k", 4), "float32")) -> R.Tensor(("k", 2), "float32"):
        k = T.int64()
        y = R.strided_slice(x, [1], [0], [2])
        z = R.match_cast(y, R.Tensor((k, 2), "float32"))
        return R.exp(z)
"""


def test_called_functions_have_sizes_of_their_own() -> None:
    both(CALLED, (floats(3, 4),), (floats(8, 4),))


TOO_SHORT = """
R.function main(x: R.Tensor(("n",), "float32"), c: R.Tensor((), "bool")):
    n = T.int64()
    if c:
        y = R.zeros(R.shape([n - 4]), "float32")
        r = R.sum(y)
    else:
        r = R.sum(x)
    return R.exp(r)
"""


def test_sizes_that_are_wrong_in_a_branch_matter_only_there() -> None:
    both(TOO_SHORT, *[(floats(n), np.array(c)) for n in (8, 3) for c in (True, False)])


QUOTIENT = """
R.function main(x: R.Tensor(("n",), "float32"), y: R.Tensor(("m",), "float32")):
    n = T.int64()
    m = T.int64()
    z = R.zeros(R.shape([n // m]), "float32")
    w = R.ones(R.shape([n * 1099511627776]), "float32")
    return (R.exp(z), R.sum(y))
"""


def test_sizes_that_have_no_value_are_reported() -> None:
    both(QUOTIENT, (floats(6), floats(0)))


def test_calls_at_the_same_time_do_not_share_memory() -> None:
    main = tvms.compile(tvms.parse(NETWORK), threads=1)["main"]
    inputs = [(floats(n, 8), floats(8, n + 3)) for n in (2, 40, 7, 100, 1, 64)]
    expected = [main(*args) for args in inputs]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(20):
            for got, want in zip(pool.map(lambda args: main(*args), inputs), expected, strict=True):
                np.testing.assert_array_equal(got[0], want[0])
                np.testing.assert_array_equal(got[1][0], want[1][0])


def test_results_do_not_share_memory_with_the_workspace() -> None:
    main = tvms.compile(tvms.parse(NETWORK))["main"]
    results = [main(floats(n, 8), floats(8, 5))[0] for n in (6, 9, 6)]
    copies = [result.copy() for result in results]
    main(floats(30, 8), floats(8, 5))
    for result, copy in zip(results, copies, strict=True):
        np.testing.assert_array_equal(result, copy)


def test_rooms_are_shared_by_sizes_in_a_constant_ratio() -> None:
    n, m = tir.Var("int64", "n"), tir.Var("int64", "m")
    sizes = [n * m * 4, m * n * 16, n * 4, n * m * 8, n * 4]
    places, rooms = share_rooms([(size, step, step + 1) for step, size in enumerate(sizes)])
    assert places == [0, 1, 2, 1, 2]
    assert [room.factor for room in rooms] == [4, 16, 4]
    for size, place in zip(sizes, places, strict=True):
        values = [at(expr, {n: 5, m: 7}) for expr in (size, rooms[place].size)]
        assert values[0] <= values[1]
        assert values[1] % ALIGNMENT == 0


def at(expr: tir.PrimExpr, values: dict[tir.Var, int]) -> int:
    found = d.value_of(d.simplify(substitute(expr, {var: d.dim(value) for var, value in values.items()})))
    assert found is not None
    return found
