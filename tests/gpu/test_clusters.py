"""Clusters of blocks and roles of warps: interpreter = simulation = NumPy in all orders of threads; mistakes are found; ptxas accepts all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvms
from gpu.cluster_programs import ROLES, SHARED_BOXES
from gpu.test_tensor_copies import module
from gpu.warpgroup_programs import array, product
from tvms.codegen.build import Settings, prepare
from tvms.codegen.gpu.executable import lowered_for_gpu
from tvms.codegen.gpu.ptxas import assemble, find_ptxas
from tvms.codegen.gpu.races import find_races
from tvms.codegen.gpu.rules import warpgroups
from tvms.codegen.lower.rewriter import sequence
from tvms.codegen.target import get_target
from tvms.ir.base import IRModule
from tvms.ir.interp import run

PROGRAMS = {"clusters": (SHARED_BOXES, (4, 64, 64)), "roles": (ROLES, (64, 64))}
ORDERS = ("ascending", "descending", "random")


def changed(text: str, *changes: tuple[str, str]) -> IRModule:
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return module(text)


def arguments(name: str) -> list[Any]:
    return [array((64, 256), "float16", 1), np.zeros(PROGRAMS[name][1], np.float16)]


def expected(name: str) -> Any:
    """Return the boxes of A in the order of shared memory, or their sum."""
    a = arguments(name)[0]
    boxes = [a[:, i * 64 : i * 64 + 64] for i in range(4)]
    whole: Any = np.stack(boxes) if name == "clusters" else sum(boxes)
    lines = np.arange(8)[None, :] ^ np.arange(64)[:, None] % 8
    found = np.take_along_axis(whole.reshape(-1, 64, 8, 8), lines[None, :, :, None], 2)
    return found.reshape(PROGRAMS[name][1])


@pytest.mark.parametrize("name", PROGRAMS)
def test_interpreter_and_simulation_agree_with_numpy(name: str) -> None:
    program = module(PROGRAMS[name][0])
    for order in ORDERS:
        a, found = arguments(name)
        run(program, "main", [a, found], track=True, thread_order=order)  # type: ignore[arg-type]
        assert np.array_equal(found, expected(name)), order
    a, found = arguments(name)
    tvms.compile(program, target="cuda -simulate=each", level=0)["main"](a, found)
    assert np.array_equal(found, expected(name))


def test_the_lowest_bit_of_a_number_is_its_parity() -> None:
    program = changed(ROLES, ("(step // 2 + 1) % 2", "step // 2 + 1"), ("step // 2 % 2", "step // 2"))
    found = arguments("roles")
    run(program, "main", found, track=True)
    assert np.array_equal(found[1], expected("roles"))
    found = arguments("roles")
    tvms.compile(program, target="cuda -simulate=each", level=0)["main"](*found)
    assert np.array_equal(found[1], expected("roles"))


LATE = """
T.prim_func main(A: T.Buffer((64,), "int32")):
    tx = T.launch_thread("threadIdx.x", 64)
    T.create_barriers(1)
    if tx == 0:
        T.ptx_init_barrier_thread_count(0, 32)
    T.tvm_storage_sync("shared")
    if tx < 32:
        if tx == 0:
            T.ptx_wait_barrier(0, 0)
    else:
        T.tvm_storage_sync("warp")
        T.ptx_arrive_barrier(0)
    T.tvm_storage_sync("warp")
    A[tx] = T.tvm_warp_shuffle_xor(T.uint32(0xFFFFFFFF), tx, 1, 32, 32)
