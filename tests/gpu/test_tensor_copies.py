"""Copies of boxes by the copy engine: interpreter = simulation = a model of the swizzle; mistakes are found; tensor maps are valid."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tvms
from gpu.tensor_copy_programs import BOXES, STEPS, box
from gpu.warpgroup_programs import array, product
from tvms.codegen.build import Settings
from tvms.codegen.gpu import libcuda
from tvms.codegen.gpu.cuda import CudaError
from tvms.codegen.gpu.launch import ParameterPacker
from tvms.codegen.gpu.libcuda import use_library
from tvms.codegen.gpu.ptxas import assemble, find_ptxas
from tvms.codegen.gpu.races import find_races
from tvms.codegen.gpu.tensor_maps import Matrix, encode
from tvms.ir.base import IRModule
from tvms.ir.interp import run


def module(text: str) -> IRModule:
    return tvms.parse("I.ir_module Module:\n" + "\n".join(f"    {line}" for line in text.strip().split("\n")))


def steps(*changes: tuple[str, str]) -> IRModule:
    text = STEPS
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return module(text)


def arguments() -> list[Any]:
    return [array((64, 256), "float16", 1), np.zeros((64, 64), np.float16)]


@pytest.mark.parametrize("case", BOXES, ids=str)
def test_boxes_lie_where_the_swizzle_says(case: Any) -> None:
    text, args, expected = box(*case)
    program = module(text)
    run(program, "main", [*args, found := np.ones(expected.shape, expected.dtype)], track=True)
    assert np.array_equal(found, expected)
    tvms.compile(program, target="cuda -simulate=each", level=0)["main"](*args, found := np.ones_like(expected))
    assert np.array_equal(found, expected)


def test_stages_of_boxes() -> None:
    a, c = arguments()
    whole: Any = sum(a[:, i * 64 : i * 64 + 64] for i in range(4))
    lines = np.arange(8)[None, :] ^ np.arange(64)[:, None] % 8
    expected: Any = np.take_along_axis(whole.reshape(64, 8, 8), lines[:, :, None], 1).reshape(64, 64)
    for order in ("ascending", "descending", "random"):
        run(steps(), "main", [a, found := c.copy()], track=True, thread_order=order)  # type: ignore[arg-type]
        assert np.array_equal(found, expected)
    tvms.compile(steps(), target="cuda -simulate=each", level=0)["main"](a, found := c.copy())
    assert np.array_equal(found, expected)
    assert not find_races(steps(), "main", [a, c])


def test_ptx() -> None:
    ptx = str(tvms.emit(steps(), "ptx", "cuda -arch=sm_90a", Settings(bounds="trust")))
    assert "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [" in ptx
    assert "mbarrier.try_wait.parity.shared::cta.b64" in ptx
    assert ".param .align 64 .b8 tvms_main_param_2[128]" in ptx
    tool = find_ptxas()
    if tool is not None:
        made = assemble(ptx, "sm_90a", tool)
        if "is not defined for option" not in made.problem:
            assert made.image, made.problem
            assert all(usage.spill_bytes == 0 == usage.stack_bytes for usage in made.usage.values())
    with pytest.raises(tvms.TvmsError) as caught:
        tvms.emit(steps(), "ptx", "cuda -arch=sm_80")
    assert (
        caught.value.diagnostics[0].message
        == "copies of boxes and their barriers need sm_90 or newer; the target is sm_80"
    )


FIRST = "        T.ptx_arrive_barrier_expect_tx(0, 8192)\n"
WAIT = "        T.ptx_wait_barrier(step % 2, step // 2 % 2)\n"
BARRIER = '    for step in range(4):\n        T.tvm_storage_sync("shared")\n'
WRONG: dict[str, tuple[tuple[str, str], str]] = {
    "nobody arrives": ((FIRST, ""), "barrier 0 is waited for in vain: 1 of 1 threads have not arrived, and -8192 bytes are missing"),
    "too many bytes": ((FIRST, FIRST.replace("8192", "8208")), "barrier 0 is waited for in vain: 0 of 1 threads have not arrived, and 16 bytes are missing"),
    "another parity": ((WAIT, WAIT.replace("step // 2 % 2", "(step // 2 + 1) % 2")), "T.ptx_cp_async_bulk_tensor"),
    "no such barrier": (("T.create_barriers(2)", "T.create_barriers(1)"), "barrier 1 does not exist: the block created 1"),
    "not initialized": (("range(2)", "range(1)"), "barrier 1 is not initialized"),
    "a target between groups": (("s, 0, A", "s, 8, A"), "the target of T.ptx_cp_async_bulk_tensor starts at byte 16"),
}  # fmt: skip


@pytest.mark.parametrize("name", [name for name in WRONG if name != "another parity"])
def test_mistakes_stop_the_interpreter(name: str) -> None:
    change, message = WRONG[name]
    with pytest.raises(tvms.TvmsError) as caught:
        run(steps(change), "main", arguments())
    assert caught.value.diagnostics[0].message == message


def test_elements_are_uninitialized_until_their_barrier_is_waited_for() -> None:
    for change in ((WAIT, ""), WRONG["another parity"][0]):
        with pytest.raises(tvms.TvmsError) as caught:
            run(steps(change), "main", arguments(), track=True)
        assert caught.value.diagnostics[0].code == "E0710"


@pytest.mark.parametrize("name", ["nobody arrives", "too many bytes"])
def test_the_simulation_does_not_wait_for_ever(name: str) -> None:
    program = tvms.compile(steps(WRONG[name][0]), target="cuda -simulate=ascending", level=0)
    with pytest.raises(tvms.TvmsError) as caught:
        program["main"](*arguments())
    assert caught.value.diagnostics[0].code == "E0714"


NOT_ALL_WAIT = (WAIT, "        if tx < 64:\n    " + WAIT)


@pytest.mark.parametrize(
    "change",
    [(WAIT, ""), (BARRIER, "    for step in range(4):\n"), NOT_ALL_WAIT],
    ids=["no wait", "no barrier", "some threads do not wait"],
)
def test_races_are_found(change: tuple[str, str]) -> None:
    found = find_races(steps(change), "main", arguments())
    assert {problem.code for problem in found} == {"E0723"}
    assert any("'s" in problem.message for problem in found)


@pytest.mark.parametrize(
    "instead",
    ["        if tx > 0:\n    " + WAIT, '        T.tvm_storage_sync("warp")\n'],
    ids=["no wait", "the warp meets"],
)
def test_a_thread_has_to_wait_for_its_own_copy(instead: str) -> None:
    found = {problem.message: problem.help for problem in find_races(steps((WAIT, instead)), "main", arguments())}
    message = "thread 0 reads element 0 of 's_1', which the copy that thread 0 started may still write"
    assert found[message] == "call T.ptx_wait_barrier for the barrier of the copy before"


REFUSED: dict[str, tuple[tuple[str, str], str]] = {
    "no barriers": (("    T.create_barriers(2)\n", ""), "a kernel with T.ptx_init_barrier_thread_count never calls T.create_barriers"),
    "barriers twice": (("    T.create_barriers(2)\n", "    T.create_barriers(2)\n    T.create_barriers(2)\n"), "a kernel calls T.create_barriers twice"),
    "too many barriers": (("create_barriers(2)", "create_barriers(5000)"), "cannot create 5000 barriers"),
    "too many rows": (("0, 0, 64, 0)", "0, 0, 257, 0)"), "a box of T.ptx_cp_async_bulk_tensor has 257 rows"),
    "memory of a thread": (("s, 0, A", "c, 0, A"), "T.ptx_cp_async_bulk_tensor needs memory of scope 'shared', but 'c' is in 'local'"),
    "shared memory": (("A.data, 64, 256, 256, 0, 0", "s, 64, 256, 256, 0, 0"), "T.ptx_cp_async_bulk_tensor needs memory of scope 'global', but 's' is in 'shared.dyn'"),
    "a target between groups": (("s, 0, A", "s, tx * 64, A"), "the target in 's' is not proven to start at a multiple of 1024 bytes"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_is_refused_where_it_stands(name: str) -> None:
    change, message = REFUSED[name]
    with pytest.raises(tvms.TvmsError) as caught:
        tvms.emit(steps(change), "ptx", "cuda -arch=sm_90a")
    (found,) = caught.value.diagnostics
    assert (found.code, found.message) == ("E0606", message)
    assert found.help


# --- Tensor maps ----------------------------------------------------------------------------------------------------


def test_tensor_maps_are_described_as_the_driver_wants() -> None:
    seen: list[Any] = []

    def encoder(
        place: Any, kind: int, rank: int, address: Any, sizes: Any, strides: Any, box: Any, steps: Any, *rest: int
    ) -> int:
        assert place.value % 64 == 0
        seen.append((kind, rank, address.value, list(sizes), list(strides), list(box), list(steps), rest))
        ctypes.memset(place.value, 7, 128)
        return int(strides[0] % 16 != 0)

    use_library(SimpleNamespace(cuTensorMapEncodeTiled=encoder))
    try:
        assert encode(Matrix(4096, "bfloat16", 100, 72, 80, 64)) == bytes([7]) * 128
        assert seen == [(9, 2, 4096, [72, 100], [160], [64, 64], [1, 1], (0, 3, 3, 0))]
        with pytest.raises(
            Exception, match="cuTensorMapEncodeTiled failed with status 1 for a matrix of 4 × 7 float16"
        ):
            encode(Matrix(4096, "float16", 4, 7, 7, 64))
    finally:
        use_library(None)


def test_a_driver_without_tensor_maps_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drivers before CUDA 12 lack the function; machines without a GPU have no driver."""
    libcuda._driver.cache_clear()
    monkeypatch.setattr(ctypes, "CDLL", lambda name: SimpleNamespace())
    with pytest.raises(CudaError, match="cuTensorMapEncodeTiled, of CUDA 12 and newer, cannot be loaded"):
        encode(Matrix(4096, "float16", 4, 8, 8, 64))


