"""Kernels do what the interpreter does: simulated in every order, launched through a driver, and as PTX that assembles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvms
from tvms.codegen import aot
from tvms.codegen.build import Settings
from tvms.codegen.gpu.ptxas import assemble, find_ptxas
from tvms.ir import tir
from tvms.ir.interp import run
from tvms.testing.oracle import as_module, first_difference, random_inputs

ORDERS = ("ascending", "each")
SAMPLES = sorted((Path(__file__).parents[2] / "samples").glob("*_gpu_*.tvms"))

PROGRAMS: dict[str, str] = {
    "barriers, a loop, a shuffle in the first warp": '''
T.prim_func main(A: T.Buffer((4, 64), "float32"), B: T.Buffer((4, 64), "float32")):
    bx = T.launch_thread("blockIdx.x", 4)
    S = T.allocate([64], "float32", "shared")
    tx = T.launch_thread("threadIdx.x", 64)
    L = T.allocate([2], "float32", "local")
    S_1 = T.Buffer((64,), "float32", data=S, scope="shared")
    L_1 = T.Buffer((2,), "float32", data=L, scope="local")
    S_1[tx] = A[bx, tx]
    L_1[0] = A[bx, tx]
    T.tvm_storage_sync("shared")
    x: T.float32 = S_1[63 - tx]
    for k in range(3):
        T.tvm_storage_sync("shared")
        S_1[tx] = x + T.Cast("float32", k)
        T.tvm_storage_sync("shared")
        L_1[0] = L_1[0] + S_1[(tx + k) % 64]
    if tx < 32:
        y: T.float32 = T.tvm_warp_shuffle_down(T.uint32(0xFFFFFFFF), L_1[0], 4, 32, 32)
        L_1[0] = L_1[0] + y
    B[bx, tx] = L_1[0]
''',
    "a reduction across one axis of threads": '''
T.prim_func main(A: T.Buffer((4, 48), "float32"), B: T.Buffer((4,), "float32")):
    for i in T.thread_binding(4, thread="blockIdx.x"):
        for k0 in range(4):
            for k1 in T.thread_binding(12, thread="threadIdx.x"):
                with T.block("sum"):
                    vi = T.axis.spatial(4, i)
                    vk = T.axis.reduce(48, k0 * 12 + k1)
                    with T.init():
                        B[vi] = T.float32(0)
                    B[vi] = B[vi] + A[vi, vk]
''',
    "a product of two kernels, of symbolic size": '''
T.prim_func main(a: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n, 8))
    B = T.match_buffer(b, (n, 8))
    C = T.alloc_buffer((n, 8))
    for i, j in T.grid(n, 8):
        with T.block("double"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(n, 8):
        with T.block("turn"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = C[n - 1 - vi, 7 - vj]
''',
    "vectors, and a warp's memory": '''
T.prim_func main(A: T.Buffer((256,), "float32"), B: T.Buffer((256,), "float32")):
    for tx in T.thread_binding(64, thread="threadIdx.x"):
        for i in T.vectorized(4):
            with T.block("copy"):
                vi = T.axis.spatial(256, tx * 4 + i)
                B[vi] = A[vi] + T.float32(1)
''',
    "small floats and integers": '''
T.prim_func main(A: T.Buffer((64,), "float16"), B: T.Buffer((64,), "bfloat16"), C: T.Buffer((64,), "int8")):
    for i in range(64):
        with T.block("half"):
            vi = T.axis.spatial(64, i)
            B[vi] = T.Cast("bfloat16", A[vi] * A[vi]) + T.bfloat16(1)
    for i in range(64):
        with T.block("byte"):
            vi = T.axis.spatial(64, i)
            C[vi] = T.Cast("int8", A[vi]) // T.int8(3)
''',
}  # fmt: skip
MATHEMATICS = [
    "exp",
    "exp2",
    "exp10",
    "log",
    "log2",
    "log10",
    "log1p",
    "tanh",
    "erf",
    "sigmoid",
    "sin",
    "cos",
    "tan",
    "sinh",
    "cosh",
    "asin",
    "acos",
    "atan",
    "asinh",
    "acosh",
    "atanh",
    "sqrt",
    "rsqrt",
]


def modules() -> dict[str, tvms.IRModule]:
    texts = {name: as_module(tvms.parse(text)) for name, text in PROGRAMS.items()}
    return {**texts, **{path.stem: tvms.load(path) for path in SAMPLES}}


MODULES = modules()


def functions(module: tvms.IRModule) -> list[str]:
    return [name for name, function in module.functions.items() if isinstance(function, tir.PrimFunc)]


def called(call: Any, values: list[Any]) -> list[Any]:
    own = [value.copy() if isinstance(value, np.ndarray) else value for value in values]
    call(*own)
    return own


def check(module: tvms.IRModule, name: str, call: Any, seed: int = 0) -> None:
    function = module.functions[name]
    assert isinstance(function, tir.PrimFunc)
    values = random_inputs(function, np.random.default_rng(seed), integers=(-8, 9))
    is_sample = not any(
        module is MODULES[program] for program in PROGRAMS
    )  # those are checked by what is compiled, being larger
    reference = tvms.compile(module)[name] if is_sample else lambda *args: run(module, name, args)
    expected = called(reference, values)
    for found, wanted in zip(called(call, values), expected, strict=True):
        difference = first_difference(found, wanted)
        assert difference is None, difference


@pytest.mark.deep(4)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", MODULES)
def test_threads_in_any_order(name: str, order: str) -> None:
    executable = tvms.compile(MODULES[name], target=f"cuda -simulate={order}", level=1)
    for function in functions(MODULES[name]):
        check(MODULES[name], function, executable[function])


@pytest.mark.parametrize("name", MODULES)
def test_launched_through_a_driver(name: str, driver: Any) -> None:
    executable = tvms.compile(MODULES[name], target={"kind": "cuda", "arch": "sm_80"})
    driver.show(executable)
    for function in functions(MODULES[name]):
        check(MODULES[name], function, executable[function])
    assert any(asked[0] == "launch" for asked in driver.asked)


@pytest.mark.parametrize("arch", ["sm_70", "sm_80", "sm_90"])
def test_the_assembler_takes_it(arch: str) -> None:
    program = find_ptxas()
    if program is None:
        pytest.skip("ptxas is not installed")
    for name, module in MODULES.items():
        ptx = tvms.emit(module, "ptx", f"cuda -arch={arch}")
        assert isinstance(ptx, str)
        made = assemble(ptx, arch, program)
        if "is not defined for option" in made.problem:
            pytest.skip(f"this ptxas does not know {arch}")
        assert made.image, f"{name}: {made.problem}"
        assert made.usage


def test_every_function_of_mathematics_is_emitted() -> None:
    stores = "\n".join(f"    B[{i}, tx] = T.{name}(A[tx])" for i, name in enumerate(MATHEMATICS))
    head = f'T.prim_func main(A: T.Buffer((32,), "float32"), B: T.Buffer(({len(MATHEMATICS)}, 32), "float32")):\n'
    module = tvms.parse(head + '    tx = T.launch_thread("threadIdx.x", 32)\n' + stores)
    ptx = tvms.emit(module, "ptx", "cuda")
    assert isinstance(ptx, str)
    assert ".extern" not in ptx


def test_vectors_are_one_access() -> None:
    ptx = tvms.emit(MODULES["vectors, and a warp's memory"], "ptx", "cuda -arch=sm_80")
    assert isinstance(ptx, str)
    assert "ld.global.v4.b32" in ptx or "ld.global.v2.b64" in ptx


CONSTANT = """T.prim_func main(A: T.Buffer((256,), "float32"), B: T.Buffer((256,), "float32"), C: T.Buffer((256,), "float32")):
    T.func_attr({"tir.noalias": %s})
    bx = T.launch_thread("blockIdx.x", 4)
    tx = T.launch_thread("threadIdx.x", 64)
    C[bx * 64 + tx] = A[bx * 64 + tx] + B[bx * 64 + tx]
    B[bx * 64 + tx] = T.float32(0)
