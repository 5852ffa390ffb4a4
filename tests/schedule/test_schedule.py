"""Schedules in Python: handles, history, errors; and schedules as text."""

from __future__ import annotations

from textwrap import dedent
from typing import Any

import pytest
import tvms
from tvms.ir import make, tir
from tvms.ir.equal import first_difference
from tvms.ir.schedule.apply import apply_schedules
from tvms.ir.visit import walk

MATMUL = """
T.prim_func matmul(A: T.Buffer((16, 32), "float32"), B: T.Buffer((32, 8), "float32"), C: T.Buffer((16, 8), "float32")):
    for i, j, k in T.grid(16, 8, 32):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""
TILED = """
S.schedule tiled(matmul, target="llvm"):
    i, j, k = S.get_loops("C")
    i0, i1 = S.split(i, factors=[None, 4])
    S.parallel(i0)
"""
PLAIN = """
S.schedule plain(matmul):
    _, j, _ = S.get_loops("C")
    S.unroll(j)
"""


@pytest.fixture
def schedule() -> Any:
    return tvms.Schedule(tvms.parse(MATMUL), seed=1)


def two_functions() -> tvms.IRModule:
    function = tvms.parse(MATMUL).functions["matmul"]
    return tvms.IRModule({"first": function, "second": function})


def first_of(schedule: Any) -> tir.PrimExpr:
    (buffer, *_) = schedule.mod.functions["matmul"].buffer_map.values()
    return make.buffer_load(buffer, (0, 0))


def extents(schedule: Any, block: str = "C") -> list[int]:
    return [schedule.get(loop).extent.value for loop in schedule.get_loops(block)]


def test_handles_follow_what_they_stand_for(schedule: Any) -> None:
    block = schedule.get_block("C")
    i, j, k = schedule.get_loops(block)
    i0, i1 = schedule.split(i, factors=[None, 4])
    schedule.reorder(i0, j, i1, k)
    schedule.annotate(block, "tile", 4)
    fused = schedule.fuse(i0, j)
    assert extents(schedule) == [32, 4, 32]
    assert schedule.get(fused).loop_var.name == "i_0_j_fused"
    assert schedule.get(i1).loop_var.name == "i_1"
    assert schedule.get(block).annotations == {"tile": 4}
    assert schedule.get_sref(k).parent.stmt is schedule.get(i1)
    assert schedule.get_sref(i1).parent.stmt is schedule.get(fused)


def test_names_do_not_lead_handles_astray() -> None:
    """Two loops and blocks of one name each: a handle stands for the one it was made for."""
    schedule = tvms.Schedule(
        tvms.parse("""