"""
"""The first warp meets when its first lane has waited for the second warp, which meets before."""


@pytest.mark.parametrize("order", ORDERS)
def test_warps_meet_when_their_last_lane_has_waited_for_others(order: Any) -> None:
    run(module(LATE), "main", [found := np.zeros(64, np.int32)], thread_order=order)
    assert (found == np.arange(64) ^ 1).all()
    tvms.compile(module(LATE), target="cuda -simulate=each", level=0)["main"](found := np.zeros(64, np.int32))
    assert (found == np.arange(64) ^ 1).all()


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("order", ORDERS)
def test_correct_programs_have_no_races(name: str, order: Any) -> None:
    assert not find_races(module(PROGRAMS[name][0]), "main", arguments(name), order)


IN_PTX = {
    "clusters": (
        ".explicitcluster", ".reqnctapercluster 2, 1, 1", "%cluster_ctaid.x", "barrier.cluster.arrive.release;", "barrier.cluster.wait.acquire;",
        ".multicast::cluster [", "mapa.shared::cluster.u32", "mbarrier.arrive.release.cluster.shared::cluster.b64",
        "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64",
    ),
    "roles": (
        "setmaxnreg.dec.sync.aligned.u32 40;", "setmaxnreg.inc.sync.aligned.u32 232;", "barrier.sync 1, 128;", ".minnctapersm 1",
        "mbarrier.try_wait.parity.shared::cta.b64",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_ptx(name: str) -> None:
    ptx = str(tvms.emit(module(PROGRAMS[name][0]), "ptx", "cuda -arch=sm_90a", Settings(bounds="trust")))
    for part in IN_PTX[name]:
        assert part in ptx
    tool = find_ptxas()
    if tool is not None:
        made = assemble(ptx, "sm_90a", tool)
        if "is not defined for option" not in made.problem:
            assert made.image, made.problem
            assert not made.warnings
            assert all(usage.spill_bytes == 0 == usage.stack_bytes for usage in made.usage.values())


# --- Mistakes -------------------------------------------------------------------------------------------------------

FIRST_MEETING = "    T.ptx_barrier_cluster_arrive()\n    T.ptx_barrier_cluster_wait()\n    for step"
ARRIVE = "            T.ptx_arrive_barrier(step % 2 + 2)\n"
READ = "            for i in range(32):\n                c_1[i] = c_1[i] + s_1[step % 2 * 4096 + (tx - 128) * 32 + i]\n"
EMPTY = "                T.ptx_wait_barrier(step % 2 + 2, (step // 2 + 1) % 2)\n"
FULL = "            T.ptx_wait_barrier(step % 2, step // 2 % 2)\n"
BOTH = (
    "            T.ptx_arrive_barrier_remote(1, 1 - cx)\n            T.ptx_arrive_barrier(1)\n"
    "            T.ptx_wait_barrier(1, step % 2)\n"
)
EXPECT = "                T.ptx_arrive_barrier_expect_tx(step % 2, 8192)\n"
NAMED = "        T.ptx_barrier_sync(1, 128)\n"

STOPS: dict[str, tuple[str, tuple[str, str], str, str, str]] = {
    "a block waits for ever": ("clusters", ("T.ptx_wait_barrier(1, step % 2)", "T.ptx_wait_barrier(1, 1 - step % 2)"), "E0714", "barrier 1 is waited for in vain: 2 of 2 threads have not arrived, and 0 bytes are missing", "E0714"),
    "one arrival is missing": ("clusters", ("            T.ptx_arrive_barrier(1)\n", ""), "E0714", "barrier 1 is waited for in vain: 1 of 2 threads have not arrived, and 0 bytes are missing", "E0714"),
    "no such block": ("clusters", ("(1, 1 - cx)", "(1, 2 - cx)"), "E0712", "block 2 of the cluster does not exist: it has 2", "E0707"),
    "some threads meet": ("clusters", (FIRST_MEETING, FIRST_MEETING.replace("    T.ptx_barrier_cluster_arrive()", "    if tx < 96:\n        T.ptx_barrier_cluster_arrive()\n", 1).replace("    T.ptx_barrier_cluster_wait()", "        T.ptx_barrier_cluster_wait()", 1)), "E0714", "the barrier of a cluster is waited for in vain: 192 of 256 threads have arrived", "E0714"),
    "consumers never arrive": ("roles", (ARRIVE, ""), "E0714", "barrier 2 is waited for in vain: 128 of 128 threads have not arrived, and 0 bytes are missing", "E0714"),
    "the first phase is waited for": ("roles", ("(step // 2 + 1) % 2", "step // 2 % 2"), "E0714", "barrier 2 is waited for in vain: 128 of 128 threads have not arrived, and 0 bytes are missing", "E0714"),
    "too few threads meet": ("roles", ("T.ptx_barrier_sync(1, 128)", "T.ptx_barrier_sync(1, 160)"), "E0714", "barrier 1 of T.ptx_barrier_sync is waited for in vain: 128 of 160 threads wait", "E0714"),
    "too many arrivals": ("roles", (EXPECT, 2 * EXPECT), "E0712", "more threads arrive at barrier 0 than the 1 that it was initialized for", "E0712"),
}  # fmt: skip
"""The program, a change, the code and message of the interpreter, and the code of the simulation."""


@pytest.mark.parametrize("name", STOPS)
def test_waits_that_never_end_are_errors(name: str) -> None:
    which, change, code, message, in_simulation = STOPS[name]
    program = changed(PROGRAMS[which][0], change)
    with pytest.raises(tvms.TvmsError) as caught:
        run(program, "main", arguments(which))
    (found,) = caught.value.diagnostics
    assert (found.code, found.message) == (code, message)
    assert found.help
    assert found.span
    simulated = tvms.compile(program, target="cuda -simulate=ascending", level=0)
    with pytest.raises(tvms.TvmsError) as caught:
        simulated["main"](*arguments(which))
    assert caught.value.diagnostics[0].code == in_simulation


RACES: dict[str, tuple[str, tuple[str, str], str, str]] = {
    "blocks do not meet": ("clusters", (FIRST_MEETING, '    T.tvm_storage_sync("shared")\n    for step'), "block 0 uses a barrier that block 1 initializes, without a barrier of their cluster between", "let all threads arrive and wait at the barrier of the cluster behind the initialization"),
    "threads do not meet": ("roles", ('    T.tvm_storage_sync("shared")\n', ""), "thread 128 uses a barrier that thread 0 initializes, without a barrier of the block between", 'put T.tvm_storage_sync("shared") behind the initialization'),
    "the copy does not wait": ("roles", (EMPTY, ""), "threads 0 and 128 of a block race on element 0 of 's_1': one writes it, the other reads it, without a barrier between", "call T.ptx_wait_barrier for the barrier of the copy before the access"),
    "consumers arrive before they read": ("roles", (READ + ARRIVE, ARRIVE + READ), "threads 128 and 0 of a block race on element 0 of 's': one reads it, the other writes it, without a barrier between", "copy when threads that access it before have arrived at a barrier that the copying thread waits for"),
    "consumers do not meet": ("roles", (NAMED, ""), "threads 191 and 192 of a block race on element 64 of 'e_1': one reads it, the other writes it, without a barrier between", 'put T.tvm_storage_sync("shared") between the accesses'),
    "the other block is not waited for": ("clusters", (BOTH, ""), "threads 64 and 0 of blocks 0 and 1 race on element 2048 of 's': one reads it, the other writes it, without a barrier between", "copy when threads that access it before have arrived at a barrier that the copying thread waits for"),
}  # fmt: skip
"""The program, a change, and the message and remedy of a race."""


@pytest.mark.parametrize("name", RACES)
def test_races_are_found(name: str) -> None:
    which, change, message, help = RACES[name]
    found = find_races(changed(PROGRAMS[which][0], change), "main", arguments(which))
    assert {problem.code for problem in found} == {"E0723"}
    assert (message, help) in [(problem.message, problem.help) for problem in found]


REFUSED: dict[str, tuple[str, tuple[str, str], str, str]] = {
    "no such blocks": ("clusters", ("32, 0, 3)", "32, 0, 5)"), "E0606", "T.ptx_cp_async_bulk_tensor_multicast copies to the blocks 0b101 of a cluster that has 2"),
    "a part of a cluster": ("clusters", ('"blockIdx.x", 4', '"blockIdx.x", 5'), "E0611", "5 blocks along 'blockIdx.x' do not consist of clusters of 2"),
    "too many blocks": ("clusters", ('"clusterCtaIdx.x", 2', '"clusterCtaIdx.x", 16'), "E0611", "'clusterCtaIdx.x' has 16 threads or blocks; expected 1 to 8"),
    "another axis": ("clusters", ('"clusterCtaIdx.x"', '"clusterCtaIdx.y"'), "E0611", "the kernel has 'clusterCtaIdx.y', but no 'blockIdx.y'"),
    "no arrival": ("clusters", ("    T.ptx_barrier_cluster_arrive()\n", ""), "E0606", "a kernel with T.ptx_barrier_cluster_wait never calls T.ptx_barrier_cluster_arrive"),
    "no wait": ("clusters", ("    T.ptx_barrier_cluster_wait()\n", ""), "E0606", "a kernel with T.ptx_barrier_cluster_arrive never calls T.ptx_barrier_cluster_wait"),
    "no such barrier": ("roles", ("T.ptx_barrier_sync(1,", "T.ptx_barrier_sync(16,"), "E0606", "a block has no barrier 16 for T.ptx_barrier_sync"),
    "a part of a warp": ("roles", ("sync(1, 128)", "sync(1, 100)"), "E0606", "T.ptx_barrier_sync waits for 100 threads"),
    "registers": ("roles", ("(False, 40)", "(False, 41)"), "E0606", "a thread cannot have 41 registers"),
    "a part of a warpgroup": ("roles", ('"threadIdx.x", 256', '"threadIdx.x", 192'), "E0611", "T.ptx_setmaxnreg needs whole warpgroups of 128 threads, but a block has 192"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_is_refused_where_it_stands(name: str) -> None:
    which, change, code, message = REFUSED[name]
    with pytest.raises(tvms.TvmsError) as caught:
        tvms.emit(changed(PROGRAMS[which][0], change), "ptx", "cuda -arch=sm_90a")
    (found,) = caught.value.diagnostics
    assert (found.code, found.message) == (code, message)
    assert found.help
    assert found.span


OLD = {
    ("clusters", "sm_80"): "clusters of blocks need sm_90 or newer; the target is sm_80",
    ("roles", "sm_80"): "T.ptx_setmaxnreg needs sm_90 or newer; the target is sm_80",
    ("roles", "sm_90"): "T.ptx_setmaxnreg needs sm_90a; the target is sm_90",
}


@pytest.mark.parametrize("case", OLD, ids=str)
def test_other_architectures_refuse(case: tuple[str, str]) -> None:
    name, arch = case
    with pytest.raises(tvms.TvmsError) as caught:
        tvms.emit(module(PROGRAMS[name][0]), "ptx", f"cuda -arch={arch}")
    (found,) = caught.value.diagnostics
    assert (found.code, found.message, found.help) == ("E0602", OLD[case], 'compile for Hopper: "cuda -arch=sm_90a"')


def test_loops_cannot_be_bound_to_clusters() -> None:
    """Loops that are bound to threads have the meaning of loops, and a block does not run twice."""
    text = """
    T.prim_func main(A: T.Buffer((8,), "float32")):
        for i in T.thread_binding(4, thread="blockIdx.x"):
            for j in T.thread_binding(2, thread="clusterCtaIdx.x"):
                A[i * 2 + j] = T.float32(1)
    """
    with pytest.raises(tvms.TvmsError) as caught:
        tvms.compile(tvms.parse(f"I.ir_module Module:{text}"), target="cuda -arch=sm_90a")
    assert caught.value.diagnostics[0].message == "there is no thread 'clusterCtaIdx.x'"


# --- Products -------------------------------------------------------------------------------------------------------


def by_roles(m: int, n: int, k: int, dtype: str, layouts: str, rows: int, columns: int) -> IRModule:
    """Return a product that one warpgroup copies the tiles of, and the others multiply."""
    step = f'S.warpgroup_tiles(S.get_block("C"), rows={rows}, columns={columns}, copies="roles")'
    return tvms.parse(
        f'{product(m, n, k, dtype, layouts)}\n    S.schedule chosen(main, target="cuda"):\n        {step}\n'
    )


@pytest.mark.parametrize("layouts", ["nn", "tt"])
@pytest.mark.parametrize("case", [(64, 64, 64, 64), (72, 136, 328, 64), (136, 72, 456, 128)], ids=str)
def test_products_by_roles(case: tuple[int, int, int, int], layouts: str) -> None:
    m, n, k, rows = case
    a, b = array((m, k), "float16", 1), array((k, n), "float16", 2)
    args = [np.ascontiguousarray(x.T if turn == "t" else x) for x, turn in zip((a, b), layouts, strict=True)]
    program = by_roles(m, n, k, "float16", layouts, rows, 64)
    tvms.compile(program, target="cuda -arch=sm_90a -simulate=each")["main"](
        *args, found := np.zeros((m, n), np.float32)
    )
    assert np.array_equal(found, a.astype(np.float32) @ b.astype(np.float32))


def test_products_by_roles_have_no_races(monkeypatch: pytest.MonkeyPatch) -> None:
    m, n, k = 64, 64, 264
    a, b = array((m, k), "float16", 1), array((k, n), "float16", 2)
    args = [a.ravel(), b.ravel(), np.zeros(m * n, np.float32)]
    target = get_target("cuda -arch=sm_90a")

    def lowered() -> IRModule:
        program = by_roles(m, n, k, "float16", "nn", 64, 64)
        return lowered_for_gpu(prepare(program, target), target, Settings())

    assert not find_races(lowered(), "main", args)
    assert np.array_equal(args[-1].reshape(m, n), a.astype(np.float32) @ b.astype(np.float32))
    consume = warpgroups._Kernel._consume

    def without_wait(kernel: Any, step: Any) -> Any:
        *parts, _, arrive = consume(kernel, step).seq
        return sequence([*parts, arrive])

    monkeypatch.setattr(warpgroups._Kernel, "_consume", without_wait)
    found = find_races(lowered(), "main", [*args[:2], np.zeros(m * n, np.float32)])
    assert {problem.code for problem in found} == {"E0723"}
    assert found[0].message == (
        "threads 128 and 0 of a block race on element 0 of 'left': one writes it, the other reads it, without a barrier between"
    )
    assert found[0].help == (
        "call T.ptx_wait_barrier for the barrier of the copy before the product, and T.ptx_wgmma_wait_group before the thread arrives at "
        "a barrier that lets the next copy start"
    )


@pytest.mark.parametrize("layouts", ["nn", "nt", "tn", "tt"])
@pytest.mark.parametrize("rows", [64, 128])
def test_large_products_by_roles_assemble_without_spills(layouts: str, rows: int) -> None:
    ptx = str(tvms.emit(by_roles(4096, 4096, 4096, "bfloat16", layouts, rows, 256), "ptx", "cuda -arch=sm_90a"))
    assert ptx.count("wgmma.mma_async") == 4
    assert ptx.count("setmaxnreg") == (2 if rows == 128 else 0)
    tool = find_ptxas()
    if tool is not None:
        made = assemble(ptx, "sm_90a", tool)
        if "is not defined for option" not in made.problem:
            (usage,) = made.usage.values()
            assert (usage.spill_bytes, usage.stack_bytes, made.warnings) == (0, 0, ())
