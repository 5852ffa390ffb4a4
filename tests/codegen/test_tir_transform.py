"""Passes on loops that are asked for by name: what they make of small programs, and where they leave one as it is."""

from __future__ import annotations

from textwrap import dedent, indent

import numpy as np
import pytest
import tvms
from tvms import tir
from tvms.codegen.dlight.base import target_of
from tvms.ir.base import IRModule
from tvms.ir.interp import run
from tvms.ir.programs import as_module
from tvms.ir.visit import walk

CASES = {
    "RemoveNoOp": (
        """
        n: T.int32 = 5
        for i in range(8):
            if i < 4:
                A[i * 2 - i] = A[i]
            else:
                A[i] = B[i]
        for j in range(n - n):
            A[j] = n
        for k in range(4):
            T.evaluate(k + 1)
        for k in range(8):
            for j in range(k - 7):
                A[j] = k
        """,
        """
        for i in range(8):
            if not i < 4:
                A[i] = B[i]
        """,
    ),
    "CommonSubexprElimTIR": (
        """
        for i in range(8):
            A[(x + y) * 2 + i] = B[(x + y) * 2 + i] + i // 2
            if x > y:
                A[i // 2] = x + y + i
            else:
                B[i] = A[x // y] + A[x // y] + i * 3 + i * 3
        """,
        """
        cse_v1: T.int32 = (x + y) * 2
        for i in range(8):
            cse_v2: T.int32 = cse_v1 + i
            A[cse_v2] = B[cse_v2] + i // 2
            if x > y:
                A[i // 2] = x + y + i
            else:
                cse_v3: T.int32 = i * 3
                B[i] = A[x // y] + A[x // y] + cse_v3 + cse_v3
        """,
    ),
    "InjectDoubleBuffer": (
        """
        for i in range(4):
            X = T.allocate([2], "int32", "global")
            X_1 = T.Buffer((2,), "int32", data=X)
            with T.attr(X, "double_buffer_scope", 1):
                for j in range(2):
                    X_1[j] = A[i * 2 + j]
            B[i] = X_1[0] - X_1[1]
        """,
        """
        X = T.allocate([4], "int32", "global")
        X_1 = T.Buffer((4,), "int32", data=X)
        for j in range(2):
            X_1[j] = A[j]
        for i in range(3):
            with T.attr(X, "double_buffer_write", 1):
                for j in range(2):
                    X_1[(i + 1) % 2 * 2 + j] = A[(i + 1) * 2 + j]
            B[i] = X_1[i % 2 * 2] - X_1[i % 2 * 2 + 1]
        B[3] = X_1[2] - X_1[3]
        """,
    ),
    "RenormalizeSplitPattern": (
        """
        for i, j in T.grid(2, 4):
            A[(i * 4 + j) // 4 * 4 + (i * 4 + j) % 4] = B[i * 4 // 4]
        """,
        """
        for i, j in T.grid(2, 4):
            A[i * 4 + j] = B[i]
        """,
    ),
    "ConvertForLoopsToSerial": (
        """
        for i in T.parallel(8):
            A[i] = 1
        """,
        """
        for i in range(8):
            A[i] = 1
        """,
    ),
    "SkipAssert": (
        """
        assert x > 0, "x must be positive"
        A[0] = x
        """,
        """
        A[0] = x
        """,
    ),
    "RemoveAssume": (
        """
        T.evaluate(T.assume(x > 0))
        A[0] = x
        """,
        """
        A[0] = x
        """,
    ),
    "RemoveStoreUndef": (
        """
        A[0] = T.undef()
        A[1] = x
        A[2] = x + T.undef(dtype="int32") * 2
        v: T.int32 = T.undef()
        w: T.int32 = v + 1
        if x < 3:
            A[3] = w
        A[4] = T.call_extern("int32", "rand") + v
        """,
        """
        A[1] = x
        v: T.int32 = T.undef()
        if x < 3:
            T.evaluate(0)
        A[4] = T.call_extern("int32", "rand") + v
        """,
    ),
    "UnifyThreadBinding": (
        """
        for i in T.thread_binding(2, "blockIdx.x"):
            for j in T.thread_binding(4, "threadIdx.x"):
                A[i * 4 + j] = A[i * 4 + j] + i
            for k in T.thread_binding(T.int64(4), "threadIdx.x", annotations={"mark": 1}):
                B[T.cast(i, "int64") * T.int64(4) + k] = x
        B[31] = y
        with T.launch_thread("threadIdx.y", 4) as t:
            A[t] = y
        for j in T.thread_binding(1, 5, "threadIdx.y"):
            A[j] = y
        """,
        """
        for blockIdx_x in T.thread_binding(2, "blockIdx.x"):
            for threadIdx_x in T.thread_binding(4, "threadIdx.x"):
                A[blockIdx_x * 4 + threadIdx_x] = A[blockIdx_x * 4 + threadIdx_x] + blockIdx_x
                for k in T.serial(T.int64(1), annotations={"mark": 1}):
                    B[T.cast(blockIdx_x, "int64") * T.int64(4) + T.cast(threadIdx_x, "int64")] = x
        B[31] = y
        for threadIdx_y in T.thread_binding(4, "threadIdx.y"):
            A[threadIdx_y] = y
        for threadIdx_y in T.thread_binding(4, "threadIdx.y"):
            A[threadIdx_y + 1] = y
        """,
    ),
    "ForceNarrowIndexToInt32": (
        """
        for i in range(T.int64(8)):
            n: T.int64 = i + T.cast(x, "int64")
            if n < T.int64(20):
                A[T.max(n, T.int64(0)) // T.int64(2)] = T.cast(n, "int32") + B[i]
        """,
        """
        for i in range(8):
            n: T.int32 = i + x
            if n < 20:
                A[T.max(n, 0) // 2] = n + B[i]
        """,
    ),
    "HoistExpression": (
        """
        for i in range(4):
            for j in range(8):
                if j < 5 and i < 3:
                    A[i * 8 + j] = T.if_then_else(x < y, 1, 2)
                B[i * 8 + j] = i
        """,
        """
        if x < y:
            for i in range(4):
                if i < 3:
                    for j in range(8):
                        if j < 5:
                            A[i * 8 + j] = 1
                        B[i * 8 + j] = i
                else:
                    for j in range(8):
                        B[i * 8 + j] = i
        else:
            for i in range(4):
                if i < 3:
                    for j in range(8):
                        if j < 5:
                            A[i * 8 + j] = 2
                        B[i * 8 + j] = i
                else:
                    for j in range(8):
                        B[i * 8 + j] = i
        """,
    ),
    "DecorateDeviceScope": (
        "A[0] = x",
        """
        with T.attr(0, "device_scope", 0):
            A[0] = x
        """,
    ),
    "RewriteUnsafeSelect": (
        """
        A[0] = T.Select(x > 0, B[x], T.Select(x < y, x, y))
        A[0:4] = T.Select(B[0:4] > T.Broadcast(x, 4), B[4:8], T.Broadcast(0, 4))
        """,
        """
        A[0] = T.if_then_else(x > 0, B[x], T.Select(x < y, x, y))
        A[0:4] = T.Select(B[0:4] > T.Broadcast(x, 4), B[4:8], T.Broadcast(0, 4))
        """,
    ),
}