"""


def test_memory_that_a_kernel_only_reads_is_constant() -> None:
    """The copy of a pointer may be used to write, and other arguments may overlap unless the function says that none does."""
    copied = (
        '    p: T.handle("float32", "global") = A.data\n    A_1 = T.Buffer((256,), data=p)\n    A_1[0] = T.float32(1)\n'
    )
    for text, expected in ((CONSTANT % 1, 1), (CONSTANT % 0, 0), (CONSTANT % 1 + copied, 0)):
        ptx = str(tvms.emit(tvms.parse(text), "ptx", "cuda -arch=sm_80", Settings(bounds="trust")))
        assert ptx.count("ld.global.nc") == expected
        assert ptx.count("ld.global") == 2


def test_what_is_compiled_can_be_printed_and_read_back() -> None:
    for name, module in MODULES.items():
        lowered = aot.lowered(module, "cuda")
        again = tvms.parse(lowered.script())
        assert again.script() == lowered.script(), name


def test_tiles_are_as_small_as_they_can_be() -> None:
    (matmul,) = (module for name, module in MODULES.items() if name.endswith("gpu_matmul"))
    lowered = aot.lowered(matmul, "cuda").script()
    assert 'T.allocate([T.int64(32), T.int64(8)], "float32", "shared")' in lowered or "[32, 8]" in lowered
    assert lowered.count("T.tvm_storage_sync") == 2


def test_kernels_have_names_of_their_own() -> None:
    threads = """
    T.prim_func {name}(A: T.Buffer((8,), "float32")):
        for tx in T.thread_binding(8, thread="threadIdx.x"):
            A[tx] = A[tx] + T.float32(1)
        for tx in T.thread_binding(8, thread="threadIdx.x"):
            A[tx] = A[tx] * T.float32({factor})
