"""Builders, runners, cost models, callbacks and strategies under TVM's names."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from functools import partial
from itertools import count
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tvms
from msgspec.structs import replace
from tvms import meta_schedule as ms
from tvms.codegen.tuner import search as search_module
from tvms.codegen.tuner.candidates import all_drafts
from tvms.codegen.tuner.search import Search
from tvms.codegen.tuner.spaces import FUNCTION, Space, own_schedules, workload_of
from tvms.ir import tir
from tvms.meta_schedule.builder import BuilderInput, BuilderResult, LocalBuilder
from tvms.meta_schedule.runner import EvaluatorConfig, LocalRunner, PyRunnerFuture, RunnerInput, RunnerResult
from tvms.meta_schedule.search_strategy import MeasureCandidate

from tests.tuner.workloads import SMALL, SPACE, TARGET, module

MODULE = module(SMALL)
ARGUMENTS = [ms.arg_info.TensorInfo("float32", (16, 16))] * 3
ONCE = EvaluatorConfig(number=1, repeat=2, min_repeat_ms=0)
ENDLESS = tvms.parse("""#tvms 1
T.prim_func main(A: T.Buffer((1,), "int32")):
    for i, j in T.grid(1000000, 1000000):
        A[0] = A[0] * 3 + (i ^ j)
""")
REFUSED = tvms.parse("""#tvms 1
T.prim_func main(A: T.Buffer((1,), "float32")):
    A[0] = T.call_extern("float32", "no_such_function", A[0])
""")


def test_what_is_built_runs() -> None:
    """Each module has a file or a reason; a runner gives the seconds of each repetition, or a reason."""
    graph = tvms.parse("""#tvms 1
I.ir_module Module:
    R.function main(x: R.Tensor((4, 8), "float32"), w: R.Tensor((8, 4), "float32")):
        return R.matmul(x, w)
