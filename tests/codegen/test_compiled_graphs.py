"""Graph functions: compiled to steps over kernels, they give what the interpreter gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tvms

ADD = """
I.ir_module Module:
    T.prim_func add(a: T.handle, b: T.handle, c: T.handle):
        T.func_attr({"tir.noalias": True})
        n = T.int64()
        A = T.match_buffer(a, (n,), "float32")
        B = T.match_buffer(b, (n,), "float32")
        C = T.match_buffer(c, (n,), "float32")
        for i in range(n):
            C[i] = A[i] + B[i]

    T.prim_func increment(A: T.Buffer((4,), "float32")):
        for i in range(4):
            A[i] = A[i] + T.float32(1)
"""


def floats(*shape: int) -> np.ndarray:
    return (np.arange(np.prod(shape)) % 11 - 4).reshape(shape).astype("f4")


def test_operators_on_a_symbolic_batch(agree: Callable[..., Any]) -> None:
    text = """
R.function main(x: R.Tensor(("n", 6), "float32"), w: R.Tensor((6, 3), "float32"), b: R.Tensor((3,), "float32")) -> R.Tensor(("n", 3), "float32"):
    n = T.int64()
    with R.dataflow():
        lv = R.matmul(x, w)
        lv1 = R.add(lv, b)
        lv2 = R.nn.relu(lv1)
        gv = R.nn.softmax(lv2)
        R.output(gv)
    return gv
