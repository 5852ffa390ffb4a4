"""Evolutionary search over the schedules of the spaces of one workload (TVM: `EvolutionarySearch`).

A cost model chooses among mutated candidates. The other strategies need none: "replay-trace" draws all candidates, and "grid" tries
all decisions in their order.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from math import inf
from random import Random
from typing import Any

from ...ir.base import IRModule
from ...ir.schedule.text import ScheduleText
from .candidates import Candidate, Draft, all_drafts, draw, make, mutate
from .cost_model import Model, SpaceModels
from .spaces import Space

STRATEGIES = ("evolutionary", "replay-trace", "grid")
"""Ways to choose the schedules to measure."""
_POOL = 8
"""Mutated drafts for each candidate that is measured."""
_PARENTS = 12
"""Number of the fastest candidates that are mutated."""
FRESH = 0.25
"""Share of a batch that is drawn, and measured whatever the cost model expects."""
_ATTEMPTS = 12
"""Attempts to complete a batch: draws may be refused or repeat earlier ones."""


class Search:
    """Proposes candidates and learns from their times. The same seed and times give the same proposals."""

    def __init__(
        self, module: IRModule, spaces: tuple[Space, ...], target: str, seed: int, strategy: str = "evolutionary", model: Model | None = None,
        fresh: float = FRESH,
    ) -> None:  # fmt: skip
        """`strategy` is one of `STRATEGIES`, `model` the learned one if it is None, and `fresh` the share of a batch that is drawn."""
        self.module, self.target = module, target
        self._spaces, self._random, self._strategy, self._fresh = spaces, Random(seed), strategy, fresh
        self._grid = self._all_drafts()
        self._seen: set[str] = set()
        self._suggested: list[Candidate] = []
        self._tried: set[tuple[str, tuple[Any, ...]]] = set()
        """The decisions of drafts that were applied, by space."""
        self._model = model or SpaceModels()
        self.measured: list[tuple[float, Candidate]] = []
        """Candidates with their times, fastest first."""
        self.refusals: Counter[tuple[str, str]] = Counter()
        """Number of draws that were refused, by space and reason."""
        self._useful: set[str] = set()
        """The spaces of which a draw was not refused."""

    def skip(self, key: str) -> None:
        """Do not propose the program with this key."""
        self._seen.add(key)

    def suggest(self, text: ScheduleText) -> None:
        """Propose a schedule that draws nothing before all others, unless a step of it is refused."""
        made = draw(self.module, Space("suggested", text), self._random, self.target)
        if isinstance(made, Candidate) and made.key not in self._seen:
            self._seen.add(made.key)
            self._suggested.append(made)

    def propose(self, count: int, until: float = inf) -> list[Candidate]:
        """Return up to `count` candidates that were not proposed before; fewer if no others are found until a moment, in seconds of
        `time.monotonic`.
        """
        chosen, self._suggested = self._suggested[:count], self._suggested[count:]
        attempts = _ATTEMPTS
        while len(chosen) < count and attempts and time.monotonic() < until:
            options = self._options(count - len(chosen))
            attempts = attempts - 1 if self._strategy != "grid" else len(options)
            for option in options:
                made = self._made(option)
                if made is not None and made.key not in self._seen:
                    self._seen.add(made.key)
                    chosen.append(made)
                if len(chosen) == count:
                    break
        return chosen

    def learn(self, candidate: Candidate, time: float) -> None:
        """Take the time of a candidate relative to the baseline; infinity if it failed."""
        self._model.learn(candidate, time)
        if time < float("inf"):
            self.measured.append((time, candidate))
            self.measured.sort(key=lambda found: found[0])

    def refused_spaces(self) -> dict[str, str]:
        """Return the spaces of which every draw was refused, by name, with the most common reason."""
        found: dict[str, str] = {}
        for (space, reason), _ in self.refusals.most_common():
            if space not in self._useful:
                found.setdefault(space, reason)
        return found

    def best(self, count: int = 1) -> list[Candidate]:
        """Return the fastest candidates."""
        return [candidate for _, candidate in self.measured[:count]]

    def _options(self, count: int) -> list[Space | Draft]:
        """Return spaces to draw from, then drafts, the most promising first, for the rest of a batch."""
        if self._strategy == "grid":
            return list(islice(self._grid, count))
        drafts = self._drafts(count * _POOL) if self.measured and self._strategy == "evolutionary" else []
        fresh = max(round(count * self._fresh), count - len(drafts))
        spaces = [self._random.choice(self._spaces) for _ in range(fresh)]
        ranked = sorted((expected, place) for place, expected in enumerate(self._model.predict(drafts)))
        return [*spaces, *(drafts[place] for _, place in ranked)]

    def _all_drafts(self) -> Iterator[Draft]:
        """Yield all drafts of all spaces, in turn."""
        left = [all_drafts(self.module, space, self._random, self.target) for space in self._spaces]
        while left:
            for drafts in list(left):
                draft = next(drafts, None)
                if draft is None:
                    left.remove(drafts)
                else:
                    yield draft

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
            space = option.space if isinstance(option, Draft) else option
            self.refusals[space.name, made] += 1
            return None
        self._useful.add(made.space.name)
        return made
