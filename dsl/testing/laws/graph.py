"""A graph computes the same by the definitions of its operators, by the loops of each operator, and compiled.

The verifier accepts default schedules of these loops.
"""

from __future__ import annotations

from typing import TypeAlias

from hypothesis import strategies as st

from ....ir.base import IRModule, Source
from ....ir.passes.transform import get_pass
from ...load import parse_source
from ..calls import call_functions
from ..graphs import graph_functions
from ..networks import network_modules
from ..oracle import Execute, as_module, assert_equivalent, interpreted, profiles
from ..smaller import programs_in
from ..varied_calls import operator_functions
from .law import Law, module_constructs
from .lowering import assert_scheduled_well

_SAMPLE = 3
"""One example in this number is also compiled; in all of them, the operators are interpreted as loops."""
_Example: TypeAlias = tuple[IRModule, int]
"""A module, and the seed of its inputs."""


def _examples(file: Source | None) -> st.SearchStrategy[_Example]:
    functions = st.one_of(graph_functions(), call_functions(), *[operator_functions()] * 4)
    modules = st.one_of(*[functions.map(as_module)] * 6, network_modules(), network_modules())
    return st.tuples(modules if file is None else programs_in(file), st.integers(0, 99))


def _check(example: _Example, execute: Execute) -> None:
    module, seed = example
    legalized = get_pass("LegalizeOps")(module)
    assert_scheduled_well(legalized, execute)
    steps: list[tuple[IRModule, Execute]] = [(legalized, interpreted)]
    if seed % _SAMPLE == 0:
        steps.append((module, execute))
    for after, execute_after in steps:
        assert_equivalent(
            module, after, seed=seed, profiles=profiles(seed), integers=(-8, 9), execute_after=execute_after
        )


OPERATORS = (
    "matmul", "nn.conv2d", "nn.max_pool2d", "nn.batch_norm", "nn.layer_norm", "nn.softmax", "sum", "mean", "max", "add",
    "subtract", "multiply", "less_equal", "where", "permute_dims", "concat", "reshape", "broadcast_to", "astype", "take",
)  # fmt: skip
LAW = Law(
    _examples,
    _check,
    show=lambda example: str(example[0]),
    read=lambda source: (parse_source(source), 0),
    constructs=lambda example: module_constructs(example[0]),
    expected=frozenset(["R.If", "R.Tuple", "R.TupleGetItem", *[f"op:relax.{name}" for name in OPERATORS]]),
)
