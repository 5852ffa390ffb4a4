"""A damaged or forged file of machine code neither crashes tvms nor executes code of another program.

Each example damages a saved module or a cache entry: bytes are flipped, removed, inserted or swapped, parts come from
another program, or settings do not exist. Usually the hashes are recomputed, so that only the signature reveals the
damage. A loaded file must compute what its program computes; a file that is refused is refused by a diagnostic.
"""

from __future__ import annotations

import re
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


_SHOWN = re.compile(r"^# (.+) of program (\d+): (\w+) of its (\w+) at (\d+) with (\d+)", re.MULTILINE)


class Damage(Struct):
    """Damage to one file: to its `part`, beginning at `place` thousandths of its length."""

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
    """Damage a file and load it with `execute`, which returns the computed and the expected result."""
    try:
        computed, expected = execute(damage, "main")
    except TvmsError as problem:
        if damage.is_cached:
            message = f"a cache entry aborts a compilation: {problem.diagnostics[0].message}"
            raise AssertionError(message) from problem
        damage.outcome = REFUSED
        return
    assert computed == expected, (
        f"the loaded file computes {computed} instead of {expected}: foreign machine code was executed"
    )
    damage.outcome = LOADED


def _constructs(damage: Damage) -> Iterable[str]:
    return (damage.outcome, damage.part, damage.change, "cache entry" if damage.is_cached else "saved module")


def _read(source: Source) -> Damage:
    """Return the damage that a comment of a saved text describes."""
    found = _SHOWN.search(source.text)
    assert found is not None, "no comment of the text describes damage"
    kind, program, change, part, place, value = found.groups()
    return Damage(int(program), kind == "a cache entry", part, change, int(place), int(value))


LAW = Law(
    _examples, _check, read=_read, reads_files=False, constructs=_constructs, expected=frozenset((*PARTS, *CHANGES, LOADED, REFUSED)),
    counted=(LOADED, REFUSED),
)  # fmt: skip
