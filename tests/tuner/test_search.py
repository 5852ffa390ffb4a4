"""Spaces, candidates and the search, with simulated costs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import numpy as np
import pytest
import tvms
from msgspec.structs import replace
from tvms.codegen.build import lower_program
from tvms.codegen.tuner.candidates import Candidate, draw, make, mutate
from tvms.codegen.tuner.cost_model import CostModel
from tvms.codegen.tuner.database import Database
from tvms.codegen.tuner.protocol import Batch, Outcome
from tvms.codegen.tuner.spaces import FUNCTION, own_schedules, spaces_of, workload_of
from tvms.codegen.tuner.tasks import tasks_of
from tvms.codegen.tuner.tuning import Plan, Tuning
from tvms.ir import tir
from tvms.ir.base import IRModule
from tvms.ir.equal import structural_equal
from tvms.ir.schedule import Schedule
from tvms.ir.schedule.apply import apply_schedules
from tvms.ir.schedule.text import ScheduleText

from tests.tuner.workloads import MATMUL, PARAMETRIC, ROWS, SPACE, TARGET, TOTAL, SimulatedRunner, module, tuned

TEXTS = {"matmul": MATMUL, "rows": ROWS, "total": TOTAL}


def workload(text: str) -> IRModule:
    (function,) = module(text).functions.values()
    assert isinstance(function, tir.PrimFunc)
    return workload_of(function)


@pytest.mark.deep(3)
@pytest.mark.parametrize("name", TEXTS)
def test_candidates_of_all_spaces_compute_the_same(name: str) -> None:
    """Every candidate that is not refused, drawn or mutated, is a valid program with the results of the function."""
    plain, random = workload(TEXTS[name]), Random(7)
    spaces = spaces_of(plain, TARGET)
    assert [space.name for space in spaces.found]
    arguments = [np.random.default_rng(1).random(shape, np.float32) for shape in _shapes(plain)]
    expected = _called(plain, arguments)
    for space in spaces.found:
        found = [draw(plain, space, random, "llvm") for _ in range(6)]
        drawn = [candidate for candidate in found if isinstance(candidate, Candidate)]
        assert drawn, space.text.script()
        drafts = [mutate(candidate.draft(), random) for candidate in drawn]
        made = [make(plain, draft, "llvm") for draft in drafts if draft is not None]
        for candidate in [*drawn, *(other for other in made if isinstance(other, Candidate))][:9]:
            scheduled = IRModule({FUNCTION: candidate.function}, name="Scheduled")
            tvms.verify(scheduled)
            for result, right in zip(_called(scheduled, arguments), expected, strict=True):
                np.testing.assert_allclose(result, right, rtol=1e-4, atol=1e-5)


def _shapes(plain: IRModule) -> list[tuple[int, ...]]:
    function = plain.functions[FUNCTION]
    assert isinstance(function, tir.PrimFunc)
    buffers = [function.buffer_map[param] for param in function.params]
    return [tuple([size.value for size in buffer.shape if isinstance(size, tir.IntImm)]) for buffer in buffers]


def _called(program: IRModule, arguments: list[np.ndarray]) -> list[np.ndarray]:
    copies = [value.copy() for value in arguments]
    tvms.compile(program, threads=1)[FUNCTION](*copies)
    return copies


@pytest.mark.parametrize("name", TEXTS)
def test_the_text_of_a_candidate_makes_its_program(name: str) -> None:
    """The text that is measured and stored, without draws, gives the function of the candidate."""
    plain, random = workload(TEXTS[name]), Random(3)
    for space in spaces_of(plain, TARGET).found:
        candidate = next(found for _ in range(20) if isinstance(found := draw(plain, space, random, "llvm"), Candidate))
        text = candidate.text("best", FUNCTION, "llvm").script()
        assert "sample_" not in text
        program = f"{plain.script().rstrip()}\n\n" + "\n".join(f"    {line}" for line in text.strip().split("\n"))
        (schedule,) = tvms.parse(program).schedules.values()
        again = Schedule(plain)
        assert isinstance(schedule, ScheduleText)
        again.replay(schedule)
        assert structural_equal(again.mod.functions[FUNCTION], candidate.function)


def test_schedules_of_the_file_are_spaces() -> None:
    """A schedule that draws is a space; integer parameters are drawn from values around their defaults."""
    for text, name in ((SPACE, "space"), (PARAMETRIC, "blocked")):
        found = module(MATMUL + text)
        plain = workload(MATMUL)
        renamed = [replace(schedule, function=FUNCTION) for schedule in own_schedules(found, TARGET)["matmul"]]
        spaces = spaces_of(plain, TARGET, renamed)
        assert [space.name for space in spaces.found] == [name, "default"]
    script = spaces.found[0].text.script()
    assert "bn = S.sample_categorical([2, 4, 6, 8, 12, 16, 24, 32], probs=[0.125" in script
    assert "S.schedule blocked(main):" in script


def test_the_same_seed_gives_the_same_search() -> None:
    """The proposals depend on the seed and the measured times alone."""
    runs = [SimulatedRunner(failures=2) for _ in range(3)]
    results = [tuned(MATMUL, Plan(trials=40, seed=seed), run) for seed, run in zip((1, 1, 2), runs, strict=True)]
    assert runs[0].measured == runs[1].measured != runs[2].measured
    first, second, _ = [result.states[0] for result in results]
    assert first.curve == second.curve
    assert first.trials == 40
    assert first.outcomes["crash"] > 0
    assert first.curve == sorted(first.curve, reverse=True)


def test_an_interrupted_search_continues_as_if_it_had_not_stopped(tmp_path: Path) -> None:
    """Ctrl-C keeps what was measured; the next run with the same seed measures only the rest, with the same result."""
    whole = tuned(MATMUL, Plan(trials=32, seed=5), SimulatedRunner(failures=1))
    with Database(tmp_path / "a.db") as database:
        stopped = SimulatedRunner(failures=1, stop_after=21)
        result = tuned(MATMUL, Plan(trials=32, seed=5), stopped, database)
        assert result.stopped == "interrupted"
        assert len(database.records()) == 21
    with Database(tmp_path / "a.db") as database:
        rest = SimulatedRunner(failures=1)
        again = tuned(MATMUL, Plan(trials=32, seed=5), rest, database)
    assert again.states[0].curve == whole.states[0].curve
    assert len(rest.measured) == 32 - 21 + 5  # the fastest four are measured again at the end, the best once more
    chosen, expected = again.states[0].chosen, whole.states[0].chosen
    assert chosen is not None
    assert expected is not None
    assert chosen.script() == expected.script()


def test_nothing_slower_than_the_baseline_is_chosen() -> None:
    """Without a faster schedule, the default stays."""
    state = tuned(MATMUL, Plan(trials=16), SimulatedRunner(offset=2.0)).states[0]
    assert (state.best, state.chosen, state.trials) == (1.0, None, 16)


def test_a_search_ends_for_a_stated_reason() -> None:
    """A small space is exhausted; patience ends a search that gains nothing."""
    state = tuned(ROWS, Plan(trials=500, batch=32), SimulatedRunner()).states[0]
    assert state.trials < 500
    assert state.stopped.startswith("no other schedule was found")
    state = tuned(MATMUL, Plan(trials=400, patience=20), SimulatedRunner(failures=10)).states[0]
    assert state.stopped == f"no faster schedule in {state.since_best} trials"
    assert 20 <= state.since_best < 40


def test_equal_functions_are_one_task_and_others_say_why_not() -> None:
    """Tasks are merged by structure; symbolic sizes and called functions are left out with a reason."""
    text = (
        MATMUL
        + MATMUL.replace("I.ir_module Module:\n", "").replace("matmul(", "again(")
        + """
    T.prim_func symbolic(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n,))
        B = T.match_buffer(b, (n,))
        for i in range(n):
            with T.block("copy"):
                vi = T.axis.spatial(n, i)
                B[vi] = A[vi]
