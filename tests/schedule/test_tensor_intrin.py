"""The registry of intrinsics, and that each of them does what its description says."""

from __future__ import annotations

import re

import pytest
import tvms
from tvms.dsl.testing.oracle import assert_equivalent
from tvms.ir.base import IRModule
from tvms.ir.equal import structural_equal
from tvms.tir import TensorIntrin
from tvms.tir.schedule.transform import tile_with_tensor_intrin

ON_CPU = (
    "dot_8x1_f32_avx2", "dot_16x1_f32_avx512", "dot_16x4_vnni", "dot_4x4_i8i8s32_neon", "dot_4x4_u8u8u32_udot",
    "dot_32x4_u8i8i32_vrmpy", "dot_product_32x2_i16i16i32_vdmpy", "dp4a_s8u8s32", "sdot4",
)  # fmt: skip
ON_GPU = (
    "wmma_load_16x16x16_f16_a_shared", "wmma_load_16x16x16_f16_b_shared", "wmma_fill_16x16x16_f32",
    "wmma_sync_16x16x16_f16f16f32", "wmma_store_16x16x16_f32_shared",
)  # fmt: skip


def known(name: str) -> TensorIntrin:
    found = TensorIntrin.get(name)
    assert found is not None
    return found


@pytest.mark.parametrize("name", ON_CPU)
def test_implementations_do_what_descriptions_say(name: str) -> None:
    intrinsic = known(name)
    assert_equivalent(IRModule({"main": intrinsic.desc}), IRModule({"main": intrinsic.impl}), integers=(-128, 128))


@pytest.mark.parametrize("name", [*ON_CPU, *ON_GPU])
def test_intrinsics_verify_and_print(name: str) -> None:
    intrinsic = known(name)
    for function in (intrinsic.desc, intrinsic.impl):
        module = IRModule({str(function.attrs["global_symbol"]): function})
        assert not tvms.verify(module)
        assert structural_equal(tvms.parse(str(module)), module)


def test_registered_intrinsics_are_found() -> None:
    first, second = known(ON_CPU[0]), known(ON_CPU[1])
    TensorIntrin.register("test_row", first.desc, first.impl)
    assert known("test_row").desc is first.desc
    with pytest.raises(ValueError, match=r"^intrinsic 'test_row' is already registered$"):
        TensorIntrin.register("test_row", second.desc, second.impl)
    TensorIntrin.register("test_row", second.desc, second.impl, override=True)
    assert known("test_row").impl is second.impl


def test_functions_of_different_buffers_make_no_intrinsic() -> None:
    reason = "the description and the implementation of intrinsic 'test_mixed' take different buffers"
    with pytest.raises(ValueError, match=f"^{re.escape(reason)}$"):
        TensorIntrin.register("test_mixed", known(ON_CPU[0]).desc, known(ON_CPU[2]).impl)


def test_unknown_intrinsics_are_none_or_an_error() -> None:
    assert TensorIntrin.get("test_nothing", allow_missing=True) is None
    with pytest.raises(ValueError, match=r"^unknown intrinsic 'test_nothing'$"):
        TensorIntrin.get("test_nothing")


GEMM = """
T.prim_func gemm(A: T.Buffer((32, 32), "float16"), B: T.Buffer((32, 32), "float16"), C: T.Buffer((32, 32), "float32")):
    for i, j, k in T.grid(32, 32, 32):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + T.Cast("float32", A[vi, vk]) * T.Cast("float32", B[vk, vj])
"""


def test_a_product_is_tensorized_for_the_matrix_units_of_a_gpu() -> None:
    schedule = tvms.Schedule(tvms.parse(GEMM))
    product = schedule.get_block("C")
    i, j, k = schedule.get_loops(product)
    (i0, i1), (j0, j1), (k0, k1) = (schedule.split(value, factors=[None, 16]) for value in (i, j, k))
    schedule.reorder(i0, j0, k0, i1, j1, k1)
    copies = {}
    for index, side in enumerate("ab"):
        shared = schedule.cache_read(product, index, "shared")
        schedule.compute_at(shared, k0)
        copies[side] = schedule.cache_read(product, index, f"wmma.matrix_{side}")
    result = schedule.cache_write(product, 0, "shared")
    total = schedule.cache_write(product, 0, "wmma.accumulator")
    schedule.reverse_compute_at(total, j0)
    schedule.reverse_compute_at(result, j0)
    start = schedule.decompose_reduction(product, k0)
    schedule.tensorize(schedule.get_loops(start)[2], "wmma_fill_16x16x16_f32")
    for side, copy in copies.items():
        schedule.tensorize(schedule.get_loops(copy)[3], f"wmma_load_16x16x16_f16_{side}_shared")
    schedule.tensorize(i1, "wmma_sync_16x16x16_f16f16f32")
    schedule.tensorize(schedule.get_loops(total)[2], "wmma_store_16x16x16_f32_shared")
    calls = re.findall(r"T\.tvm_\w+(?:fragment|sync)", schedule.mod.script())
    assert calls == [f"T.tvm_{value}" for value in ("fill_fragment", "load_matrix_sync", "load_matrix_sync", "mma_sync", "store_matrix_sync")]  # fmt: skip


