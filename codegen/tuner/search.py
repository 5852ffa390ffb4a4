"""Evolutionary search over the schedules of the spaces of one workload (TVM: `EvolutionarySearch`).

A cost model chooses among mutated candidates: LightGBM's regression trees where it is installed (extra `tune`), else ridge regression on
products of two numbers.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from itertools import combinations_with_replacement
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...ir.base import IRModule
from ...ir.schedule.text import ScheduleText
from .candidates import Candidate, Draft, draw, make, mutate
from .spaces import Space

_POOL = 8
"""Mutated drafts for each candidate that is measured."""
_PARENTS = 12
"""Number of the fastest candidates that are mutated."""
_FRESH = 0.25
"""Share of a batch that is drawn, and measured whatever the cost model expects."""
_ATTEMPTS = 12
"""Attempts to complete a batch: draws may be refused or repeat earlier ones."""
_LEAST = 8
"""Number of measurements from which a model predicts."""
_TREES = 24
"""Number of measurements from which trees are used."""
_PENALTY = 0.01
"""Penalty of the squared weights of ridge regression."""
_WORST = 64.0
"""Relative time of slower schedules, and of those that failed."""


class Search:
    """Proposes candidates and learns from their times. The same seed and times give the same proposals."""

    def __init__(self, module: IRModule, spaces: tuple[Space, ...], target: str, seed: int) -> None:
        self.module, self.target = module, target
        self._spaces, self._random = spaces, Random(seed)
        self._seen: set[str] = set()
        self._suggested: list[Candidate] = []
        self._tried: set[tuple[str, tuple[Any, ...]]] = set()
        """The decisions of drafts that were applied, by space."""
        self._models: defaultdict[str, CostModel] = defaultdict(CostModel)
        self.measured: list[tuple[float, Candidate]] = []
        """Candidates with their times, fastest first."""
        self.refusals: Counter[str] = Counter()
        """Number of draws that were refused, by reason."""

    def skip(self, key: str) -> None:
        """Do not propose the program with this key."""
        self._seen.add(key)

    def suggest(self, text: ScheduleText) -> None:
        """Propose a schedule that draws nothing before all others, unless a step of it is refused."""
        made = draw(self.module, Space("suggested", text), self._random, self.target)
        if isinstance(made, Candidate) and made.key not in self._seen:
            self._seen.add(made.key)
            self._suggested.append(made)

    def propose(self, count: int) -> list[Candidate]:
        """Return up to `count` candidates that were not proposed before; fewer if no others are found."""
        chosen, self._suggested = self._suggested[:count], self._suggested[count:]
        attempts = _ATTEMPTS
        while len(chosen) < count and attempts:
            attempts -= 1
            for option in self._options(count - len(chosen)):
                made = self._made(option)
                if made is not None and made.key not in self._seen:
                    self._seen.add(made.key)
                    chosen.append(made)
                if len(chosen) == count:
                    break
        return chosen

    def learn(self, candidate: Candidate, time: float) -> None:
        """Take the time of a candidate relative to the baseline; infinity if it failed."""
        self._models[candidate.space.name].add(candidate.draft().numbers(), time)
        if time < float("inf"):
            self.measured.append((time, candidate))
            self.measured.sort(key=lambda found: found[0])

    def best(self, count: int = 1) -> list[Candidate]:
        """Return the fastest candidates."""
        return [candidate for _, candidate in self.measured[:count]]

    def _options(self, count: int) -> list[Space | Draft]:
        """Return spaces to draw from, then drafts, the most promising first, for the rest of a batch."""
        drafts = self._drafts(count * _POOL) if self.measured else []
        fresh = max(round(count * _FRESH), count - len(drafts))
        spaces = [self._random.choice(self._spaces) for _ in range(fresh)]
        ranked = sorted((self._predicted(draft), place) for place, draft in enumerate(drafts))
        return [*spaces, *(drafts[place] for _, place in ranked)]

    def _drafts(self, count: int) -> list[Draft]:
        """Return up to `count` mutations of the fastest candidates, none of which was tried before."""
        parents = [candidate.draft() for candidate in self.best(_PARENTS)]
        found: dict[tuple[str, tuple[Any, ...]], Draft] = {}
        for _ in range(count):
            made = self._random.choice(parents)
            for _ in range(self._random.choice((1, 1, 2, 3))):
                made = mutate(made, self._random) or made
            key = made.space.name, made.decisions()
            if key not in self._tried:
                found.setdefault(key, made)
        return list(found.values())

    def _made(self, option: Space | Draft) -> Candidate | None:
        """Return a candidate: drawn from a space, or that of a draft; None if it is refused."""
        if isinstance(option, Draft):
            made = make(self.module, option, self.target)
            self._tried.add((option.space.name, option.decisions()))
        else:
            made = draw(self.module, option, self._random, self.target)
        if isinstance(made, str):
            self.refusals[made] += 1
            return None
        return made

    def _predicted(self, draft: Draft) -> float:
        found = self._models[draft.space.name].predict([draft.numbers()])
        return 0.0 if found is None else found[0]


# --- Cost model ----------------------------------------------------------------------------------------------------


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