""")
    weights = {"w": np.ones((8, 4), "float32")}
    inputs = [BuilderInput(MODULE, "llvm"), BuilderInput(REFUSED, "llvm"), BuilderInput(graph, TARGET, weights)]
    built = LocalBuilder(max_workers=2).build(inputs)
    assert [result.artifact_path is None for result in built] == [False, True, False]
    assert str(built[1].error_msg).startswith("LocalBuilder: An exception occurred\nE06")
    paths = [str(built[0].artifact_path), str(built[2].artifact_path), "missing.tvmso"]
    infos = [ARGUMENTS, [ms.arg_info.TensorInfo("float32", (4, 8))], []]
    given = [RunnerInput(path, "llvm", info) for path, info in zip(paths, infos, strict=True)]
    for config in (ONCE, ONCE._replace(enable_cpu_cache_flush=True)):
        results = [future.result() for future in LocalRunner(evaluator_config=config, alloc_repeat=2).run(given)]
        assert [len(result.run_secs or ()) for result in results] == [4, 4, 0]
        assert all(seconds > 0 for result in results for seconds in result.run_secs or ())
        assert results[2].error_msg == (
            "LocalRunner: An exception occurred\nE0609: the compiled module 'missing.tvmso' cannot be loaded: it cannot be read: "
            "No such file or directory"
        )
    for path in paths[:2]:
        ms.utils.remove_build_dir(path)
        assert not Path(path).parent.exists()


def test_time_limits_end_what_takes_too_long() -> None:
    """A call that does not end, and functions of the program."""
    (built,) = LocalBuilder().build([BuilderInput(ENDLESS, "llvm")])
    assert built.artifact_path is not None
    given = RunnerInput(built.artifact_path, "llvm", [ms.arg_info.TensorInfo("int32", (1,))])
    (future,) = LocalRunner(timeout_sec=1).run([given])
    assert future.result() == RunnerResult(None, "LocalRunner: Timeout, killed after 1 seconds")
    ms.utils.remove_build_dir(built.artifact_path)
    slow = LocalBuilder(timeout_sec=0.2, f_build=lambda mod, target, params: time.sleep(5))
    assert slow.build([BuilderInput(MODULE, "llvm")]) == [
        BuilderResult(None, "LocalBuilder: Timeout, killed after 0.2 seconds")
    ]
    late = LocalRunner(timeout_sec=0.2, f_alloc_argument=lambda *_: time.sleep(5))
    path = _built()
    assert late.run([RunnerInput(path, "llvm", ARGUMENTS)])[0].result() == RunnerResult(
        None, "LocalRunner: Timeout, killed after 0.2 seconds"
    )


def _built() -> str:
    (built,) = LocalBuilder().build([BuilderInput(MODULE, "llvm")])
    assert built.artifact_path is not None
    return built.artifact_path


def test_functions_of_the_program_take_part() -> None:
    """Functions may be passed directly or by a registered name; if one raises, its message becomes `error_msg`."""
    calls: list[str] = []

    def initializer() -> None:
        @tvms.register_func("tests.tuner.broken", override=True)
        def broken(*_: Any) -> None:  # type: ignore[reportUnusedFunction]
            raise ValueError("on purpose")

    def build(mod: Any, target: Any, params: Any) -> Any:
        calls.append("build")
        return tvms.compile(mod, target)

    def evaluate(executable: Any, device: Any, config: Any, repeated: Any) -> list[float]:
        calls.append("evaluate")
        executable["matmul"](*repeated[0])
        return [0.5]

    (result,) = LocalBuilder(f_build=build).build([BuilderInput(MODULE, "llvm")])
    given = RunnerInput(str(result.artifact_path), "llvm", ARGUMENTS)
    runner = LocalRunner(f_run_evaluator=evaluate, f_cleanup=lambda: calls.append("cleanup"))
    assert runner.run([given])[0].result() == RunnerResult([0.5], None)
    assert calls == ["build", "evaluate", "cleanup"]
    (failed,) = LocalBuilder(f_export="tests.tuner.broken", initializer=initializer).build(
        [BuilderInput(MODULE, "llvm")]
    )
    assert failed == BuilderResult(None, "LocalBuilder: An exception occurred\non purpose")
    (future,) = LocalRunner(f_alloc_argument="tests.tuner.broken").run([given])
    assert future.result() == RunnerResult(None, "LocalRunner: An exception occurred\non purpose")
    for make in (LocalBuilder, LocalRunner):
        name = "f_build" if make is LocalBuilder else "f_cleanup"
        with pytest.raises(ValueError, match=f"argument '{name}': no function is registered as 'missing'"):
            make(**{name: "missing"})  # type: ignore[arg-type]


class Counted(ms.runner.PyRunner):
    """A runner that runs nothing: a file's time is its number."""

    def __init__(self) -> None:
        self.files: list[str] = []

    def run(self, runner_inputs: Sequence[RunnerInput]) -> list[PyRunnerFuture]:
        """See `Runner`."""
        found: list[PyRunnerFuture] = []
        for given in runner_inputs:
            assert [str(info) for info in given.args_info] == ['TensorInfo("float32", [16, 16])'] * 3
            self.files.append(given.artifact_path)
            result = (
                RunnerResult([float(len(self.files))], None) if len(self.files) % 4 else RunnerResult(None, "broken")
            )
            found.append(ms.runner.RunnerFuture(lambda: True, lambda result=result: result))
        return found


class Seen(ms.measure_callback.PyMeasureCallback):
    """Keeps the results of all batches."""

    def __init__(self) -> None:
        self.batches: list[tuple[int, list[MeasureCandidate], list[BuilderResult], list[RunnerResult]]] = []

    def apply(
        self, task_scheduler: Any, task_id: int, measure_candidates: Any, builder_results: Any, runner_results: Any
    ) -> None:
        """See `MeasureCallback`."""
        self.batches.append((task_id, measure_candidates, builder_results, runner_results))