"""
    )
    result = tuned(text, Plan(trials=8), SimulatedRunner())
    assert [state.task.names for state in result.states] == [("matmul", "again")]
    assert result.left_out == {"symbolic": "its sizes are symbolic; give them with --dim n=N"}
    assert result.schedules(TARGET).keys() == {"matmul", "again"}


@pytest.mark.parametrize("has_trees", [False, True])
def test_the_cost_model_orders_by_what_it_saw(has_trees: bool) -> None:
    """A time that is smallest at one number is learned; before enough measurements there is no prediction."""
    if has_trees:
        pytest.importorskip("lightgbm", reason="needs LightGBM (extra tune)")
    model = CostModel(has_trees)
    points = [(float(x), float(y)) for x in range(8) for y in range(8)]
    assert model.predict(points) is None
    for x, y in points:
        model.add((x, y), 1 + (x - 5) ** 2 + 0.1 * y)
    found = model.predict(points)
    assert found is not None
    best = points[found.index(min(found))]
    assert abs(best[0] - 5) <= 1


def test_a_tuned_network_is_the_same_module_from_its_text_alone() -> None:
    """The lowered module with the schedules that were found, read back from its text, is scheduled to the same functions."""
    network = tvms.parse(
        "#tvms 1\nI.ir_module Network:\n"
        '    R.function main(x: R.Tensor((1, 4, 6, 6), "float32"), w: R.Tensor((4, 4, 3, 3), "float32")):\n'
        "        with R.dataflow():\n"
        "            a = R.nn.relu(R.nn.conv2d(x, w, padding=1))\n"
        "            b = R.nn.relu(R.nn.conv2d(a, w, padding=1))\n"
        "            R.output(b)\n"
        "        return b\n"
    )
    tasks, left_out = tasks_of(network, TARGET)
    with Database(":memory:") as database:
        result = Tuning(tasks, TARGET, Plan(trials=12, batch=4), SimulatedRunner(), database).run(left_out)
    lowered = lower_program(network, TARGET)
    found = result.schedules(TARGET)
    assert found
    written = replace(lowered, schedules={text.name: text for text in found.values()})
    again = tvms.parse(written.script())
    assert structural_equal(apply_schedules(again, TARGET.name), apply_schedules(written, TARGET.name))
    assert not structural_equal(apply_schedules(again, TARGET.name), replace(lowered, schedules=again.schedules))


class LuckyRunner(SimulatedRunner):
    """Short measurements of all schedules are faster than the baseline by luck; of the longer ones, those after the first `fair`."""

    def __init__(self, fair: int) -> None:
        super().__init__()
        self.fair = fair

    def measure(self, batch: Batch) -> Iterator[tuple[int, Outcome]]:
        for number in range(len(batch.programs)):
            seconds = 0.5e-3 if batch.effort == 1 or self.fair > 0 else 1.1e-3
            self.fair -= batch.effort > 1
            yield number, Outcome("ok", "", (seconds, seconds), (1e-3, 1e-3))


@pytest.mark.parametrize("fair", [0, 1, 4, 5])
def test_a_schedule_that_was_fast_by_luck_is_not_chosen(fair: int) -> None:
    """The fastest ones are measured longer, and the best of them once more: five times in all if the first one is confirmed."""
    state = tuned(MATMUL, Plan(8), LuckyRunner(fair)).states[0]
    assert (state.chosen is not None, state.best) == ((True, 0.5) if fair == 5 else (False, 1.0))


def test_a_faster_schedule_is_faster_in_most_repetitions() -> None:
    assert Outcome("ok", "", (1.0,) * 10, (2.0,) * 10).is_faster
    assert Outcome("ok", "", (3.0, *[1.0] * 9), (2.0,) * 10).is_faster
    assert not Outcome("ok", "", (3.0, 3.0, 3.0, *[1.0] * 7), (2.0,) * 10).is_faster
    assert not Outcome("wrong").is_faster
