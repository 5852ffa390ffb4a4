"""Candidates: schedules of a space with all numbers drawn, and drafts of others, which are mutated without applying them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import isqrt, log2, prod
from random import Random
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ...ir import tir
from ...ir.base import Attrs, IRModule, Span
from ...ir.diagnostics import TvmsError
from ...ir.schedule import Schedule
from ...ir.schedule.analysis.tiling import prime_factors
from ...ir.schedule.declaration import Primitive
from ...ir.schedule.instruction import Instruction
from ...ir.schedule.text import ScheduleText
from ...ir.schedule.trace import Trace
from .spaces import FUNCTION, Space, key_of

_SEEDS = 1 << 30
_DRAWS = 16
"""Attempts to draw a schedule, which tells what a space draws."""


class Draft(Struct, frozen=True, eq=False):
    """A schedule of a space that is not applied yet: its draws, with what each gives."""

    space: Space
    draws: tuple[Instruction, ...]

    def decisions(self) -> tuple[Any, ...]:
        """Return what the draws give."""
        return tuple([instruction.decision for instruction in self.draws])

    def numbers(self) -> tuple[float, ...]:
        """Return the drawn numbers as logarithms, for a cost model."""
        return tuple([log2(max(number, 1)) for instruction in self.draws for number in _chosen(instruction)])


class Candidate(Struct, frozen=True, eq=False):
    """A schedule of a space: its trace, and the function that it makes."""

    space: Space
    trace: Trace
    function: tir.PrimFunc
    key: str
    """Key of the function: equal for schedules that make the same program."""

    def text(self, name: str, function: str, target: str | Attrs | None) -> ScheduleText:
        """Return the schedule with the drawn numbers as constants, for the text of a module."""
        return replace(self.trace.decided().as_text(name), function=function, target=target)

    def draft(self) -> Draft:
        """Return its draws."""
        return Draft(self.space, tuple([drawn for drawn in self.trace.insts if drawn.decision is not None]))


def draw(module: IRModule, space: Space, random: Random, target: str) -> Candidate | str:
    """Return a random schedule of a space, or why it is refused."""
    return _replayed(module, space, target, random.randrange(1, _SEEDS), ())


def mutate(draft: Draft, random: Random) -> Draft | None:
    """Return a draft with one other decision; None if nothing can be changed."""
    places = [place for place, instruction in enumerate(draft.draws) if has_choice(instruction)]
    if not places:
        return None
    place = random.choice(places)
    decision = mutated(draft.draws[place], random)
    if decision is None:
        return None
    draws = list(draft.draws)
    draws[place] = draws[place].with_decision(decision)
    return Draft(draft.space, tuple(draws))


def all_drafts(module: IRModule, space: Space, random: Random, target: str) -> Iterator[Draft]:
    """Yield a draft for each combination of decisions of a space; none if no schedule of it can be drawn. A space whose draws depend on
    others has more.
    """
    first = next(
        (made for _ in range(_DRAWS) if isinstance(made := draw(module, space, random, target), Candidate)), None
    )
    draws = () if first is None else first.draft().draws
    for decisions in product(*map(_decisions, draws)) if first is not None else ():
        yield Draft(space, tuple([drawn.with_decision(one) for drawn, one in zip(draws, decisions, strict=True)]))


def _decisions(instruction: Instruction) -> list[Any]:
    """Return all decisions of a draw, as far as one of them shows them: computed locations are those up to it, and one more."""
    decision = instruction.decision
    if instruction.primitive.name == "sample_categorical":
        return list(range(len(instruction.arguments["candidates"])))
    if isinstance(decision, int):
        return list(range(-2, decision + 2))
    if instruction.primitive.name != "sample_perfect_tile":
        return [decision]
    largest = instruction.arguments.get("max_innermost_factor", 16)
    return [factors for factors in _tiles(prod(decision), len(decision)) if not 0 < largest < factors[-1]]


def _tiles(extent: int, n: int) -> Iterator[tuple[int, ...]]:
    """Yield all `n` factors whose product is `extent`."""
    if n == 1:
        yield (extent,)
        return
    low = [number for number in range(1, isqrt(extent) + 1) if extent % number == 0]
    for first in sorted({*low, *(extent // number for number in low)}):
        for rest in _tiles(extent // first, n - 1):
            yield (first, *rest)


def make(module: IRModule, draft: Draft, target: str) -> Candidate | str:
    """Return the schedule of a draft, or why it is refused."""
    return _replayed(module, draft.space, target, 1, draft.decisions())


def _replayed(module: IRModule, space: Space, target: str, seed: int, decisions: Sequence[Any]) -> Candidate | str:
    schedule = _Guided(module, seed, decisions)
    try:
        schedule.replay(space.text, target)
        declined = space.complete(schedule)
    except TvmsError as refused:
        return refused.diagnostics[0].message
    if declined:
        return declined
    function = schedule.mod.functions[FUNCTION]
    assert isinstance(function, tir.PrimFunc)
    return Candidate(space, schedule.trace, function, key_of(function))


class _Guided(Schedule):
    """A schedule whose draws repeat decisions, as far as there are any."""

    def __init__(self, module: IRModule, seed: int, decisions: Sequence[Any]) -> None:
        super().__init__(module, seed=seed, error_render_level="fast")
        self._decisions = iter(decisions)

    def apply_at(
        self, place: Span | str | None, primitive: Primitive, args: tuple[Any, ...], named: dict[str, Any]
    ) -> Any:
        """Apply a primitive, with the next decision if it draws."""
        if primitive.name.startswith("sample_") and named.get("decision") is None:
            decision = next(self._decisions, None)
            named = named if decision is None else {**named, "decision": decision}
        return super().apply_at(place, primitive, args, named)


# --- Decisions --------------------------------------------------------------------------------------------------


def _chosen(instruction: Instruction) -> Sequence[int]:
    match instruction.primitive.name, instruction.decision:
        case "sample_categorical", int() as index:
            return [instruction.arguments["candidates"][index]]
        case _, int() as location:
            return [location + 3]
        case _, factors:
            return list(factors)


def has_choice(instruction: Instruction) -> bool:
    """Return whether a draw has more than one decision."""
    if instruction.primitive.name == "sample_categorical":
        return len(instruction.arguments["candidates"]) > 1
    return not isinstance(instruction.decision, tuple) or max(_chosen(instruction)) > 1


def mutated(instruction: Instruction, random: Random) -> Any:
    """Return another decision: a neighbor or any other candidate, or factors of which one gives a part to another one."""
    decision = instruction.decision
    if instruction.primitive.name == "sample_categorical":
        count = len(instruction.arguments["candidates"])
        others = [index for index in range(count) if index != decision]
        near = [index for index in others if abs(index - decision) == 1]
        return random.choice(near if random.random() < 0.5 else others)
    if isinstance(decision, int):
        return random.choice([place for place in range(-2, decision + 4) if place != decision])
    factors = list(decision)
    givers = [index for index, factor in enumerate(factors) if factor > 1]
    if len(factors) < 2 or not givers:
        return None
    giver = random.choice(givers)
    taker = random.choice([index for index in range(len(factors)) if index != giver])
    primes = [prime for prime, count in prime_factors(factors[giver]) for _ in range(count)]
    moved = prod(random.sample(primes, random.choice((1, 1, random.randint(1, len(primes))))))
    factors[giver] //= moved
    factors[taker] *= moved
    is_perfect = instruction.primitive.name == "sample_perfect_tile"
    largest = instruction.arguments.get("max_innermost_factor", 16) if is_perfect else -1
    return None if 0 < largest < factors[-1] else tuple(factors)
