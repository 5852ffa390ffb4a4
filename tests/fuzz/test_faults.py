"""The verifier finds what is broken, in its line and with values for which it happens, and nothing in what is right."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tvms.dsl.diagnostics import render
from tvms.dsl.load import parse
from tvms.ir.diagnostics import TvmsError
from tvms.ir.interp import run
from tvms.ir.verify import verify

sys.path.insert(0, str(Path(__file__).parent))
from fuzz_faults import FAULT, Pair, pair

SEEDS = st.integers(0, 2**32)


def line_of(text: str, offset: int) -> str:
    """Return the line of `text` around an offset."""
    return text[text.rfind("\n", 0, offset) + 1 :].partition("\n")[0]


def check(made: Pair) -> None:
    """Assert that the right kernel is fine, and that the wrong one is told for what it is, where it is."""
    assert render(verify(parse(made.right), "races")) == "", made.right
    found = [diagnostic for diagnostic in verify(parse(made.wrong), "races") if diagnostic.severity == "error"]
    assert made.code in [diagnostic.code for diagnostic in found], (
        f"{made.code} is not told:\n{made.wrong}{render(found)}"
    )
    told = next(diagnostic for diagnostic in found if diagnostic.code == made.code)
    assert told.span is not None
    assert line_of(made.wrong, told.span.start).endswith(FAULT), f"told elsewhere:\n{made.wrong}{render(found)}"
    assert re.search(r"\w+ = -?\d+", told.message), f"without values: {told.message}"


@given(SEEDS)
def test_faults_are_found_and_nothing_else(seed: int) -> None:
    check(pair(seed))


@given(SEEDS)
def test_what_is_outside_stops_the_interpreter_and_what_is_right_does_not(seed: int) -> None:
    import numpy as np

    made = pair(seed)
    if made.code not in ("E0414", "E0415") or "T.handle" in made.right:
        return
    shapes = [tuple(map(int, re.findall(r"\d+", shape))) for shape in re.findall(r"T\.Buffer\(\((.*?)\)", made.right)]
    for text, is_right in ((made.right, True), (made.wrong, False)):
        arrays = [np.zeros(shape, np.float32) for shape in shapes]
        if is_right:
            run(parse(text), "main", arrays)
        else:
            with pytest.raises(TvmsError) as caught:
                run(parse(text), "main", arrays)
            assert caught.value.diagnostics[0].code in ("E0707", "E0713")
