"""Mutators, postprocessors, and the rules for GPUs under TVM's names."""

from __future__ import annotations

from math import prod
from random import Random

import numpy as np
import pytest
import tvms
from tvms import meta_schedule as ms
from tvms.codegen.target import get_target
from tvms.codegen.tuner.candidates import draw
from tvms.codegen.tuner.spaces import spaces_of, workload_of
from tvms.meta_schedule import mutator, postproc, schedule_rule, space_generator

from tests.tuner.workloads import MATMUL

MODULE = tvms.parse("#tvms 1\n" + MATMUL)
ROW_SUMS = tvms.parse("""#tvms 1
I.ir_module Module:
    T.prim_func main(A: T.Buffer((32, 64), "float32"), B: T.Buffer((32,), "float32"), C: T.Buffer((32, 64), "float32")):
        for i, k in T.grid(32, 64):
            with T.block("sums"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + A[vi, vk]
        for i, j in T.grid(32, 64):
            with T.block("shifted"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj] - B[vi]
""")


def test_mutators_change_one_decision_of_their_kind() -> None:
    """A tile keeps its product, and other draws stay; a trace without such a draw gives None."""
    schedule = tvms.Schedule(MODULE, seed=1)
    block = schedule.get_block("matmul")
    i, j, _ = schedule.get_loops(block)
    schedule.split(i, factors=schedule.sample_perfect_tile(i, 3, 64, decision=[4, 4, 4]))
    threads = schedule.sample_categorical([4, 8, 16], [0.25, 0.5, 0.25], decision=1)
    outer, inner = schedule.split(j, factors=[None, threads])
    schedule.bind(outer, "blockIdx.x")
    schedule.bind(inner, "threadIdx.x")
    limit = schedule.sample_categorical([0, 16], [0.5, 0.5], decision=0)
    schedule.annotate(block, "meta_schedule.unroll_explicit", limit)
    trace = schedule.trace
    before = list(trace.decisions.values())
    for made, place in ((mutator.MutateTileSize(), 0), (mutator.MutateThreadBinding(), 1), (mutator.MutateUnroll(), 2)):
        for _ in range(20):
            changed = made.apply(trace)
            if changed is None:
                continue  # a mutated tile may be too large
            after = list(changed.decisions.values())
            assert [at for at in range(3) if before[at] != after[at]] == [place]
            assert prod(after[0]) == 64
    assert mutator.MutateComputeLocation().apply(trace) is None
    fixed = tvms.Schedule(MODULE)
    fixed.sample_categorical([1], [1.0], decision=0)
    assert mutator.MutateUnroll().apply(fixed.trace) is None


def test_dynamic_loops_are_declined() -> None:
    """Only loops with constant extents are kept."""
    dynamic = tvms.parse("""#tvms 1
T.prim_func main(A: T.Buffer((8, 8), "float32")):
    for i in range(8):
        for j in range(i):
            A[i, j] = T.float32(0)
""")
    assert postproc.DisallowDynamicLoop().apply(tvms.Schedule(MODULE))
    assert not postproc.DisallowDynamicLoop().apply(tvms.Schedule(dynamic))


def on_simulated_gpu(schedule: tvms.Schedule) -> None:
    """Check that the row sums are computed on a simulated GPU."""
    call = tvms.compile(schedule.mod, "cuda -arch=sm_80 -simulate=ascending")["main"]
    a = np.random.default_rng(0).random((32, 64), np.float32)
    b, c = np.zeros(32, np.float32), np.zeros((32, 64), np.float32)
    call(a, b, c)
    np.testing.assert_allclose(b, a.sum(axis=1), rtol=1e-5)
    np.testing.assert_allclose(c, a - b[:, None], rtol=1e-4, atol=1e-4)


def test_postprocessors_complete_a_schedule_for_a_gpu() -> None:
    """Blocks without threads get them, and reductions of one thread start before their loop."""
    schedule = tvms.Schedule(ROW_SUMS)
    assert postproc.RewriteReductionBlock().apply(schedule)
    assert [block.name_hint for block in map(schedule.get, schedule.get_child_blocks(schedule.get_block("root")))] == [
        "sums_init", "sums_update", "shifted",
    ]  # fmt: skip
    schedule = tvms.Schedule(ROW_SUMS)
    assert postproc.RewriteUnboundBlock(max_threads_per_block=64).apply(schedule)
    assert {
        schedule.get(loop).thread_binding is not None for loop in schedule.get_loops(schedule.get_block("shifted"))
    } == {True}
    on_simulated_gpu(schedule)