class Favourite(ms.cost_model.PyCostModel):
    """Prefers schedules with a vectorized loop."""

    def __init__(self) -> None:
        self.learnt: list[float] = []

    def load(self, path: str) -> None:
        """Do nothing."""

    def save(self, path: str) -> None:
        """Do nothing."""

    def update(self, context: Any, candidates: Any, results: Any) -> None:
        """Keep the times."""
        self.learnt += [result.run_secs[0] if result.run_secs else -1.0 for result in results]

    def predict(self, context: Any, candidates: Any) -> Any:
        """Score the candidates."""
        assert context.target.name == "llvm"
        return np.asarray(["T.vectorized" in given.sch.mod.script() for given in candidates], float)


def test_a_program_gives_its_own_parts(tmp_path: Path) -> None:
    """A runner, a cost model, a callback and a database of TVM's kind see all trials."""
    runner, seen, model = Counted(), Seen(), Favourite()
    database = ms.tune_tir(
        MODULE, "llvm", tmp_path, 6, num_trials_per_iter=2, runner=runner, cost_model=model, measure_callbacks=[seen],
        database="memory", seed=3,
    )  # fmt: skip
    assert [len(candidates) for _, candidates, _, _ in seen.batches] == [2, 2, 2]
    results = [result for *_, results in seen.batches for result in results]
    assert [len(database), len(model.learnt)] == [6, 6]  # type: ignore[arg-type]
    assert [result.run_secs is None for result in results] == [learnt < 0 for learnt in model.learnt]
    assert "crash: broken" in [result.error_msg for result in results]
    assert all(not Path(path).exists() for path in runner.files)
    text = seen.batches[0][1][0].sch.mod.script()
    assert "main(A: T.Buffer((16, 16)" in text
    assert (tmp_path / ms.FILE).exists()


def test_contexts_are_tuned_with_weights(tmp_path: Path) -> None:
    seen = Seen()
    tasks = [ms.TuneContext(module(SMALL + SPACE), target="llvm", task_name=name, rand_state=1) for name in "ab"]
    tasks[1] = ms.TuneContext(module(SMALL.replace("16", "12")), target="llvm", task_name="b")
    database = ms.tune_tasks(
        tasks=tasks, task_weights=[1.0, 2.0], work_dir=tmp_path, max_trials_global=4, num_trials_per_iter=1, measure_callbacks=seen,
        task_scheduler="round-robin", builder=LocalBuilder(timeout_sec=60),
    )  # fmt: skip
    assert [task_id for task_id, *_ in seen.batches] == [0, 1, 0, 1]
    assert isinstance(database, ms.Database)
    database.close()
    for wrong in (partial(ms.tune_tasks, tasks=tasks), partial(ms.tune_tasks, tasks=[])):
        with pytest.raises(ValueError, match="weights"):
            wrong(task_weights=[], work_dir=tmp_path, max_trials_global=1) if not wrong.keywords["tasks"] else wrong(
                task_weights=[1.0], work_dir=tmp_path, max_trials_global=1
            )


def test_files_of_the_program_are_removed_alone(tmp_path: Path) -> None:
    """Not the folder where a program keeps them, nor the current one."""
    (tmp_path / "other").touch()

    def export(executable: Any) -> Path:
        executable.export_library(tmp_path / "module.tvmso")
        return tmp_path / "module.tvmso"

    builder = LocalBuilder(f_export=export)
    runner = LocalRunner(evaluator_config=ONCE)
    ms.tune_tir(MODULE, "llvm", tmp_path / "work", 1, builder=builder, runner=runner)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other", "work"]
    ms.remove_build_dir("None")
    assert Path.cwd().exists()


class Gives(ms.builder.PyBuilder, ms.runner.PyRunner):  # type: ignore[reportIncompatibleMethodOverride]
    """A builder and a runner that give something else."""

    def __init__(self, given: Any) -> None:
        self.given = given

    def build(self, build_inputs: Any) -> Any:
        """See `Builder`."""
        return self.given

    def run(self, runner_inputs: Any) -> Any:
        """See `Runner`."""
        return self.given


