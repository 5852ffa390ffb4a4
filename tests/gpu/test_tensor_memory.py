"""Products in tensor memory: layouts and descriptors against models of their own, interpreter = simulation = NumPy, mistakes are found."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import tvms
from gpu.tensor_memory_programs import one_product, product_by_roles, product_of_boxes, product_of_tiles
from gpu.test_tensor_copies import module
from gpu.warpgroup_programs import LAYOUTS, NUMPY
from tvms.codegen.build import Settings
from tvms.codegen.gpu.ptxas import assemble, find_ptxas
from tvms.codegen.gpu.races import find_races
from tvms.ir.base import IRModule
from tvms.ir.interp import run
from tvms.ir.tensor_memory import COLUMNS, TensorProduct, matrix_descriptor
from tvms.ir.warpgroups import Tile

ORDERS = ("ascending", "descending", "random")
PROGRAMS: dict[str, Any] = {"boxes": product_of_boxes, "tiles": product_of_tiles, "roles": product_by_roles}


def changed(name: str, *changes: tuple[str, str]) -> tuple[IRModule, list[Any]]:
    """Return a program with some parts of its text replaced, and its arguments."""
    text, args, expected = PROGRAMS[name]("float16")
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return module(text), [*args, np.zeros_like(expected)]


def check_everywhere(text: str, args: list[Any], expected: Any) -> None:
    """Check the result of a program in the interpreter and in the simulation, each in three orders of threads."""
    program = module(text)
    for order in ORDERS:
        run(program, "main", [*args, found := np.zeros_like(expected)], track=True, thread_order=order)  # type: ignore[arg-type]
        assert np.array_equal(found, expected), order
    tvms.compile(program, target="cuda -simulate=each", level=0)["main"](*args, found := np.zeros_like(expected))
    assert np.array_equal(found, expected)


def assembled(text: str, arch: str = "sm_100a") -> str:
    """Return the PTX of a program, which assembles without spills and warnings."""
    ptx, tool = tvms.emit(module(text), "ptx", f"cuda -arch={arch}", Settings(bounds="trust")), find_ptxas()
    assert isinstance(ptx, str)
    if tool is not None:
        made = assemble(ptx, arch, tool)
        if "is not defined for option" not in made.problem:
            assert made.image, made.problem
            assert not made.warnings
            assert all(usage.spill_bytes == 0 == usage.stack_bytes for usage in made.usage.values())
    return ptx


# --- Layouts and descriptors --------------------------------------------------------------------------------------


@pytest.mark.deep(5)
@pytest.mark.parametrize("n", [16, 48, 96, 208, 256])
@pytest.mark.parametrize("layouts", LAYOUTS, ids="-".join)
def test_factors_and_results_lie_where_the_layouts_say(n: int, layouts: tuple[str, str]) -> None:
    dtype = "float16" if n % 32 else "bfloat16"
    text, args, expected = one_product(n, dtype, layouts)
    check_everywhere(text, args, expected)
    ptx = assembled(text)
    assert ptx.count("tcgen05.mma.cta_group::1.kind::f16 [") == 2
    assert ".shared .align 1024 " in ptx
    wanted = instruction_fields(n, dtype, layouts)
    numbers = {int(found) for found in re.findall(r"mov\.b32 \s*%r\d+, (\d+);", ptx)}
    assert sum(value << _INSTRUCTION[name][0] for name, value in wanted.items()) in numbers


_INSTRUCTION = {
    "sparse index": (0, 2), "sparse": (2, 1), "saturate": (3, 1), "result": (4, 2), "a": (7, 3), "b": (10, 3), "negate a": (13, 1),
    "negate b": (14, 1), "transpose a": (15, 1), "transpose b": (16, 1), "n": (17, 6), "m": (24, 5), "shift": (30, 2),
}  # fmt: skip
"""The first bit and the width of each field of an instruction descriptor of kind f16."""
_MATRIX = {"start": (0, 14), "leading": (16, 14), "stride": (32, 14), "version": (46, 3), "base": (49, 3), "mode": (52, 1), "swizzle": (61, 3)}  # fmt: skip


def instruction_fields(n: int, dtype: str, layouts: tuple[str, str]) -> dict[str, int]:
    """Return the fields of an instruction descriptor that are not 0, by the tables of the PTX ISA."""
    kind = {"float16": 0, "bfloat16": 1}[dtype]
    transposed = {"transpose a": int(layouts[0] == "col"), "transpose b": int(layouts[1] == "row")}
    return {"result": 1, "a": kind, "b": kind, **transposed, "n": n // 8, "m": 8}


def fields(found: int, table: dict[str, tuple[int, int]]) -> dict[str, int]:
    """Return the fields of a descriptor; fails if any other bit is set."""
    read = {name: found >> first & (1 << bits) - 1 for name, (first, bits) in table.items()}
    assert sum(read[name] << first for name, (first, _) in table.items()) == found
    return read


@pytest.mark.parametrize("dtype", NUMPY)
@pytest.mark.parametrize("layouts", LAYOUTS, ids="-".join)
def test_instruction_descriptors_have_the_fields_of_the_ptx_isa(dtype: str, layouts: tuple[str, str]) -> None:
    for n in COLUMNS:
        a, b = Tile(128, layouts[0] == "row", 0, 1024), Tile(n, layouts[1] == "col", 0, 1024)
        product = TensorProduct(n, {"float16": "f16", "bfloat16": "bf16"}[dtype], a, b)
        read = fields(product.instruction_descriptor, _INSTRUCTION)
        assert read == dict.fromkeys(_INSTRUCTION, 0) | instruction_fields(n, dtype, layouts)


@pytest.mark.parametrize(("leading", "stride"), [(0, 1024), (8192, 1024), (16, 2048), ((1 << 18) - 16, 64)])
def test_matrix_descriptors_have_the_fields_of_the_ptx_isa(leading: int, stride: int) -> None:
    read = fields(matrix_descriptor(Tile(128, True, leading, stride)), _MATRIX)
    known = {"leading": leading // 16, "stride": stride // 16, "version": 1, "swizzle": 2}
    assert read == dict.fromkeys(_MATRIX, 0) | known


# --- Whole kernels ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", NUMPY)
@pytest.mark.parametrize("name", PROGRAMS)
def test_kernels_compute_products(name: str, dtype: str) -> None:
    text, args, expected = PROGRAMS[name](dtype)
    check_everywhere(text, args, expected)


@pytest.mark.deep(3)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_correct_kernels_have_no_races(name: str, order: Any) -> None:
    program, args = changed(name)
    assert not find_races(program, "main", args, order)


IN_ORDER = (
    "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [", "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;",
    "cp.async.bulk.tensor.2d", "tcgen05.mma.cta_group::1.kind::f16 [", "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [",
    "tcgen05.fence::after_thread_sync;", "tcgen05.ld.sync.aligned.32x32b.x64.b32 {", "tcgen05.wait::ld.sync.aligned;",
    "tcgen05.dealloc.cta_group::1.sync.aligned.b32 ",
)  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_kernels_assemble_without_spills(name: str) -> None:
    assembled(PROGRAMS[name]("float16")[0])


@pytest.mark.parametrize("arch", ["sm_100a", "sm_103a"])
def test_ptx(arch: str) -> None:
    text, _, _ = product_of_boxes("bfloat16")
    ptx = assembled(text, arch)
    places = [ptx.index(part) for part in IN_ORDER]
    assert places == sorted(places)
    between = ptx[places[-3] : places[-2]].split("\n")[1:]
    assert not [line for line in between if line.strip() and not line.strip().startswith("//")], (
        "nothing reads the targets"
    )


def test_tensor_memory_may_be_a_buffer_of_two_dimensions() -> None:
    text, args, expected = product_of_tiles("float16")
    for old, new in (
        ('c = T.allocate([128 * 64], "float32", "tmem")', 'c = T.alloc_buffer((128, 64), "float32", scope="tmem")'),
        ("c, 0, 0, 1024", "c.data, 0, 0, 1024"), ("(c, 64)", "(c.data, 64)"), ("c, tx // 32", "c.data, tx // 32"),
    ):  # fmt: skip
        assert old in text
        text = text.replace(old, new)
    check_everywhere(text, args, expected)
    assembled(text)


@pytest.mark.parametrize("arch", ["sm_90a", "sm_100", "sm_120"])
def test_only_data_center_gpus_of_blackwell_have_it(arch: str) -> None:
    with pytest.raises(tvms.TvmsError) as caught:
        tvms.emit(changed("tiles")[0], "ptx", f"cuda -arch={arch}")
    (found,) = caught.value.diagnostics
    assert (found.code, found.message) == ("E0602", f"tensor memory needs sm_100a or sm_103a; the target is {arch}")
    assert found.help == 'compile for Blackwell: "cuda -arch=sm_100a"'


# --- Mistakes -------------------------------------------------------------------------------------------------------

ALLOCATE = "        T.ptx_tcgen05_alloc(c, 64)\n"
RELINQUISH = "        T.ptx_tcgen05_relinquish_alloc_permit()\n"
FREE = "    if tx < 32:\n        T.ptx_tcgen05_dealloc(c, 64)\n"
FREE_IN_LOOP = "        if tx < 32:\n            T.ptx_tcgen05_dealloc(c, 64)\n"
WAIT = "        T.ptx_wait_barrier(0, tile)\n"
AFTER = "        T.ptx_tcgen05_fence_after_thread_sync()\n"
LOAD = "        T.ptx_tcgen05_ld"
WAIT_LOAD = "        T.ptx_tcgen05_wait_ld()\n"
BEFORE = "        T.ptx_tcgen05_fence_before_thread_sync()\n"
PROXY = "        T.ptx_fence_proxy_async()\n"
ISSUER = "        if tx == 0:\n            T.ptx_tcgen05_fence"
COMMIT = "            T.ptx_tcgen05_commit(0)\n"
LAST_BARRIER = '    T.tvm_storage_sync("shared")\n'
EMPTY = "            T.ptx_wait_barrier(step % 2 + 2, step // 2 + 1)\n"
NOT_COMPLETE = "'c' is accessed before the product that changes it is complete"

STOPS: dict[str, tuple[tuple[str, str], str, str]] = {
    "no wait": ((WAIT, ""), "E0710", NOT_COMPLETE),
    "another parity": (("(0, tile)", "(0, tile + 1)"), "E0710", NOT_COMPLETE),
    "a load before the commit": ((COMMIT, f"    {LOAD}(\"float32\", d, 0, c, 0, 0, \"32x32b\", 64)\n{COMMIT}"), "E0714", "only 1 of the 32 threads of a warp reach T.ptx_tcgen05_ld"),
    "no commit": ((COMMIT, f"            if tx > 0:\n    {COMMIT}"), "E0714", "barrier 0 is waited for in vain: 1 of 1 threads have not arrived, and 0 bytes are missing"),
    "lanes of another warp": (("c, tx // 32 * 32", "c, 0"), "E0712", "a warp loads from lane 0 of 'c' on; its own lanes are 32 to 63"),
    "different columns": (("32 * 32, 0, ", "32 * 32, tx % 2, "), "E0712", "the threads of a warp give T.ptx_tcgen05_ld different addresses"),
    "never freed": ((FREE, FREE.replace("< 32", "< 0")), "E0712", "'c' in tensor memory is never freed"),
    "freed too early": ((WAIT_LOAD, WAIT_LOAD + FREE_IN_LOOP), "E0712", "T.ptx_tcgen05_mma uses 'c' in tensor memory, which is not allocated"),
    "freed during a product": ((WAIT, FREE_IN_LOOP), "E0710", NOT_COMPLETE),
    "allocated twice": ((ALLOCATE, 2 * ALLOCATE), "E0712", "'c' in tensor memory is allocated twice"),
    "allocated by a part of a warp": ((f"32:\n{ALLOCATE}", f"31:\n{ALLOCATE}"), "E0714", "only 31 of the 32 threads of a warp reach T.ptx_tcgen05_alloc"),
    "allocated without the permit": ((ALLOCATE, RELINQUISH + ALLOCATE), "E0712", "'c' is allocated after the block relinquished the permit"),
    "another size": ((ALLOCATE, ALLOCATE.replace("64", "32")), "E0712", "T.ptx_tcgen05_alloc names 32 columns of 'c', which has 64"),
    "two threads multiply": ((ISSUER, ISSUER.replace("== 0", "< 2")), "E0712", "threads 0 and 1 start products on 'c' at the same time"),
    "an uninitialized accumulator": (("k > 0)", "True)"), "E0710", "T.ptx_tcgen05_mma adds to 'c', which is uninitialized"),
    "columns outside": (("c, 0, 0, 1024", "c, 16, 0, 1024"), "E0707", "T.ptx_tcgen05_mma reaches columns 16 to 79 of 'c', which has 64"),
    "a target before its wait": ((WAIT_LOAD, f"        d_1[0] = d_1[1]\n{WAIT_LOAD}"), "E0710", "'d_1' is read here before anything was written there"),
}  # fmt: skip
"""A change of the program of tiles, and the code and message of the interpreter."""


@pytest.mark.deep(3)
@pytest.mark.parametrize("name", STOPS)
def test_mistakes_stop_the_interpreter(name: str) -> None:
    change, code, message = STOPS[name]
    program, args = changed("tiles", change)
    with pytest.raises(tvms.TvmsError) as caught:
        run(program, "main", args, track=True)
    (found,) = caught.value.diagnostics
    assert (found.code, found.message) == (code, message)
    assert found.span is not None


def test_products_of_other_columns_have_to_wait() -> None:
    wide = [("128 * 64]", "128 * 128]"), ("(c, 64)", "(c, 128)"), ("c, 0, 0, 1024", "c, k % 2 * 32, 0, 1024")]
    program, args = changed("tiles", *wide, ("k > 0)", "False)"))
    with pytest.raises(tvms.TvmsError) as caught:
        run(program, "main", args)
    assert caught.value.diagnostics[0].message == (
        "T.ptx_tcgen05_mma changes a part of 'c' that a product of other columns is changing"
    )


SECOND = '    c = T.allocate([128 * 64], "float32", "tmem")\n'


def test_a_block_waits_in_vain_for_more_columns_than_there_are() -> None:
    both = "        T.ptx_tcgen05_alloc(e, 512)\n        T.ptx_tcgen05_alloc(c, 64)\n"
    changes = [(SECOND, SECOND + SECOND.replace("c =", "e =").replace("64", "512")), (ALLOCATE, both)]
    program, args = changed("tiles", *changes)
    with pytest.raises(tvms.TvmsError) as caught:
        run(program, "main", args)
    (found,) = caught.value.diagnostics
    assert (found.code, found.message) == (
        "E0714", "64 columns of tensor memory are waited for in vain: the block has 512 of 512"
    )  # fmt: skip
    with pytest.raises(tvms.TvmsError) as caught:
        tvms.emit(program, "ptx", "cuda -arch=sm_100a")
    (found,) = caught.value.diagnostics
    assert (found.code, found.message) == ("E0614", "kernel 'main' has 576 columns of tensor memory; the limit is 512")
    program, args = changed("tiles", *changes, ("(e, 512)", "(c, 64)"), ("(c, 64)\n        T.ptx_tcgen05_alloc(c, 64)", "(c, 64)\n        T.ptx_tcgen05_alloc(e, 512)"))  # fmt: skip
    with pytest.raises(tvms.TvmsError) as caught:
        run(program, "main", args)
    assert caught.value.diagnostics[0].message == "512 columns are allocated after 64"


RACES: dict[str, tuple[str, list[tuple[str, str]], str, str]] = {
    "no fence behind the wait": ("tiles", [(WAIT + AFTER, WAIT)], "thread 0 loads from 'c', which the product that thread 0 started may still change", "call T.ptx_tcgen05_fence_after_thread_sync() behind the wait"),
    "the fence before the wait": ("tiles", [(WAIT + AFTER, AFTER + WAIT)], "thread 0 loads from 'c', which the product that thread 0 started may still change", "call T.ptx_tcgen05_fence_after_thread_sync() behind the wait"),
    "no fence before the barrier": ("tiles", [(BEFORE, "")], "thread 0 starts a product on 'c', which thread 1 may still load from", "call T.ptx_tcgen05_fence_before_thread_sync() between the load and the barrier at which its thread arrives"),
    "no fence before the product": ("tiles", [(f"    {AFTER}", "")], "thread 0 starts a product on 'c', which thread 1 may still load from", "call T.ptx_tcgen05_fence_after_thread_sync() behind the wait"),
    "no wait for a load": ("tiles", [(WAIT_LOAD, ""), (LAST_BARRIER + FREE, f"    {WAIT_LOAD.strip()}\n{LAST_BARRIER}{FREE}")], "thread 0 reads 'd_1' before T.ptx_tcgen05_wait_ld has waited for the load that writes it", "call T.ptx_tcgen05_wait_ld() before the access"),
    "no wait for a load before the next product": ("tiles", [(WAIT_LOAD, ""), (LAST_BARRIER + FREE, f"    {WAIT_LOAD.strip()}\n{LAST_BARRIER}{FREE}")], "thread 0 starts a product on 'c', which thread 0 may still load from", "call T.ptx_tcgen05_wait_ld() behind the load"),
    "freed without a barrier": ("tiles", [(LAST_BARRIER + FREE, FREE)], "thread 0 frees 'c', which thread 1 may still load from", "let the block meet at a barrier behind T.ptx_tcgen05_wait_ld(), and free it then"),
    "no fence before the arrival": ("roles", [(f"    {BEFORE}", "")], "thread 32 starts a product on 'c', which thread 128 may still load from", "call T.ptx_tcgen05_fence_before_thread_sync() between the load and the barrier at which its thread arrives"),
    "no wait for an empty accumulator": ("roles", [("            T.ptx_wait_barrier(tile % 2 + 6, tile // 2 + 1)\n", "")], "thread 32 starts a product on 'c', which thread 128 may still load from", "wait before for a barrier at which the thread arrives behind its fence"),
    "no fence of factors": ("tiles", [(PROXY, "")], "T.ptx_tcgen05_mma reads element 0 of 'a', which thread 0 wrote without T.ptx_fence_proxy_async", "call T.ptx_fence_proxy_async() between the write and the barrier"),
    "a copy before the product is complete": ("boxes", [(EMPTY, "")], "threads 0 and 32 of a block race on element 0 of 'a': one writes it, the other reads it, without a barrier between", "call T.ptx_wait_barrier for the barrier of the copy before the product, and for that of T.ptx_tcgen05_commit before the next copy to the same place"),
    "two copies at once": ("boxes", [(EMPTY, "")], "thread 0 writes element 0 of 'a', which the copy that thread 0 started may still write", "call T.ptx_wait_barrier for the barrier of the copy before"),
}  # fmt: skip
"""The program, changes, and the message and help of one of the races."""


@pytest.mark.deep(3)
@pytest.mark.parametrize("name", RACES)
def test_races_are_found(name: str) -> None:
    which, changes, message, help = RACES[name]
    program, args = changed(which, *changes)
    found = {problem.message: problem for problem in find_races(program, "main", args)}
    assert message in found, list(found)
    assert found[message].help == help
    assert all(problem.code == "E0723" and problem.notes and problem.span for problem in found.values())


ONE_THREAD_DOES_ALL = """
T.prim_func main(A: T.Buffer((8192,), "float16"), B: T.Buffer((4096,), "float16"), C: T.Buffer((128, 64), "float32")):
    tx = T.launch_thread("threadIdx.x", 128)
    a = T.allocate([8192], "float16", "shared.dyn")
    b = T.allocate([4096], "float16", "shared.dyn")
    c = T.allocate([128 * 64], "float32", "tmem")
    d = T.allocate([64], "float32", "local")
    a_1 = T.Buffer((8192,), "float16", data=a, scope="shared.dyn")
    b_1 = T.Buffer((4096,), "float16", data=b, scope="shared.dyn")
    d_1 = T.Buffer((64,), "float32", data=d, scope="local")
    T.create_barriers(2)
    if tx == 0:
        T.ptx_init_barrier_thread_count(0, 1)
        T.ptx_init_barrier_thread_count(1, 1)
    if tx < 32:
        T.ptx_tcgen05_alloc(c, 64)
    for i in range(64):
        a_1[tx * 64 + i] = A[tx * 64 + i]
    for i in range(32):
        b_1[tx * 32 + i] = B[tx * 32 + i]
    T.ptx_fence_proxy_async()
    T.tvm_storage_sync("shared")
    if tx == 0:
        T.ptx_tcgen05_mma("float32", "m128n64k16", "row", "col", "fp16", "fp16", "fp32", a, 0, b, 0, c, 0, 0, 1024, 0, 1024, False)
        T.ptx_tcgen05_commit(0)
        T.ptx_tcgen05_commit(1)
    T.ptx_wait_barrier(1, 0)
    T.ptx_tcgen05_fence_after_thread_sync()
    T.ptx_tcgen05_ld("float32", d, 0, c, tx // 32 * 32, 0, "32x32b", 64)
    T.ptx_tcgen05_wait_ld()
    a_1[0] = T.float16(1)
    for i in range(64):
        C[tx, i] = d_1[i]
    T.tvm_storage_sync("shared")
    if tx < 32:
        T.ptx_tcgen05_dealloc(c, 64)
"""


def test_a_product_reads_its_factors_until_its_commit_is_waited_for() -> None:
    """A thread that stores to a factor must have waited, also the one that started the product; any later commit serves."""
    args = [np.ones(8192, np.float16), np.ones(4096, np.float16), np.zeros((128, 64), np.float32)]
    text = ONE_THREAD_DOES_ALL.replace(
        "    a_1[0] = T.float16(1)\n", "    if tx == 0:\n        a_1[0] = T.float16(1)\n"
    )
    assert not find_races(module(text), "main", args)
    early = text.replace(
        "        T.ptx_tcgen05_commit(0)\n", "        T.ptx_tcgen05_commit(0)\n        a_1[0] = T.float16(1)\n"
    )
    messages = [problem.message for problem in find_races(module(early), "main", args)]
    assert messages == ["thread 0 writes element 0 of 'a_1', which the product that thread 0 started may still read"]
    other = text.replace("    T.ptx_wait_barrier(1, 0)\n", "    if tx == 9:\n        a_1[8] = T.float16(1)\n    T.ptx_wait_barrier(1, 0)\n")  # fmt: skip
    messages = [problem.message for problem in find_races(module(other), "main", args, "descending")]
    assert len(messages) == 1
    messages = [problem.message for problem in find_races(module(other), "main", args)]
    assert messages == ["thread 9 writes element 8 of 'a_1', which the product that thread 0 started may still read"]


SIMULATED: dict[str, tuple[tuple[str, str], str, str]] = {
    "lanes of another warp": (("c, tx // 32 * 32", "c, 0"), "E0712", "a warp loads from lanes of tensor memory that are not its own"),
    "another parity": (("(0, tile)", "(0, tile + 1)"), "E0714", "a barrier is waited for in vain: threads have not arrived, or bytes are missing"),
    "columns outside": (("c, 0, 0, 1024", "c, 16, 0, 1024"), "E0707", "element 8207 of 'c' is outside its memory, which holds 8192 elements"),
}  # fmt: skip


@pytest.mark.parametrize("name", SIMULATED)
def test_mistakes_stop_the_simulation(name: str) -> None:
    change, code, message = SIMULATED[name]
    program, args = changed("tiles", change)
    simulated = tvms.compile(program, target="cuda -simulate=ascending", level=0)
    with pytest.raises(tvms.TvmsError) as caught:
        simulated["main"](*args)
    (found,) = caught.value.diagnostics
    assert (found.code, found.message) == (code, message)


REFUSED: dict[str, tuple[list[tuple[str, str]], str, str]] = {
    "a shape that does not exist": ([("m128n64k16", "m128n60k16")], "E0606", "T.ptx_tcgen05_mma does not multiply m128n60k16 of row fp16 and col fp16 into fp32"),
    "another dtype": ([('"fp16", "fp16", "fp32"', '"fp16", "bf16", "fp32"')], "E0606", "T.ptx_tcgen05_mma does not multiply m128n64k16 of row fp16 and col bf16 into fp32"),
    "a distance": ([("c, 0, 0, 1024", "c, 0, 0, 1000")], "E0606", "argument 14 of T.ptx_tcgen05_mma is 1000 bytes"),
    "a factor in the memory of a thread": ([("b, k * 16", "d, k * 16")], "E0606", "T.ptx_tcgen05_mma needs memory of scope 'shared', but 'd' is in 'local'"),
    "a factor between lines": ([("a, k * 16", "a, k * 4")], "E0606", "the factor in 'a' is not proven to start at a multiple of 16 bytes"),
    "an accumulator in shared memory": ([("c, 0, 0, 1024", "a, 0, 0, 1024")], "E0606", "argument 11 of T.ptx_tcgen05_mma is not a buffer in tensor memory"),
    "a load from shared memory": ([("c, tx // 32", "a, tx // 32")], "E0606", "argument 3 of T.ptx_tcgen05_ld is not a buffer in tensor memory"),
    "a load to shared memory": ([('("float32", d', '("float32", a')], "E0606", "T.ptx_tcgen05_ld needs memory of scope 'local', but 'a' is in 'shared.dyn'"),
    "another shape of a load": ([("32x32b", "16x64b")], "E0606", "T.ptx_tcgen05_ld does not load 64 times '16x64b'"),
    "another number of columns of a load": ([('"32x32b", 64', '"32x32b", 48')], "E0606", "T.ptx_tcgen05_ld does not load 48 times '32x32b'"),
    "another size": ([(ALLOCATE, ALLOCATE.replace("64", "32"))], "E0606", "T.ptx_tcgen05_alloc names 32 columns of 'c', which has 64"),
    "a size that cannot be allocated": ([("128 * 64]", "128 * 48]")], "E0606", "'c' in tensor memory has 6144 elements of float32"),
    "another dtype of memory": ([('64], "float32", "tmem"', '64], "int32", "tmem"')], "E0606", "'c' in tensor memory has 8192 elements of int32"),
    "two threads multiply": ([(ISSUER, ISSUER.replace("== 0", "< 2"))], "E0606", "more than one thread of a block calls T.ptx_tcgen05_mma"),
    "a part of a warp": ([('"threadIdx.x", 128', '"threadIdx.x", 120')], "E0611", "T.ptx_tcgen05_alloc needs whole warps, but a block has 120 threads"),
    "never allocated": ([(f"    if tx < 32:\n{ALLOCATE}", "")], "E0606", "a kernel with T.ptx_tcgen05_mma never calls T.ptx_tcgen05_alloc"),
    "never freed": ([(FREE, "")], "E0606", "a kernel with T.ptx_tcgen05_alloc never calls T.ptx_tcgen05_dealloc"),
    "never committed": ([(COMMIT, "")], "E0606", "a kernel with T.ptx_tcgen05_mma never calls T.ptx_tcgen05_commit"),
    "no fences": ([(f"    {AFTER}", ""), (AFTER, "")], "E0606", "a kernel with T.ptx_tcgen05_ld never calls T.ptx_tcgen05_fence_after_thread_sync"),
    "no wait for loads": ([(WAIT_LOAD, "")], "E0606", "a kernel with T.ptx_tcgen05_ld never calls T.ptx_tcgen05_wait_ld"),
    "an element": ([(SECOND, SECOND + '    c_1 = T.Buffer((8192,), "float32", data=c, scope="tmem")\n'), ("d_1[i]", "c_1[i]")], "E0606", "an element of 'c_1' in tensor memory is accessed"),
    "another operator": ([(WAIT_LOAD, '        T.ptx_cp_async("float32", c, 0, B.data, 0, 16)\n' + WAIT_LOAD)], "E0606", "T.ptx_cp_async needs memory of scope 'shared', but 'c' is in 'tmem'"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_is_refused_where_it_stands(name: str) -> None:
    changes, code, message = REFUSED[name]
    with pytest.raises(tvms.TvmsError) as caught:
        tvms.emit(changed("tiles", *changes)[0], "ptx", "cuda -arch=sm_100a")
    (found,) = caught.value.diagnostics
    assert (found.code, found.message) == (code, message)
    assert found.span is not None
    assert found.help