"""
    for n in (1, 5):
        agree(text, floats(n, 6), floats(6, 3), floats(3), ulps=8)


def test_calls_of_loop_functions(agree: Callable[..., Any]) -> None:
    text = (
        ADD
        + """
    R.function helper(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        n = T.int64()
        y = R.call_tir(Module.add, (x, x), out_sinfo=R.Tensor((n,), "float32"))
        return y

    R.function main(x: R.Tensor(("n",), "float32")) -> R.Tuple(R.Tensor(("n",), "float32"), R.Shape(["n"])):
        n = T.int64()
        y = Module.helper(x)
        z = R.call_tir(Module.add, (x, y), out_sinfo=R.Tensor((n,), "float32"))
        pair = (z, y)
        first = pair[0]
        return (first, R.shape([n]))
"""
    )
    result, _ = agree(text, floats(7))
    np.testing.assert_array_equal(result[0], 3 * floats(7))
    assert result[1] == (7,)


def test_branches_casts_and_constants(agree: Callable[..., Any]) -> None:
    text = (
        ADD
        + """
    R.function main(c: R.Tensor((), "bool"), x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        n = T.int64()
        m = T.int64()
        y = R.match_cast(x, R.Tensor((m,), "float32"))
        if c:
            z = R.call_tir(Module.add, (x, y), out_sinfo=R.Tensor((m,), "float32"))
        else:
            z = R.multiply(y, R.const(3, "float32"))
        return z
"""
    )
    for condition in (True, False):
        agree(text, np.array(condition), floats(5))


def test_results_in_place() -> None:
    text = (
        ADD
        + """
    R.function main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        y = R.call_tir_inplace(Module.increment, (x,), out_sinfo=R.Tensor((4,), "float32"), inplace_indices=[0])
        return y
"""
    )
    x = floats(4)
    result = tvms.compile(tvms.parse(text))["main"](x)
    assert result is x
    np.testing.assert_array_equal(x, floats(4) + 1)


PACKED = """
R.function main(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
    n = T.int64()
    y = R.call_dps_packed("test.twice", (x,), out_sinfo=R.Tensor((n,), "float32"))
    return y
"""


def test_python_functions_are_called_by_name() -> None:
    main = tvms.compile(tvms.parse(PACKED))["main"]
    with pytest.raises(tvms.TvmsError) as raised:
        main(floats(3))
    assert str(raised.value).splitlines()[0] == "error[E0715]: the external function 'test.twice' is not registered"
    assert 'register it: tvms.register_func("test.twice", function)' in str(raised.value)

    @tvms.register_func("test.twice")
    def twice(x: np.ndarray, out: np.ndarray) -> None:
        np.multiply(x, 2, out=out)

    np.testing.assert_array_equal(main(floats(3)), 2 * floats(3))
    with pytest.raises(ValueError, match="is already registered"):
        tvms.register_func("test.twice", twice)
    tvms.register_func("test.twice", twice, override=True)


def test_an_operator_without_a_meaning_is_named() -> None:
    text = """
R.function main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
    y = R.dist.redistribute_replica_to_shard(x, num_workers=1, axis=0)
    return y
"""
    with pytest.raises(tvms.TvmsError) as raised:
        tvms.compile(tvms.parse(text))
    first = str(raised.value).splitlines()[0]
    assert first == "error[E0607]: the operator 'R.dist.redistribute_replica_to_shard' cannot be compiled"


def test_collectives_call_the_functions_of_a_runtime() -> None:
    """Here two workers: this one, the first, and one that has the same data plus one."""
    text = """
R.function main(x: R.Tensor((4, 6), "float32")) -> R.Tuple(R.Tensor((4, 6), "float32"), R.Tensor((8, 6), "float32"), R.Tensor((4, 3), "float32")):
    a = R.ccl.allreduce(x, "max")
    b = R.ccl.broadcast_from_worker0(R.ccl.allgather(x, num_workers=2))
    c = R.ccl.scatter_from_worker0(x, num_workers=2, axis=1)
    return (a, b, c)
"""
    reductions = [np.add, np.multiply, np.minimum, np.maximum]

    def allreduce(x: Any, kind: Any, in_group: Any, out: Any) -> None:
        assert in_group
        out[...] = reductions[kind[0]](x, np.asarray(x) + 1)

    runtime = {
        "allreduce": allreduce,
        "allgather": lambda x, in_group, out: out.__setitem__(..., np.concatenate([x, np.asarray(x) + 1])),
        "broadcast_from_worker0": lambda x, in_group, out: out.__setitem__(..., x),
        "scatter_from_worker0": lambda x, in_group, out: out.__setitem__(..., np.asarray(x)[0]),
    }
    for name, function in runtime.items():
        tvms.register_func(f"runtime.disco.{name}", function, override=True)
    x = np.random.default_rng(0).random((4, 6), "float32")
    reduced, gathered, part = tvms.compile(tvms.parse(text))["main"](x)
    np.testing.assert_array_equal(reduced, x + 1)
    np.testing.assert_array_equal(gathered, np.concatenate([x, x + 1]))
    np.testing.assert_array_equal(part, x[:, :3])


def test_arguments_of_a_graph_function_are_checked() -> None:
    text = """
R.function main(x: R.Tensor(("n", 784), "float32"), y: R.Tensor(("n",), "float32")) -> R.Tensor(("n", 784), "float32"):
    return x
"""
    main = tvms.compile(tvms.parse(text))["main"]
    cases: list[tuple[Any, Any, str]] = [
        (floats(3, 100), floats(3), "argument 'x' of 'main': expected shape (n, 784) with n = 3, got (3, 100)"),
        (floats(3, 784), floats(2), "argument 'y' of 'main': expected shape (n,) with n = 3, got (2,)"),
        ([1, 2], floats(2), "argument 'x' of 'main': expected an array, got list"),
    ]
    for x, y, expected in cases:
        with pytest.raises(tvms.TvmsError) as raised:
            main(x, y)
        assert expected in str(raised.value).splitlines()[0]


def test_recursion_and_closures(agree: Callable[..., Any]) -> None:
    text = (
        ADD
        + """
    R.function main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        R.function inner(y: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            z = R.call_tir(Module.add, (x, y), out_sinfo=R.Tensor((4,), "float32"))
            return z
        u = inner(x)
        v = inner(u)
        return v
"""
    )
    result, _ = agree(text, floats(4))
    np.testing.assert_array_equal(result, 3 * floats(4))


# --- Calls that nest deep

COUNT_DOWN = """
R.function main(n: R.Tensor((), "int32")) -> R.Tensor((), "int32"):
    if R.equal(n, R.const(0, "int32")):
        r = n
    else:
        r = main(R.subtract(n, R.const(1, "int32")))
    return r
"""


@pytest.mark.deep(2)
@pytest.mark.parametrize("is_compiled", [False, True], ids=["interpreted", "compiled"])
def test_functions_call_themselves_deep(is_compiled: bool) -> None:
    module = tvms.parse(COUNT_DOWN)
    call: Any = tvms.compile(module)["main"] if is_compiled else lambda n: tvms.interpret(module, "main", [n])
    for depth in (20, 4000, 100_000) if is_compiled else (20, 4000):
        assert call(np.array(depth, "i4")) == 0
    with pytest.raises(tvms.TvmsError) as caught:
        call(np.array(210_000 if is_compiled else 12_000, "i4"))
    (found,) = caught.value.diagnostics
    assert (found.code, found.message) == ("E0716", "the calls of 'main' nest too deep")


@pytest.mark.deep(2)
@pytest.mark.parametrize(("is_compiled", "length"), [(False, 400), (True, 3000)], ids=["interpreted", "compiled"])
def test_chains_of_functions(is_compiled: bool, length: int) -> None:
    lines = ["I.ir_module Module:"]
    for number in range(length):
        body = f"Module.f{number + 1}(x)" if number < length - 1 else "R.add(x, x)"
        lines += [f'    R.function f{number}(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):']
        lines += [f"        y = {body}", "        return y"]
    module, x = tvms.parse("\n".join(lines) + "\n"), np.ones(4, "f4")
    result: Any = tvms.compile(module)["f0"](x) if is_compiled else tvms.interpret(module, "f0", [x])
    assert result.tolist() == [2.0] * 4


IN_TURNS = """
I.ir_module Module:
    R.function even(n: R.Tensor((), "int32")) -> R.Tensor((), "bool"):
        if R.equal(n, R.const(0, "int32")):
            r = R.const(True, "bool")
        else:
            if R.equal(n, R.const(1, "int32")):
                r1 = R.const(False, "bool")
            else:
                m = R.subtract(n, R.const(1, "int32"))
                r1 = Module.odd(m)
            r = r1
        return r

    R.function odd(n: R.Tensor((), "int32")) -> R.Tensor((), "bool"):
        return Module.even(R.subtract(n, R.const(1, "int32")))
"""

CLOSURES = """
R.function main(n: R.Tensor((), "int32"), x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
    R.function count(m: R.Tensor((), "int32"), y: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        if R.equal(m, R.const(0, "int32")):
            r = y
        else:
            s = count(R.subtract(m, R.const(1, "int32")), y)
            r = R.add(s, x)
        return r
    z = count(n, x)
    return z
"""


def test_functions_call_each_other_deep() -> None:
    even = tvms.compile(tvms.parse(IN_TURNS))["even"]
    assert [bool(even(np.array(n, "i4"))) for n in (0, 1, 2, 5, 30_000, 30_001)] == [
        True,
        False,
        True,
        False,
        True,
        False,
    ]


def test_closures_call_themselves_deep() -> None:
    result = tvms.compile(tvms.parse(CLOSURES))["main"](np.array(20_000, "i4"), np.ones(4, "f4"))
    assert result.tolist() == [20_001.0] * 4


def test_a_fault_far_down_is_reported() -> None:
    failing = """        _ = R.assert_op(R.const(False, "bool"), format="down here")\n        r = n\n"""
    text = COUNT_DOWN.replace("        r = n\n", failing).replace("function main", "function(pure=False) main")
    with pytest.raises(tvms.TvmsError, match=r"E0711.*down here"):
        tvms.compile(tvms.parse(text))["main"](np.array(50_000, "i4"))


def test_functions_of_python_call_graph_functions_again() -> None:
    text = """
R.function main(n: R.Tensor((), "int32")) -> R.Tensor((), "int32"):
    if R.equal(n, R.const(0, "int32")):
        r = n
    else:
        r = R.call_pure_packed("test_compiled_graphs.down", n, sinfo_args=R.Tensor((), "int32"))
    return r
"""
    main = tvms.compile(tvms.parse(text))["main"]
    tvms.register_func("test_compiled_graphs.down", lambda n: main(np.asarray(n.numpy() - 1)), override=True)
    assert main(np.array(300, "i4")) == 0


def test_long_chains_of_calls() -> None:
    lines = ["I.ir_module Module:", '    R.function f(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):']
    lines += ["        y = R.add(x, R.const(1, 'float32'))", "        return y"]
    lines += ['    R.function main(x0: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):']
    lines += [f"        x{number + 1} = Module.f(x{number})" for number in range(3000)] + ["        return x3000"]
    result = tvms.compile(tvms.parse("\n".join(lines) + "\n"))["main"](np.zeros(4, "f4"))
    assert result.tolist() == [3000.0] * 4


SIZE_OF_A_VALUE = """
R.function main(x: R.Tensor((), "int32")):
    n = T.int64()
    with R.dataflow():
        step = R.divide(R.const(6.0, "float32"), R.astype(x, dtype="float32"))
        shape = R.match_cast(R.tensor_to_shape(R.reshape(R.astype(x, dtype="int64"), R.shape([1]))), R.Shape([n]))
        places = R.arange(R.prim_value(0), R.prim_value(n), R.prim_value(1), dtype="int64")
        y = R.multiply(R.astype(places, dtype="float32"), step)
        R.output(y)
    return y
"""


def test_kernels_stay_behind_the_match_cast_that_binds_their_sizes() -> None:
    """Without this order, the fused kernel of `step` and `places` would be called before `n` has a value."""
    run = tvms.compile(tvms.parse(SIZE_OF_A_VALUE))["main"]
    np.testing.assert_allclose(run(np.array(4, "i4")), [0, 1.5, 3, 4.5])
