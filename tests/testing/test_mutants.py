"""Every planted bug still applies to the source, and the quickest to find are found."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from mutants import BUGS, ROOT, hunt_apart
from planted_bugs import Mutant

QUICK = ("the printer drops parentheses", "< is off by one", "T.init is dropped")


@pytest.mark.parametrize("mutant", BUGS, ids=lambda mutant: mutant.name)
def test_a_bug_can_be_planted(mutant: Mutant) -> None:
    source = (ROOT / mutant.file).read_text(encoding="utf-8")
    compile(mutant.patched(source), mutant.file, "exec")


@pytest.mark.deep(3)
@pytest.mark.parametrize("name", QUICK)
def test_a_bug_is_found(name: str) -> None:
    (mutant,) = [mutant for mutant in BUGS if mutant.name == name]
    found = hunt_apart(mutant, 30.0)
    assert found.reason, f"{found.checked} examples in {found.seconds} s do not show it"
