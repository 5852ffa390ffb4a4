"""Formatting to a line length takes work in proportion to the line, however many brackets could be broken."""

from __future__ import annotations

import pytest
from tvms.dsl.formatter import format_text
from tvms.dsl.testing.growth import check_growth

HEAD = 'T.prim_func f(A: T.Buffer((16,), "float32")):\n    A[0] = '
LINES = {
    "a sum": lambda size: " + ".join(["A[0]"] * size),
    "calls": lambda size: " + ".join(f"T.exp(A[{k % 16}])" for k in range(size)),
    "nested calls": lambda size: f"{'T.max(A[1], ' * size}A[0]{')' * size}",
    "arguments": lambda size: f"T.call_extern('f', {', '.join(f'A[{k % 16}] * A[0]' for k in range(size))})",
    "widening": lambda size: " + ".join(f"T.exp({' + '.join(['A[0]'] * (k % 9 + 1))})" for k in range(size)),
}


@pytest.mark.parametrize("name", LINES)
def test_breaking_lines_is_linear(name: str) -> None:
    check_growth(lambda size: format_text(f"{HEAD}{LINES[name](size)}\n", line_length=60), 24)


def test_the_widest_bracket_is_broken_first() -> None:
    text = f"{HEAD}T.exp(A[1] + A[2]) + T.exp(A[3]) + T.max(A[4], A[5] * A[6])\n"
    assert format_text(text, line_length=54) == (
        f"{HEAD}T.exp(A[1] + A[2]) + T.exp(A[3]) + T.max(\n        A[4],\n        A[5] * A[6],\n    )\n"
    )