def module(body: str) -> IRModule:
    """The module of one function with that body."""
    head = 'T.prim_func main(A: T.Buffer((32,), "int32"), B: T.Buffer((32,), "int32"), x: T.int32, y: T.int32):'
    text = f"#tvms 1\nI.ir_module Module:\n    {head}\n{indent(dedent(body).strip(), '        ')}\n"
    found = tvms.parse(text)
    assert isinstance(found, IRModule)
    return found


def test_flat_indices_keep_their_dtype_where_they_fit() -> None:
    head = 'T.prim_func main(A: T.Buffer((4, 8), "float32"), B: T.Buffer(("n", 70000, 70000), "float32"), n: T.int32):'
    found = tir.transform.FlattenBuffer()(
        as_module(
            tvms.parse(f"""#tvms 1
{head}
    C = T.alloc_buffer((4, 8), "float32")
    for i, j in T.grid(4, 8):
        with T.block("c"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi, vj])
            T.writes(C[vi, vj])
            C[vi, vj] = A[vi, vj]
    B[n - 1, 2, 3] = T.float32(1)
""")
        )
    )
    text = str(found)
    assert 'C = T.alloc_buffer((32,), "float32")' in text or "C = T.alloc_buffer((32,))" in text
    assert "T.writes(C[vi * 8 + vj])" in text
    assert "C[vi * 8 + vj] = " in text
    assert 'T.Cast("int64", n' in text or "T.cast(n" in text, "a symbolic size may leave int32"