T.prim_func twice(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    with T.block("outer"):
        for i in range(8):
            with T.block("same"):
                vi = T.axis.spatial(8, i)
                A[vi] = 1.0
        for i in range(8):
            with T.block("same"):
                vi = T.axis.spatial(8, i)
                B[vi] = 2.0
""")
    )
    first, second = schedule.get_child_blocks(schedule.get_block("outer"))
    (loop,) = schedule.get_loops(second)
    (other,) = schedule.get_loops(first)
    schedule.split(loop, [2, 4])
    assert extents(schedule, second) == [2, 4]
    assert extents(schedule, first) == [8]
    schedule.unroll(other)
    assert schedule.get(other).kind is tir.ForKind.UNROLLED
    assert schedule.get(second).writes[0].buffer.name == "B"


def test_undo_and_copies(schedule: Any) -> None:
    before = schedule.mod
    i, j, _ = schedule.get_loops("C")
    schedule.parallel(i)
    copy = schedule.copy()
    copy.unroll(j)
    assert schedule.get(j).kind is tir.ForKind.SERIAL
    assert copy.get(j).kind is tir.ForKind.UNROLLED
    schedule.undo()
    assert schedule.mod is before
    assert schedule.get(i).kind is tir.ForKind.SERIAL
    assert [inst.primitive.name for inst in schedule.trace.insts] == ["get_loops"]
    assert [inst.primitive.name for inst in copy.trace.insts] == ["get_loops", "parallel", "unroll"]
    with pytest.raises(ValueError, match=r"^cannot undo 2 of 1 steps$"):
        schedule.undo(2)


def test_numbers_of_the_schedule_stand_in_expressions(schedule: Any) -> None:
    i, *_ = schedule.get_loops("C")
    _, inner = schedule.split(i, factors=[None, tir.IntImm("int32", 8)])
    assert schedule.get(inner).extent.value == 8


def test_a_refusal_shows_the_program_and_where_loops_came_from() -> None:
    schedule = tvms.Schedule(tvms.parse(MATMUL))
    text = tvms.parse(
        MATMUL
        + """
S.schedule wrong(matmul):
    i, j, k = S.get_loops("C")
    i0, i1 = S.split(i, factors=[None, 4])
    S.bind(i1, "threadIdx.x")
    S.split(i1, factors=[2, 2])
""",
        "wrong.tvms",
    ).schedules["wrong"]
    before = schedule.mod
    with pytest.raises(tvms.ScheduleError) as caught:
        schedule.replay(text)
    assert schedule.mod is before
    assert (
        str(caught.value)
        == """\
error[E0504]: argument 1, 'loop' to split: loop 'i_1' is bound to 'threadIdx.x'
   --> wrong.tvms:14:13
    |
 14 |     S.split(i1, factors=[2, 2])
    |             ^^
    = note: 'i_1' is the inner loop of the split at line 12
    = help: do this before the loop is annotated or bound
  1 | T.prim_func matmul(A: T.Buffer((16, 32), "float32"), B: T.Buffer((32, 8), "float32"), C: T.Buffer((16, 8), "float32")):
  2 |     for i_0 in range(4):
  3 |         for i_1 in T.thread_binding(4, thread="threadIdx.x"):
    |             ^^^
  4 |             for j, k in T.grid(8, 32):
  5 |                 with T.block("C"):
  6 |                     vi = T.axis.spatial(16, i_0 * 4 + i_1)
  7 |                     vj, vk = T.axis.remap("SR", [j, k])
  8 |                     T.reads(A[vi, vk], B[vk, vj])
  9 |                     T.writes(C[vi, vj])
 10 |                     with T.init():
 11 |                         C[vi, vj] = T.float32(0)
 12 |                     C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]"""
    )


def test_a_refusal_names_the_line_of_python() -> None:
    schedule = tvms.Schedule(tvms.parse(MATMUL), error_render_level="fast")
    i, _, _ = schedule.get_loops("C")
    outer, _ = schedule.split(i, factors=[None, 4])
    schedule.annotate(outer, "hint", 1)
    with pytest.raises(tvms.ScheduleError) as caught:
        schedule.split(outer, factors=[2, 2])
    first, note, help = str(caught.value).split("\n")
    assert first == "error[E0504]: argument 1, 'loop' to split: loop 'i_0' is annotated with 'hint'"
    assert note.startswith("  = note: 'i_0' is the outer loop of the split at test_schedule.py:")
    assert help == "  = help: do this before the loop is annotated or bound"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: s.get_block("D"), "error[E0502]: argument 1, 'name' to get_block: no block is called 'D' in function 'matmul'"),
        (lambda s: s.get_block("C", "nothing"), "error[E0502]: get_block: the module has no loop function 'nothing'"),
        (lambda s: s.split("i", [2, 8]), "error[E0501]: argument 1, 'loop' to split: expected a loop, got 'i'"),
        (lambda s: s.split(s.get_loops("C")[0]), "error[E0105]: split: missing argument 2, 'factors'"),
        (lambda s: s.unroll(s.get_loops("C")[0], 4), "error[E0105]: unroll: expected at most 1 argument by position, got 2"),
        (lambda s: s.unroll(s.get_loops("C")[0], lop=4), "error[E0105]: unroll: unknown argument 'lop'"),
        (lambda s: s.unroll(s.get_loops("C")[0], loop=4), "error[E0105]: unroll: argument 'loop' is given twice"),
        (
            lambda s: s.annotate(s.get_block("C"), 1, 2),
            "error[E0501]: argument 2, 'ann_key' to annotate: expected a string, got 1",
        ),
        (
            lambda s: s.unroll(tvms.Schedule(tvms.parse(MATMUL)).get_loops("C")[0]),
            "error[E0501]: argument 1, 'loop' to unroll: expected a loop of this schedule, not of another one, got a loop",
        ),
        (
            lambda s: s.transform_layout("C", "C", lambda i, j: (i, "j")),
            "error[E0501]: argument 3, 'index_map' to transform_layout: expected an index, got 'j'",
        ),
        (
            lambda s: s.transform_layout("C", "A", lambda i, j: (i // 5, i % 5, j), pad_value=lambda *at: first_of(s)),
            "error[E0555]: argument 4, 'pad_value' to transform_layout: the padding value reads 'A'",
        ),
        (
            lambda s: tvms.Schedule(two_functions()).get_block("C"),
            "error[E0501]: get_block: 'func_name' is missing, and the module has several functions",
        ),
    ],
)  # fmt: skip
def test_says_what_is_wrong_with_arguments(schedule: Any, call: Any, message: str) -> None:
    with pytest.raises(tvms.ScheduleError) as caught:
        call(schedule)
    assert str(caught.value).split("\n")[0] == message


def test_schedules_are_part_of_the_text_and_left_out_in_tvm() -> None:
    module = tvms.parse(MATMUL + TILED)
    assert 'S.schedule tiled(matmul, target="llvm"):' in str(module)
    assert "schedule" not in module.script(dialect="tvm-0.21")
    again = tvms.parse(str(module))
    assert first_difference(module, again, map_free_vars=True) is None
    other = tvms.parse(MATMUL + TILED.replace("4]", "8]"))
    assert first_difference(module, other, map_free_vars=True) is not None


def test_the_schedule_of_the_target_is_applied() -> None:
    module = tvms.parse(MATMUL + PLAIN + TILED)
    scheduled = apply_schedules(module, "llvm")
    assert not scheduled.schedules
    assert extents(tvms.Schedule(scheduled)) == [4, 4, 8, 32]
    assert extents(tvms.Schedule(apply_schedules(module, "cuda"))) == [16, 8, 32]
    with pytest.raises(tvms.TvmsError) as caught:
        apply_schedules(tvms.parse(MATMUL + TILED + TILED.replace("tiled", "again"), "two.tvms"), "llvm")
    assert str(caught.value).startswith(
        "error[E0529]: function 'matmul' has two schedules for the same target\n   --> two.tvms:15:1"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("S.schedule s():\n    pass", "error[E0105]: schedule 's' names no function"),
        ("S.schedule s(matmull):\n    pass", "error[E0102]: the module has no loop function 'matmull'"),
        ("S.schedule s(matmul, level):\n    pass", "error[E0105]: parameter 'level' has no value"),
        ("S.schedule s(matmul, level=T.int32):\n    pass", "error[E0202]: expected a constant, got 'T.int32'"),
        ("S.schedule s(matmul, target=3):\n    pass", "error[E0202]: expected a target, got 3"),
        ("S.schedule s(matmul):\n    S.splitt(i)", "error[E0103]: 'S' has no form 'splitt'"),
        ("S.schedule s(matmul):\n    S.unroll(i)", "error[E0101]: name 'i' is not defined"),
        ("S.schedule s(matmul):\n    T.serial(3)", "error[E0201]: T.serial belongs in a loop function"),
        ("S.schedule s(matmul):\n    while True:\n        pass", "error[E0207]: a schedule cannot contain this statement"),
        ("S.schedule s(matmul):\n    3", "error[E0207]: this value has no effect"),
        ("S.schedule s(matmul):\n    S.get_loops()", "error[E0105]: get_loops: missing argument 1, 'block'"),
        ("S.schedule s(matmul):\n    pass\n\nS.schedule s(matmul):\n    pass", "error[E0104]: two schedules are called 's'"),
        ("T.prim_func f(a=3):\n    pass", "error[E0013]: parameters cannot have default values"),
    ],
)  # fmt: skip
def test_says_what_is_wrong_with_the_text(text: str, message: str) -> None:
    with pytest.raises(tvms.TvmsError) as caught:
        tvms.parse(MATMUL + "\n" + text)
    assert str(caught.value).split("\n")[0] == message


def test_says_that_names_do_not_fit_the_results() -> None:
    text = tvms.parse(MATMUL + 'S.schedule s(matmul):\n    i, j = S.get_loops("C")\n', "s.tvms")
    with pytest.raises(tvms.TvmsError) as caught:
        tvms.Schedule(text).replay(text.schedules["s"])
    assert str(caught.value).startswith("error[E0204]: expected names for 3 results, got 2\n   --> s.tvms:")


def test_several_results_may_have_one_name() -> None:
    text = """
