"""Calls of operators that are wrong: each is refused with the place, both sides of the misfit, and a remedy.

The table `tests/cases/calls/operators.txt` holds all of them and what is said, so that a changed word is seen.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import tvms

TABLE = Path(__file__).parents[1] / "cases" / "calls" / "operators.txt"
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
    lines = [call]
    for found in caught.value.diagnostics:
        assert found.span is not None, call
        assert found.help, call
        place = found.span.source.text[found.span.start : found.span.end]
        lines += [f"    {found.code} at {place}", f"    {found.message}"]
        lines += [f"    note: {note.message}" for note in found.notes]
        lines.append(f"    help: {found.help}")
    return "\n".join(lines) + "\n"


def test_bad_calls_are_refused_as_the_table_says() -> None:
    table = TABLE.read_text(encoding="utf-8")
    calls = [line for line in table.splitlines() if line.startswith("R.")]
    assert len(calls) >= 60
    assert "\n".join(map(report, calls)) == table
