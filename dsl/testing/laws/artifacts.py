"""No damaged or forged file of machine code crashes, or runs code that is not that of the program.

Each example damages a saved module or a cache entry: bytes flipped, cut out, put in or exchanged, parts of another
program, or settings that do not exist; most with the hashes recomputed, so that only the signature can tell. What is
loaded must compute what the program in the file computes; a file that is refused is refused by a diagnostic.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hypothesis import strategies as st
from msgspec import Struct

from ....ir.base import Source
from ....ir.diagnostics import TvmsError
from .law import Law

PARTS = ("file", "manifest", "text", "tensors", "image", "signature")
CHANGES = ("flip", "cut", "insert", "garbage", "foreign")
LOADED, REFUSED = "loaded, and computed what its text says", "refused by a diagnostic"


class Damage(Struct):
    """What is done to one file: to the `part` that begins `place` thousandths after its start."""

    program: int
    is_cached: bool
    part: str
    change: str
    place: int
    value: int
    outcome: str = ""

    def __str__(self) -> str:
        kind = "a cache entry" if self.is_cached else "a saved module"
        return f"# {kind} of program {self.program}: {self.change} of its {self.part} at {self.place} with {self.value}"


def _examples(file: Source | None) -> st.SearchStrategy[Damage]:
    return st.builds(
        Damage, st.integers(0, 3), st.booleans(), st.sampled_from(PARTS), st.sampled_from(CHANGES), st.integers(0, 999),
        st.integers(1, 255),
    )  # fmt: skip


def _check(damage: Damage, execute: Any) -> None:
    """`execute` damages a file and loads it; it returns the computed result and the expected one."""
    try:
        computed, expected = execute(damage, "main")
    except TvmsError as problem:
        if damage.is_cached:
            message = f"a cache entry stops a compilation: {problem.diagnostics[0].message}"
            raise AssertionError(message) from problem
        damage.outcome = REFUSED
        return
    assert computed == expected, f"what was loaded computes {computed} instead of {expected}: foreign machine code ran"
    damage.outcome = LOADED


def _constructs(damage: Damage) -> Iterable[str]:
    return (damage.outcome, damage.part, damage.change, "cache entry" if damage.is_cached else "saved module")


LAW = Law(
    _examples, _check, constructs=_constructs, expected=frozenset((*PARTS, *CHANGES, LOADED, REFUSED)),
    counted=(LOADED, REFUSED),
)  # fmt: skip