def test_tensor_maps_are_aligned_among_parameters() -> None:
    packed = ParameterPacker([], 2).pack([b"a" * 128, b"b" * 128, 5])
    assert packed == b"a" * 128 + b"b" * 128 + (5).to_bytes(8, "little")
    pointer = tvms.ir.tir.Var("handle", "p")
    assert ParameterPacker([pointer], 1).pack([3, b"a" * 128, 5])[64:192] == b"a" * 128


def test_launches_describe_their_matrices(open_gpu: Any) -> None:
    gpu, _ = open_gpu("pycuda")
    a, c = arguments()
    executable = tvms.compile(steps(), target="cuda -arch=sm_90a")
    gpu.show(executable)
    arrays = [tvms.nd.array(value, tvms.cuda()) for value in (a, c)]
    executable["main"](*arrays)
    run(steps(), "main", [a, c])
    assert np.array_equal(arrays[1].numpy(), c)
    assert ("encode", [256, 64], 512, [64, 64]) in gpu.asked


# --- Products -------------------------------------------------------------------------------------------------------


def by_boxes(m: int, n: int, k: int, dtype: str, layouts: str, tile: tuple[int, int] = (64, 64)) -> IRModule:
    """Return a product whose factors are copied by the copy engine."""
    step = f'S.warpgroup_tiles(S.get_block("C"), rows={tile[0]}, columns={tile[1]}, copies="boxes")'
    return tvms.parse(
        f'{product(m, n, k, dtype, layouts)}\n    S.schedule chosen(main, target="cuda"):\n        {step}\n'
    )


