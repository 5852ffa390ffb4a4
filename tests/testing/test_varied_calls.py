"""Calls of operators are drawn with the values of their attributes that declarations and errors tell."""

from __future__ import annotations

from collections import defaultdict

import hypothesis
from hypothesis import settings
from tvms.ir import relax
from tvms.ir.base import Op
from tvms.ir.visit import walk
from tvms.testing.varied_calls import operator_functions


def drawn(examples: int, *names: str) -> dict[tuple[str, str], set[object]]:
    """Return the values of each attribute in calls of some operators, or of all."""
    met: defaultdict[tuple[str, str], set[object]] = defaultdict(set)
    functions = operator_functions(names) if names else operator_functions()

    @hypothesis.seed(1)
    @settings(max_examples=examples, database=None, deadline=None, suppress_health_check=list(hypothesis.HealthCheck))
    @hypothesis.given(functions)
    def draw(function: relax.Function) -> None:
        for node in walk(function.body):
            if isinstance(node, relax.Call) and isinstance(node.op, Op):
                for name, value in node.attrs.items():
                    met[node.op.name, name].add(str(value))

    draw()
    return met


def test_attributes_of_an_operator_take_their_values() -> None:
    met = drawn(200, "image.grid_sample", "scatter_elements")
    assert {"True", "False"} <= met["relax.image.grid_sample", "align_corners"]
    assert {"nearest", "bilinear"} <= met["relax.image.grid_sample", "method"]
    assert len(met["relax.scatter_elements", "reduction"]) > 2


def test_attributes_are_varied() -> None:
    met = drawn(1500)
    assert any(not str(layout).isalpha() for (_, name), values in met.items() if "layout" in name for layout in values)
    assert sum(len(values) > 1 for values in met.values()) > 0.5 * len(met)
