"""The lowering, step by step: each step prints as text that reads back, and computes what the program computes."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvms
from tvms.codegen.lower import BLOCK_STEPS, LOOP_STEPS, ORDER, passes
from tvms.dsl.cli import main
from tvms.ir import tir
from tvms.ir.equal import structural_equal
from tvms.ir.interp import run
from tvms.ir.passes.pipelines import get_pipeline
from tvms.ir.passes.transform import PassContext, get_pass
from tvms.ir.programs import as_module
from tvms.ir.verify import verify
from tvms.ir.visit import walk

SAMPLES = Path(__file__).parents[2] / "samples"
Array = np.ndarray[Any, Any]

PROGRAMS = {
    "product": """
T.prim_func main(A: T.Buffer((6, 5), "float32"), B: T.Buffer((5, 7), "float32"), C: T.Buffer((6, 7), "float32")):
    T.func_attr({"tir.noalias": True})
    for i, j, k in T.grid(6, 7, 5):
        with T.block("matmul"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
""",
    "stages": """
T.prim_func main(A: T.Buffer((40,), "float32"), B: T.Buffer((40,), "bfloat16"), C: T.Buffer((40,), "float32")):
    X = T.alloc_buffer((48,), "float32")
    Y = T.alloc_buffer((40,), "bfloat16")
    for i in range(48):
        with T.block("pad"):
            vi = T.axis.spatial(48, i)
            X[vi] = T.if_then_else(4 <= vi and vi < 44, A[vi - 4], T.float32(0))
    for i in range(40):
        with T.block("half"):
            vi = T.axis.spatial(40, i)
            Y[vi] = B[vi] + B[vi]
    for i0 in T.parallel(6):
        for i1 in T.vectorized(8):
            with T.block("sum"):
                vi = T.axis.spatial(40, i0 * 8 + i1)
                T.where(i0 * 8 + i1 < 40)
                C[vi] = X[vi] + X[vi + 8] + T.Cast("float32", Y[vi])
""",
    "tiles": """
T.prim_func main(A: T.Buffer((30, 16), "float32"), C: T.Buffer((30, 16), "float32")):
    X = T.alloc_buffer((34, 16), "float32")
    S = T.alloc_buffer((30,), "float32")
    for i0 in range(4):
        for a, j in T.grid(10, 16):
            with T.block("rows"):
                vi = T.axis.spatial(34, i0 * 8 + a)
                vj = T.axis.spatial(16, j)
                T.where(i0 * 8 + a < 32)
                X[vi, vj] = T.if_then_else(vi < 30, A[vi, vj], T.float32(1))
        for b in range(8):
            for j in range(16):
                with T.block("sum"):
                    vi = T.axis.spatial(30, i0 * 8 + b)
                    vj = T.axis.reduce(16, j)
                    T.where(i0 * 8 + b < 30)
                    with T.init():
                        S[vi] = T.float32(0)
                    S[vi] = S[vi] + X[vi, vj] * X[vi + 1, vj]
            for j in range(16):
                with T.block("out"):
                    vi = T.axis.spatial(30, i0 * 8 + b)
                    vj = T.axis.spatial(16, j)
                    T.where(i0 * 8 + b < 30)
                    C[vi, vj] = S[vi] + X[vi, vj]
""",
    "rolling": """
T.prim_func main(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    X = T.alloc_buffer((8,), "float32")
    for i in range(8):
        with T.block("once"):
            vi = T.axis.opaque(8, i)
            T.reads(A[vi])
            T.writes(X[vi])
            X[vi] = A[vi] * T.float32(2)
        with T.block("both"):
            vi = T.axis.opaque(8, i)
            T.reads(X[T.max(vi - 1, 0):T.max(vi - 1, 0) + 2])
            T.writes(C[vi])
            C[vi] = X[vi] + X[T.max(vi - 1, 0)]
""",
    "choices": """
T.prim_func main(A: T.Buffer((6, 16), "float32"), n: T.int32, C: T.Buffer((6, 16), "float32")):
    for i, j in T.grid(6, 16):
        if n > 3:
            if i < 4:
                C[i, j] = A[i, j] * T.float32(2)
        else:
            C[i, j] = A[5 - i, j]
""",
    "copies through registers": """
T.prim_func main(A: T.Buffer((8, 4, 6), "float32"), C: T.Buffer((8, 4, 6), "float32")):
    X = T.alloc_buffer((4, 6), "float32", scope="shared")
    for i in T.serial(8, annotations={"software_pipeline_stage": [0, 0, 0, 1, 1], "software_pipeline_order": [0, 2, 3, 1, 4]}):
        for j, k in T.grid(4, 6):
            with T.block("load"):
                vi, vj, vk = T.axis.remap("SSS", [i, j, k])
                T.where(k < 5)
                T.reads(A[vi, vj, vk])
                T.writes(X[vj, vk])
                T.block_attr({"double_buffer_scope": 0, "tir.manifest_shared_memory_local_stage": 1})
                X[vj, vk] = A[vi, vj, vk] * T.float32(2)
        for j in T.serial(4, annotations={"software_pipeline_stage": [0, 1], "software_pipeline_order": [0, 1]}):
            with T.block("step"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(X[vj, 0:5])
                T.writes(C[vi, vj, 0:5])
                Y = T.alloc_buffer((5,), "float32")
                for k in range(5):
                    Y[k] = X[vj, k] + T.float32(1)
                for k in range(5):
                    C[vi, vj, k] = Y[k]
""",
    "pipeline": """
T.prim_func main(A: T.Buffer((16, 4), "float32"), C: T.Buffer((16, 4), "float32")):
    for i in T.serial(16, annotations={"software_pipeline_stage": [0, 1, 3], "software_pipeline_order": [2, 0, 1]}):
        with T.block(""):
            T.reads(A[i, 0:4])
            T.writes(C[i, 0:4])
            X = T.alloc_buffer((4,), "float32")
            Y = T.alloc_buffer((4,), "float32")
            for j in range(4):
                with T.block("load"):
                    T.reads(A[i, j])
                    T.writes(X[j])
                    X[j] = A[i, j] * T.float32(2)
            for j in range(4):
                with T.block("add"):
                    T.reads(X[j])
                    T.writes(Y[j])
                    Y[j] = X[j] + T.float32(1)
            for j in range(4):
                with T.block("store"):
                    T.reads(X[j], Y[3 - j])
                    T.writes(C[i, j])
                    C[i, j] = X[j] * Y[3 - j]
""",
}


def arguments(module: Any) -> list[Array]:
    """Random arrays for the one function."""
    random = np.random.default_rng(0)
    function, numpy_dtype = module.functions["main"], tvms.ir.numpy_dtype.numpy_dtype
    buffers = [function.buffer_map.get(param) for param in function.params]
    return [
        np.array(5, "i4") if buffer is None else
        random.standard_normal([size.value for size in buffer.shape]).astype(numpy_dtype(buffer.dtype))
        for buffer in buffers
    ]  # fmt: skip


@pytest.mark.deep(4)
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("is_scheduled", [False, True])
def test_every_step_reads_back_and_computes_the_same(name: str, is_scheduled: bool) -> None:
    module = tvms.parse(f"#tvms 1\nI.ir_module Module:\n{PROGRAMS[name].replace(chr(10), chr(10) + '    ')}")
    expected = arguments(module)
    run(module, "main", expected)
    steps = [*(["ApplyDefaultSchedule"] if is_scheduled else []), *ORDER]
    steps.insert(-1, "CommonSubexprElimTIR")
    seen = arguments(module)
    for step in steps:
        module = get_pass(step)(module)
        again = tvms.parse(module.script())
        assert structural_equal(module, again), step
        if step != "FlattenSignature":
            values = [array.copy() for array in seen]
            run(again, "main", values)
            for value, wanted in zip(values, expected, strict=True):
                np.testing.assert_allclose(value.astype("f4"), wanted.astype("f4"), rtol=1e-5, atol=1e-5, err_msg=step)


def test_the_pipeline_is_what_functions_are_compiled_by() -> None:
    assert passes.__doc__
    module = tvms.parse(PROGRAMS["product"])
    module = tvms.ir.IRModule({"main": module}) if isinstance(module, tvms.ir.tir.PrimFunc) else module
    with PassContext(opt_level=3):
        lowered = get_pipeline("lower")(module)
    assert structural_equal(lowered.functions["main"], tvms.codegen.lower.lower(module.functions["main"], "prove"))


def test_the_steps_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["opt", str(SAMPLES / "02_matmul.tvms"), "--passes", "lower", "--print-after-all"]) == 0
    out = capsys.readouterr().out
    said = [line.removeprefix("# --- after ") for line in out.splitlines() if line.startswith("# --- after ")]
    assert said == [*ORDER, "lower", "sequential"]


def test_the_steps_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["opt", "--list"]) == 0
    said = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert set(LOOP_STEPS) | set(BLOCK_STEPS) < set(said)


def test_loops_are_parted_where_a_guard_begins_to_matter() -> None:
    module = tvms.parse(f"#tvms 1\nI.ir_module Module:\n{PROGRAMS['stages'].replace(chr(10), chr(10) + '    ')}")
    for step in (*BLOCK_STEPS, "LoopPartition"):
        module = get_pass(step)(module)
    text = module.script()
    assert (
        text[text.index("        for i0") :]
        == """\
        for i0 in T.parallel(5):
            for i1 in T.vectorized(8):
                C[i0 * 8 + i1] = X[i0 * 8 + i1] + X[i0 * 8 + i1 + 8] + T.Cast("float32", Y[i0 * 8 + i1])
        for i0 in range(5, 6):
            for i1 in T.vectorized(8):
                if i0 * 8 + i1 < 40:
                    C[i0 * 8 + i1] = X[i0 * 8 + i1] + X[i0 * 8 + i1 + 8] + T.Cast("float32", Y[i0 * 8 + i1])"""
    )


@pytest.mark.parametrize(
    "guard", ["i * 8 + j < 37", "i * 8 + j <= 36", "37 > i * 8 + j", "36 >= 8 * i + j", "j + i * 8 - 37 < 0"]
)
@pytest.mark.parametrize("size", [4, 5, 9])
def test_parted_loops_do_what_they_did(guard: str, size: int, agree: Any, numbers: Any) -> None:
    text = f"""
T.prim_func main(A: T.Buffer((72,), "int32"), B: T.Buffer((72,), "int32")):
    for i in range({size}):
        for j in range(8):
            if {guard} and A[i * 8 + j] > 0:
                B[i * 8 + j] = A[i * 8 + j] + i
"""
    agree(text, numbers((72,), "int32"), numbers((72,), "int32"))


def lowered(name: str, *steps: str) -> str:
    """What the steps make of a program, as text."""
    module = tvms.parse(f"#tvms 1\nI.ir_module Module:\n{PROGRAMS[name].replace(chr(10), chr(10) + '    ')}")
    for step in steps:
        module = get_pass(step)(module)
    return module.script()


def test_buffers_are_as_small_as_their_use() -> None:
    steps = itertools.takewhile(lambda step: step != "LowerOpaqueBlock", BLOCK_STEPS)
    found = [line.strip() for line in lowered("tiles", *steps).splitlines() if "alloc_buffer" in line]
    assert found == ["X = T.alloc_buffer((10, 16))", "S = T.alloc_buffer((1,))"]


def test_what_an_iteration_leaves_to_the_next_stays_outside() -> None:
    assert "X = T.alloc_buffer((8,))" in lowered(
        "rolling", "ConvertBlocksToOpaque", "PlanAndUpdateBufferAllocationLocation"
    )
    assert lowered("rolling", *BLOCK_STEPS).index("X = T.") < lowered("rolling", *BLOCK_STEPS).index("for i")


def test_a_declared_region_without_access_does_not_outlive_its_buffer() -> None:
    module = tvms.parse("""T.prim_func main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    X = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("load"):
            T.reads(A[i])
            T.writes(X[i])
            X[i] = A[i]
        with T.block("use"):
            T.reads(X[i])
            T.writes(B[i])
            B[i] = T.float32(2)
""")
    for name in ("ConvertBlocksToOpaque", "PlanAndUpdateBufferAllocationLocation"):
        module = get_pass(name)(module)
    assert not [problem for problem in verify(module) if problem.severity == "error"]
    assert "T.reads(X" not in module.script()


def test_conditions_stand_before_the_loops_that_do_not_change_them() -> None:
    text = lowered("choices", "HoistIfThenElse")
    assert [line.strip() for line in text.splitlines() if line.strip().startswith(("for", "if", "else"))] == [
        "if n > 3:", "for i in range(6):", "if i < 4:", "for j in range(16):", "else:", "for i, j in T.grid(6, 16):",
    ]  # fmt: skip


def test_a_copy_through_registers_is_two_statements_of_a_pipeline() -> None:
    name = "copies through registers"
    divided = lowered(name, "ConvertBlocksToOpaque", "ManifestSharedMemoryLocalStage")
    assert 'X_local = T.alloc_buffer((4, 6), scope="local")' in divided
    assert divided.count("T.where(k < 5)") == 2
    text = lowered(name, *itertools.takewhile(lambda step: step != "LowerOpaqueBlock", BLOCK_STEPS))
    assert [line.strip() for line in text.splitlines() if "alloc_buffer" in line] == [
        'X = T.alloc_buffer((2, 4, 6), scope="shared")', 'X_local = T.alloc_buffer((4, 5), scope="local")', "Y = T.alloc_buffer((2, 5))",
    ]  # fmt: skip


def test_stages_run_for_several_iterations_at_a_time() -> None:
    text = lowered("pipeline", "InjectSoftwarePipeline")
    assert [line.strip() for line in text.splitlines() if "alloc_buffer" in line] == [
        "X = T.alloc_buffer((4, 4))",
        "Y = T.alloc_buffer((3, 4))",
    ]
    assert text.count("for i in") == 3
    assert "software_pipeline" not in text


@pytest.mark.parametrize(
    ("annotations", "message"),
    [
        ("[0, 1], 'software_pipeline_order': [0, 1, 2]", "the loop has 3 statements, but 'software_pipeline_stage' has 2 numbers"),
        ("[0, 1, 1], 'software_pipeline_order': [0, 1, 1]", "'software_pipeline_order' does not number the statements from 0 to 2"),
        ("[1, 0, 1], 'software_pipeline_order': [0, 1, 2]", "statement 1 of the loop would run before statement 0, and both access 'X'"),
        ("[0, 1, 1], 'software_pipeline_order': [0, 2, 1]", "statement 2 of the loop would run before statement 1, and both access 'Y'"),
        ("[-1, 0, 1], 'software_pipeline_order': [0, 1, 2]", "'software_pipeline_stage' has a stage before the first one: -1"),
        ("'012', 'software_pipeline_order': [0, 1, 2]", "'software_pipeline_stage' is not a list of integers"),
        ("[0, 1, 1], 'software_pipeline_order': [0, 1, 2], 'software_pipeline_async_stages': [2]", "'software_pipeline_async_stages' names stage 2, but no statement runs in it"),
    ],
)  # fmt: skip
def test_what_is_no_pipeline_is_refused(annotations: str, message: str) -> None:
    text = PROGRAMS["pipeline"].replace('[0, 1, 3], "software_pipeline_order": [2, 0, 1]', annotations)
    module = tvms.parse(f"#tvms 1\nI.ir_module Module:\n{text.replace(chr(10), chr(10) + '    ')}")
    with pytest.raises(tvms.TvmsError) as caught:
        get_pass("InjectSoftwarePipeline")(module)
    assert [(diagnostic.code, diagnostic.message) for diagnostic in caught.value.diagnostics] == [("E0616", message)]


PREDICATED = """
T.prim_func main(A: T.Buffer((8, 4), "int32"), B: T.Buffer((8, 4), "int32")):
    for i in T.serial(8, annotations={"software_pipeline_stage": STAGES, "software_pipeline_order": ORDERS}):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            T.where(3 <= i)
            T.reads(A[vi, 0:4])
            T.writes(B[vi, 0:4])
            for j in range(2):
                B[vi, j] = A[vi, j] + 1
            for j in range(2):
                B[vi, j + 2] = A[vi, j + 2] * 2
"""


def test_a_pipeline_keeps_the_predicate_of_its_only_statement(agree: Any, numbers: Any) -> None:
    text = PREDICATED.replace("STAGES", "[0]").replace("ORDERS", "[0]")
    agree(text, numbers((8, 4), "int32"), numbers((8, 4), "int32"))


def test_the_parts_of_a_predicated_block_are_one_statement() -> None:
    module = tvms.parse(PREDICATED.replace("STAGES", "[0, 1]").replace("ORDERS", "[0, 1]"))
    with pytest.raises(tvms.TvmsError) as caught:
        tvms.compile(module, schedule=False)
    message = "the loop has 1 statement, but 'software_pipeline_stage' has 2 numbers"
    assert [(diagnostic.code, diagnostic.message) for diagnostic in caught.value.diagnostics] == [("E0616", message)]


def test_stages_use_one_buffer_for_the_same_memory() -> None:
    module = tvms.parse("""
T.prim_func main(A: T.Buffer((3,), "int32"), B: T.Buffer((3,), "int32")):
    M = T.alloc_buffer((3,), "int32")
    V = T.decl_buffer((3,), "int32", data=M.data)
    for i in T.serial(3, annotations={"software_pipeline_stage": [0, 1], "software_pipeline_order": [0, 1]}):
        for j in range(3):
            V[j] = A[i] + 1
        for j in range(3):
            B[j] = M[j] - B[j]
""")
    with pytest.raises(tvms.TvmsError) as caught:
        tvms.compile(module, schedule=False)
    message = "two stages access the same memory, as 'V' and as 'M'"
    assert [(diagnostic.code, diagnostic.message) for diagnostic in caught.value.diagnostics] == [("E0616", message)]


def test_a_parallel_loop_is_no_pipeline() -> None:
    module = tvms.parse(PREDICATED.replace("STAGES", "[0]").replace("ORDERS", "[0]").replace("T.serial", "T.parallel"))
    with pytest.raises(tvms.TvmsError) as caught:
        tvms.compile(module, schedule=False)
    assert [diagnostic.message for diagnostic in caught.value.diagnostics] == [
        "the loop is parallel, so its iterations have no order"
    ]


def test_buffers_that_take_turns_share_memory(agree: Any, numbers: Any) -> None:
    names = ["A", "X", "Y", "Z", "W", "B"]
    sizes = [40, 40, 48, 64, 40, 40]
    text = 'T.prim_func main(A: T.Buffer((40,), "float32"), B: T.Buffer((40,), "float32")):\n'
    text += "".join(
        f'    {name} = T.alloc_buffer(({size},), "float32")\n'
        for name, size in zip(names[1:5], sizes[1:5], strict=True)
    )
    for number, (source, target) in enumerate(itertools.pairwise(names)):
        text += f"""\
    for i in range(40):
        with T.block("stage{number}"):
            vi = T.axis.spatial(40, i)
            {target}[vi] = {source}[39 - vi] + T.float32({number})
"""
    module = tvms.parse(f"#tvms 1\nI.ir_module Module:\n    {text.replace(chr(10), chr(10) + '    ')}")
    for step in (
        *(block_step for block_step in BLOCK_STEPS if block_step != "CompactBufferAllocation"),
        "FlattenBuffer",
        "StorageRewrite",
    ):
        module = get_pass(step)(module)
    allocated = [line.strip() for line in module.script().splitlines() if "T.allocate" in line]
    assert allocated == [
        'X = T.allocate([64], "float32", "global")',
        'Y = T.allocate([48], "float32", "global")',
    ]
    agree(text, numbers((40,), "float32"), numbers((40,), "float32"))


def test_flat_buffers_end_after_the_last_element(random: np.random.Generator) -> None:
    for _ in range(60):
        shape = [int(size) for size in random.integers(0, 5, random.integers(1, 4))]
        strides = [int(stride) for stride in random.integers(-2, 6, len(shape))] if random.integers(2) else []
        offset = int(random.integers(0, 9))
        view = f"V = T.decl_buffer({tuple(shape)}, data=A.data, strides={strides}, elem_offset={offset})"
        store = f"V[{', '.join('0' for _ in shape)}] = T.float32(1)"
        text = f'T.prim_func main(A: T.Buffer((999,), "float32")):\n    {view}\n    {store}\n'
        module = get_pass("FlattenBuffer", index_dtype="int64")(as_module(tvms.parse(text)))
        (flat,) = (node.buffer for node in walk(module.functions["main"]) if isinstance(node, tir.BufferStore))
        steps = strides or [int(np.prod(shape[place + 1 :])) for place in range(len(shape))]
        reach = sum(max((size - 1) * step, 0) for size, step in zip(shape, steps, strict=True))
        assert str(flat.shape[0]) == f"T.int64({offset + (reach + 1 if all(shape) else 0)})", view


PIPELINE_OF_UNKNOWN_SIZES = """
T.prim_func main(A: T.Buffer((3, 4)), Y: T.Buffer((3, 4)), k: T.int32, n: T.int32):
    for i in T.serial(k, annotations={"software_pipeline_stage": [0, 1], "software_pipeline_order": [0, 1]}):
        with T.block("step"):
            vi = T.axis.opaque(k, i)
            T.reads(A[0:3, 0:4])
            T.writes(Y[0:3, 0:4])
            M = T.alloc_buffer((n,))
            for j in range(n):
                with T.block("load"):
                    vj = T.axis.spatial(n, j)
                    M[vj] = A[vi, vj] + T.float32(1)
            for j in range(n):
                with T.block("store"):
                    vj = T.axis.spatial(n, j)
                    Y[vi, vj] = M[vj]
"""


@pytest.mark.parametrize(("k", "n", "code"), [(3, 4, ""), (2, -1, "E0717"), (0, -1, ""), (1, 0, ""), (0, 3, "")])
def test_memory_of_a_pipeline_is_checked_before_it_is_allocated(k: int, n: int, code: str) -> None:
    """Only if there is an iteration, as the interpreter does."""
    module = tvms.parse(PIPELINE_OF_UNKNOWN_SIZES)
    for call in (tvms.compile(module)["main"], lambda *args: run(module, "main", args)):
        a, y = np.ones((3, 4), np.float32), np.zeros((3, 4), np.float32)
        if code:
            with pytest.raises(tvms.TvmsError) as caught:
                call(a, y, k, n)
            assert caught.value.diagnostics[0].code == code
        else:
            call(a, y, k, n)
            assert y.sum() == 2 * k * n


CHOICES = """
T.prim_func main(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32"), k: T.int32):
    x = T.int32()
    for i in T.unroll({extent}):
        B[i] = {value}
"""


@pytest.mark.parametrize(
    ("value", "values"),
    [
        ("T.if_then_else(i == 0, A[0], T.if_then_else(i < 2, A[1] * 2, A[2] * 3))", ["A[0]", "A[1] * 2", "A[2] * 3"]),
        ("T.Select(i != 1, A[3], k)", ["A[3]", "k", "A[3]"]),
        ("T.Select(i >= k, A[3], k)", ["T.Select(0 >= k, A[3], k)", "T.Select(1 >= k, A[3], k)", "T.Select(2 >= k, A[3], k)"]),
        ("T.Select(i > 0, 7, T.truncdiv(7, k))", ["T.Div(7, k)", *["T.Select(T.bool(True), 7, T.Div(7, k))"] * 2]),
    ],
)  # fmt: skip
def test_unrolled_iterations_make_their_choices(value: str, values: list[str]) -> None:
    module = as_module(tvms.parse(CHOICES.format(extent=3, value=value)))
    text = str(get_pass("UnrollLoop")(module))
    assert [line.split(" = ")[1] for line in text.splitlines() if line.strip().startswith("B[")] == values


def test_unrolled_choices_bind_variables_once() -> None:
    bound = "T.Let(x * x, where={x: A[i]})"
    value = f"T.if_then_else(i == 0, k, T.if_then_else(i == 3, k, {bound}))"
    module = as_module(tvms.parse(CHOICES.format(extent=4, value=value)))
    unrolled = get_pass("UnrollLoop")(module)
    assert verify(unrolled) == ()


@pytest.mark.parametrize(
    ("name", "option", "value", "message"),
    [
        (
            "UnrollLoop", "tir.UnrollLoop", {"auto_max_step": "many"},
            "error[E0902]: option 'tir.UnrollLoop': Expected `int`, got `str` - at `$.auto_max_step`\n"
            "  = help: its fields are: auto_max_step, auto_max_depth, auto_max_extent, explicit_unroll, unroll_local_access",
        ),
        (
            "HoistIfThenElse", "tir.HoistIfThenElse", {"hoist": True},
            "error[E0902]: option 'tir.HoistIfThenElse': Object contains unknown field `hoist`\n"
            "  = help: its fields are: support_block_scope_hoisting",
        ),
    ],
)  # fmt: skip
def test_wrong_options_of_the_context(name: str, option: str, value: dict[str, object], message: str) -> None:
    with pytest.raises(tvms.TvmsError) as raised, PassContext(config={option: value}):
        get_pass(name)(tvms.parse(PROGRAMS["product"]))
    assert str(raised.value) == message
