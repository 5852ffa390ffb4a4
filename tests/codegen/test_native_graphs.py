"""Graph functions as machine code: what they give is what the executor and the interpreter give, on planned memory."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvms
from tvms.codegen.graph.native_entry import NativeEntry
from tvms.codegen.graph.plan import ALIGNMENT, Lifetime, make_plan
from tvms.dsl.testing.oracle import random_inputs

SAMPLES = Path(__file__).parents[2] / "samples"

KERNELS = """
    T.prim_func(private=True) add(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32"), C: T.Buffer((4, 8), "float32")):
        T.func_attr({"tir.noalias": True})
        for i, j in T.grid(4, 8):
            with T.block("add"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj] + B[vi, vj]

    T.prim_func(private=True) halves(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 4), "float32"), C: T.Buffer((4, 4), "float32")):
        for i, j in T.grid(4, 4):
            with T.block("halves"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj]
                C[vi, vj] = A[vi, vj + 4]

    T.prim_func(private=True) sevenths(A: T.Buffer((4, 8), "float32"), N: T.Buffer((4, 8), "int32"), C: T.Buffer((4, 8), "float32")):
        for i, j in T.grid(4, 8):
            with T.block("quotient"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj] * T.Cast("float32", 7 // N[vi, vj])
"""
X = np.arange(32, dtype="f4").reshape(4, 8)


def module(body: str) -> tvms.IRModule:
    """Return a module of the kernels above and one graph function."""
    return tvms.parse(f"I.ir_module Module:{KERNELS}\n{body}")


def both(mod: tvms.IRModule, *args: Any) -> Any:
    """Return what machine code gives, which must be what the executor and the interpreter give."""
    native, executed = (tvms.compile(mod, native=native)["main"] for native in (True, False))
    assert isinstance(native, NativeEntry)
    assert not isinstance(executed, NativeEntry)
    wanted = tvms.interpret(mod, "main", args)
    for result in (native(*args), executed(*args), native(*args), native(*args)):  # checked in Python, then quickly
        assert flat(result)[1] == flat(wanted)[1]
        for got, want in zip(flat(result)[0], flat(wanted)[0], strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)
    return native(*args)


def flat(value: Any) -> tuple[list[np.ndarray], str]:
    """Return the arrays in a value, and how it nests."""
    if isinstance(value, tuple | list):
        parts = [flat(item) for item in value]
        return [array for arrays, _ in parts for array in arrays], f"({','.join(shape for _, shape in parts)})"
    return [value], "_"


@pytest.mark.parametrize("seed", range(20))
def test_planned_tensors_never_meet(seed: int) -> None:
    """Tensors that live together do not overlap; all memory is at least what lives, the workspace at most all of them."""
    choice = random.Random(seed)
    lifetimes = [
        Lifetime(choice.randrange(0, 5000), first, first + choice.randrange(0, 6))
        for first in (choice.randrange(0, 20) for _ in range(choice.randrange(0, 30)))
    ]
    results = [Lifetime(choice.randrange(0, 5000), choice.randrange(0, 26), 26) for _ in range(choice.randrange(0, 3))]
    plan = make_plan(lifetimes, results)
    sizes = [*[result.size for result in results], plan.size]
    placed = [
        *zip(lifetimes, plan.rooms, plan.offsets, strict=True),
        *[(result, n, 0) for n, result in enumerate(results)],
    ]
    for number, (one, room, start) in enumerate(placed):
        assert start % ALIGNMENT == 0
        assert start + one.size <= sizes[room]
        for other, elsewhere, begin in placed[:number]:
            is_apart = start + one.size <= begin or begin + other.size <= start
            assert room != elsewhere or not one.meets(other) or is_apart
    assert plan.live <= sum(sizes)
    assert plan.size <= plan.total + ALIGNMENT * len(lifetimes)


def test_what_comes_before_a_result_lies_in_it() -> None:
    """A chain of equal tensors takes two: the result, and one beside it."""
    chain = [Lifetime(640, step, step + 1) for step in range(11)]
    plan = make_plan(chain, [Lifetime(640, 11, 12)])
    assert (plan.size, plan.live) == (640, 1280)
    assert plan.rooms == (1, 0) * 5 + (1,)


@pytest.mark.parametrize("entry", ["main", "main_loops"])
def test_the_perceptron_is_one_function(entry: str) -> None:
    """Both of its texts compute the same."""
    mod = tvms.load(SAMPLES / "04_perceptron.tvms")
    args = random_inputs(mod[entry], np.random.default_rng(0))
    exe = tvms.compile(mod)
    assert isinstance(exe[entry], NativeEntry)
    np.testing.assert_allclose(exe[entry](*args), tvms.interpret(mod, "main", args), rtol=1e-4, atol=1e-4)


def test_tuples_constants_and_arguments_come_back_as_they_are() -> None:
    mod = module("""
    R.function main(x: R.Tensor((4, 8), "float32"), y: R.Tensor((4, 8), "float32")):
        c = R.const([1.0, 2.0], "float32")
        h = R.call_tir(Module.halves, (x,), out_sinfo=[R.Tensor((4, 4), "float32"), R.Tensor((4, 4), "float32")])
        a = h[0]
        s = R.call_tir(Module.add, (x, y), out_sinfo=R.Tensor((4, 8), "float32"))
        t = R.call_tir(Module.add, (s, x), out_sinfo=R.Tensor((4, 8), "float32"))
        alias = t
        u = R.call_tir(Module.add, (alias, s), out_sinfo=R.Tensor((4, 8), "float32"))
        return (a, (h, x), u, c, u)
""")
    result = both(mod, X, X[::-1].copy())
    assert result[1][1] is X
    assert result[2] is result[4]
    assert not result[3].flags.writeable


PLANNED = """
    R.function(pure=False) main(x: R.Tensor((4, 8), "float32")) -> R.Tensor((4, 8), "float32"):
        storage = R.memory.alloc_storage(R.shape([256]), R.prim_value(0), R.str("global"), R.dtype("uint8"))
        a = R.memory.alloc_tensor(storage, R.prim_value(0), R.shape([4, 8]), R.dtype("float32"))
        _ = Module.add(x, x, a)
        b = R.memory.alloc_tensor(storage, R.prim_value(OFFSET), R.shape([4, 8]), R.dtype("float32"))
        _1 = Module.add(a, x, b)
        _2 = R.memory.kill_tensor(a)
        out = R.builtin.alloc_tensor(R.shape([4, 8]), R.dtype("float32"), R.prim_value(0), R.str("global"))
        _3 = Module.add(b, x, out)
        _4 = R.memory.kill_storage(storage)
        return out
"""


def test_memory_that_passes_planned_is_kept() -> None:
    mod = module(PLANNED.replace("OFFSET", "128"))
    exe = tvms.compile(mod)
    assert isinstance(exe["main"], NativeEntry)
    np.testing.assert_array_equal(exe["main"](X), 4 * X)
    np.testing.assert_array_equal(tvms.compile(mod, native=False)["main"](X), 4 * X)


def test_a_kernel_whose_argument_lies_in_its_result_is_left_to_the_executor() -> None:
    """Machine code would rely on that they do not overlap."""
    assert not isinstance(tvms.compile(module(PLANNED.replace("OFFSET", "0")))["main"], NativeEntry)


def test_what_is_wrong_is_said_as_by_the_executor() -> None:
    mod = module("""
    R.function main(x: R.Tensor((4, 8), "float32"), n: R.Tensor((4, 8), "int32")) -> R.Tensor((4, 8), "float32"):
        y = R.call_tir(Module.add, (x, x), out_sinfo=R.Tensor((4, 8), "float32"))
        z = R.call_tir(Module.sevenths, (y, n), out_sinfo=R.Tensor((4, 8), "float32"))
        return z
""")
    n = np.ones((4, 8), "i4")
    both(mod, X, n)
    entries = [tvms.compile(mod, native=native)["main"] for native in (True, False)]
    wrong = [
        (X,),
        (X, n, n),
        (X[:3], n),
        (X, X),
        (X.T, n),
        ([1.0], n),
        (X.astype("f8"), n),
        (X, np.zeros((4, 8), "i4")),
    ]
    for args in wrong:
        said: list[str] = []
        for entry in entries:
            entry(X, n)
            with pytest.raises(tvms.TvmsError) as caught:
                entry(*args)
            said.append(str(caught.value))
        assert said[0] == said[1]
    with pytest.raises(tvms.TvmsError, match="E0701"):
        entries[0](X, x=X)
    np.testing.assert_array_equal(entries[0](n=n, x=X), entries[0](X, n))


def test_calls_at_the_same_time_do_not_share_memory() -> None:
    mod = tvms.load(SAMPLES / "04_perceptron.tvms")
    main = tvms.compile(mod, threads=1)["main"]
    random_state = np.random.default_rng(0)
    inputs = [random_inputs(mod["main"], random_state) for _ in range(8)]
    wanted = [main(*args) for args in inputs]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(10):
            for got, want in zip(pool.map(lambda args: main(*args), inputs), wanted, strict=True):
                np.testing.assert_array_equal(got, want)


RECURSIVE = """
I.ir_module Module:
    T.prim_func(private=True) double(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        T.func_attr({"tir.noalias": True})
        for i in range(4):
            B[i] = A[i] + A[i]

    T.prim_func(private=True) is_small(A: T.Buffer((4,), "float32"), C: T.Buffer((), "bool")):
        C[()] = A[3] < T.float32(100)

    R.function main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Module
        c = R.call_tir(cls.is_small, (x,), out_sinfo=R.Tensor((), "bool"))
        if c:
            twice = cls.step(x)
            y = cls.main(twice)
        else:
            y = x
        return y

    R.function step(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Module
        y = R.call_tir(cls.double, (x,), out_sinfo=R.Tensor((4,), "float32"))
        return y
"""


def test_branches_and_recursion_call_machine_code() -> None:
    exe = tvms.compile(tvms.parse(RECURSIVE))
    assert isinstance(exe["step"], NativeEntry)
    assert not isinstance(exe["main"], NativeEntry)
    x = np.arange(4, dtype="f4")
    np.testing.assert_array_equal(exe["main"](x), x * 64)
    np.testing.assert_array_equal(tvms.interpret(tvms.parse(RECURSIVE), "main", [x]), x * 64)


def test_attention_reads_its_operands_as_they_lie() -> None:
    """Neither transposes nor reshapes are left of what a product or a softmax reads."""
    mod = tvms.parse("""
R.function main(q: R.Tensor((1, 17, 2, 16), "float32"), k: R.Tensor((1, 19, 2, 16), "float32"), v: R.Tensor((1, 19, 2, 16), "float32")) -> R.Tensor((1, 17, 2, 16), "float32"):
    with R.dataflow():
        gv = R.nn.attention(q, k, v)
        R.output(gv)
    return gv
""")
    exe = tvms.compile(mod)
    scheduled = {decision.block: decision.rule for decision in exe.decisions["attention"] if decision.rule}
    assert scheduled == {
        "T_batch_matmul_NT, T_divide": "matmul",
        "T_softmax_maxelem, T_softmax_exp, T_softmax_expsum, T_softmax_norm": "rows",
        "T_batch_matmul_NN, T_transpose_3": "matmul",
    }
    args = random_inputs(mod["main"], np.random.default_rng(0))
    np.testing.assert_allclose(exe["main"](*args), tvms.interpret(mod, "main", args), rtol=1e-4, atol=1e-5)


def test_arguments_that_are_only_read_may_overlap_and_be_read_only() -> None:
    text = """
R.function main(x: R.Tensor((), "float32"), y: R.Tensor((), "float32")) -> R.Tensor((), "float32"):
    with R.dataflow():
        a = R.add(x, R.const(1.0, "float32"))
        b = R.multiply(y, R.const(2.0, "float32"))
        gv = R.add(a, b)
        R.output(gv)
    return gv
"""
    x = np.asarray(3, "float32")
    x.flags.writeable = False
    main = tvms.compile(tvms.parse(text))["main"]
    assert [float(main(x, x)) for _ in range(3)] == [10.0] * 3