def _future(result: Any) -> list[PyRunnerFuture]:
    return [ms.runner.RunnerFuture(lambda: True, lambda: result)]


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"builder": Gives(None)}, "Gives gave NoneType instead of 1 BuilderResult"),
        ({"builder": Gives([])}, "Gives gave 0 instead of 1 BuilderResult"),
        ({"builder": Gives(["module.tvmso"])}, "Gives gave str instead of 1 BuilderResult"),
        ({"runner": Gives([])}, "Gives gave 0 instead of 1 PyRunnerFuture"),
        ({"runner": Gives([RunnerResult([1.0], None)])}, "Gives gave RunnerResult instead of 1 PyRunnerFuture"),
        ({"runner": Gives(_future([1.0]))}, "RunnerFuture gave list instead of 1 RunnerResult"),
        ({"builder": LocalBuilder}, "argument 'builder': expected a Builder, got ABCMeta"),
        ({"runner": 3}, "argument 'runner': expected a Runner, got int"),
        ({"cost_model": 3}, "argument 'cost_model': expected a CostModel, got int"),
        ({"measure_callbacks": [print]}, "argument 'measure_callbacks': expected a MeasureCallback, got builtin_function_or_method"),
        ({"measure_callbacks": "print"}, "argument 'measure_callbacks': expected a MeasureCallback, got 'print'"),
        ({"measure_callbacks": ["default"]}, "argument 'measure_callbacks': expected a MeasureCallback, got 'default'"),
        (
            {"space": "all"},
            "argument 'kind' to SpaceGenerator.create: expected 'post-order-apply', 'union' or a function, got 'all'",
        ),
        ({"special_space": {"matmul": None}}, "there is nothing to tune: 'matmul': special_space says so"),
        ({"num_trials_per_iter": 0}, "argument 'num_trials_per_iter': expected an integer of at least 1, got 0"),
        ({"max_trials_global": 1.5}, "argument 'max_trials_global': expected an integer of at least 0, got 1.5"),
    ],
)  # fmt: skip
def test_parts_that_give_something_else_are_named(tmp_path: Path, parts: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match="E0702") as caught:
        ms.tune_tir(MODULE, "llvm", tmp_path, parts.pop("max_trials_global", 1), **parts)
    assert caught.value.diagnostics[0].message == message  # type: ignore[attr-defined]


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan"), float("inf")])
def test_times_are_positive(tmp_path: Path, seconds: float) -> None:
    """A runner that gives others does not measure the baseline, and nothing is stored."""
    runner = Gives(_future(RunnerResult([seconds], None)))
    database = ms.tune_tir(MODULE, "llvm", tmp_path, 1, runner=runner, database="memory")
    assert len(database) == 0  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["evolutionary", "replay-trace", "replay-func", "grid"])
def test_a_strategy_is_driven_by_hand(kind: str) -> None:
    """All schedules of a space are proposed once, in batches; then there are none."""

    def split(schedule: tvms.Schedule) -> None:
        loop = schedule.get_loops(schedule.get_block("matmul"))[1]
        schedule.split(loop, schedule.sample_perfect_tile(loop, n=2, max_innermost_factor=16))

    generator = ms.space_generator.ScheduleFn(split)
    context = ms.TuneContext(MODULE, target="llvm", space_generator=generator, search_strategy=kind)
    context.pre_tuning(20, 3, cost_model=ms.cost_model.RandomModel(seed=1))
    texts: list[str] = []
    while (candidates := context.generate_measure_candidates()) is not None:
        assert len(candidates) <= 3
        texts += [given.sch.mod.script() for given in candidates]
        context.notify_runner_results(candidates, [RunnerResult([0.1], None) for _ in candidates])
    context.post_tuning()
    assert len(texts) == len(set(texts)) == 5  # the innermost factors 1, 2, 4, 8, 16


def test_grids_have_all_decisions() -> None:
    (function,) = MODULE.functions.values()
    assert isinstance(function, tir.PrimFunc)
    workload = workload_of(function)
    (text,) = own_schedules(module(SMALL + SPACE), TARGET)["matmul"]
    space = Space("space", replace(text, function=FUNCTION))
    search = Search(workload, (space,), "llvm", 0, "grid")
    drafts = list(all_drafts(workload, space, Random(1), "llvm"))
    assert [draft.decisions() for draft in drafts] == [(0,), (1,), (2,), (3,)]
    found = search.propose(16)
    assert [candidate.draft().decisions() for candidate in found] == [(0,), (1,), (2,), (3,)]
    assert search.propose(16) == []


