"""Evolutionary search over the schedules of the spaces of one workload (TVM: `EvolutionarySearch`)."""

from __future__ import annotations

from collections import Counter, defaultdict
from random import Random

from ...ir.base import IRModule
from ...ir.diagnostics import TvmsError
from .candidates import Candidate, draw, mutate
from .cost_model import CostModel
from .spaces import Space

_FRESH = 0.3
"""Share of new candidates that are drawn, not mutated."""
_POOL = 4
"""Candidates that are made for each one that is measured."""
_PARENTS = 12
"""Number of the fastest candidates that are mutated."""
_BLIND = 0.2
"""Share of a batch that is chosen without the cost model."""
_ATTEMPTS = 12
"""Attempts for each candidate of a pool: draws may be refused or repeat earlier ones."""


class Search:
    """Proposes candidates and learns from their times. The same seed and times give the same proposals."""

    def __init__(self, module: IRModule, spaces: tuple[Space, ...], target: str, seed: int) -> None:
        self.module, self.target = module, target
        self._spaces, self._random = spaces, Random(seed)
        self._seen: set[int] = set()
        self._models: defaultdict[str, CostModel] = defaultdict(CostModel)
        self.measured: list[tuple[float, Candidate]] = []
        """Candidates with their times, fastest first."""
        self.refusals: Counter[str] = Counter()
        """Number of draws that were refused, by reason."""

    def skip(self, key: int) -> None:
        """Do not propose the program with this structural hash."""
        self._seen.add(key)

    def propose(self, count: int) -> list[Candidate]:
        """Return up to `count` candidates that were not proposed before; fewer if there seem to be no others."""
        pool = self._pool(count * (_POOL if self.measured else 1))
        chosen = self._best_predicted(pool, count)
        self._seen.update(candidate.key for candidate in chosen)
        return chosen

    def learn(self, candidate: Candidate, time: float) -> None:
        """Take the time of a candidate relative to the baseline; infinity if it failed."""
        self._models[candidate.space.name].add(candidate.numbers(), time)
        if time < float("inf"):
            self.measured.append((time, candidate))
            self.measured.sort(key=lambda found: found[0])

    def best(self, count: int = 1) -> list[Candidate]:
        """Return the fastest candidates."""
        return [candidate for _, candidate in self.measured[:count]]

    def _pool(self, count: int) -> list[Candidate]:
        found: dict[int, Candidate] = {}
        for _ in range(count * _ATTEMPTS):
            made = self._made()
            if made is not None and made.key not in self._seen:
                found.setdefault(made.key, made)
            if len(found) == count:
                break
        return list(found.values())

    def _made(self) -> Candidate | None:
        """Return a new candidate: drawn from a space, or mutated once or several times."""
        if not self.measured or self._random.random() < _FRESH:
            made = draw(self.module, self._random.choice(self._spaces), self._random, self.target)
            if isinstance(made, TvmsError):
                self.refusals[made.diagnostics[0].message] += 1
                return None
            return made
        made = self._random.choice(self.best(_PARENTS))
        for _ in range(self._random.choice((1, 1, 2, 3))):
            changed = mutate(self.module, made, self._random, self.target)
            made = changed or made
        return made

    def _best_predicted(self, pool: list[Candidate], count: int) -> list[Candidate]:
        blind = pool[: int(count * _BLIND)] if self.measured else pool[:count]
        rest = [candidate for candidate in pool if candidate not in blind]
        ranked = sorted(((self._predicted(candidate), place) for place, candidate in enumerate(rest)))
        return [*blind, *(rest[place] for _, place in ranked[: count - len(blind)])]

    def _predicted(self, candidate: Candidate) -> float:
        found = self._models[candidate.space.name].predict([candidate.numbers()])
        return 0.0 if found is None else found[0]
