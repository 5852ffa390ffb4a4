"""Calls of operators that are wrong: each is refused with the place, both sides of the misfit, and a remedy.

The titles of the cases of kind `calls` are the calls; part `says` is everything that is said.
"""

from __future__ import annotations

import pytest
import tvms
from text_cases import Case, read_cases

CASES = read_cases("calls")
_PARAMS = (
    'x: R.Tensor((8, 4), "float32"), y: R.Tensor((8, 5), "float32"), h: R.Tensor((8, 4), "float16"), '
    'i: R.Tensor((3,), "int64"), b: R.Tensor((8, 4), "bool"), v: R.Tensor((4,), "float32"), '
    's: R.Tensor((), "float32"), img: R.Tensor((1, 3, 8, 8), "float32"), w: R.Tensor((6, 4, 3, 3), "float32"), '
    'q: R.Tensor((1, 8, 6, 4), "float32"), k: R.Tensor((1, 8, 4, 4), "float32"), sh: R.Shape([8, 4])'
)


def report(call: str) -> str:
    """What is said of `call`: each error's code, what it underlines, the reason, its notes and the remedy."""
    with pytest.raises(tvms.TvmsError) as caught:
        tvms.parse(f"R.function main({_PARAMS}) -> R.Object:\n    gv = {call}\n    return gv\n")
    lines: list[str] = []
    for found in caught.value.diagnostics:
        assert found.span is not None, call
        assert found.help, call
        place = found.span.source.text[found.span.start : found.span.end]
        lines += [f"{found.code} at {place}", found.message]
        lines += [f"note: {note.message}" for note in found.notes]
        lines.append(f"help: {found.help}")
    return "\n".join(lines)


def test_there_are_enough() -> None:
    assert len(CASES) >= 60


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_bad_calls_are_refused_as_the_case_says(case: Case) -> None:
    assert report(case.title) == case.parts["says"].rstrip("\n")