def test_random_models_are_stored(tmp_path: Path) -> None:
    model, given = ms.cost_model.RandomModel(seed=5), [MeasureCandidate(tvms.Schedule(MODULE), ()) for _ in range(7)]
    model.predict(None, given)
    model.save(str(tmp_path / "model"))
    again = ms.cost_model.RandomModel(path=str(tmp_path / "model"))
    np.testing.assert_array_equal(model.predict(None, given), again.predict(None, given))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (partial(ms.builder.create, "rpc"), "argument 'kind' to Builder.create: expected 'local', got 'rpc'"),
        (partial(ms.runner.create, "rpc"), "argument 'kind' to Runner.create: expected 'local', got 'rpc'"),
        (partial(ms.cost_model.create, "xgb"), "argument 'kind' to CostModel.create: expected 'random', got 'xgb'"),
        (
            partial(ms.search_strategy.create, "annealing"),
            "argument 'kind' to SearchStrategy.create: unknown strategy 'annealing'",
        ),
        (
            partial(ms.task_scheduler.TaskScheduler.create, "fair"),
            "argument 'task_scheduler': expected 'gradient' or 'round-robin', got 'fair'",
        ),
        (
            partial(ms.search_strategy.EvolutionarySearch, population=1),
            "unknown argument 'population' to EvolutionarySearch",
        ),
        (partial(ms.search_strategy.ReplayTrace().pre_tuning, 1, 1, []), "ReplayTrace has no context"),
        (
            ms.TuneContext(target="llvm").workload,
            "the TuneContext needs a module with one loop function, got no module",
        ),
        (
            ms.TuneContext(tvms.IRModule({"a": MODULE["matmul"], "b": MODULE["matmul"]})).workload,
            "the TuneContext needs a module with one loop function, got 2",
        ),
        (partial(BuilderInput, "main", "llvm"), "argument 'mod': expected IRModule, got str"),
        (partial(BuilderInput, MODULE, 3), "argument 'target': expected Target or str, got int"),
        (partial(BuilderInput, MODULE, "llvm", [1]), "argument 'params': expected Mapping or None, got list"),
        (partial(RunnerInput, None, "llvm", []), "argument 'artifact_path': expected str, got NoneType"),
        (partial(RunnerInput, "a.tvmso", 1, []), "argument 'device_type': expected str, got int"),
        (partial(RunnerInput, "a.tvmso", "llvm", [3]), "argument 'args_info': expected ArgInfo, got int"),
        (
            partial(LocalRunner, evaluator_config=(1, 1, 0)),  # type: ignore[reportArgumentType]
            "argument 'evaluator_config': expected an EvaluatorConfig, got tuple",
        ),
    ],
)
def test_mistakes_are_named(call: Any, message: str) -> None:
    with pytest.raises(TypeError, match="E0702") as caught:
        call()
    assert caught.value.diagnostics[0].message == message  # type: ignore[attr-defined]


SYMBOLIC = tvms.parse("""#tvms 1
T.prim_func main(a: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n,), "float32")
    for i in range(n):
        with T.block("one"):
            vi = T.axis.spatial(n, i)
            A[vi] = T.float32(1)
""")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (partial(LocalBuilder, max_workers="2"), "argument 'max_workers': expected an integer of at least 1, got '2'"),  # type: ignore[reportArgumentType]
        (partial(LocalBuilder, timeout_sec=-1), "argument 'timeout_sec': expected a number of at least 0, got -1"),
        (partial(LocalRunner, evaluator_config=ONCE._replace(number=0)), "argument 'number': expected an integer of at least 1, got 0"),
        (partial(LocalRunner, evaluator_config=ONCE._replace(repeat=1.5)), "argument 'repeat': expected an integer of at least 1, got 1.5"),
        (partial(LocalRunner, alloc_repeat=0), "argument 'alloc_repeat': expected an integer of at least 1, got 0"),
        (
            partial(ms.tune_tasks, tasks=[ms.TuneContext(MODULE, target="llvm")], task_weights=[float("nan")]),
            "argument 'task_weights': expected a number of at least 0, got nan",
        ),
        (
            partial(ms.tune_tasks, tasks=[ms.TuneContext(SYMBOLIC, target="llvm")], task_weights=[1]),
            "the task 'main' cannot be tuned: its sizes are symbolic; give them with --dim n=N",
        ),
    ],
)  # fmt: skip
def test_wrong_numbers_are_named(tmp_path: Path, call: Any, message: str) -> None:
    arguments = {"work_dir": tmp_path, "max_trials_global": 1} if call.func is ms.tune_tasks else {}
    with pytest.raises(ValueError, match="E0702") as caught:
        call(**arguments)
    assert caught.value.diagnostics[0].message == message  # type: ignore[attr-defined]