def test_allocations_of_statements_are_compacted() -> None:
    before = module(
        """
        for i in range(4):
            C = T.decl_buffer((4, 8), "int32")
            for j in range(8):
                C[i, j] = B[i * 8 + j]
            for j in range(8):
                A[i * 8 + j] = C[i, j] + 1
        """
    )
    found = tir.transform.CompactBufferAllocation()(before)
    assert "(1, 8)" in found.script() or "[1, 8]" in found.script()
    shared = module(
        """
        C = T.allocate([32], "int32", "global")
        D = T.decl_buffer((32,), "int32", data=C)
        E = T.Buffer((8,), "int32", data=C)
        for i in range(4):
            D[i] = B[i]
        A[0] = E[7]
        """
    )
    assert tir.transform.CompactBufferAllocation()(shared).script() == shared.script(), "E is a view of the same memory"
    results = [(np.zeros(32, "i4"), np.arange(32, dtype="i4")) for _ in range(2)]
    for version, arrays in zip((before, found), results, strict=True):
        run(version, "main", [*arrays, 3, 4])
    np.testing.assert_array_equal(results[0], results[1])


def test_allocations_move_into_loops_around_blocks_with_iterators() -> None:
    before = module(
        """
        C = T.alloc_buffer((4, 8), "int32")
        for i in range(4):
            for j in range(8):
                with T.block("c"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    C[vi, vj] = B[vi * 8 + vj]
            for j in range(8):
                with T.block("a"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    A[vi * 8 + vj] = C[vi, vj] + 1
        """
    )
    found = tir.transform.PlanAndUpdateBufferAllocationLocation()(before)
    (loop,) = (
        node for node in walk(found.functions["main"]) if isinstance(node, tir.For) and node.loop_var.name == "i"
    )
    assert isinstance(loop.body, tir.BlockRealize)
    assert [buffer.name for buffer in loop.body.block.alloc_buffers] == ["C"]


def test_default_gpu_schedule_binds_spatial_loops() -> None:
    before = as_module(
        tvms.parse(
            """#tvms 1
T.prim_func main(A: T.Buffer((4, 600), "float32"), B: T.Buffer((4,), "float32")):
    for i, j in T.grid(4, 600):
        with T.block("sum"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vj]
"""
        )
    )
    with tvms.target.Target("cuda"):
        found = tir.transform.DefaultGPUSchedule()(before)
        assert tir.transform.DefaultGPUSchedule()(found) is found
    loops = [node for node in walk(found.functions["main"]) if isinstance(node, tir.For)]
    tags = [loop.thread_binding.thread_tag for loop in loops if loop.thread_binding is not None]
    assert tags == ["blockIdx.x", "threadIdx.x"]
    assert found.functions["main"].attrs["tir.is_scheduled"]
    a = np.arange(2400, dtype="f4").reshape(4, 600)
    b = np.zeros(4, "f4")
    run(found, "main", [a, b])
    np.testing.assert_allclose(b, a.sum(1), rtol=1e-5)
    with tvms.target.Target("llvm"):
        assert tir.transform.DefaultGPUSchedule()(before) is before


