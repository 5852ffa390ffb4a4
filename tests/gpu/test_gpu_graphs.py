"""Graph functions on a GPU: tensors stay there between kernels; what the host reads or writes is copied, no more."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest
import tvms
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st
from tvms import relax
from tvms.ir.functions import register_func
from tvms.ir.passes.transform import get_pass
from tvms.testing import assert_equivalent, graph_functions, network_functions
from tvms.testing.oracle import as_module

KERNELS = """
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

    T.prim_func increment(A: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.block("increment"):
                vi = T.axis.spatial(8, i)
                A[vi] = A[vi] + T.float32(1)

    T.prim_func pick(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "int32"), C: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.block("pick"):
                vi = T.axis.spatial(8, i)
                C[vi] = A[B[vi]]
"""

CHAIN = (
    KERNELS
    + """
    R.function main(x: R.Tensor(("n",), "float32"), w: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        n = T.int64()
        a = R.call_tir(Module.add, (x, w), out_sinfo=R.Tensor((n,), "float32"))
        b = R.call_tir(Module.add, (a, a), out_sinfo=R.Tensor((n,), "float32"))
        c = R.call_tir(Module.add, (b, a), out_sinfo=R.Tensor((n,), "float32"))
        d = R.call_tir(Module.add, (c, c), out_sinfo=R.Tensor((n,), "float32"))
        return d
"""
)


def doubling(size: str) -> str:
    """Return a module whose `main` adds a vector of `size` elements to itself, eight times."""
    calls = [
        f'v{i + 1} = R.call_tir(Module.add, (v{i}, v{i}), out_sinfo=R.Tensor(({size},), "float32"))' for i in range(8)
    ]
    declared = ["n = T.int64()"] if size == "n" else []
    name = '"n"' if size == "n" else size
    body = "\n        ".join([*declared, *calls])
    return (
        KERNELS
        + f"""
    R.function main(v0: R.Tensor(({name},), "float32")) -> R.Tensor(({name},), "float32"):
        {body}
        return v8
"""
    )


X, W = np.arange(8, dtype="f4"), np.full(8, 0.5, "f4")


def compiled(text: str, driver: Any) -> Any:
    executable = tvms.compile(tvms.parse(text), target="cuda -arch=sm_80")
    driver.show(executable)
    return executable


def counts(driver: Any) -> tuple[int, int, int]:
    """How often something was copied there, launched, and copied back since the last time."""
    found = driver.count("copy in"), driver.count("launch"), driver.count("copy out")
    driver.asked.clear()
    return found


def there(*arrays: np.ndarray) -> list[Any]:
    return [tvms.nd.array(array, tvms.cuda()) for array in arrays]


def is_there(value: Any) -> bool:
    return str(value.device) == "cuda(0)"


def test_arrays_of_the_host_are_copied_once(driver: Any) -> None:
    main = compiled(CHAIN, driver)["main"]
    main(X, W)
    counts(driver)
    for size in (8, 5):
        result = main(X[:size], W[:size])
        assert isinstance(result, np.ndarray)
        np.testing.assert_array_equal(result, 6 * (X + W)[:size])
        assert counts(driver) == (2, 4, 1)


def test_arrays_that_lie_there_are_not_copied(driver: Any) -> None:
    main = compiled(CHAIN, driver)["main"]
    x, w = there(X, W)
    main(x, w)
    counts(driver)
    result = main(x, w)
    assert counts(driver) == (0, 4, 0)
    assert driver.count("synchronize") == 0
    assert is_there(result)
    np.testing.assert_array_equal(result.numpy(), 6 * (X + W))
    assert is_there(main(x, W))
    assert counts(driver) == (1, 4, 1)


def test_results_lie_where_the_machine_is(driver: Any) -> None:
    executable = compiled(CHAIN, driver)
    there, here = (relax.VirtualMachine(executable, device) for device in (tvms.cuda(), tvms.cpu()))
    assert is_there(there["main"](X, W))
    assert is_there(there["main"](there["main"](X, W), W))
    assert not is_there(here["main"](X, W))
    there.set_input("main", X, W)
    there.invoke_stateful("main")
    np.testing.assert_array_equal(there.get_outputs("main").numpy(), 6 * (X + W))


def test_memory_of_other_libraries_is_used_where_it_lies(driver: Any) -> None:
    class Foreign:
        def __init__(self, array: Any) -> None:
            self.array = array

        @property
        def __cuda_array_interface__(self) -> dict[str, Any]:
            return {**self.array.__cuda_array_interface__, "strides": None, "stream": 7}

    class Exchanged:
        def __init__(self, array: Any) -> None:
            self.__dlpack__, self.__dlpack_device__ = array.__dlpack__, array.__dlpack_device__

    main = compiled(CHAIN, driver)["main"]
    x, w = there(X, W)
    main(x, w)
    counts(driver)
    result = main(Foreign(x), Exchanged(w))
    assert counts(driver) == (0, 4, 0)
    np.testing.assert_array_equal(result.numpy(), 6 * (X + W))
    taken = tvms.nd.from_dlpack(Exchanged(x))
    assert is_there(taken)
    assert taken.address == x.address


def test_constants_are_copied_once_and_stay(driver: Any) -> None:
    text = (
        KERNELS
        + """
    R.function twice(x: R.Tensor((8,), "float32")) -> R.Tuple(R.Tensor((8,), "float32"), R.Tensor((8,), "float32")):
        c = R.const([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], "float32")
        y = R.call_tir(Module.add, (x, c), out_sinfo=R.Tensor((8,), "float32"))
        return (y, c)

    R.function spoil(x: R.Tensor((8,), "float32")) -> R.Tensor((8,), "float32"):
        c = R.const([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], "float32")
        y = R.call_tir_inplace(Module.increment, (c,), inplace_indices=[0], out_sinfo=R.Tensor((8,), "float32"))
        return y
"""
    )
    executable = compiled(text, driver)
    (x,) = there(X)
    executable["twice"](x)
    counts(driver)
    y, c = executable["twice"](x)
    assert counts(driver) == (0, 1, 0)
    np.testing.assert_array_equal(y.numpy(), X + np.arange(1, 9))
    with pytest.raises(
        tvms.TvmsError, match="argument 'A' of 'increment': the function writes it, but it is read-only"
    ):
        executable["spoil"](x)
    np.testing.assert_array_equal(c.numpy(), np.arange(1, 9))


def test_parameters_that_are_bound_are_copied_once(driver: Any) -> None:
    module = tvms.parse(CHAIN)
    executable = relax.build(module, "cuda", params={"w": W})
    driver.show(executable)
    machine = relax.VirtualMachine(executable, tvms.cuda())
    (x,) = there(X)
    machine["main"](x)
    counts(driver)
    np.testing.assert_array_equal(machine["main"](x).numpy(), 6 * (X + W))
    assert counts(driver) == (0, 4, 1)


def test_operators_tuples_and_branches(driver: Any) -> None:
    text = """
I.ir_module Module:
    R.function main(x: R.Tensor(("n", 4), "float32"), w: R.Tensor((4, 4), "float32"), p: R.Tensor((), "bool")) -> R.Tuple(R.Tensor(("n", 4), "float32"), R.Tuple(R.Tensor(("n", 4), "float32"), R.Shape(["n"]))):
        n = T.int64()
        y = R.matmul(x, w)
        if p:
            a = R.nn.softmax(y)
            z = R.add(a, x)
        else:
            z = R.multiply(y, y)
        t = (z, (y, R.shape([n])))
        return t
"""
    main, here = compiled(text, driver)["main"], tvms.compile(tvms.parse(text))["main"]
    x, w = np.linspace(-1, 1, 12, dtype="f4").reshape(3, 4), np.linspace(1, 2, 16, dtype="f4").reshape(4, 4)
    on_gpu = there(x, w)
    for flag in (np.array(True), np.array(False)):
        main(*on_gpu, flag)
        counts(driver)
        (z, (y, shape)), (wanted_z, (wanted_y, _)) = main(*on_gpu, flag), here(x, w, flag)
        assert counts(driver)[::2] == (1, 1), "the flag goes there, and back where it is asked for"
        np.testing.assert_allclose(z.numpy(), wanted_z, rtol=1e-5)
        np.testing.assert_allclose(y.numpy(), wanted_y, rtol=1e-5)
        assert shape == (3,)


def test_closures_and_calls_of_other_functions(driver: Any) -> None:
    text = (
        KERNELS
        + """
    R.function adder(x: R.Tensor(("n",), "float32"), w: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        n = T.int64()
        z = R.call_tir(Module.add, (x, w), out_sinfo=R.Tensor((n,), "float32"))
        return z

    R.function make(w: R.Tensor(("n",), "float32")) -> R.Object:
        n = T.int64()
        twice = Module.adder(w, w)
        closure = R.make_closure(Module.adder, (twice,))
        return closure

    R.function inner(x: R.Tensor((8,), "float32")) -> R.Tensor((8,), "float32"):
        y = R.call_tir(Module.add, (x, x), out_sinfo=R.Tensor((8,), "float32"))
        R.function local(z: R.Tensor((8,), "float32")) -> R.Tensor((8,), "float32"):
            u = R.call_tir(Module.add, (y, z), out_sinfo=R.Tensor((8,), "float32"))
            return u
        v = local(x)
        t = local(v)
        return t
"""
    )
    executable = compiled(text, driver)
    machine = relax.VirtualMachine(executable, tvms.cuda())
    x, w = there(X, W)
    closure = machine["make"](w)
    counts(driver)
    result = machine.invoke_closure(closure, x)
    assert counts(driver) == (0, 1, 0)
    np.testing.assert_array_equal(result.numpy(), X + 2 * W)
    here = executable["make"](W)(X)
    assert isinstance(here, np.ndarray)
    np.testing.assert_array_equal(here, X + 2 * W)
    counts(driver)
    np.testing.assert_array_equal(executable["inner"](x).numpy(), 5 * X)
    assert counts(driver) == (0, 3, 1)


def test_planned_memory_lies_there(driver: Any) -> None:
    module = tvms.parse(doubling("8"))
    for name in ("ToNonDataflow", "CallTIRRewrite", "StaticPlanBlockMemory"):
        module = get_pass(name)(module)
    assert "R.memory.alloc_storage" in module.script()
    executable = tvms.compile(module, target="cuda")
    driver.show(executable)
    (x,) = there(X)
    executable["main"](x)
    driver.asked.clear()
    allocated: list[int] = []
    allocate = driver.driver.allocate
    driver.driver.allocate = lambda size: allocated.append(size) or allocate(size)
    result = executable["main"](x)
    assert counts(driver) == (0, 8, 0)
    np.testing.assert_array_equal(result.numpy(), 256 * X)
    assert len(allocated) == 3, "two storages that take turns, and the result"


def test_functions_on_the_host_get_copies(driver: Any) -> None:
    register_func("test_gpu_graphs.double", lambda x, y: y.copyfrom(x.numpy() * 2), override=True)
    register_func("test_gpu_graphs.negated", lambda x: -x, override=True)

    def spoil(x: Any) -> None:
        x[0] = 100

    register_func("test_gpu_graphs.spoil", spoil, override=True)
    text = (
        KERNELS
        + """
    R.function(pure=False) main(x: R.Tensor((8,), "float32")) -> R.Tuple(R.Tensor((8,), "float32"), R.Tensor((8,), "float32")):
        a = R.call_tir(Module.add, (x, x), out_sinfo=R.Tensor((8,), "float32"))
        b = R.call_dps_packed("test_gpu_graphs.double", (a,), out_sinfo=R.Tensor((8,), "float32"))
        c = R.call_pure_packed("test_gpu_graphs.negated", b, sinfo_args=[R.Tensor((8,), "float32")])
        d = R.call_tir(Module.add, (a, c), out_sinfo=R.Tensor((8,), "float32"))
        _ = R.call_packed("test_gpu_graphs.spoil", d, sinfo_args=[R.Object])
        e = R.call_tir(Module.add, (d, a), out_sinfo=R.Tensor((8,), "float32"))
        return (d, e)
"""
    )
    main = compiled(text, driver)["main"]
    (x,) = there(X)
    counts(driver)
    d, e = main(x)
    assert counts(driver) == (4, 3, 3), "the status, two results and what was changed; three arguments"
    changed = -2 * X
    changed[0] = 100
    np.testing.assert_array_equal(d.numpy(), changed)
    np.testing.assert_array_equal(e.numpy(), changed + 2 * X)


def test_what_the_host_reads(driver: Any, capsys: pytest.CaptureFixture[str]) -> None:
    text = (
        KERNELS
        + """
    R.function(pure=False) main(x: R.Tensor((8,), "float32"), s: R.Tensor((1,), "int64")) -> R.Tuple(R.Tensor(ndim=1, dtype="float32"), R.Tensor((1,), "int64")):
        a = R.call_tir(Module.add, (x, x), out_sinfo=R.Tensor((8,), "float32"))
        _ = R.print(a, format="a = {}")
        shape: R.Shape(ndim=1) = R.tensor_to_shape(s)
        n = T.int64()
        known: R.Shape([n]) = R.match_cast(shape, R.Shape([n]))
        z = R.builtin.alloc_tensor(R.shape([n]), R.dtype("float32"), R.prim_value(0))
        _1 = Module.add(z, z, z)
        back = R.shape_to_tensor(known)
        u = R.unique(a, sorted=True)
        return (u, back)
"""
    )
    main = compiled(text, driver)["main"]
    x, s = there(X, np.array([3]))
    u, back = main(x, s)
    assert capsys.readouterr().out == f"a = {2 * X}\n"
    np.testing.assert_array_equal(u.numpy(), 2 * X)
    np.testing.assert_array_equal(back.numpy(), [3])


def test_what_is_written_in_place(driver: Any) -> None:
    text = (
        KERNELS
        + """
    R.function main(x: R.Tensor((8,), "float32")) -> R.Tensor((8,), "float32"):
        y = R.call_tir_inplace(Module.increment, (x,), inplace_indices=[0], out_sinfo=R.Tensor((8,), "float32"))
        z = R.call_tir_inplace(Module.increment, (y,), inplace_indices=[0], out_sinfo=R.Tensor((8,), "float32"))
        return z
"""
    )
    main = compiled(text, driver)["main"]
    (x,), own, fixed = there(X), X.copy(), X.copy()
    fixed.flags.writeable = False
    assert main(x).address == x.address
    np.testing.assert_array_equal(x.numpy(), X + 2)
    main(own)
    np.testing.assert_array_equal(own, X + 2)
    with pytest.raises(
        tvms.TvmsError, match="argument 'A' of 'increment': the function writes it, but it is read-only"
    ):
        main(fixed)


def test_an_index_outside_is_told_at_the_end(driver: Any) -> None:
    text = (
        KERNELS
        + """
    R.function main(x: R.Tensor((8,), "float32"), i: R.Tensor((8,), "int32")) -> R.Tensor((8,), "float32"):
        y = R.call_tir(Module.pick, (x, i), out_sinfo=R.Tensor((8,), "float32"))
        z = R.call_tir(Module.add, (y, y), out_sinfo=R.Tensor((8,), "float32"))
        return z
"""
    )
    main = compiled(text, driver)["main"]
    good, bad = np.arange(8, dtype="i4")[::-1].copy(), np.arange(1, 9, dtype="i4")
    x, right, wrong = there(X, good, bad)
    np.testing.assert_array_equal(main(x, right).numpy(), 2 * X[::-1])
    counts(driver)
    with pytest.raises(tvms.TvmsError, match="an index of 'A' is outside the buffer"):
        main(x, wrong)
    assert [asked[0] for asked in driver.asked] == ["launch", "launch", "copy out", "copy in"]
    main(x, right)


def test_memory_is_freed_as_soon_as_nothing_names_it(driver: Any) -> None:
    main = compiled(doubling("n"), driver)["main"]
    (x,) = there(X)
    main(x)
    gc.collect()
    before = len(driver.memory)
    for _ in range(500):
        main(x)
        main(X)
    with pytest.raises(tvms.TvmsError):
        main(X, X)
    assert len(driver.memory) <= before + 1, "freed memory is used again"


def test_calls_are_observed_one_by_one(driver: Any) -> None:
    executable = compiled(CHAIN, driver)
    machine = relax.VirtualMachine(executable, tvms.cuda())
    x, w = there(X, W)
    seen: list[Any] = []
    report = machine.profile("main", x, w)
    assert [(call.name, call.count) for call in report.calls] == [("add", 4)]
    machine.set_instrument(lambda function, name, before, result, *args: seen.append((name, before, args)))
    result = machine["main"](x, w)
    assert is_there(result)
    assert [name for name, _, _ in seen] == ["add"] * 8
    assert all(is_there(arg) for _, _, args in seen for arg in args)


def test_arrays_meet_arrays_of_the_host(driver: Any) -> None:
    (x,), here = there(X), tvms.nd.array(np.zeros(8, "f4"))
    assert is_there(here.copyto(tvms.cuda()))
    here.copyto(x)
    np.testing.assert_array_equal(x.numpy(), 0)
    x.copyfrom(tvms.nd.array(X, tvms.cuda()))
    here.copyfrom(x)
    np.testing.assert_array_equal(here, X)
    np.testing.assert_array_equal(tvms.nd.array(x).numpy(), X)
    np.testing.assert_array_equal(tvms.nd.array(x, tvms.cuda()).numpy(), X)


def sent(value: Any) -> Any:
    return tvms.nd.array(value, tvms.cuda()) if isinstance(value, np.ndarray) else value


def fetched(value: Any) -> Any:
    return tuple(map(fetched, value)) if type(value) is tuple else value.numpy() if hasattr(value, "numpy") else value


PLAN = ("LegalizeOps", "CallTIRRewrite", "StaticPlanBlockMemory", "LowerAllocTensor", "KillAfterLastUse")


@settings(
    max_examples=max(settings().max_examples // 10, 5), suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(graph_functions() | network_functions(), st.booleans(), st.booleans(), st.booleans())
def test_random_graphs(driver: Any, function: Any, is_sent: bool, is_planned: bool, is_recorded: bool) -> None:
    before = after = as_module(function)
    for name in PLAN if is_planned else ():
        after = get_pass(name)(after)

    def execute(module: tvms.IRModule, name: str) -> Any:
        try:
            with tvms.transform.PassContext(config={"relax.backend.use_cuda_graph": is_recorded}):
                executable = tvms.compile(module, target="cuda")
        except tvms.TvmsError as problem:
            if problem.diagnostics[0].code == "E0604":  # mathematics of float64
                reject()
            raise
        driver.show(executable)

        def call(*args: Any) -> Any:
            found = [executable[name](*(map(sent, args) if is_sent else args)) for _ in range(4 if is_recorded else 1)]
            values = list(map(fetched, found))
            for value in values:
                assert equal(value, values[0]), "a call repeats another one"
            return values[0]

        return call

    assert_equivalent(before, after, execute_after=execute)


def equal(value: Any, other: Any) -> bool:
    if type(value) is tuple:
        return all(map(equal, value, other))
    return np.asarray(value).tobytes() == np.asarray(other).tobytes()
