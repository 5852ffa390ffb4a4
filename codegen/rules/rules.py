"""Rules for default schedules, and what they decide."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from ...ir import tir
from .nest import Nest


class Choice(Struct, frozen=True):
    """What a rule chose: a composite step, with its knobs."""

    rule: str
    step: str
    knobs: Mapping[str, Any]


class Division(Struct, frozen=True):
    """How a reduction is divided: the place of the divided loop among the loops of its block, the number of parts, the axis of the parts in
    their buffer, and whether the loop over the parts becomes the outermost one.
    """

    place: int
    count: int
    factor_axis: int
    is_outermost: bool = False


class Rules(Struct, frozen=True):
    """The rules for a kind of machine. Each raises Declined with a reason if it does not apply.

    - `single`: the rules for single blocks, in the order in which they are tried; those in `with_epilogue` can also
      compute the element-wise operations that follow;
    - `rows`: the rules for all others, consecutive nests that share a number of outer axes;
    - `alone`: the rule for a statement that is not a nest;
    - `bands`: the rule for nests that share rows, given the buffers that only they access;
    - `parts`: how the reduction of a nest is divided before all other rules, None if it is not;
    - `once`: the buffers that a nest would read once by one of the rules, although it uses their elements several times; what
      computes them is inlined;
    - `whole`: the rule for all blocks of a function together, before all other rules, None if there is none;
    - `last`: the step that schedules what no rule did, "" for none; rules choose it by a step without a name.
    """

    single: Mapping[str, Callable[[Nest], Choice]]
    with_epilogue: tuple[str, ...]
    rows: tuple[Callable[[Sequence[Nest], int], Choice], ...]
    alone: Callable[[tir.Stmt], Choice]
    last: str = ""
    bands: Callable[[Sequence[Nest], set[tir.Buffer]], Choice] | None = None
    parts: Callable[[Nest], Division | None] | None = None
    whole: Callable[[tir.PrimFunc], Choice] | None = None
    once: Callable[[Nest], set[tir.Buffer]] = lambda nest: set()


class Decision(Struct, frozen=True):
    """The decision about one block or several merged ones: the rule that was applied, or None, and the reasons
    why others declined.
    """

    block: str
    rule: str | None
    declined: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        reasons = "; ".join(f"{rule}: {reason}" for rule, reason in self.declined)
        return f"block '{self.block}': {self.rule or 'not scheduled'}" + (f" ({reasons})" if reasons else "")
