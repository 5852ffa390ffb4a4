"""Default schedules for GPUs: which rule takes what, why others decline, and that kernels do what they were made of."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
import tvms
from tvms.codegen.gpu.architectures import MOST_EXTENT
from tvms.codegen.gpu.ptxas import assemble, find_ptxas
from tvms.codegen.gpu.rules import grid
from tvms.codegen.gpu.rules.product import group_of
from tvms.ir import tir
from tvms.ir.interp import run
from tvms.ir.verify import verify
from tvms.testing.oracle import random_inputs

NUMPY: dict[str, Any] = {"bfloat16": ml_dtypes.bfloat16}


def product(
    sizes: tuple[int, int, int], kind: str, result: str, turned: str = "", bias: bool = False, batch: int = 0
) -> str:
    """Return a product whose factors named in `turned` lie column by column."""
    m, n, k = sizes
    first, at = (f"{batch}, ", "vb, ") if batch else ("", "")
    a, b = f"({first}{k}, {m})" if "A" in turned else f"({first}{m}, {k})", f"({first}{k}, {n})"
    b = f"({first}{n}, {k})" if "B" in turned else b
    of_a, of_b = f"A[{at}vk, vi]" if "A" in turned else f"A[{at}vi, vk]", f"B[{at}vk, vj]"
    of_b = f"B[{at}vj, vk]" if "B" in turned else of_b
    if kind != result:
        of_a, of_b = f'T.Cast("{result}", {of_a})', f'T.Cast("{result}", {of_b})'
    c, extra = ("D", f'E: T.Buffer(({n},), "{result}"), ') if bias else ("C", "")
    loops, kinds, names = ("b, i, j, k", "SSSR", "vb, vi, vj, vk") if batch else ("i, j, k", "SSR", "vi, vj, vk")
    lines = [
        f'T.prim_func main(A: T.Buffer({a}, "{kind}"), B: T.Buffer({b}, "{kind}"), {extra}C: T.Buffer(({first}{m}, {n}), "{result}")):',
        *([f'    D = T.alloc_buffer(({first}{m}, {n}), "{result}")'] if bias else []),
        f"    for {loops} in T.grid({first}{m}, {n}, {k}):",
        '        with T.block("matmul"):',
        f'            {names} = T.axis.remap("{kinds}", [{loops}])',
        f"            with T.init():\n                {c}[{at}vi, vj] = T.{result}(0)",
        f"            {c}[{at}vi, vj] = {c}[{at}vi, vj] + {of_a} * {of_b}",
    ]
    if bias:
        lines += [
            f"    for i, j in T.grid({m}, {n}):",
            '        with T.block("relu"):',
            '            vi, vj = T.axis.remap("SS", [i, j])',
            f"            C[vi, vj] = T.max(D[vi, vj] + E[vj], T.{result}(0))",
        ]
    return "\n".join(lines)


def check_product(text: str, arch: str, rule: str, turned: str = "", bias: bool = False) -> None:
    """Compile for simulated threads, in every order, and compare with NumPy; numbers are so small that sums are exact."""
    module = tvms.parse(text)
    executable = tvms.compile(module, target=f"cuda -arch={arch} -simulate=each", level=0)
    assert executable.decisions["main"][0].rule == rule
    function = module.functions["main"]
    assert isinstance(function, tir.PrimFunc)
    *values, result = random_inputs(function, np.random.default_rng(0))
    executable["main"](*values, result)
    a, b = (value.astype("f8") for value in values[:2])
    expected = (a.swapaxes(-1, -2) if "A" in turned else a) @ (b.swapaxes(-1, -2) if "B" in turned else b)
    expected = np.maximum(expected + values[2].astype("f8"), 0) if bias else expected
    step = {"float16": 1e-3, "bfloat16": 1e-2}.get(str(result.dtype), 1e-6)
    np.testing.assert_allclose(result.astype("f8"), expected, atol=step * max(1.0, np.abs(expected).max()))


@pytest.mark.parametrize(
    ("sizes", "kind", "result", "turned", "bias", "arch", "rule"),
    [
        ((33, 70, 50), "float16", "float16", "", True, "sm_80", "tensor cores"),
        ((48, 40, 64), "bfloat16", "float32", "B", False, "sm_90", "tensor cores"),
        ((40, 48, 40), "float16", "float32", "AB", False, "sm_75", "tensor cores"),
        ((33, 34, 37), "float16", "float32", "", False, "sm_80", "tensor cores"),
        ((40, 40, 40), "float16", "float16", "", True, "sm_70", "tiles"),
        ((33, 70, 50), "float32", "float32", "B", True, "sm_70", "tiles"),
        ((50, 33, 20), "float64", "float64", "A", False, "sm_80", "tiles"),
    ],
)
def test_products(
    sizes: tuple[int, int, int], kind: str, result: str, turned: str, bias: bool, arch: str, rule: str
) -> None:
    check_product(product(sizes, kind, result, turned, bias), arch, rule, turned, bias)


def test_products_of_many_matrices() -> None:
    check_product(product((20, 24, 16), "float16", "float32", batch=3), "sm_80", "tensor cores")


ROWS = """
I.ir_module Module:
    R.function main(x: R.Tensor((3, 200), "float32"), g: R.Tensor((200,), "float32"), b: R.Tensor((200,), "float32")):
        y = R.nn.softmax(R.nn.layer_norm(x, g, b, axes=[-1]), axis=-1)
        z = R.nn.softmax(R.reshape(R.concat([x, x], axis=0), (2, 3, 1, 200)), axis=-1)
        return (R.sum(y, axis=[1]), R.max(x), R.mean(x, axis=[0]), z)
