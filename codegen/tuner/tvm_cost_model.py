"""Cost models under TVM's names (`tvm.meta_schedule.cost_model`). The tuner has its own (`cost_model`); a program may give another."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...ir.base import IRModule
from ...ir.diagnostics import ArgumentError, Diagnostic
from .candidates import Candidate, Draft, make
from .cost_model import Model, SpaceModels
from .tvm_measuring import MeasureCandidate, measure_candidate
from .tvm_runner import RunnerResult

__all__ = ["CostModel", "PyCostModel", "RandomModel", "create"]
_OWN = ("xgb", "mlp")
"""TVM's names of models that learn; all mean the tuner's own."""


class CostModel(ABC):
    """A cost model; subclasses define its methods (TVM: `CostModel`, `PyCostModel`)."""

    @abstractmethod
    def load(self, path: str) -> None:
        """Read what was learned from a file."""
        ...

    @abstractmethod
    def save(self, path: str) -> None:
        """Write what was learned to a file."""
        ...

    @abstractmethod
    def update(self, context: Any, candidates: Sequence[MeasureCandidate], results: Sequence[RunnerResult]) -> None:
        """Learn from measurements. The tuner gives times relative to that of the schedule without tuning."""
        ...

    @abstractmethod
    def predict(self, context: Any, candidates: Sequence[MeasureCandidate]) -> NDArray[Any]:
        """Return a score for each candidate, the higher the better."""
        ...

    def __str__(self) -> str:
        return f"meta_schedule.{type(self).__name__}({id(self):#x})"

    @staticmethod
    def create(kind: str, *args: Any, **kwargs: Any) -> CostModel:
        """Return the `RandomModel` for "random". Raises ArgumentError E0702 for others: `tune_tir` takes "xgb", for which there
        is not an object.
        """
        if kind != "random":
            reason = f"argument 'kind' to CostModel.create: expected 'random', got {kind!r}"
            help = 'pass cost_model="xgb" for the model of the tuner, or derive one from PyCostModel'
            raise ArgumentError([Diagnostic("E0702", reason, None, help)])
        return RandomModel(*args, **kwargs)


PyCostModel = CostModel
create = CostModel.create


class RandomModel(CostModel):
    """Scores that are random (TVM: `RandomModel`)."""

    def __init__(self, *, seed: int | None = None, path: str | None = None, max_range: int = 100) -> None:
        """Scores are uniform in [0, `max_range`); `path` is a file that `save` wrote."""
        self.max_range = max_range
        self.random_state = np.random.default_rng(seed)
        if path is not None:
            self.load(path)

    def load(self, path: str) -> None:
        """Read the state of the generator that `save` wrote."""
        state = np.load(path, allow_pickle=False)
        self.random_state.bit_generator.state = {
            **self.random_state.bit_generator.state,
            "state": {
                "state": int(state["state"].item(), 16), "inc": int(state["inc"].item(), 16),
            },
            "has_uint32": int(state["has_uint32"]), "uinteger": int(state["uinteger"]),
        }  # fmt: skip

    def save(self, path: str) -> None:
        """Write the state of the generator to a file of NumPy (.npz)."""
        known: dict[str, Any] = dict(self.random_state.bit_generator.state)
        with open(path, "wb") as file:
            np.savez(
                file, state=f"{known['state']['state']:x}", inc=f"{known['state']['inc']:x}", has_uint32=known["has_uint32"],
                uinteger=known["uinteger"],
            )  # fmt: skip

    def update(self, context: Any, candidates: Sequence[MeasureCandidate], results: Sequence[RunnerResult]) -> None:
        """Learn nothing."""

    def predict(self, context: Any, candidates: Sequence[MeasureCandidate]) -> NDArray[Any]:
        """See `CostModel`."""
        return self.random_state.random(len(candidates)) * self.max_range


def as_model(given: CostModel | str | None, context: Any, workload: IRModule) -> Model:
    """Return the model of a search: that of the tuner for "xgb", "mlp" and None. Raises ArgumentError E0702 for other texts."""
    if given is None or given in _OWN:
        return SpaceModels()
    if isinstance(given, str):
        given = CostModel.create("random") if given in ("random", "none") else CostModel.create(given)
    return _Given(given, context, workload)


class _Given:
    """A model of a program, as a search asks it."""

    def __init__(self, model: CostModel, context: Any, workload: IRModule) -> None:
        self._model, self._context, self._workload = model, context, workload

    def learn(self, candidate: Candidate, time: float) -> None:
        """See `Model`."""
        seconds = [time] if time < float("inf") else None
        result = RunnerResult(seconds, None if seconds else "it failed")
        self._model.update(self._context, [measure_candidate(self._workload, candidate)], [result])

    def predict(self, drafts: Sequence[Draft]) -> list[float]:
        """See `Model`; drafts that are refused come last."""
        target = self._context.target.name
        made = [make(self._workload, draft, target) for draft in drafts]
        known = [place for place, found in enumerate(made) if isinstance(found, Candidate)]
        given = [measure_candidate(self._workload, made[place]) for place in known]  # type: ignore[arg-type]
        scores = dict(zip(known, self._model.predict(self._context, given) if given else (), strict=True))
        return [-float(scores[place]) if place in scores else float("inf") for place in range(len(drafts))]
