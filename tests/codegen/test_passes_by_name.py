"""What passes on loops make of programs if they are asked for by name, where the compiler does less."""

from __future__ import annotations

from textwrap import dedent, indent

import numpy as np
import pytest
import tvms
from tvms import tir
from tvms.ir.api.program import structural_equal, structural_hash
from tvms.ir.base import IRModule
from tvms.ir.interp import run
from tvms.ir.visit import walk


def module(body: str) -> IRModule:
    """The module of one function with that body."""
    head = 'T.prim_func main(A: T.Buffer((32,), "int32"), B: T.Buffer((32,), "int32"), x: T.int32, y: T.int32):'
    text = f"#tvms 1\nI.ir_module Module:\n    {head}\n{indent(dedent(body).strip(), '        ')}\n"
    found = tvms.parse(text)
    assert isinstance(found, IRModule)
    return found


def same_results(before: IRModule, *others: IRModule) -> None:
    """Check that modules compute the same from the same arrays."""
    results = []
    for version in (before, *others):
        arrays = [np.arange(32, dtype="i4"), np.arange(100, 132, dtype="i4")]
        run(version, "main", [*arrays, 3, 4])
        results.append(arrays)
    for other in results[1:]:
        np.testing.assert_array_equal(other, results[0])


def test_axis_separators_keep_groups_of_dimensions() -> None:
    before = module(
        """
        C = T.decl_buffer((2, 2, 4, 3), "int32", axis_separators=[2])
        D = T.decl_buffer((4, 8), "int32", axis_separators=[1])
        for i, j, k, l in T.grid(2, 2, 4, 2):
            C[i, j, k, l] = B[i * 16 + j * 8 + k * 2 + l]
            D[i * 2 + j, k * 2 + l] = 1
        for i in range(32):
            A[i] = C[i // 16, i % 16 // 8, i % 8 // 2, i % 2] + D[i // 8, i % 8]
        """
    )
    after = tir.transform.FlattenBuffer()(before)
    memory = [(*map(str, node.extents),) for node in walk(after["main"]) if isinstance(node, tir.Allocate)]
    assert memory == [("4", "12"), ("4", "8")]
    assert "C_1[i * 2 + j, k * 3 + l]" in after.script()
    same_results(before, after, tir.transform.FlattenBuffer(index_dtype="int64")(before))


def test_pragmas_become_attributes() -> None:
    before = module(
        """
        for i in T.serial(4, annotations={"pragma_a": "text", "kept": 1, "pragma_loop_partition_hint": 1}):
            with T.block("b"):
                T.reads()
                T.writes(A[i])
                T.block_attr({"pragma_b": 2.5, "other": 3})
                A[i] = x
        """
    )
    after = tir.transform.LowerOpaqueBlock()(before)
    found = [(node.attr_key, node.value.value) for node in walk(after["main"]) if isinstance(node, tir.AttrStmt)]  # type: ignore[attr-defined]
    assert found == [("pragma_a", "text"), ("pragma_b", 2.5)]
    (loop,) = (node for node in walk(after["main"]) if isinstance(node, tir.For))
    assert dict(loop.annotations) == {"kept": 1, "pragma_loop_partition_hint": 1}
    same_results(before, after)
    assert not any(
        isinstance(node, tir.AttrStmt)
        for node in walk(tir.transform.LowerOpaqueBlock(with_pragmas=False)(before)["main"])
    )


@pytest.mark.parametrize(
    ("shape", "strides", "extents"),
    [
        ("(4, 7)", "(9, 1)", ["4", "9"]),
        ("(2, 2, 7)", "(27, 9, 1)", ["2", "3", "9"]),
        ("(2, 2, 7)", "(28, 9, 1)", ["T.int64(44)"]),
        ("(4, 7)", "(2, 1)", ["T.int64(13)"]),
        ("(4, 3)", "(8, 2)", ["T.int64(29)"]),
    ],
)
def test_memory_of_strided_buffers_has_dimensions(shape: str, strides: str, extents: list[str]) -> None:
    before = module(
        f"""
        with T.block("b"):
            T.reads()
            T.writes(A[0])
            C = T.alloc_buffer({shape}, "int32", strides={strides})
            C[{", ".join(["1"] * shape.count(",") + ["1"])}] = x
            A[0] = C[{", ".join(["1"] * shape.count(",") + ["1"])}]
        """
    )
    after = tir.transform.LowerOpaqueBlock()(before)
    (memory,) = (node for node in walk(after["main"]) if isinstance(node, tir.Allocate))
    assert [str(extent) for extent in memory.extents] == extents
    same_results(before, after)


