"""Schedules under TVM's names: index maps, the state of a schedule, names of intrinsics, handles that are gone."""

from __future__ import annotations

from typing import Any

import pytest
import tvms
from tvms import tir
from tvms.tir.schedule import DepKind
from tvms.tir.tensor_intrin import arm_cpu, cuda, hexagon, rocm, x86

CHAIN = """
T.prim_func chain(A: T.Buffer((16, 8), "float32"), C: T.Buffer((16, 8), "float32")):
    B = T.alloc_buffer((16, 8), "float32")
    for i, j in T.grid(16, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(16, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + T.float32(1)
"""


@pytest.fixture
def schedule() -> Any:
    return tvms.Schedule(tvms.parse(CHAIN), seed=1)


def test_index_maps_of_functions() -> None:
    index_map = tir.IndexMap.from_func(lambda i, j: [i // 4, j, i % 4], index_dtype="int32")
    assert str(index_map) == 'T.index_map(lambda i, j: (i // 4, j, i % 4), index_dtype="int32")'
    assert index_map.initial_indices[0].dtype == "int32"
    assert isinstance(index_map, tir.IndexMap)
    separator = tir.IndexMap.AXIS_SEPARATOR
    whole, separators = tir.IndexMap.from_func_with_separators(lambda i, *rest: [i, separator, *rest], ndim=3)
    assert (str(whole), separators) == ("T.index_map(lambda i, rest_0, rest_1: (i, rest_0, rest_1))", [1])
    inverse = tir.IndexMap.from_func(lambda i: [i // 4, i % 4], inverse_index_map=lambda i, j: i * 4 + j)
    assert str(inverse.inverse_index_map) == "T.index_map(lambda i, j: (i * 4 + j,))"
    with pytest.raises(ValueError, match=r"use IndexMap\.from_func_with_separators"):
        tir.IndexMap.from_func(lambda i, j: [i, separator, j])


def test_an_index_map_lays_out_a_buffer(schedule: Any) -> None:
    schedule.transform_layout("B", ("write", 0), lambda i, j: [i // 4, tir.IndexMap.AXIS_SEPARATOR, j, i % 4])
    schedule.transform_layout("C", "C", tir.IndexMap.from_func(lambda i, j: [j, i]))
    assert "B = T.alloc_buffer((4, 8, 4), axis_separators=[1])" in str(schedule.mod)
    assert 'C: T.Buffer((8, 16), "float32")' in str(schedule.mod)


def test_the_state_of_a_schedule(schedule: Any) -> None:
    block = schedule.get_block("B")
    state, sref = schedule.state, schedule.get_sref(block)
    assert state.mod is schedule.mod
    assert state.get_sref(schedule.get(block)).same_as(sref)
    assert not schedule.copy().get_sref(block).same_as(sref)
    root = schedule.get_sref(schedule.get_block("root"))
    assert isinstance(sref.stmt, tir.SBlock)
    assert state.get_sblock_scope(root).get_deps_by_src(sref)
    (dependency,) = state.get_block_scope(root).get_deps_by_src(sref)
    assert dependency.kind is DepKind.RAW
    assert dependency.dst.same_as(schedule.get_sref(schedule.get_block("C")))
    (same,) = state.get_block_scope(root).get_deps_by_dst(dependency.dst)
    assert same.src.same_as(sref)
    with pytest.raises(TypeError, match="expected a reference to a block, got one to a loop"):
        state.get_block_scope(schedule.get_sref(schedule.get_loops(block)[0]))


def test_the_state_of_a_module() -> None:
    module = tvms.parse(CHAIN)
    state = tir.ScheduleState(module)
    root = module.functions["chain"].body.block
    assert state.mod is module
    assert state.get_sref(root).parent is None


def test_a_removed_handle_is_an_index_error(schedule: Any) -> None:
    block = schedule.get_block("B")
    schedule.remove_rv(block)
    with pytest.raises(IndexError) as raised:
        schedule.get(block)
    assert str(raised.value) == (
        "error[E0501]: get: expected a block of this schedule, not of another one\n"
        "  = help: use the schedule that created the handle"
    )


def test_names_of_intrinsics() -> None:
    assert cuda.MMA_f16f16f32_TRANS_B_INTRIN == "mma_f16f16f32_trans_b"
    assert cuda.LDMATRIX_f16_A_DYN_INTRIN == "mma_ldmatrix_f16_a_dyn"
    assert cuda.MMA_store_16x16_f32_global_INTRIN == "mma_store_16x16_f32_global_"
    assert cuda.WMMA_LOAD_16x16x16_F16_B_TRANS_INTRIN == "wmma_load_16x16x16_f16_b_trans_shared"
    assert x86.VNNI_DOT_16x4_INTRIN == "dot_16x4_vnni"
    assert arm_cpu.ARM_DOT_4x4_i8_SDOT_INTRIN == "dot_4x4_i8i8s32_sdot"
    assert hexagon.VRMPY_u8u8i32_INTRIN == "dot_32x4_u8u8i32_vrmpy"
    assert rocm.AMDGPU_SDOT4_INTRIN == "sdot4"
    with pytest.raises(AttributeError, match="there is no intrinsic 'MMA_INTRIN'"):
        cuda.MMA_INTRIN  # noqa: B018


@pytest.mark.parametrize("kinds", [("float16", "float32"), ("int8", "int32")])
def test_groups_of_intrinsics_exist(kinds: tuple[str, str]) -> None:
    groups = [
        cuda.get_wmma_intrin_group("shared.dyn", "shared", *kinds, trans_b=True),
        cuda.get_mma_intrin_group("shared.dyn", "global", *kinds, trans_a=False, trans_b=True),
    ]
    names = [name for group in groups for name in group.values()]
    assert len(names) == 10
    assert all(tir.TensorIntrin.get(name, allow_missing=True) is not None for name in names)


def test_traces_hold_nested_values_and_lists_of_blocks(schedule: Any) -> None:
    schedule.annotate("B", "tiles", {"sizes": [4, 8], "name": "outer"})
    schedule.blockize([schedule.get_block("B"), schedule.get_block("C")], preserve_unit_iters=False)
    again = tvms.Schedule(tvms.parse(CHAIN))
    tir.schedule.Trace.apply_json_to_schedule(schedule.trace.as_json(), again)
    assert again.trace.as_python() == schedule.trace.as_python()
    assert schedule.trace.as_python()[0] == (
        'sch.annotate(block_or_loop="B", ann_key="tiles", ann_val={"sizes": [4, 8], "name": "outer"})'
    )
    assert tvms.structural_equal(again.mod, schedule.mod)


def test_functions_of_values_outside_of_texts() -> None:
    from tvms.script import tir as T

    assert str(T.ceildiv(128, 4 * T.vscale())) == "(128 + 4 * T.vscale() - 1) // (4 * T.vscale())"


def flags_of(text: str) -> dict[str, tuple[bool, bool, bool]]:
    module = tvms.parse(text)
    state = tir.ScheduleState(module)
    (func,) = module.functions.values()
    found: dict[str, tuple[bool, bool, bool]] = {}

    def visit(node: Any) -> None:
        if isinstance(node, tir.Block):
            flags = state._get_cached_flags(state.get_sref(node))
            found[node.name_hint] = (flags.affine_binding, flags.region_cover, flags.stage_pipeline)

    tir.stmt_functor.post_order_visit(func.body, visit)
    return found


def test_what_holds_for_blocks() -> None:
    assert flags_of(CHAIN) == dict.fromkeys(("B", "C", "root"), (True, True, True))
    half = CHAIN.replace(
        'for i, j in T.grid(16, 8):\n        with T.block("B")', 'for i, j in T.grid(8, 8):\n        with T.block("B")'
    )
    assert flags_of(half) == {"B": (True, True, True), "C": (True, False, True), "root": (True, True, False)}
    overwritten = CHAIN.replace("C[vi, vj] = B[vi, vj] + T.float32(1)", "A[vi, vj] = B[vi, vj] + T.float32(1)")
    assert flags_of(overwritten)["root"] == (True, True, False)
    square = CHAIN.replace(
        'vi, vj = T.axis.remap("SS", [i, j])\n            C',
        "vi = T.axis.spatial(16, i * i % 16)\n            vj = T.axis.spatial(8, j)\n            C",
    )
    assert flags_of(square)["C"] == (False, True, True)


THREADS = """
T.prim_func threads(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
    B = T.alloc_buffer((8, 8), "float32", scope="SCOPE")
    for b in T.thread_binding(1, thread="blockIdx.x"):
        for i in T.thread_binding(8, thread="threadIdx.x"):
            for j in range(8):
                with T.block("B"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    B[vi, vj] = A[vi, vj] * T.float32(2)
            for j in range(8):
                with T.block("C"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    C[vi, vj] = B[vj, vi] + T.float32(1)
"""


@pytest.mark.parametrize(("scope", "covers"), [("shared", True), ("local", False), ("warp", False)])
def test_threads_see_what_others_write_to_memory_that_they_share(scope: str, covers: bool) -> None:
    flags = flags_of(THREADS.replace("SCOPE", scope))
    assert flags["C"] == (True, covers, True)
    assert flags["root"] == (True, True, covers)


def test_values_have_the_types_of_tvm_0_27() -> None:
    value = tir.Var("x", "int64") + 1
    assert isinstance(value, tir.Expr)
    assert value.ty.dtype == "int64"
    assert tvms.structural_equal(value.ty, tvms.ir.PrimType("int64"))