def test_narrow_data_type_keeps_what_may_not_fit() -> None:
    before, after = (
        module(text)
        for text in (
            """
            for i in range(T.int64(4)):
                for j in range(T.int64(8)):
                    if i * T.int64(8) + j < T.int64(30):
                        A[i * T.int64(8) + j] = B[T.min(j * T.int64(2), T.int64(31))] + T.cast(j, "int32")
            for k in range(T.int64(2)):
                A[k] = T.cast(k * T.int64(3000000000) // T.int64(3000000000), "int32")
            """,
            """
            for i in range(4):
                for j in range(8):
                    if i * 8 + j < 30:
                        A[i * 8 + j] = B[T.min(j * 2, 31)] + j
            for k in range(T.int64(2)):
                A[k] = T.cast(k * T.int64(3000000000) // T.int64(3000000000), "int32")
            """,
        )
    )
    found = tir.transform.NarrowDataType(32)(before)
    assert found.script() == after.script()
    results = [(np.zeros(32, "i4"), np.arange(32, dtype="i4")) for _ in range(2)]
    for version, arrays in zip((before, found), results, strict=True):
        run(version, "main", [*arrays, 3, 4])
    np.testing.assert_array_equal(results[0], results[1])


def test_print_ir_prints_and_returns_the_module(capfd: pytest.CaptureFixture[str]) -> None:
    mod = module("A[0] = x")
    assert tvms.transform.PrintIR("first")(mod) is mod
    assert capfd.readouterr().out == f"PrintIR(first):\n{mod.script()}\n"


@pytest.mark.parametrize("name", CASES)
def test_what_a_pass_makes_of_a_program(name: str) -> None:
    before, after = (module(body) for body in CASES[name])
    found = getattr(tir.transform, name)()(before)
    if name == "InjectDoubleBuffer":
        found, after = tir.transform.Simplify()(found), tir.transform.Simplify()(after)
    assert found.script() == after.script()
    if name not in ("RemoveAssume", "RemoveStoreUndef"):
        start = np.arange(32, dtype="i4"), np.arange(100, 132, dtype="i4")
        results = [(start[0].copy(), start[1].copy()) for _ in range(2)]
        for version, arrays in zip((before, found), results, strict=True):
            run(version, "main", [*arrays, 3, 4])
        np.testing.assert_array_equal(results[0], results[1])


@pytest.mark.parametrize(
    ("fill", "use", "loop"),
    [
        ("X_1[0] = B[i]", "B[i + 1] = X_1[0]", "range(4)"),
        ("X_1[0] = A[i]", "X_1[0] = X_1[0] + 1", "range(4)"),
        ('X_1[0] = T.call_extern("int32", "rand")', "B[i] = X_1[0]", "range(4)"),
        ("X_1[0] = A[i]", "B[i] = X_1[0]", "range(x)"),
        ("X_1[0] = A[i]", "B[i] = X_1[0]", "T.parallel(4)"),
    ],
)
def test_memory_is_not_doubled_where_that_would_change_results(fill: str, use: str, loop: str) -> None:
    body = f"""
    for i in {loop}:
        X = T.allocate([1], "int32", "global")
        X_1 = T.Buffer((1,), "int32", data=X)
        with T.attr(X, "double_buffer_scope", 1):
            {fill}
        {use}
    """
    text = tir.transform.InjectDoubleBuffer()(module(body)).script()
    assert "T.allocate([1]" in text
    assert "double_buffer" not in text


@pytest.mark.parametrize(("shape", "index", "is_doubled"), [("(4,)", "j", True), ("(2, 2)", "j // 2, j % 2", False)])
def test_flat_memory_is_doubled_whatever_the_ranks_of_other_buffers(shape: str, index: str, is_doubled: bool) -> None:
    text = f"""#tvms 1
T.prim_func main(A: T.Buffer((3, 4), "int32"), B: T.Buffer((3, 4), "int32")):
    for i in range(3):
        X = T.allocate([4], "int32", "global")
        X_1 = T.Buffer({shape}, "int32", data=X)
        with T.attr(X, "double_buffer_scope", 1):
            for j in range(4):
                X_1[{index}] = A[i, j]
        for j in range(4):
            B[i, j] = X_1[{index}]
"""
    doubled = tir.transform.InjectDoubleBuffer()(tvms.parse(text)).script()
    assert ("(8,)" in doubled) == is_doubled


