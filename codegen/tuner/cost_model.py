"""Cost models of a search, which predict the times of schedules that were not measured.

The learned one uses LightGBM's regression trees where it is installed (extra `tune`), else ridge regression on products of two numbers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from itertools import combinations_with_replacement
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from .candidates import Candidate, Draft

_LEAST = 8
"""Number of measurements from which a model predicts."""
_TREES = 24
"""Number of measurements from which trees are used."""
_PENALTY = 0.01
"""Penalty of the squared weights of ridge regression."""
_WORST = 64.0
"""Relative time of slower schedules, and of those that failed."""


class Model(Protocol):
    """What a search asks which drafts to measure."""

    def learn(self, candidate: Candidate, time: float) -> None:
        """Take the time of a candidate relative to the baseline; infinity if it failed."""
        ...

    def predict(self, drafts: Sequence[Draft]) -> list[float]:
        """Return a number for each draft; the smaller, the more promising."""
        ...


class SpaceModels:
    """A learned model for each space: their draws have different meanings."""

    def __init__(self) -> None:
        self._models: defaultdict[str, CostModel] = defaultdict(CostModel)

    def learn(self, candidate: Candidate, time: float) -> None:
        """See `Model`."""
        self._models[candidate.space.name].add(candidate.draft().numbers(), time)

    def predict(self, drafts: Sequence[Draft]) -> list[float]:
        """See `Model`; 0 while too little is known."""
        return [self._predicted(draft) for draft in drafts]

    def _predicted(self, draft: Draft) -> float:
        found = self._models[draft.space.name].predict([draft.numbers()])
        return 0.0 if found is None else found[0]


class CostModel:
    """Predicts the logarithms of times from the drawn numbers of a search space."""

    def __init__(self, has_trees: bool | None = None) -> None:
        self._has_trees = find_spec("lightgbm") is not None if has_trees is None else has_trees
        self._rows: list[tuple[float, ...]] = []
        self._values: list[float] = []
        self._weights: NDArray[np.floating[Any]] | None = None
        self._trees: Any = None

    def add(self, numbers: Sequence[float], time: float) -> None:
        """Add a measurement: a relative time, infinity if it failed."""
        self._rows.append(tuple(numbers))
        self._values.append(float(np.log2(min(max(time, 1e-6), _WORST))))
        self._weights = self._trees = None

    def predict(self, rows: Sequence[Sequence[float]]) -> list[float] | None:
        """Return the logarithms of the times of some schedules; None if too little is known."""
        if len(self._rows) < _LEAST or not rows or not rows[0]:
            return None
        if self._has_trees and len(self._rows) >= _TREES:
            self._trees = self._trees or self._fit_trees()
            return self._trees.predict(np.asarray(rows, float)).tolist()
        self._weights = self._fit_products() if self._weights is None else self._weights
        return (_products(rows) @ self._weights).tolist()

    def _fit_products(self) -> NDArray[np.floating[Any]]:
        known = _products(self._rows)
        matrix = known.T @ known + _PENALTY * np.eye(known.shape[1])
        return np.linalg.solve(matrix, known.T @ np.asarray(self._values))

    def _fit_trees(self) -> Any:
        lightgbm: Any = import_module("lightgbm")
        options = {
            "objective": "regression",
            "num_leaves": 15,
            "min_data_in_leaf": 4,
            "learning_rate": 0.1,
            "verbose": -1,
        }
        known = lightgbm.Dataset(np.asarray(self._rows, float), np.asarray(self._values))
        return lightgbm.train(
            {**options, "num_threads": 1, "seed": 0, "deterministic": True}, known, num_boost_round=80
        )


def _products(rows: Sequence[Sequence[float]]) -> NDArray[np.float64]:
    """Return a row of features for each row of numbers: 1, the numbers, and the products of two of them, scaled to [0, 1]."""
    values = np.asarray(rows, float) / 10
    pairs = [values[:, i] * values[:, j] for i, j in combinations_with_replacement(range(values.shape[1]), 2)]
    return np.column_stack([np.ones(len(values)), values, *pairs])