def test_an_exporter_returns_a_path() -> None:
    def export(executable: Any) -> None: ...

    (failed,) = LocalBuilder(f_export=export).build([BuilderInput(MODULE, "llvm")])
    reason = "f_export returned NoneType instead of the path of a file"
    assert failed == BuilderResult(None, f"LocalBuilder: An exception occurred\n{reason}")


def test_a_runner_names_a_device() -> None:
    with pytest.raises(tvms.TvmsError, match="unknown kind of device 'tpu'") as caught:
        RunnerInput("a.tvmso", "tpu", [])
    assert caught.value.diagnostics[0].code == "E0721"


def test_functions_of_the_program_do_not_end_it() -> None:
    (failed,) = LocalBuilder(f_export=lambda executable: sys.exit(3)).build([BuilderInput(MODULE, "llvm")])
    assert failed == BuilderResult(None, "LocalBuilder: An exception occurred\nit called sys.exit(3)")


def test_files_of_too_many_results_are_removed(tmp_path: Path) -> None:
    class Twice(LocalBuilder):
        def build(self, build_inputs: Any) -> list[BuilderResult]:
            self.made = [*super().build(build_inputs), *super().build(build_inputs)]
            return self.made

    builder = Twice()
    with pytest.raises(TypeError, match="Twice gave 2 instead of 1 BuilderResult"):
        ms.tune_tir(MODULE, "llvm", tmp_path, 1, builder=builder)
    assert len(builder.made) == 2
    assert not any(Path(result.artifact_path or "").parent.exists() for result in builder.made)


def test_a_grid_of_refused_schedules_ends_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 2^41 drafts the first half is refused."""
    text = SMALL + "\n".join(
        [
            "    S.schedule wide(matmul):",
            '        block = S.get_block("matmul")',
            "        i, j, k = S.get_loops(block)",
        ]
        + [f"        x{n} = S.sample_categorical([0, 2], [0.5, 0.5])" for n in range(41)]
        + ["        S.split(i, factors=[None, x0])"]
    )
    schedule = replace(module(text).schedules["wide"], function=FUNCTION)
    search = Search(workload_of(MODULE["matmul"]), (Space("wide", schedule),), "llvm", 0, "grid")
    moments = count()  # the clock advances by one at each look
    monkeypatch.setattr(search_module, "time", SimpleNamespace(monotonic=lambda: next(moments)))
    assert search.propose(4, 10) == []
    assert search.refusals.total() == 40


def test_functions_are_spaces(tmp_path: Path) -> None:
    called: list[str] = []

    def unrolled(schedule: tvms.Schedule) -> None:
        called.append("unrolled")
        schedule.unroll(schedule.get_loops(schedule.get_block("matmul"))[2])

    ms.tune_tir(MODULE, "llvm", tmp_path, 1, space=unrolled)
    assert called
    generator = ms.space_generator.create(unrolled)
    assert isinstance(generator, ms.space_generator.ScheduleFn)
    assert isinstance(ms.space_generator.create("union", [generator]), ms.space_generator.SpaceGeneratorUnion)
    assert ms.TuneContext(MODULE, space_generator=unrolled).has_generator