@pytest.mark.parametrize("layouts", ["nn", "tt"])
@pytest.mark.parametrize("size", [(64, 64, 64), (72, 136, 328)], ids=str)
def test_products(size: tuple[int, int, int], layouts: str) -> None:
    m, n, k = size
    a, b = array((m, k), "float16", 1), array((k, n), "float16", 2)
    args = [np.ascontiguousarray(x.T if turn == "t" else x) for x, turn in zip((a, b), layouts, strict=True)]
    program = by_boxes(*size, "float16", layouts)
    tvms.compile(program, target="cuda -arch=sm_90a -simulate=each")["main"](
        *args, found := np.zeros((m, n), np.float32)
    )
    assert np.array_equal(found, a.astype(np.float32) @ b.astype(np.float32))


@pytest.mark.parametrize("layouts", ["nn", "nt", "tn", "tt"])
def test_large_products_assemble_without_spills(layouts: str) -> None:
    ptx, tool = (
        str(tvms.emit(by_boxes(4096, 4096, 4096, "bfloat16", layouts, (128, 256)), "ptx", "cuda -arch=sm_90a")),
        find_ptxas(),
    )
    assert ptx.count("wgmma.mma_async") == 4
    assert ptx.count("mbarrier.try_wait") == 1
    if tool is not None:
        made = assemble(ptx, "sm_90a", tool)
        if "is not defined for option" not in made.problem:
            (usage,) = made.usage.values()
            assert (usage.spill_bytes, usage.stack_bytes, made.warnings) == (0, 0, ())