"""
    text = "I.ir_module Module:" + threads.format(name="f", factor=2) + threads.format(name="f_1", factor=3)
    ptx = tvms.emit(tvms.parse(text), "ptx", "cuda")
    assert isinstance(ptx, str)
    assert ptx.count(".entry") == 4


def test_no_gpu_is_said_plainly() -> None:
    from tvms.codegen.gpu.driver import why_missing

    if not why_missing():
        pytest.skip("there is a GPU")
    call = tvms.compile(MODULES["small floats and integers"], target="cuda")["main"]
    with pytest.raises(tvms.TvmsError) as caught:
        call(np.zeros(64, "f2"), np.zeros(64, np.uint16).view("V2"), np.zeros(64, "i1"))
    assert caught.value.diagnostics[0].code in ("E0721", "E0703")


def test_streams_and_events(driver: Any) -> None:
    executable = tvms.compile(MODULES["vectors, and a warp's memory"], target="cuda")
    driver.show(executable)
    device = tvms.cuda()
    a, b = (tvms.nd.array(np.arange(256, dtype="f4"), device) for _ in range(2))
    stream = device.create_raw_stream()
    start = device.event(stream)
    executable["main"](a, b, stream=stream)
    assert driver.asked[-1][0] == "launch"
    assert device.milliseconds(start, device.event(stream)) > 0
    device.sync(stream)
    assert driver.asked[-1] == ("synchronize", stream.number)
    driver.asked.clear()
    executable.time_evaluator("main", device, number=2)(a, b)
    assert [asked[0] for asked in driver.asked[-4:]] == ["synchronize", "launch", "launch", "synchronize"]
    tvms.cpu().sync()
    with pytest.raises(tvms.TvmsError) as caught:
        tvms.cpu().event()
    assert str(caught.value) == (
        "error[E0721]: the device cpu(0) has no streams\n  = help: omit the stream: calls on this device are synchronous"
    )


@pytest.mark.parametrize("is_alone", [True, False])
def test_arrays_that_overlap(driver: Any, is_alone: bool) -> None:
    text = f"""