def test_passes_on_whole_modules() -> None:
    mod = module("A[0] = x")
    bound = tir.transform.AnnotateEntryFunc()(tir.transform.BindTarget("llvm")(mod))
    assert bound["main"].attrs["target"] == "llvm"
    assert bound["main"].attrs["tir.is_entry_func"].value == 1
    assert len(tir.transform.Filter(lambda function: "target" in function.attrs)(mod).functions) == 0
    assert tir.transform.Apply(lambda function: function.with_attr("seen", 1))(mod)["main"].attrs["seen"] == 1
    with pytest.raises(AttributeError, match="unknown pass 'Nothing'"):
        _ = tir.transform.Nothing


BIND = """
I.ir_module Module:
    T.prim_func exposed(x: T.int32):
        T.func_attr({"global_symbol": "exposed"})
        T.evaluate(x)
    T.prim_func(private=True) internal(x: T.int32):
        T.evaluate(x)
    T.prim_func own(x: T.int32):
        T.func_attr({"global_symbol": "own", "target": T.target("nvptx")})
        T.evaluate(x)
    T.prim_func complete(x: T.int32):
        T.func_attr({"global_symbol": "complete", "target": T.target("cuda", host="llvm -opt-level=1")})
        T.evaluate(x)
    T.prim_func launches(x: T.int32):
        T.func_attr({"global_symbol": "launches", "tir.is_host_func": True})
        T.evaluate(x)
    T.prim_func(private=True) unmarked(x: T.int32):
        T.func_attr({"tir.is_host_func": False})
        T.evaluate(x)
"""


def bound_targets(target: tvms.target.Target) -> dict[str, str]:
    """The attribute "target" of each function of `BIND` as text, after its targets are bound."""
    bound = tir.transform.BindTarget(target)(tvms.parse(f"#tvms 1\n{BIND}"))
    assert not any("tir.is_host_func" in function.attrs for function in bound.functions.values())
    return {
        name: str(bound[name].attrs["target"])
        for name in ("exposed", "internal", "own", "complete", "launches", "unmarked")
    }


def test_functions_that_are_called_from_outside_state_the_host() -> None:
    found = bound_targets(tvms.target.Target("cuda -arch=sm_80", host="llvm -opt-level=0"))
    host = '"host": {"kind": "llvm", "opt-level": 0}'
    assert found == {
        "exposed": f'T.target({{"arch": "sm_80", {host}, "kind": "cuda"}})',
        "internal": "cuda -arch=sm_80",
        "own": f'T.target({{{host}, "kind": "nvptx"}})',
        "complete": 'T.target({"host": {"kind": "llvm", "opt-level": 1}, "kind": "cuda"})',
        "launches": "llvm -opt-level=0",
        "unmarked": "cuda -arch=sm_80",
    }


def test_targets_read_their_host_from_dictionaries() -> None:
    target = tvms.target.Target({"kind": "cuda", "arch": "sm_80", "host": {"kind": "llvm", "opt-level": 1}})
    assert (target, target.host) == ("cuda -arch=sm_80", "llvm -opt-level=1")
    bound = tir.transform.BindTarget(tvms.target.Target("cuda -arch=sm_80", host="llvm"))(module("A[0] = x"))
    own = target_of(bound["main"])
    assert (own, own.host) == ("cuda -arch=sm_80", "llvm")


def test_host_functions_are_for_the_processor_if_no_host_is_given() -> None:
    found = bound_targets(tvms.target.Target("cuda -arch=sm_80"))
    assert (found["exposed"], found["own"], found["launches"]) == (
        "cuda -arch=sm_80", 'T.target({"kind": "nvptx"})', "llvm",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (
            'for j in T.thread_binding(4, "threadIdx.x"):\n A[j] = 1\nfor k in T.thread_binding(8, "threadIdx.x"):\n A[k] = 1',
            "E0417",
        ),
        ('A[0] = A[0] + 1\nfor k in T.thread_binding(8, "threadIdx.x"):\n A[k] = 1', "E0416"),
        ('for k in T.thread_binding(2, "blockIdx.x"):\n A[k] = 1', "E0416"),
    ],
)
def test_threads_that_cannot_be_unified_are_refused(body: str, code: str) -> None:
    text = f'for i in T.thread_binding(2, "blockIdx.x"):\n{indent(body, "    ")}'
    with pytest.raises(tvms.TvmsError, match=code):
        tir.transform.UnifyThreadBinding()(module(text))


