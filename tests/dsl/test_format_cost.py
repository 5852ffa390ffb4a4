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
    "precedences": lambda size: " + ".join("A[0] * A[1] // A[2] << A[3]" for _ in range(size)),
    "nested sums": lambda size: f"{'(A[1] + ' * size}A[0]{')' * size}",
    "conditions": lambda size: (
        " and ".join(f"A[{k % 16}] < A[0] or A[1] == 2" for k in range(size)) + " if A[0] else 1"
    ),
    "widening": lambda size: " + ".join(f"T.exp({' + '.join(['A[0]'] * (k % 9 + 1))})" for k in range(size)),
}


@pytest.mark.parametrize("name", LINES)
def test_breaking_lines_is_linear(name: str) -> None:
    check_growth(lambda size: format_text(f"{HEAD}{LINES[name](size)}\n", line_length=60), 24)


def test_a_call_in_a_sum_is_not_broken_if_the_sum_is() -> None:
    text = f"{HEAD}T.exp(A[1] + A[2]) + T.exp(A[3]) + T.max(A[4], A[5] * A[6])\n"
    assert format_text(text, line_length=54) == (
        f"{HEAD}(\n        T.exp(A[1] + A[2])\n        + T.exp(A[3])\n        + T.max(A[4], A[5] * A[6])\n    )\n"
    )


def test_the_widest_bracket_is_broken_first() -> None:
    text = f"{HEAD}T.max(A[4], A[5]).f(T.exp(A[1], A[2], A[3], A[4]))\n"
    assert format_text(text, line_length=48) == (
        f"{HEAD}T.max(A[4], A[5]).f(\n        T.exp(A[1], A[2], A[3], A[4]),\n    )\n"
    )