T.prim_func main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    T.func_attr({{"tir.noalias": {is_alone}}})
    for i in T.thread_binding(64, "threadIdx.x"):
        B[i] = A[i] + T.float32(1)
"""
    executable = tvms.compile(tvms.parse(text), target="cuda")
    driver.show(executable)
    a = tvms.nd.array(np.zeros(64, "f4"), tvms.cuda())
    if not is_alone:
        executable["main"](a, a)
        assert (a.numpy() == 1).all()
        return
    with pytest.raises(tvms.TvmsError) as caught:
        executable["main"](a, a)
    (problem,) = caught.value.diagnostics
    assert (problem.code, problem.message, problem.help) == (
        "E0719",
        "argument 'B' of 'main': the function writes it, but it overlaps argument 'A' in memory",
        "pass arrays that do not overlap, or drop tir.noalias from the function",
    )


def test_arrays_with_gaps(driver: Any) -> None:
    text = """
T.prim_func main(a: T.handle, b: T.handle):
    s = T.int64()
    A = T.match_buffer(a, (4, 4), "float32", strides=[s, 1])
    B = T.match_buffer(b, (4, 4), "float32", strides=[s, 1])
    for i, j in T.grid(4, 4):
        with T.block("turn"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vj, vi] + T.float32(1)
"""
    executable = tvms.compile(tvms.parse(text), target="cuda")
    driver.show(executable)
    source, result = np.arange(40, dtype="f4").reshape(4, 10), np.zeros((4, 10), "f4")
    executable["main"](source[:, 3:7], result[:, 2:6])
    np.testing.assert_array_equal(result[:, 2:6], source[:, 3:7].T + 1)
    assert not result[:, :2].any()
    assert not result[:, 6:].any()
    there, turned = (tvms.nd.array(array, tvms.cuda()) for array in (source[:, 3:7], np.zeros((4, 4), "f4")))
    executable["main"](there, turned)
    np.testing.assert_array_equal(turned.numpy(), source[:, 3:7].T + 1)


def test_an_index_outside_is_told(driver: Any) -> None:
    text = """
T.prim_func main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"), n: T.int32):
    for i in T.thread_binding(8, thread="threadIdx.x"):
        B[i] = A[i + n]
"""
    module = tvms.parse(text)
    executable = tvms.compile(module, target="cuda")
    driver.show(executable)
    values = np.arange(8, dtype="f4")
    executable["main"](values, np.zeros(8, "f4"), 0)
    with pytest.raises(tvms.TvmsError) as caught:
        executable["main"](values, np.zeros(8, "f4"), 3)
    assert caught.value.diagnostics[0].message == "an index of 'A' is outside the buffer, in dimension 0"
    assert caught.value.diagnostics[0].code == "E0707"


def test_a_barrier_that_not_all_reach() -> None:
    text = """
T.prim_func main(A: T.Buffer((8,), "float32")):
    tx = T.launch_thread("threadIdx.x", 8)
    if A[tx] > T.float32(0):
        T.tvm_storage_sync("shared")
"""
    call = tvms.compile(tvms.parse(text), target="cuda -simulate")["main"]
    call(np.zeros(8, "f4"))
    call(np.ones(8, "f4"))
    with pytest.raises(tvms.TvmsError) as caught:
        call(np.arange(8, dtype="f4"))
    assert caught.value.diagnostics[0].code == "E0714"


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("cuda -arch=sm_10", "the target 'cuda' has no architecture 'sm_10'"),
        ("cuda -fast", "the target 'cuda' has no option '-fast'"),
        ({"kind": "nvptx", "mcpu": "z80"}, "the target 'nvptx' has no architecture 'z80'"),
        ("cuda -simulate=sideways", "the target 'cuda' has no order of threads 'sideways'"),
    ],
)
def test_targets_that_are_none(target: Any, said: str) -> None:
    with pytest.raises(tvms.TvmsError) as caught:
        tvms.emit(MODULES["small floats and integers"], "ptx", target)
    assert caught.value.diagnostics[0].message == said


def test_a_gpu_is_a_target_by_its_name() -> None:
    from tvms.codegen.gpu.architectures import ARCHITECTURES, MODELS

    assert set(MODELS.values()) <= ARCHITECTURES.keys()
    module = MODULES["small floats and integers"]
    assert tvms.emit(module, "ptx", "nvidia/geforce-rtx-3090-ti") == tvms.emit(module, "ptx", "cuda -arch=sm_86")
    assert tvms.target.Target("nvidia/nvidia-a100") == "cuda -arch=sm_80"


def test_an_iteration_may_begin_before_other_threads_have_ended_the_one_before() -> None:
    text = """
