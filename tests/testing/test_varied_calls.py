"""Calls of operators are drawn with the values of their attributes that declarations and errors tell."""

from __future__ import annotations

from collections import defaultdict

import hypothesis
from hypothesis import settings
from tvms.ir import relax
from tvms.ir.base import Op
from tvms.ir.visit import walk
from tvms.testing.varied_calls import operator_functions


def test_attributes_are_varied() -> None:
    met: defaultdict[tuple[str, str], set[object]] = defaultdict(set)

    @hypothesis.seed(1)
    @settings(max_examples=1500, database=None, deadline=None, suppress_health_check=list(hypothesis.HealthCheck))
    @hypothesis.given(operator_functions())
    def draw(function: relax.Function) -> None:
        for node in walk(function.body):
            if isinstance(node, relax.Call) and isinstance(node.op, Op):
                for name, value in node.attrs.items():
                    met[node.op.name, name].add(str(value))

    draw()
    assert {"True", "False"} <= met["relax.image.grid_sample", "align_corners"]
    assert {"nearest", "bilinear"} <= met["relax.image.grid_sample", "method"]
    assert len(met["relax.scatter_elements", "reduction"]) > 2
    packed = {
        layout
        for (_, name), values in met.items()
        if "layout" in name
        for layout in values
        if not str(layout).isalpha()
    }
    assert packed
    varied = [key for key, values in met.items() if len(values) > 1]
    assert len(varied) > 0.6 * len(met)
