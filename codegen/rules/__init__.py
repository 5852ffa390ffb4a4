"""Default schedules: how the compiler schedules functions that have no schedule.

A rule recognizes a computation and chooses a composite step for it, with knobs that suit the machine; the steps of a function are
a schedule like one written by hand (`tvms schedule FILE --default`). If a rule declines, it gives the reason, and the next rule is
tried. Each step is declared beside the code that it emits.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from ...ir import tir
from ..machine import Machine
from . import banding as banding  # declares its step
from . import preparation as preparation  # declares its steps
from .bands import choose_bands
from .nest import Nest
from .processor import rules_for_nests
from .recipe import Recipe, derive
from .rules import Choice, Decision, Division, Rules

__all__ = ["Choice", "Decision", "Division", "Recipe", "Rules", "apply_rules", "derive", "rules_for"]


def rules_for(machine: Machine) -> Rules:
    """Return the rules for a processor."""

    def bands(nests: Sequence[Nest], owned: set[tir.Buffer]) -> Choice:
        return Choice("bands", "row_bands", choose_bands(nests, owned, machine))

    return replace(rules_for_nests(machine), bands=bands)


def apply_rules(func: tir.PrimFunc, rules: Rules) -> tuple[tir.PrimFunc, tuple[Decision, ...]]:
    """Return `func` with the default schedule of the rules applied, and the decision for every block."""
    recipe = derive(func, rules)
    return recipe.function, recipe.decisions