T.prim_func main(A: T.Buffer((48,), "int32"), B: T.Buffer((48,), "int32"), n: T.int32):
    S_data = T.allocate([48], "int32", "shared")
    tx = T.launch_thread("threadIdx.x", 48)
    S = T.Buffer((48,), "int32", data=S_data, scope="shared")
    for k in range(n):
        S[tx] = A[tx] + k
        T.tvm_storage_sync("shared")
        B[tx] = B[tx] + S[47 - tx]
"""
    values, result = np.arange(48, dtype="i4"), np.zeros(48, "i4")
    once = tvms.compile(tvms.parse(text), target="cuda -simulate=each")["main"]
    for count in (0, 1):
        once(values, result, count)
    np.testing.assert_array_equal(result, values[::-1])
    with pytest.raises(tvms.TvmsError, match="has different values if threads run in descending order"):
        once(values, result, 2)


def test_results_that_depend_on_the_order_of_threads() -> None:
    text = """
T.prim_func main(A: T.Buffer((48,), "int32"), B: T.Buffer((48,), "int32")):
    S_data = T.allocate([48], "int32", "shared")
    tx = T.launch_thread("threadIdx.x", 48)
    S = T.Buffer((48,), "int32", data=S_data, scope="shared")
    S[tx] = A[tx]
    B[tx] = S[47 - tx]
"""
    values, result = np.arange(48, dtype="i4"), np.zeros(48, "i4")
    with pytest.raises(tvms.TvmsError) as caught:
        tvms.compile(tvms.parse(text, "race.tvms"), target="cuda -simulate=each")["main"](values, result)
    assert str(caught.value) == """\
error[E0724]: array 2 of 'main' has different values if threads run in descending order
  --> race.tvms:2:1
   |
 2 | T.prim_func main(A: T.Buffer((48,), "int32"), B: T.Buffer((48,), "int32")):
   | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
   = help: find the conflicting accesses with --races"""  # fmt: skip
    ordered = text.replace("    B[tx]", '    T.tvm_storage_sync("shared")\n    B[tx]')
    tvms.compile(tvms.parse(ordered), target="cuda -simulate=each")["main"](values, result)
    assert np.array_equal(result, values[::-1])


SUM_OF_THREADS = """
T.prim_func main(A: T.Buffer((4, 8), "{dtype}"), D: T.Buffer((4,), "{dtype}"), B: T.Buffer((4,), "{dtype}")):
    for i in T.thread_binding(4, thread="blockIdx.x"):
        for j in T.thread_binding(8, thread="threadIdx.x"):
            with T.block("sum"):
                vi, vj = T.axis.remap("SR", [i, j])
                with T.init():
                    B[vi] = {start}
                B[vi] = {update}