"""


def test_rows() -> None:
    module = tvms.relax.transform.LegalizeOps()(tvms.parse(ROWS))
    executable = tvms.compile(module, target="cuda -simulate=each", level=0)
    rules = {"layer_norm": "row", "softmax": "row", "softmax1": "row", "sum": "row", "max": "row", "mean": "element"}
    for name, rule in rules.items():
        function = module.functions[name]
        assert isinstance(function, tir.PrimFunc)
        values = random_inputs(function, np.random.default_rng(0))
        expected, found = [value.copy() for value in values], [value.copy() for value in values]
        run(module, name, expected)
        executable[name](*found)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-5)
        assert str(executable.decisions[name][-1].rule).endswith(f"for each {rule}")


@pytest.mark.parametrize("shape", [(1, 2048), (3, 1, 2048), (1, 4, 2048), (4, 1, 1, 2048)])
def test_axes_of_one_element_do_not_make_rows_columns(shape: tuple[int, ...]) -> None:
    """Such as those of sums that keep their dimensions."""
    loops, rest = ", ".join("ijk"[: len(shape) - 1]), ", ".join("abc"[: len(shape) - 1])
    read = ", ".join(name for name, size in zip("abc", shape[:-1], strict=False) if size > 1) or "0"
    inner = tuple(size for size in shape[:-1] if size > 1) or (1,)
    text = f"""
T.prim_func main(A: T.Buffer({(*inner, shape[-1])}, "float32"), S: T.Buffer({shape[:-1]}, "float32")):
    for {loops}, r in T.grid{shape}:
        with T.block("sum"):
            {rest}, d = T.axis.remap("{"S" * (len(shape) - 1)}R", [{loops}, r])
            with T.init():
                S[{rest}] = T.float32(0)
            S[{rest}] = S[{rest}] + A[{read}, d]