@pytest.mark.parametrize("with_reduction", [False, True])
def test_rules_bind_loops_to_threads(with_reduction: bool) -> None:
    """Each sample of the spaces computes what the function computes."""
    rules: list[schedule_rule.ScheduleRule] = [schedule_rule.AutoBind(thread_extents=[16, 32])]
    if with_reduction:
        rules.insert(0, schedule_rule.CrossThreadReduction(thread_extents=[8, 16]))
    context = ms.TuneContext(
        ROW_SUMS, target="cuda -arch=sm_80", space_generator=space_generator.PostOrderApply(sch_rules=rules)
    )
    found = context.generate_design_space()
    assert len(found) == (2 if with_reduction else 1)
    for schedule in found:
        on_simulated_gpu(schedule)


def test_a_random_location_is_drawn() -> None:
    """A producer is computed at a loop of its consumer, inlined, or where it was."""
    module = tvms.parse("""#tvms 1
I.ir_module Module:
    T.prim_func main(A: T.Buffer((32, 64), "float32"), C: T.Buffer((32, 64), "float32")):
        B = T.alloc_buffer((32, 64))
        for i, j in T.grid(32, 64):
            with T.block("first"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2)
        for i, j in T.grid(32, 64):
            with T.block("second"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj] + T.float32(1)
""")
    rules = [schedule_rule.RandomComputeLocation()]
    context = ms.TuneContext(module, target="llvm", space_generator=space_generator.PostOrderApply(sch_rules=rules))
    (schedule,) = context.generate_design_space()
    assert [inst.primitive.name for inst in schedule.trace.insts if inst.primitive.name.startswith("sample_")] == [
        "sample_compute_location"
    ]
    a, c = np.random.default_rng(0).random((32, 64), np.float32), np.zeros((32, 64), np.float32)
    tvms.compile(schedule.mod)["main"](a, c)
    np.testing.assert_allclose(c, a * 2 + 1)


class Declines(postproc.PyPostproc):
    """Keeps only products whose columns are in parts of 16."""

    def apply(self, sch: tvms.Schedule) -> bool:
        """See `Postproc`."""
        return str(sch.get(sch.get_loops(sch.get_block("matmul"))[-1]).extent) == "16"


def test_a_search_applies_postprocessors() -> None:
    """Declined schedules are not measured. The steps of postprocessors are part of the text of the others."""

    def columns(schedule: tvms.Schedule) -> None:
        i, j, k = schedule.get_loops(schedule.get_block("matmul"))
        j0, j1 = schedule.split(j, factors=[None, schedule.sample_categorical([4, 16], [0.5, 0.5])])
        schedule.reorder(i, j0, k, j1)

    generator = space_generator.ScheduleFn(columns, postprocs=[Declines(), postproc.RewriteReductionBlock()])
    ((_, function),) = MODULE.functions.items()
    workload = workload_of(function)
    (text,) = space_generator.generated_spaces(generator, workload, get_target("llvm"))
    (own, *_) = spaces_of(workload, get_target("llvm"), [text], generator.complete).found
    random = Random(0)
    found = [draw(workload, own, random, "llvm") for _ in range(12)]
    assert {made for made in found if isinstance(made, str)} == {"Declines declines the schedule"}
    texts = {str(made.text("own", "main", "llvm")) for made in found if not isinstance(made, str)}
    assert len(texts) == 1
    assert all("decompose_reduction" in text and "[None, 16]" in text for text in texts)


@pytest.mark.parametrize("lanes", [1, 4])
def test_threads_copy_together(lanes: int) -> None:
    """The rows that a thread block reads are copied by its threads, several elements at a time."""
    schedule = tvms.Schedule(ROW_SUMS)
    block = schedule.get_block("shifted")
    i, j = schedule.get_loops(block)
    schedule.bind(i, "blockIdx.x")
    schedule.bind(j, "threadIdx.x")
    copy = schedule.cache_read(block, 0, "shared", consumer_blocks=[block])
    schedule.compute_at(copy, i)
    schedule.annotate(copy, "meta_schedule.cooperative_fetch", lanes)
    assert postproc.RewriteCooperativeFetch().apply(schedule)
    kinds = [schedule.get(loop).kind.value for loop in schedule.get_loops(copy)]
    assert kinds == ["thread_binding", "serial", "thread_binding", *(["vectorized"] if lanes > 1 else [])]
    assert "cooperative_fetch" not in schedule.mod.script()
    schedule.bind(schedule.get_loops(schedule.get_block("sums"))[0], "blockIdx.x")
    on_simulated_gpu(schedule)