"""


@pytest.mark.parametrize(
    ("dtype", "start", "update"),
    [
        ("int32", "D[vi]", "B[vi] + A[vi, vj]"),
        ("int32", "7", "A[vi, vj] + B[vi]"),
        ("int32", "D[vi] - 3", "B[vi] * A[vi, vj]"),
        ("int32", "2", "T.max(B[vi], A[vi, vj])"),
        ("float32", "D[vi]", "T.min(B[vi], A[vi, vj])"),
        ("float32", 'T.min_value("float32")', "T.max(B[vi], A[vi, vj])"),
        ("bool", "D[vi]", "B[vi] and A[vi, vj]"),
        ("bool", "D[vi]", "B[vi] or A[vi, vj]"),
    ],
)
def test_threads_count_the_initial_value_once(dtype: str, start: str, update: str) -> None:
    module = tvms.parse(SUM_OF_THREADS.format(dtype=dtype, start=start, update=update))
    compiled = tvms.compile(module, target="cuda -simulate=each")["main"]
    random = np.random.default_rng(3)
    rows, starts = random.integers(0, 3, (4, 8)).astype(dtype), random.integers(0, 3, 4).astype(dtype)
    expected, found = np.zeros(4, dtype), np.zeros(4, dtype)
    tvms.interpret(module, "main", [rows, starts, expected])
    compiled(rows, starts, found)
    np.testing.assert_array_equal(found, expected)


def test_threads_share_no_reduction_under_a_loop_that_may_be_empty() -> None:
    text = """
T.prim_func main(A: T.Buffer((4, 16), "int32"), B: T.Buffer((4,), "int32"), n: T.int32):
    for i in T.thread_binding(4, thread="blockIdx.x"):
        for k in range(2):
            for j in T.thread_binding(8, thread="threadIdx.x"):
                for r in range(n):
                    with T.block("sum"):
                        vi = T.axis.spatial(4, i)
                        vk = T.axis.reduce(16, k * 8 + j)
                        with T.init():
                            B[vi] = 0
                        B[vi] = B[vi] + A[vi, vk]
"""
    with pytest.raises(
        tvms.TvmsError, match=r"E0612.*the loop over 'r', which is not part of the reduction, may be empty"
    ):
        tvms.compile(tvms.parse(text), target="cuda -simulate=each")


AXIS_OF_THREADS = """
T.prim_func main(A: T.Buffer((4, 48), "int32"), B: T.Buffer((4,), "int32")):
    for i in T.thread_binding(4, thread="blockIdx.x"):
        for k0 in {outer}:
            for k1 in T.thread_binding(12, thread="threadIdx.x"):
                with T.block("sum"):
                    vi = T.axis.spatial(4, i)
                    vk = T.axis.reduce(48, {axis})
                    T.where({axis} < 48)
                    with T.init():
                        B[vi] = 0
                    B[vi] = B[vi] + A[vi, vk]
"""


@pytest.mark.parametrize("outer", ["range(4)", 'T.thread_binding(4, thread="threadIdx.y")'])
@pytest.mark.parametrize(
    ("axis", "is_first_once"),
    [
        ("k0 * 12 + k1", True), ("k0 * 13 + k1", True), ("k1 * 4 + k0", True), ("k0 * 3 + k1", True), ("k0 + k1", True),
        ("k0 // 4 + k1", False), ("k0 * 12 % 12 + k1", False), ("k0 * 12 + k1 // 2", False), ("k0 // 2 * 12 + k1", False),
    ],
)  # fmt: skip
def test_threads_share_only_reductions_that_start_once(outer: str, axis: str, is_first_once: bool) -> None:
    module = tvms.parse(AXIS_OF_THREADS.format(outer=outer, axis=axis))
    if not is_first_once:
        with pytest.raises(tvms.TvmsError) as caught:
            tvms.compile(module, target="cuda -simulate=each")
        (found,) = caught.value.diagnostics
        reason = "its T.init may execute in several iterations, and reset the result"
        assert found.code == "E0612"
        assert found.message == f"threads cannot share the reduction of block 'sum': {reason}"
        assert found.help == "bind its reduction axes to values that determine the iterations of their loops"
        return
    compiled = tvms.compile(module, target="cuda -simulate=each")["main"]
    rows = np.random.default_rng(3).integers(-9, 9, (4, 48)).astype("int32")
    expected, sums = np.zeros(4, "int32"), np.zeros(4, "int32")
    tvms.interpret(module, "main", [rows, expected])
    compiled(rows, sums)
    np.testing.assert_array_equal(sums, expected)