def test_data_of_64_bits_are_not_narrowed() -> None:
    for body in (
        'X = T.alloc_buffer((4,), "int64")\nX[0] = T.int64(1)',
        'A[T.cast(T.cast(x, "int64") % T.int64(4294967296), "int32")] = 1',
    ):
        with pytest.raises(tvms.TvmsError, match="E0906"):
            tir.transform.ForceNarrowIndexToInt32()(module(body))


@pytest.mark.parametrize(
    "value",
    [
        "T.clz(i)", "T.clz(i - T.int64(2)) + 1", "T.popcount(i - T.int64(3))", "T.clz(T.cast(i, 'int64') + T.int64(1))",
        "T.bitwise_not(i) + T.shift_right(i, T.int64(1))", "T.if_then_else(i < T.int64(2), T.popcount(~i), i)",
        "T.Cast('int64', T.reinterpret('float64', i) > T.float64(0))",
    ],
)  # fmt: skip
def test_intrinsics_that_count_bits_keep_their_operands(value: str) -> None:
    text = f"""T.prim_func main(A: T.Buffer((T.int64(4),), "int32"), B: T.Buffer((T.int64(4),), "int32")):
    for i in range(T.int64(4)):
        A[i] = T.cast({value}, "int32")
        T.call_extern("int32", "labs", i)
    B[T.ramp(T.int64(0), T.int64(1), 4)] = T.cast(T.broadcast(T.int64(7), 4), "int32x4")
"""
    given = tvms.parse(text)
    narrow = tir.transform.ForceNarrowIndexToInt32()(given)
    assert tvms.verify(narrow) == ()
    assert "range(4)" in str(narrow)
    assert 'T.call_extern("int32", "labs", T.Cast("int64", i))' in str(narrow)
    results = []
    for module in (given, narrow):
        a, b = np.zeros(4, "int32"), np.zeros(4, "int32")
        without_call = str(module).replace('T.call_extern("int32", "labs", ', "T.evaluate(")
        tvms.interpret(tvms.parse(without_call), "main", [a, b])
        results += [a, b]
    np.testing.assert_array_equal(results[0], results[2])
    np.testing.assert_array_equal(results[1], results[3])


@pytest.mark.parametrize(
    ("body", "buffer"), [("v: T.int32 = T.undef()\nA[v] = 5", "A"), ("A[0] = B[T.undef(dtype='int32') + 1]", "B")]
)
def test_undefined_indices_are_refused(body: str, buffer: str) -> None:
    with pytest.raises(tvms.TvmsError) as caught:
        tir.transform.RemoveStoreUndef()(module(body))
    found = [(diagnostic.code, diagnostic.message) for diagnostic in caught.value.diagnostics]
    assert found == [("E0906", f"an index of '{buffer}' is undefined")]


def test_repeated_definitions_are_renamed() -> None:
    x = tir.Var("x", "int32")
    A = tir.decl_buffer((4,), "int32", "A")
    inner = tir.LetStmt(x, tir.Add(x, 1), tir.BufferStore(A, x, [1]))
    body = tir.LetStmt(x, 5, tir.SeqStmt([tir.BufferStore(A, x, [0]), inner, tir.BufferStore(A, x, [2])]))
    loops = [tir.For(x, 0, 4, tir.ForKind.SERIAL, tir.BufferStore(A, x, [x])) for _ in range(2)]
    first, second = (tir.PrimFunc([A], tir.SeqStmt([body, *extra])) for extra in ([], loops))
    found = tir.transform.ConvertSSA()(IRModule({"first": first, "second": second, "third": first}))
    assert all(tir.analysis.verify_ssa(function) for function in found.functions.values())
    defined = [function.params[0] for function in found.functions.values()]
    assert len(set(defined)) == 3
    start = np.zeros(4, "int32")
    run(found, "first", [start])
    assert start.tolist() == [5, 6, 5, 0]
    run(found, "second", [start])
    assert start.tolist() == [0, 1, 2, 3]
    assert tir.transform.ConvertSSA()(found) is found
