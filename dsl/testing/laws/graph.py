"""A graph computes the same by the definitions of its operators, by the loops of each operator, and compiled.

The verifier accepts default schedules of these loops.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from hypothesis import strategies as st
from msgspec.structs import replace

from ....ir import relax
from ....ir.base import IRModule, Source
from ....ir.diagnostics import TvmsError
from ....ir.passes.transform import get_pass
from ...load import parse_source
from ..calls import call_functions
from ..choices import weighted
from ..data import copies, random_inputs
from ..graphs import graph_functions
from ..networks import network_modules
from ..oracle import Call, Execute, as_module, assert_equivalent, interpreted, profiles
from ..smaller import programs_in
from ..unproven_sizes import SIZES, unproven_sizes
from ..varied_calls import operator_functions
from .law import Law, module_constructs
from .lowering import assert_scheduled_well

_SAMPLE = 3
"""One example in this number is also compiled; in all of them, the operators are interpreted as loops."""
_TOGETHER = 4
"""Maximum number of operators that a function of operators alone calls."""
_UNEQUAL = "E0705"
"""The code of sizes that do not fit."""
_Example: TypeAlias = tuple[IRModule, int]
"""A module, and the seed of its inputs."""


def _examples(file: Source | None) -> st.SearchStrategy[_Example]:
    functions = weighted(
        (1, graph_functions()), (1, call_functions()), (4, operator_functions(most=_TOGETHER, in_turn=True))
    )
    modules = weighted((6, functions.map(as_module)), (2, network_modules()))
    modules = weighted((7, modules), (1, unproven_sizes()))
    return st.tuples(modules if file is None else programs_in(file), st.integers(0, 99))


def _check(example: _Example, execute: Execute) -> None:
    module, seed = example
    if SIZES in module.attrs:
        _check_sizes(module, seed, execute)
        return
    legalized = get_pass("LegalizeOps")(module)
    assert_scheduled_well(legalized, execute)
    steps: list[tuple[IRModule, Execute]] = [(legalized, interpreted)]
    if seed % _SAMPLE == 0:
        steps.append((module, execute))
    for after, execute_after in steps:
        assert_equivalent(
            module, after, seed=seed, profiles=profiles(seed), integers=(-8, 9), execute_after=execute_after
        )


def _check_sizes(module: IRModule, seed: int, execute: Execute) -> None:
    """Check a module of given sizes, which may not fit: then all executors report the same code."""
    import numpy as np

    function, sizes = module.functions["main"], module.attrs[SIZES]
    assert isinstance(function, relax.Function)
    inputs = random_inputs(function, np.random.default_rng(seed), sizes)
    module = replace(module, attrs={name: value for name, value in module.attrs.items() if name != SIZES})
    expected = _code(interpreted(module, "main"), inputs)
    if expected not in ("", _UNEQUAL):
        return  # an element, such as an index, does not fit the size of another tensor
    legalized = get_pass("LegalizeOps")(module)
    ways: dict[str, Call] = {"as loops": interpreted(legalized, "main")}
    if seed % _SAMPLE == 0:
        compiled = execute(module, "main")
        ways |= {"compiled": compiled} if callable(compiled) else compiled
    for way, call in ways.items():
        found = _code(call, inputs)
        assert found == expected, (
            f"{way}: {found or 'no error'}, not {expected or 'no error'} (sizes {sizes}, seed {seed})"
        )
    if not expected:
        assert_equivalent(module, module, inputs=inputs, execute_after=lambda _, __: ways)


def _code(call: Call, inputs: Sequence[Any]) -> str:
    """Return the code of the error of a call, or an empty text."""
    try:
        call(*copies(inputs))
    except TvmsError as problem:
        return problem.diagnostics[0].code
    return ""


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