@pytest.mark.parametrize(
    ("condition", "index", "extent"),
    [
        ("j * 4 + k < 10", "j * 4 + k", 10),
        ("j * 4 + k < 10", "i + j * 4 + k", 10),
        ("j * 4 + k < 10", "j * 8 + k * 2", 19),
        ("j * 4 + k < 10", "(j * 4 + k) // 4", 3),
        ("j * 4 + k >= 4", "j * 4 + k", 12),
        ("k + j * 4 < 10 and x < y", "j * 4 + k", 10),
        ("j * 4 + k < 10", "j + k", 7),
        ("j * 4 + k < 10 or x < y", "j * 4 + k", 16),
    ],
)
def test_conditions_on_sums_bound_buffers(condition: str, index: str, extent: int) -> None:
    before = module(
        f"""
        for i in range(2):
            with T.block("b"):
                T.reads(B[0:32])
                T.writes(A[0:32])
                C = T.alloc_buffer((32,), "int32")
                for j, k in T.grid(4, 4):
                    if {condition}:
                        C[{index}] = B[j * 4 + k]
                for j, k in T.grid(4, 4):
                    if {condition}:
                        A[j * 4 + k] = C[{index}]
        """
    )
    after = tir.transform.CompactBufferAllocation()(before)
    (buffer,) = (buffer for node in walk(after["main"]) if isinstance(node, tir.Block) for buffer in node.alloc_buffers)
    assert int(buffer.shape[0]) == extent  # type: ignore[call-overload]
    same_results(before, after)


def test_a_condition_may_exclude_the_ends_of_a_domain() -> None:
    before = module(
        """
        C = T.decl_buffer((16,), "int32")
        for i in range(10):
            if i != 0:
                C[i] = B[i]
                A[i] = C[i]
        """
    )
    after = tir.transform.CompactBufferAllocation()(before)
    (memory,) = (node for node in walk(after["main"]) if isinstance(node, tir.Allocate))
    assert str(memory.extents[0]) == "9"
    same_results(before, after)


def test_matched_buffers_move_with_their_blocks() -> None:
    before = module(
        """
        C = T.alloc_buffer((4, 8), "int32")
        for i in range(4):
            with T.block("c"):
                vi = T.axis.spatial(4, i)
                T.reads(B[vi])
                T.writes(A[vi])
                M = T.match_buffer(C[vi, 0:8], (8,), "int32")
                M[0] = B[vi]
                A[vi] = M[0]
        """
    )
    after = tir.transform.PlanAndUpdateBufferAllocationLocation()(before)
    inner = [node for node in walk(after["main"]) if isinstance(node, tir.Block) and node.name_hint == "c"]
    assert [buffer.name for node in inner for buffer in node.alloc_buffers] == ["C"]
    same_results(before, after)


def test_matched_buffers_stay_where_other_iterations_read_them() -> None:
    before = module(
        """
        C = T.alloc_buffer((4,), "int32")
        C[0] = x
        for i in range(1, 4):
            with T.block("c"):
                vi = T.axis.spatial((1, 4), i)
                T.reads(C[vi - 1])
                T.writes(C[vi], A[vi])
                M = T.match_buffer(C[vi:vi + 1], (1,), "int32")
                M[0] = C[vi - 1] + 1
                A[vi] = C[vi - 1]
        """
    )
    after = tir.transform.PlanAndUpdateBufferAllocationLocation()(before)
    assert after.script() == before.script()


def test_targets_are_compared_by_what_they_mean() -> None:
    def bound(target: str) -> IRModule:
        return module(f'T.func_attr({{"target": {target}}})\nA[0] = x')

    same = [
        bound(target)
        for target in ('T.target("cuda")', '"cuda -arch=sm_75"', 'T.target({"kind": "cuda", "arch": "sm_75"})')
    ]
    other = [
        bound(target)
        for target in ('T.target("cuda", host="llvm")', '"cuda -arch=sm_90"', 'T.target("llvm")', '"unknown"')
    ]
    for mod in same:
        assert structural_equal(mod, same[0])
        assert structural_hash(mod) == structural_hash(same[0])
    for mod in other:
        assert not structural_equal(mod, same[0])


