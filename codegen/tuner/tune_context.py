"""Contexts of a search, and search strategies, under TVM's names (`tvm.meta_schedule.TuneContext`, `search_strategy`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from ...ir import tir
from ...ir.base import IRModule
from ...ir.diagnostics import ArgumentError, Diagnostic
from ...ir.programs import as_module
from ...ir.schedule import Schedule
from ...ir.schedule.text import kind_of
from ..machine import core_count
from ..target import get_target
from .candidates import Candidate
from .search import FRESH, Search
from .space_generator import SpaceGenerator, space_texts
from .spaces import Space, workload_of
from .tvm_cost_model import as_model
from .tvm_measuring import MeasureCandidate, measure_candidate
from .tvm_runner import RunnerResult

__all__ = [
    "EvolutionarySearch",
    "MeasureCandidate",
    "ReplayFunc",
    "ReplayTrace",
    "SearchStrategy",
    "TuneContext",
    "create",
]


class SearchStrategy:
    """What chooses the schedules to measure (TVM: `SearchStrategy`). `tune_tir` takes its kind and options; a program may also drive it
    itself: `pre_tuning`, then `generate_measure_candidates` and `notify_runner_results` in turn, until there are no candidates.
    """

    kind: ClassVar[str] = ""
    """Name of the strategy, one of `search.STRATEGIES`."""
    fresh: float = FRESH
    """Share of a batch that is drawn."""
    context: TuneContext | None = None

    def pre_tuning(
        self, max_trials: int, num_trials_per_iter: int, design_spaces: Sequence[Schedule], database: Any = None, cost_model: Any = None
    ) -> None:  # fmt: skip
        """Begin a search of some spaces, for `max_trials` trials in batches of `num_trials_per_iter`. `cost_model` is a `CostModel` or None;
        `database` is not used: the times come from `notify_runner_results`.
        """
        context = self.context
        if context is None:
            reason = f"{type(self).__name__} has no context"
            raise ArgumentError([Diagnostic("E0702", reason, None, "pass it to a TuneContext as search_strategy=")])
        self._workload, self._left, self._batch = context.workload(), max_trials, num_trials_per_iter
        spaces = [Space(text.name, text, context.space_generator.complete) for text in space_texts(design_spaces)]
        model = as_model(cost_model, context, self._workload)
        target = kind_of(context.target.name) or "llvm"
        self._search = Search(self._workload, tuple(spaces), target, context.seed, self.kind, model, self.fresh)
        self._known: dict[int, Candidate] = {}

    def generate_measure_candidates(self) -> list[MeasureCandidate] | None:
        """Return the next batch; None if all trials are done, or no other schedule is found."""
        proposed = self._search.propose(min(self._batch, self._left))
        self._left -= len(proposed)
        found = [measure_candidate(self._workload, candidate) for candidate in proposed]
        self._known.update({id(given.sch): candidate for given, candidate in zip(found, proposed, strict=True)})
        return found or None

    def notify_runner_results(
        self, measure_candidates: Sequence[MeasureCandidate], results: Sequence[RunnerResult]
    ) -> None:
        """Take the results of a batch."""
        for given, result in zip(measure_candidates, results, strict=True):
            seconds = [float(getattr(value, "value", value)) for value in result.run_secs or ()]
            self._search.learn(self._known.pop(id(given.sch)), sum(seconds) / len(seconds) if seconds else float("inf"))

    def post_tuning(self) -> None:
        """End the search."""
        del self._search, self._known

    def clone(self) -> SearchStrategy:
        """Return a strategy with the same options."""
        made = type(self)()
        made.fresh = self.fresh
        return made

    @staticmethod
    def create(kind: str = "evolutionary", *args: Any, **kwargs: Any) -> SearchStrategy:
        """Return the strategy of a kind: "evolutionary", "replay-trace", "replay-func" or "grid". Raises ArgumentError E0702 for others."""
        if kind not in _KINDS:
            reason = f"argument 'kind' to SearchStrategy.create: unknown strategy {kind!r}"
            raise ArgumentError([Diagnostic("E0702", reason, None, f"the strategies are {', '.join(_KINDS)}")])
        return _KINDS[kind](*args, **kwargs)


create = SearchStrategy.create


class ReplayTrace(SearchStrategy):
    """Draws all schedules (TVM: `ReplayTrace`). `max_fail_count` is not used."""

    kind: ClassVar[str] = "replay-trace"

    def __init__(self, max_fail_count: int = 100) -> None:
        self.max_fail_count = max_fail_count


class ReplayFunc(ReplayTrace):
    """The same as `ReplayTrace`: the steps of a generator are called once, and their draws repeated (TVM: `ReplayFunc`)."""


class Grid(SearchStrategy):
    """Tries all decisions of the draws in their order, each space in turn."""

    kind: ClassVar[str] = "grid"


class EvolutionarySearch(SearchStrategy):
    """Mutates the fastest schedules, and measures those of which the cost model expects most (TVM: `EvolutionarySearch`)."""

    kind: ClassVar[str] = "evolutionary"

    def __init__(self, *, eps_greedy: float = FRESH, **options: float) -> None:
        """`eps_greedy` is the share of each batch that is drawn. TVM's other arguments describe populations, which this search does not
        have; they are not used. Raises ArgumentError E0702 for unknown ones.
        """
        for name in options:
            if name not in _OPTIONS:
                reason = f"unknown argument '{name}' to EvolutionarySearch"
                raise ArgumentError(
                    [Diagnostic("E0702", reason, None, f"the arguments are eps_greedy, {', '.join(_OPTIONS)}")]
                )
        self.fresh = eps_greedy


_OPTIONS = (
    "population_size", "init_measured_ratio", "init_min_unmeasured", "max_fail_count", "genetic_num_iters", "genetic_mutate_prob",
    "genetic_max_fail_count",
)  # fmt: skip
_KINDS: dict[str, type[SearchStrategy]] = {
    "evolutionary": EvolutionarySearch,
    "replay-trace": ReplayTrace,
    "replay-func": ReplayFunc,
    "grid": Grid,
}


class TuneContext:
    """A module, its target, and how it is searched (TVM: `TuneContext`)."""

    def __init__(
        self, mod: Any = None, *, target: Any = None, space_generator: SpaceGenerator | Callable[[Schedule], Any] | str | None = None,
        search_strategy: SearchStrategy | str | None = None, task_name: str = "main", rand_state: int = -1, num_threads: int | str | None = None,
        **parts: Any,
    ) -> None:  # fmt: skip
        """Texts mean the parts of the tuner itself. `rand_state` is the seed (-1: 0), `num_threads` is not used. `parts` may contain
        `sch_rules`, `postprocs` and `mutator_probs` of the generator, and `logger`, which is not used.
        """
        self.mod = as_module(mod, "main") if mod is not None else None
        self.target = get_target(target if target is not None else "llvm")
        chosen = space_generator or "post-order-apply"
        self.space_generator = chosen if isinstance(chosen, SpaceGenerator) else SpaceGenerator.create(chosen)
        self.space_generator.target = self.target
        given = search_strategy or "evolutionary"
        self.search_strategy = given if isinstance(given, SearchStrategy) else SearchStrategy.create(given)
        self.search_strategy.context = self
        self.has_generator = not isinstance(chosen, str)
        """Whether the program gave a generator: else the spaces are the tuner's own."""
        self.task_name, self.seed = task_name, max(rand_state, 0)
        self.num_threads = num_threads if isinstance(num_threads, int) else core_count()

    @property
    def rand_state(self) -> int:
        """The seed."""
        return self.seed

    def workload(self) -> IRModule:
        """Return the module of the loop function of the context, as tasks have it. Raises ArgumentError E0702 if there is none, or more."""
        functions = [] if self.mod is None else [f for f in self.mod.functions.values() if isinstance(f, tir.PrimFunc)]
        if len(functions) != 1:
            reason = f"the TuneContext needs a module with one loop function, got {'no module' if self.mod is None else len(functions)}"
            raise ArgumentError([Diagnostic("E0702", reason, None, "pass mod=, and a context for each loop function")])
        return workload_of(functions[0])

    def generate_design_space(self) -> list[Schedule]:
        """Return the schedules of the generator for the module."""
        if self.mod is None:
            raise ArgumentError([Diagnostic("E0702", "the TuneContext has no module", None, "pass mod=")])
        self.space_generator.target = self.target
        return self.space_generator.generate_design_space(self.mod)

    def pre_tuning(
        self, max_trials: int, num_trials_per_iter: int = 64, design_spaces: Sequence[Schedule] | None = None, database: Any = None,
        cost_model: Any = None,
    ) -> None:  # fmt: skip
        """See `SearchStrategy.pre_tuning`; the spaces are those of the generator if none are given."""
        spaces = self.generate_design_space() if design_spaces is None else design_spaces
        self.search_strategy.pre_tuning(max_trials, num_trials_per_iter, spaces, database, cost_model)

    def post_tuning(self) -> None:
        """See `SearchStrategy.post_tuning`."""
        self.search_strategy.post_tuning()

    def generate_measure_candidates(self) -> list[MeasureCandidate] | None:
        """See `SearchStrategy.generate_measure_candidates`."""
        return self.search_strategy.generate_measure_candidates()

    def notify_runner_results(
        self, measure_candidates: Sequence[MeasureCandidate], results: Sequence[RunnerResult]
    ) -> None:
        """See `SearchStrategy.notify_runner_results`."""
        self.search_strategy.notify_runner_results(measure_candidates, results)

    def clone(self) -> TuneContext:
        """Return a context with the same module, target and generator, and a strategy of the same kind."""
        return TuneContext(
            self.mod, target=self.target, space_generator=self.space_generator, search_strategy=self.search_strategy.clone(),
            task_name=self.task_name, rand_state=self.seed, num_threads=self.num_threads,
        )  # fmt: skip