"""
    executable = tvms.compile(tvms.parse(text), target="cuda -simulate=each", level=0)
    assert {decision.rule for decision in executable.decisions["main"]} - {None} == {"a block for each row"}
    a, found = np.random.default_rng(0).integers(-9, 9, (*inner, shape[-1])).astype("f4"), np.zeros(shape[:-1], "f4")
    executable["main"](a, found)
    assert np.array_equal(found, a.sum(-1).reshape(shape[:-1]))


COLUMNS = """
T.prim_func main(A: T.Buffer((70, 3, 50), "float32"), x: T.Buffer((70,), "float32"), B: T.Buffer((3, 50), "float32"), C: T.Buffer((3, 50), "float32")):
    for i, j, k in T.grid(3, 50, 70):
        with T.block("product"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                B[vi, vj] = T.float32(0)
            B[vi, vj] = B[vi, vj] + A[vk, vi, vj] * x[vk]
    for i, j, k in T.grid(3, 50, 70):
        with T.block("greatest"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.min_value("float32")
            C[vi, vj] = T.max(A[vk, vi, vj], C[vi, vj])
"""


def test_columns() -> None:
    module = tvms.parse(COLUMNS)
    executable = tvms.compile(module, target="cuda -simulate=each", level=0)
    assert [decision.rule for decision in executable.decisions["main"]] == ["columns", "columns"]
    a, x = (np.random.default_rng(0).integers(-8, 9, shape).astype("f4") / 4 for shape in ((70, 3, 50), (70,)))
    b, c = np.zeros((2, 3, 50), "f4")
    executable["main"](a, x, b, c)
    assert np.array_equal(b, np.tensordot(x, a, 1))
    assert np.array_equal(c, a.max(0))
    found = tvms.compile(tvms.parse(COLUMNS.replace("50", "50000")), target="cuda").decisions["main"]
    assert dict(found[0].declined)["columns"] == "there are enough results for a thread each"


def test_elements_are_read_and_written_sixteen_bytes_at_a_time() -> None:
    text = """
T.prim_func main(A: T.Buffer((8, 1000), "float16"), E: T.Buffer((1000,), "float16"), B: T.Buffer((8, 1000), "float16")):
    for i, j in T.grid(8, 1000):
        with T.block("add"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + E[vj]
"""
    ptx = tvms.emit(tvms.parse(text), "ptx", "cuda -arch=sm_80")
    assert isinstance(ptx, str)
    assert [ptx.count(f"{access}.global.v4.b32") for access in ("ld", "st")] == [2, 1]
    executable = tvms.compile(tvms.parse(text), target="cuda -simulate=each", level=0)
    assert executable.decisions["main"][-1].rule == "a thread for 8 elements"
    a, e = np.ones((8, 1000), "f2"), np.arange(1000, dtype="f2")
    executable["main"](a, e, b := np.zeros((8, 1000), "f2"))
    assert np.array_equal(b, a + e)


def test_transpositions() -> None:
    text = """
T.prim_func main(A: T.Buffer((3, 40, 50), "float32"), B: T.Buffer((50, 3, 40), "float32")):
    for i, j, k in T.grid(50, 3, 40):
        with T.block("turn"):
            vi, vj, vk = T.axis.remap("SSS", [i, j, k])
            B[vi, vj, vk] = A[vj, vk, vi]
"""
    executable = tvms.compile(tvms.parse(text), target="cuda -simulate=each", level=0)
    assert executable.decisions["main"][0].rule == "transpose"
    a = np.arange(6000, dtype="f4").reshape(3, 40, 50)
    executable["main"](a, b := np.zeros((50, 3, 40), "f4"))
    assert np.array_equal(b, a.transpose(2, 0, 1))


def test_rules_say_why_they_decline() -> None:
    text = product((64, 64, 64), "bfloat16", "float32")
    (decision,) = tvms.compile(tvms.parse(text), target="cuda -arch=sm_75").decisions["main"]
    assert str(decision) == (
        "block 'matmul': tiles (gemv: no factor has few rows and meets a large matrix that is contiguous along the sum; "
        "tensor cores: tensor cores multiply 'bfloat16' from sm_80 on; the target is sm_75)"
    )


@pytest.mark.parametrize(
    ("kind", "arch", "registers", "shared"),
    [("float16", "sm_80", 232, 48 << 10), ("float16", "sm_90", 232, 48 << 10), ("float32", "sm_80", 128, 17 << 10)],
)
def test_large_products_stay_in_registers(kind: str, arch: str, registers: int, shared: int) -> None:
    """So that two blocks of 128 threads, or of 256, run at once on a multiprocessor."""
    tool = find_ptxas()
    if tool is None:
        pytest.skip("there is no ptxas")
    ptx = tvms.emit(tvms.parse(product((4096, 4096, 4096), kind, "float32")), "ptx", f"cuda -arch={arch}")
    assert isinstance(ptx, str)
    (usage,) = assemble(ptx, arch, tool).usage.values()
    assert (usage.stack_bytes, usage.spill_bytes) == (0, 0)
    assert usage.registers <= registers
    assert usage.shared_bytes <= shared


def test_blocks_that_run_together_share_rows_and_columns() -> None:
    """Of 24 × 36 tiles, 132 blocks compute about 12 × 11, not four rows."""
    check_product(product((1536, 2304, 8), "float32", "float32"), "sm_80", "tiles")
    ptx = tvms.emit(tvms.parse(product((8192, 8192, 64), "float16", "float32")), "ptx", "cuda -arch=sm_80")
    assert "%ctaid.x" in str(ptx)
    assert "%ctaid.y" not in str(ptx)


@pytest.mark.parametrize(
    ("rows", "columns", "expected"), [(64, 64, 8), (24, 36, 12), (37, 99, 37), (4, 33, 0), (8, 8, 0)]
)
def test_groups_of_rows(rows: int, columns: int, expected: int) -> None:
    assert group_of(rows, columns, (128, 128)) == expected


TRANSPOSED = """T.prim_func main(A: T.Buffer(({m}, {n}), "float32"), B: T.Buffer(({n}, {m}), "float32")):
    for i, j in T.grid({n}, {m}):
        with T.block("transpose"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vj, vi]
"""
LONG = {
    "rows of float32": product((20_000_000, 64, 64), "float32", "float32"),
    "rows of float16": product((20_000_000, 64, 64), "float16", "float32"),
    "batches of float32": product((64, 64, 32), "float32", "float32", batch=70_000),
    "batches of float16": product((64, 64, 32), "float16", "float32", batch=70_000),
    "rows to transpose": TRANSPOSED.format(m=3_000_000, n=33),
    "columns to transpose": TRANSPOSED.format(m=33, n=3_000_000),
}


@pytest.mark.parametrize("name", LONG)
def test_grids_have_no_more_blocks_than_gpus_launch(name: str) -> None:
    executable = tvms.compile(tvms.parse(LONG[name]), target="cuda -arch=sm_80")
    assert executable.decisions["main"][0].rule != "one thread"
    assert executable.safety["main"].checked == 0


@pytest.mark.parametrize("kind", ["float32", "float16"])
@pytest.mark.parametrize("batch", [0, 3])
def test_folded_grids_of_products(kind: str, batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grid, "MOST_EXTENT", dict.fromkeys(MOST_EXTENT, 1))
    text = product((70, 150, 40), kind, "float32", batch=batch)
    check_product(text, "sm_80", "tensor cores" if kind == "float16" else "tiles")


def test_folded_grids_of_transposes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grid, "MOST_EXTENT", dict.fromkeys(MOST_EXTENT, 1))
    module = tvms.parse(TRANSPOSED.format(m=70, n=100))
    executable = tvms.compile(module, target="cuda -simulate=each", level=0)
    assert executable.decisions["main"][0].rule == "transpose"
    a, b = np.arange(7000, dtype=np.float32).reshape(70, 100), np.zeros((100, 70), np.float32)
    executable["main"](a, b)
    assert (b == a.T).all()


def test_symbolic_grids_are_folded(driver: Any) -> None:
    text = TRANSPOSED.replace(
        'T.prim_func main(A: T.Buffer(({m}, {n}), "float32"), B: T.Buffer(({n}, {m}), "float32")):',
        "T.prim_func main(a: T.handle, b: T.handle):\n    m, n = T.int64(), T.int64()\n"
        '    A = T.match_buffer(a, (m, n), "float32")\n    B = T.match_buffer(b, (n, m), "float32")',
    ).format(m="m", n="n")
    executable = tvms.compile(tvms.parse(text), target="cuda -arch=sm_80")
    driver.show(executable)
    assert executable.safety["main"].checked == 0
    a, b = np.arange(7000, dtype=np.float32).reshape(70, 100), np.zeros((100, 70), np.float32)
    executable["main"](a, b)
    assert (b == a.T).all()
    assert [item[2] for item in driver.asked if item[0] == "launch"] == [(12, 1, 1)]


def test_default_schedules_are_launched(driver: Any) -> None:
    text = product((33, 40, 24), "bfloat16", "float32")
    executable = tvms.compile(tvms.parse(text), target="cuda -arch=sm_80")
    driver.show(executable)
    a, b = (np.ones(shape, ml_dtypes.bfloat16) for shape in ((33, 24), (24, 40)))
    there = [tvms.nd.array(array, tvms.cuda()) for array in (a, b, np.zeros((33, 40), "f4"))]
    executable["main"](*there)
    assert (there[2].numpy() == 24).all()
    launched = [item[1:4] for item in driver.asked if item[0] == "launch"]
    assert launched == [("tvms_main", (2, 2, 1), (32, 2, 2))]


def test_near_memory_is_decided_as_well() -> None:
    text = """
T.prim_func main(A: T.Buffer((4, 256), "float32"), B: T.Buffer((4,256), "float32")):
    total = T.alloc_buffer((4,), "float32", scope="shared")
    for i, k in T.grid(4, 256):
        with T.block("total"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                total[vi] = T.float32(0)
            total[vi] = total[vi] + T.exp(A[vi, vk])
    for i, j in T.grid(4, 256):
        with T.block("shares"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = T.exp(A[vi, vj]) / total[vi]
"""
    executable = tvms.compile(tvms.parse(text), target="cuda -simulate=each", level=0)
    assert executable.decisions["main"][-1].rule == "a block for each row"
    a = np.random.default_rng(0).standard_normal((4, 256), np.float32)
    executable["main"](a, b := np.zeros_like(a))
    np.testing.assert_allclose(b, np.exp(a) / np.exp(a).sum(1, keepdims=True), rtol=1e-5)


MEMORY_OF_A_LOOP = {
    "declared": """m = T.decl_buffer((4,), "int32")""",
    "allocated": """p = T.allocate([4], "int32", "global")
        m = T.decl_buffer((4,), "int32", data=p)""",
    "of a block": """m = T.alloc_buffer((4,), "int32")""",
}


@pytest.mark.parametrize("with_view", [False, True])
@pytest.mark.parametrize("name", MEMORY_OF_A_LOOP)
def test_memory_that_a_loop_of_one_thread_allocates_is_local(name: str, with_view: bool) -> None:
    view = 'v = T.decl_buffer((2, 2), "int32", data=m.data)' if with_view else ""
    first = "v[1, 0]" if with_view else "m[2]"
    body = f"{MEMORY_OF_A_LOOP[name]}\n        {view}\n        {first} = D[i]\n        D[i + 1] = m[2] + 1"
    if name == "of a block":
        head = "with T.block():\n            vi = T.axis.opaque(7, i)\n            T.reads(D[vi])\n            T.writes(D[vi + 1])\n"
        body = head + "            " + body.replace("[i", "[vi").replace("\n", "\n    ")
    module = tvms.parse(f'T.prim_func main(D: T.Buffer((8,), "int32")):\n    for i in range(7):\n        {body}\n')
    executable = tvms.compile(module, target="cuda -simulate=each", level=0)
    executable["main"](found := np.full(8, 5, "int32"))
    assert found.tolist() == list(range(5, 13))
    assert executable.decisions["main"][-1].rule == "one thread"


EMPTY = {
    "product": """T.prim_func main(A: T.Buffer((M, K), "float32"), W: T.Buffer((K, N), "float32"), C: T.Buffer((M, N), "float32")):
    for i, j, k in T.grid(M, N, K):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * W[vk, vj]
""",
    "transposition": """T.prim_func main(A: T.Buffer((M, N), "float32"), C: T.Buffer((N, M), "float32")):
    for i, j in T.grid(M, N):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vj, vi] = A[vi, vj] + T.float32(1)
""",
    "row sums": """T.prim_func main(A: T.Buffer((M, K), "float32"), C: T.Buffer((M,), "float32")):
    for i, k in T.grid(M, K):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi, vk]
""",
}


@pytest.mark.parametrize("sizes", [(0, 5, 5), (5, 0, 5), (5, 5, 0), (0, 0, 0), (64, 64, 0)])
@pytest.mark.parametrize("name", EMPTY)
def test_loops_without_iterations_compile(name: str, sizes: tuple[int, int, int]) -> None:
    text = EMPTY[name]
    for letter, size in zip("MNK", sizes, strict=True):
        text = text.replace(letter, str(size))
    module = tvms.parse(text)
    function: Any = module["main"]
    shapes = [[extent.value for extent in function.buffer_map[param].shape] for param in function.params]
    wanted, found = ([np.full(shape, 3, "float32") for shape in shapes] for _ in range(2))
    tvms.interpret(module, "main", wanted)
    tvms.compile(module, target="cuda -simulate=each")["main"](*found)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(a, b)
    assert "visible .entry" in str(tvms.emit(module, "ptx", "cuda -arch=sm_90"))


@pytest.mark.parametrize("turned", ["", "A", "B", "AB"])
@pytest.mark.parametrize(
    ("rule", "knobs"),
    [("tensor_core_tiles", {"arch": 75}), ("tensor_core_tiles", {"arch": 80}), ("thread_tiles", {})],
)
def test_kernels_of_products_are_valid_in_any_layout(rule: str, knobs: dict[str, int], turned: str) -> None:
    """Only the last index of an access may be a vector, whichever dimension of a factor is contiguous."""
    schedule = tvms.Schedule(tvms.parse(product((32, 32, 32), "float16", "float32", turned)))
    getattr(schedule, rule)(schedule.get_block("matmul"), rows=32, columns=32, **knobs)
    assert not [problem.message for problem in verify(schedule.mod)]