S.schedule s(matmul):
    loops = S.get_loops("C")
    S.reorder(loops[2], loops[0])
    S.fuse(*S_loops)
""".replace("S_loops", "again").replace("    S.fuse", '    again = S.get_loops("C")\n    S.fuse')
    module = tvms.parse(MATMUL + text)
    assert str(tvms.parse(str(module))) == str(module)
    schedule = tvms.Schedule(module)
    schedule.replay(module.schedules["s"])
    assert extents(schedule) == [4096]


def test_deep_nests_are_scheduled() -> None:
    depth = 2000
    body: Any = tir.Evaluate(tir.IntImm("int32", 0))
    zero, one = tir.IntImm("int32", 0), tir.IntImm("int32", 1)
    body = tir.BlockRealize((), tir.IntImm("bool", 1), tir.Block((), (), (), "inner", body))
    for index in range(depth):
        body = tir.For(tir.Var("int32", f"i{index}"), zero, one, tir.ForKind.SERIAL, body)
    root = tir.BlockRealize((), tir.IntImm("bool", 1), tir.Block((), (), (), "root", body))
    schedule = tvms.Schedule(tir.PrimFunc((), root))
    loops = schedule.get_loops("inner")
    schedule.split(loops[0], [1, 1])
    assert len(schedule.get_loops("inner")) == depth + 1


def test_who_uses_an_address_gets_that_of_the_copy() -> None:
    text = """
    T.prim_func opaque(A: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")):
        for i in range(1):
            with T.block("C"):
                T.reads(A[0:16])
                T.writes(C[0:16])
                T.call_extern("void", "double", A.data, C.data)
    """
    schedule = tvms.Schedule(tvms.parse(dedent(text)))
    schedule.cache_read("C", "A", "global")
    schedule.cache_write("C", "C", "local")
    (call,) = [node for node in walk(schedule.mod) if isinstance(node, tir.Call)]
    assert [str(arg) for arg in call.args[1:]] == ["A_global", "C_local"]


def test_a_pipeline_that_was_wrong_before_refuses_nothing() -> None:
    text = """
        T.prim_func main(A: T.Buffer((16, 4), "float32"), C: T.Buffer((16, 4), "float32")):
            for i in T.serial(16, annotations={"software_pipeline_stage": [0], "software_pipeline_order": [1]}):
                for j in range(4):
                    with T.block("C"):
                        vi, vj = T.axis.remap("SS", [i, j])
                        C[vi, vj] = A[vi, vj]
    """
    schedule = tvms.Schedule(tvms.parse(dedent(text)))
    i, j = schedule.get_loops("C")
    schedule.unroll(j)
    schedule.unannotate(i, "software_pipeline_order")
    with pytest.raises(tvms.TvmsError, match="does not number the statements from 0 to 0"):
        schedule.annotate(i, "software_pipeline_order", [2])
    schedule.annotate(i, "software_pipeline_order", [0])


OUTSIDE = """
T.prim_func outside(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = A[vi + 1]
"""


@pytest.mark.parametrize("mask", ["all", tvms.tir.schedule.ScheduleDebugMask.VERIFY_SREF_TREE])
def test_errors_of_the_given_program_are_not_those_of_a_primitive(mask: Any) -> None:
    """With `debug_mask`, a schedule verifies what its primitives do, not what its program is."""
    schedule = tvms.Schedule(tvms.parse(OUTSIDE), debug_mask=mask)
    assert [problem.code for problem in tvms.verify(schedule.mod)] == ["E0414"]
    (i,) = schedule.get_loops("B")
    schedule.split(i, factors=[None, 4])
    assert len(schedule.get_loops("B")) == 2
