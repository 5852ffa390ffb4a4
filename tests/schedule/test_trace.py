"""Traces: written as JSON and as Python, simplified, with other decisions."""

from __future__ import annotations

import json
from typing import Any

import pytest
import tvms
from tvms.ir import tir
from tvms.ir.equal import first_difference
from tvms.ir.schedule import BlockRV, LoopRV, Schedule, Trace
from tvms.ir.schedule.instruction import Instruction, InstructionKind

PROGRAM = """
T.prim_func stages(A: T.Buffer((32, 24), "float32"), C: T.Buffer((32, 24), "float32")):
    B = T.alloc_buffer((32, 24))
    for i, j in T.grid(32, 24):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2.0
    for i, j in T.grid(32, 24):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + 1.0
"""


def scheduled(seed: int = 3) -> Any:
    """A schedule with tiles, choices, a layout in terms of them, and steps after all choices."""
    schedule = Schedule(tvms.parse(PROGRAM), seed=seed)
    block = schedule.get_block("C")
    schedule.get_block("B")
    i, j = schedule.get_loops(block)
    tiles = schedule.sample_perfect_tile(i, n=3)
    i0, i1, i2 = schedule.split(i, tiles)
    schedule.reorder(i0, j, i1, i2)
    place = schedule.sample_compute_location("B")
    schedule.compute_at("B", place)
    schedule.transform_layout(
        block, ("write", 0), lambda x, y: (x // (tiles[1] * tiles[2]), y, x % (tiles[1] * tiles[2]))
    )
    depth = schedule.sample_categorical([0, 4], [0.5, 0.5])
    schedule.annotate(i0, "unroll", depth)
    schedule.enter_postproc()
    schedule.parallel(i0)
    return schedule


def assert_same(a: Any, b: Any) -> None:
    assert first_difference(a.mod, b.mod, map_free_vars=True) is None


def test_loops_of_one_iteration_are_no_locations() -> None:
    text = """#tvms 1
T.prim_func main(A: T.Buffer((1, 8, 1), "float32"), C: T.Buffer((1, 8, 1), "float32")):
    B = T.alloc_buffer((1, 8, 1))
    for i, j, k in T.grid(1, 8, 1):
        with T.block("B"):
            vi, vj, vk = T.axis.remap("SSS", [i, j, k])
            B[vi, vj, vk] = A[vi, vj, vk] + 1.0
    for i, j, k in T.grid(1, 8, 1):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSS", [i, j, k])
            C[vi, vj, vk] = B[vi, vj, vk] * 2.0
"""
    decisions = set[Any]()
    for seed in range(1, 2**31, 2**25):
        schedule = Schedule(tvms.parse(text), seed=seed)
        schedule.sample_compute_location("B")
        decisions.update(schedule.trace.decisions.values())
    assert decisions == {-2, -1, 1}


@pytest.mark.parametrize("seed", range(1, 9))
def test_json_makes_the_same_module_again(seed: int) -> None:
    schedule = scheduled(seed)
    again = Schedule(tvms.parse(PROGRAM), seed=99)
    Trace.apply_json_to_schedule(json.loads(json.dumps(schedule.trace.as_json())), again)
    assert_same(schedule, again)
    assert again.trace.as_json() == schedule.trace.as_json()


def test_text_makes_the_same_module_again() -> None:
    schedule = scheduled()
    again = Schedule(tvms.parse(PROGRAM))
    (text,) = tvms.parse(PROGRAM + schedule.script()).schedules.values()
    again.replay(text)
    assert_same(schedule, again)


def test_json_is_in_the_manner_of_tvm() -> None:
    schedule = Schedule(tvms.parse(PROGRAM))
    block = schedule.get_block("B")
    i, _ = schedule.get_loops(block)
    sizes = schedule.sample_perfect_tile(i, 2, decision=[8, 4])
    schedule.split(i, sizes)
    schedule.annotate(block, "tile", "wide")
    schedule.compute_inline(block)
    assert schedule.trace.as_json() == [
        [
            ["GetBlock", [], ["B", None], ["b0"]],
            ["GetLoops", ["b0"], [], ["l1", "l2"]],
            ["SamplePerfectTile", ["l1"], [2, 16], ["v3", "v4"]],
            ["Split", ["l1", "v3", "v4"], [True, False], ["l5", "l6"]],
            ["Annotate", ["b0", '"wide"'], ["tile"], []],
            ["ComputeInline", ["b0"], [], []],
        ],
        [[2, [8, 4]]],
    ]
    assert schedule.trace.as_python() == [
        'b0 = sch.get_block(name="B", func_name=None)',
        "l1, l2 = sch.get_loops(block=b0)",
        "v3, v4 = sch.sample_perfect_tile(loop=l1, n=2, max_innermost_factor=16, decision=[8, 4])",
        "l5, l6 = sch.split(loop=l1, factors=[v3, v4], preserve_unit_iters=True, disable_predication=False)",
        'sch.annotate(block_or_loop=b0, ann_key="tile", ann_val="wide")',
        "sch.compute_inline(block=b0)",
    ]


def test_simplified_leaves_out_what_nothing_uses() -> None:
    trace = scheduled().trace
    names = [inst.primitive.name for inst in trace.simplified().insts]
    assert names.count("get_block") == 1
    assert names[-2:] == ["enter_postproc", "parallel"]
    short = [inst.primitive.name for inst in trace.simplified(remove_postproc=True).insts]
    assert short == names[:-2]
    again = Schedule(tvms.parse(PROGRAM))
    trace.simplified().apply_to_schedule(again)
    assert_same(scheduled(), again)


def test_another_decision_makes_another_module() -> None:
    trace = scheduled().trace
    tile = next(inst for inst in trace.insts if inst.primitive.name == "sample_perfect_tile")
    other = trace.with_decision(tile, (2, 4, 4))
    again = Schedule(tvms.parse(PROGRAM))
    other.apply_to_schedule(again, remove_postproc=True)
    loops = [again.get(loop) for loop in again.get_loops("C")]
    assert [loop.extent.value for loop in loops if loop.loop_var.name.startswith("i_")] == [2, 4, 4]
    assert trace.get_decision(tile) == tile.decision
    assert other.get_decision(other.insts[3]) == (2, 4, 4)
    assert not any(loop.kind is tir.ForKind.PARALLEL for loop in loops)


def test_instructions_are_taken_and_given() -> None:
    schedule = scheduled()
    trace = schedule.trace
    count = len(trace.insts)
    last = trace.pop()
    assert last is not None
    assert last.primitive.name == "parallel"
    trace.append(last)
    trace.append(trace.insts[0])
    assert len(trace.insts) == count + 1
    assert len(schedule.trace.insts) == count, "the schedule's own trace is another one"
    assert Trace(()).pop() is None


@pytest.mark.parametrize(
    ("json_obj", "message"),
    [
        (3, "expected a list of instructions and a list of decisions"),
        ([[["GetBlok", [], ["B"], ["b0"]]], []], "unknown instruction 'GetBlok'"),
        ([[["GetLoops", ["b7"], [], []]], []], "'b7' is not the result of an earlier instruction"),
    ],
)
def test_refuses_what_is_no_trace(json_obj: Any, message: str) -> None:
    with pytest.raises(tvms.TvmsError) as caught:
        Trace.apply_json_to_schedule(json_obj, Schedule(tvms.parse(PROGRAM)))
    assert str(caught.value) == f"error[E0569]: invalid trace: {message}\n  = help: pass the result of trace.as_json()"


def test_refuses_to_write_down_variables_of_the_program() -> None:
    module = tvms.parse(PROGRAM.replace("C: T.Buffer", "n: T.int32, C: T.Buffer"))
    schedule = Schedule(module)
    i, _ = schedule.get_loops("C")
    n = next(param for param in module.functions["stages"].params if param.name == "n")  # type: ignore[attr-defined]
    schedule.split(i, [None, n])
    with pytest.raises(tvms.TvmsError) as caught:
        schedule.trace.as_json()
    assert str(caught.value).split("\n")[0] == (
        "error[E0569]: invalid trace: 'n' is a variable of the program, which a trace cannot name"
    )


def test_functions_of_indices_may_separate_axes_and_take_any_number() -> None:
    schedule = Schedule(tvms.parse(PROGRAM))
    schedule.transform_layout("B", "B", lambda *i, j: ["axis_separator", *i, "axis_separator", j // 8, j % 8])
    (line,) = [part for part in schedule.script().split("\n") if "transform_layout" in part]
    assert line.strip() == (
        'S.transform_layout("B", buffer="B", index_map=lambda i_0, j: (i_0, j // 8, j % 8), axis_separators=[0, 1])'
    )
    again = Schedule(tvms.parse(PROGRAM))
    (text,) = tvms.parse(PROGRAM + schedule.script()).schedules.values()
    again.replay(text)
    assert_same(schedule, again)
    block = schedule.get(schedule.get_block("B"))
    assert block.writes[0].buffer.axis_separators == (0, 1)


@pytest.mark.parametrize("name", ["pass", "if", "None", "_", "S", "1st"])
def test_blocks_and_loops_of_any_name_have_names_in_texts(name: str) -> None:
    module = tvms.parse(PROGRAM.replace('T.block("C")', f'T.block("{name}")'))
    schedule = Schedule(module)
    for loop in schedule.get_loops(schedule.get_block(name)):
        schedule.unroll(loop)
    (text,) = module.functions
    again = Schedule(module)
    whole = str(module).replace("\n\n", "\n") + "\n" + schedule.script().replace("(main)", f"({text})")
    (read,) = tvms.parse(whole).schedules.values()
    again.replay(read)
    assert_same(schedule, again)


def test_a_trace_of_instructions_that_a_program_makes() -> None:
    kind, block, loops = InstructionKind.get, BlockRV(), [LoopRV(), LoopRV()]
    split = [LoopRV(), LoopRV()]
    trace = Trace(
        [
            Instruction(kind("GetBlock"), [], ["B", "stages"], [block]),
            Instruction(kind("GetLoops"), [block], [], loops),
            Instruction(
                kind("Split"),
                [loops[0], None, tir.IntImm("int32", 4)],
                [tir.IntImm("bool", 1), tir.IntImm("bool", 0)],
                split,
            ),
            Instruction(kind("Annotate"), [split[1], ""], ["note"], []),
        ],
        {},
    )
    assert trace.as_python() == [
        'b0 = sch.get_block(name="B", func_name="stages")',
        "l1, l2 = sch.get_loops(block=b0)",
        "l3, l4 = sch.split(loop=l1, factors=[None, 4], preserve_unit_iters=True, disable_predication=False)",
        'sch.annotate(block_or_loop=l4, ann_key="note", ann_val="")',
    ]
    last = trace.insts[-1]
    assert str(last) == 'sch.annotate(block_or_loop=_, ann_key="note", ann_val="")'
    assert (last.inputs, last.attrs, last.outputs) == ([split[1], ""], ["note"], [])
    assert last.kind.same_as(kind("Annotate"))
    schedule = Schedule(tvms.parse(PROGRAM))
    trace.apply_to_schedule(schedule)
    by_hand = Schedule(tvms.parse(PROGRAM))
    _, inner = by_hand.split(by_hand.get_loops("B")[0], [None, 4])
    by_hand.annotate(inner, "note", "")
    assert_same(schedule, by_hand)
    assert trace.pop().same_as(last)  # type: ignore[union-attr]
    again = Schedule(tvms.parse(PROGRAM))
    Trace.apply_json_to_schedule(trace.as_json(), again)
    assert len(again.trace.insts) == 3


def test_a_trace_takes_decisions() -> None:
    draw = Instruction(InstructionKind.get("SampleCategorical"), [], [[8, 16], [0.5, 0.5]], [tir.Var("int32", "v")])
    assert Trace([draw], {draw: 1}).as_json()[1] == [[0, 1]]
    assert not InstructionKind.get("ComputeInline").is_pure
    assert InstructionKind.get("GetSBlock").is_pure
    with pytest.raises(tvms.TvmsError, match="invalid trace: unknown instruction 'GetBlok'"):
        InstructionKind.get("GetBlok")