def test_regions_of_a_gpu_are_annotated() -> None:
    body = 'with T.launch_thread("threadIdx.x", 4) as t:\n    with T.attr(0, "device_scope", 0):\n        A[t] = x'
    before = tir.transform.BindTarget(tvms.target.Target("cuda -arch=sm_80", host="llvm"))(module(body))
    after = tir.transform.AnnotateDeviceRegions()(before)
    keys = [(node.attr_key, str(node.node)) for node in walk(after["main"]) if isinstance(node, tir.AttrStmt)]
    assert [key for key, _ in keys] == ["target", "thread_extent", "device_scope"]
    assert "host" not in keys[0][1]
    assert "sm_80" in keys[0][1]
    assert tir.transform.AnnotateDeviceRegions()(module(body)).script() == module(body).script()
    same_results(before, after)


def test_loops_around_assumptions_only_are_removed() -> None:
    before = module("for i in range(4):\n    T.evaluate(T.assume(A[i] == 0))\nA[0] = x")
    assert tir.transform.RemoveAssume()(before).script() == module("A[0] = x").script()


@pytest.mark.parametrize("body", ["B[0] = A[0]", "for i in range(4):\n    B[0] = B[0] + A[i]"])
def test_one_thread_executes_what_has_no_spatial_loop(body: str) -> None:
    axes = "vi = T.axis.spatial(1, 0)" if "for" not in body else "vi = T.axis.reduce(4, i)"
    *loops, store = body.splitlines()
    inner = "    " * len(loops)
    text = "\n".join(
        [
            *loops,
            f'{inner}with T.block("b"):',
            f"{inner}    {axes}",
            f"{inner}    {store.strip().replace('[i]', '[vi]')}",
        ]
    )
    before = module(text)
    with tvms.target.Target("cuda"):
        after = tir.transform.DefaultGPUSchedule()(before)
    loops_of = [node for node in walk(after["main"]) if isinstance(node, tir.For) and node.thread_binding is not None]
    assert [loop.thread_binding.thread_tag for loop in loops_of if loop.thread_binding is not None] == [
        "blockIdx.x",
        "threadIdx.x",
    ]
    same_results(before, after)


def test_flat_views_have_whole_rows_of_their_memory() -> None:
    body = """
    C = T.decl_buffer((SIZE,), "int32")
    D = T.Buffer((4, 6), "int32", data=C.data, strides=[8, 1])
    for i, j in T.grid(4, 6):
        D[i, j] = B[i * 8 + j]
    A[0] = D[1, 2]
    """
    for size, expected in ((32, 32), (31, 30)):
        before = module(body.replace("SIZE", str(size)))
        after = tir.transform.FlattenBuffer()(before)
        (shape,) = {
            str(node.shape[0]) for node in walk(after["main"]) if isinstance(node, tir.Buffer) and node.name == "D"
        }
        assert shape == str(expected)
        same_results(before, after)


def test_matched_buffers_are_compacted() -> None:
    before = module(
        """
        for i in range(4):
            with T.block("around"):
                T.reads(B[i])
                T.writes(A[i])
                C = T.alloc_buffer((4, 8), "int32")
                with T.block("c"):
                    T.reads(B[i])
                    T.writes(C[i, 2:6])
                    M = T.match_buffer(C[i, 2:6], (4,), "int32")
                    M[1] = B[i]
                A[i] = C[i, 3]
        """
    )
    after = tir.transform.CompactBufferAllocation()(before)
    (buffer,) = (buffer for node in walk(after["main"]) if isinstance(node, tir.Block) for buffer in node.alloc_buffers)
    assert [str(extent) for extent in buffer.shape] == ["1", "4"]
    same_results(before, after, tir.transform.LowerMatchBuffer()(after))


ALIGNED = """
        for i in range(4):
            with T.block("around"):
                T.reads(B[i * 8:i * 8 + 8])
                T.writes(A[i])
                C = T.alloc_buffer((4, 8), "int32")
                for j in range(8):
                    with T.block("c"):
                        T.reads(B[i * 8 + j])
                        T.writes(C[i, j])
                        T.block_attr({"buffer_dim_align": [[0, 0, 16, 5]]})
                        C[i, j] = B[i * 8 + j]
                A[i] = C[i, 7]
        """