NIBBLES = """
T.prim_func nibbles(A: T.Buffer((1,), "int32"), B: T.Buffer((8,), "int32")):
    with T.block("root"):
        T.reads(A[0])
        T.writes(B[0:8])
        for i in range(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                B[vi] = T.bitwise_and(T.shift_right(A[vi // 8], vi % 8 * 4), 15)
"""
DECODE = """
T.prim_func decode(A: T.Buffer((16, 4), "int32"), B: T.Buffer((16, 32), "int32")):
    for i, j0, j1 in T.grid(16, 4, 8):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            vj = T.axis.spatial(32, j0 * 8 + j1)
            B[vi, vj] = T.bitwise_and(T.shift_right(A[vi, vj // 8], vj % 8 * 4), 15)
"""


def test_what_is_computed_is_compared_in_normal_form() -> None:
    nibbles = tvms.parse(NIBBLES).functions["nibbles"]
    TensorIntrin.register("test_nibbles", nibbles, nibbles, override=True)
    before = tvms.parse(DECODE)
    schedule = tvms.Schedule(before)
    _, _, j1 = schedule.get_loops("B")
    schedule.tensorize(j1, "test_nibbles")
    assert_equivalent(before, schedule.mod)
    assert "T.match_buffer(A[vi_o, vj_o], (1,)" in schedule.mod.script()


DOT = """
T.prim_func dot(A: T.Buffer((6, 32), "uint8"), B: T.Buffer((3, 8, 16, 4), "int8"), C: T.Buffer((6, 48), "int32")):
    for k, i, j in T.grid(32, 6, 48):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] = C[vi, vj] + T.Cast("int32", A[vi, vk]) * T.Cast("int32", B[vj // 16, vk // 4, vj % 16, vk % 4])
"""


@pytest.mark.parametrize("order", ["k, i, j", "i, j, k", "j, k, i"])
def test_loops_are_tiled_for_an_intrinsic(order: str) -> None:
    extents = ", ".join([{"i": "6", "j": "48", "k": "32"}[name] for name in order.split(", ")])
    text = DOT.replace("for k, i, j in T.grid(32, 6, 48)", f"for {order} in T.grid({extents})")
    schedule = tvms.Schedule(tvms.parse(text), debug_mask="all")
    block = schedule.get_block("C")
    tiled = tile_with_tensor_intrin(schedule, block, "dot_16x4_vnni")
    assert tiled is not None
    loops = [schedule.get(loop) for loop in schedule.get_loops(block)]
    assert [loop.extent.value for loop in loops[-2:]] == [16, 4]
    assert schedule.get(tiled) is loops[-2]
    assert_equivalent(tvms.parse(text), schedule.mod, integers=(-128, 128))
    schedule.decompose_reduction(block, schedule.get_loops(block)[0])
    schedule.tensorize(tiled, "dot_16x4_vnni")
    assert_equivalent(tvms.parse(text), schedule.mod, integers=(-128, 128))


@pytest.mark.parametrize(
    ("old", "new"),
    [("48", "40"), ("in T.grid", "in T.grid"), ('"SSR"', '"SRS"')],
    ids=["not a multiple", "fits", "other kinds"],
)
def test_loops_that_do_not_fit_an_intrinsic_stay(old: str, new: str) -> None:
    schedule = tvms.Schedule(tvms.parse(DOT.replace(old, new)))
    before = schedule.mod
    found = tile_with_tensor_intrin(schedule, schedule.get_block("C"), "dot_16x4_vnni")
    assert (found is None) == (schedule.mod is before) == (old != new)


def test_loops_are_padded_for_an_intrinsic() -> None:
    text = """
T.prim_func gemm(A: T.Buffer((20, 33), "float16"), B: T.Buffer((33, 40), "float16"), C: T.Buffer((20, 40), "float32")):
    for i, j, k in T.grid(20, 40, 33):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + T.Cast("float32", A[vi, vk]) * T.Cast("float32", B[vk, vj])
"""
    schedule = tvms.Schedule(tvms.parse(text), debug_mask="all")
    block = schedule.get_block("C")
    assert tile_with_tensor_intrin(schedule, block, "wmma_sync_16x16x16_f16f16f32") is None
    assert tile_with_tensor_intrin(schedule, block, "wmma_sync_16x16x16_f16f16f32", allow_padding=True) is not None
    assert [schedule.get(loop).extent.value for loop in schedule.get_loops(block)] == [2, 3, 3, 16, 16, 16]
    assert_equivalent(tvms.parse(text), schedule.mod)