def test_alignments_become_strides() -> None:
    before = module(ALIGNED)
    after = tir.transform.CompactBufferAllocation()(before)
    (buffer,) = (buffer for node in walk(after["main"]) if isinstance(node, tir.Block) for buffer in node.alloc_buffers)
    assert ([str(extent) for extent in buffer.shape], [str(stride) for stride in buffer.strides]) == (
        ["1", "8"],
        ["21", "1"],
    )
    same_results(before, after, tir.transform.LowerOpaqueBlock()(after))


def test_matched_buffers_of_another_layout_are_refused() -> None:
    before = module(
        """
        C = T.alloc_buffer((4, 8), "int32")
        with T.block("c"):
            T.reads()
            T.writes(C[0:4, 0:8])
            stride = T.int32()
            M = T.match_buffer(C[0:4, 0:8], (4, 8), "int32", strides=[stride, stride])
            M[1, 1] = x
        """
    )
    with pytest.raises(tvms.TvmsError) as caught:
        tir.transform.LowerMatchBuffer()(before)
    assert str(caught.value).splitlines()[0] == (
        "error[E0706]: matched buffer 'M' declares stride as offset or stride, where its region has T.int64(1)"
    )


def test_conditions_leave_the_attributes_of_inner_threads_if_asked() -> None:
    before = module(
        """
        with T.launch_thread("threadIdx.x", 4) as t:
            for i in range(2):
                with T.launch_thread("blockIdx.x", 2) as b:
                    if t < 3:
                        A[t * 4 + b * 2 + i] = x
                    else:
                        A[t * 4 + b * 2 + i] = y
        """
    )
    synchronizes = module(
        """
        with T.launch_thread("blockIdx.x", 4) as b:
            with T.launch_thread("threadIdx.x", 2) as t:
                if b < 3:
                    A[b * 2 + t] = x
                    T.tvm_storage_sync("shared")
        """
    )
    assert tir.transform.HoistIfThenElse()(before).script() == before.script()
    with tvms.transform.PassContext(config={"tir.HoistIfThenElse": {"support_block_scope_hoisting": True}}):
        after = tir.transform.HoistIfThenElse()(before)
        assert tir.transform.HoistIfThenElse()(synchronizes).script() == synchronizes.script()
    (launch,) = (
        node for node in walk(after["main"]) if isinstance(node, tir.AttrStmt) and node.node.thread_tag == "threadIdx.x"
    )
    assert isinstance(launch.body, tir.IfThenElse)
    same_results(before, after)


def test_alignments_pass_from_blocks_to_allocations() -> None:
    before = module(ALIGNED)
    after = tir.transform.CompactBufferAllocation()(tir.transform.LowerOpaqueBlock()(before))
    (memory,) = (node for node in walk(after["main"]) if isinstance(node, tir.Allocate))
    assert [str(extent) for extent in memory.extents] == ["1", "21"]
    assert tuple(memory.annotations["buffer_dim_align"]) == ((0, 0, 16, 5),)
    same_results(before, after)


def test_quotients_of_widened_operands_are_narrowed() -> None:
    body = """
    for i in range(T.int64(8)):
        A[i] = T.cast(T.Div(T.cast(B[i], "int64"), T.max(i - T.int64(3), T.int64(1))), "int32")
        A[i + T.int64(8)] = T.cast(T.Div(T.cast(B[i], "int64"), i - T.int64(9)), "int32")
        A[i + T.int64(16)] = T.cast(T.cast(B[i], "int64") * T.cast(B[i], "int64") // T.int64(3), "int32")
    """
    before = module(body)
    after = tir.transform.NarrowDataType(32)(before)
    kinds = [node.dtype for node in walk(after["main"]) if isinstance(node, tir.Div | tir.FloorDiv)]
    assert kinds == ["int32", "int64", "int64"]
    same_results(before, after)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("T.max(0, x + 0)", "T.max(0, x)"),
        ("T.max(x + 0, 0)", "T.max(x, 0)"),
        ("T.max(0, x + 0) + T.max(y, 0)", "T.max(x, 0) + T.max(y, 0)"),
        ("T.min(7, T.max(0, y + 0))", "T.min(7, T.max(0, y))"),
        ("T.max(0, T.max(3, y))", "T.max(3, y)"),
    ],
)
def test_constants_of_extrema_stay_at_their_side(value: str, expected: str) -> None:
    assert tir.transform.Simplify()(module(f"A[0] = {value}")).script() == module(f"A[0] = {expected}").script()
