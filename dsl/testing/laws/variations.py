"""A random change of a program that somebody wrote prints, runs, compiles and lowers like any other program.

The verifier accepts the program, which may still fault, and may not compile for the CPU: then the fault is the same in both
tiers of the interpreter, and the compiler refuses it with an error. Otherwise all executors compute the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st
from msgspec import Struct

from ....ir import tir
from ....ir.base import IRModule, Source
from ....ir.diagnostics import TvmsError
from ....ir.equal import first_difference
from ....ir.visit import walk
from ...load import parse, parse_source
from ...printer import DIALECTS
from ..choices import Choices, drawn
from ..oracle import Ways, assert_equivalent, interpreted
from ..smaller import programs_in
from ..variations import known_programs, varied
from .bounds import copies, name_and_inputs
from .law import Law, module_constructs
from .lowering import Lowering, trapped
from .tiers import compare_tiers

FAULTS, REFUSED, COMPILED = "programs that fault", "programs that do not compile", "programs that compute the same"


class _Example(Struct):
    module: IRModule
    seed: int
    """Seed of the inputs."""
    outcome: str = ""
    """What the last check found."""


def _examples(file: Source | None) -> st.SearchStrategy[_Example]:
    if file is not None:
        return st.builds(_Example, programs_in(file, is_loop_level=True), st.integers(0, 1000))

    def example(choose: Choices) -> _Example:
        return _Example(varied(choose, choose.pick(known_programs())), choose.number(0, 1000))

    return drawn(example)


def _check(example: _Example, execute: Any) -> None:
    module, seed = example.module, example.seed
    _assert_printed(module, tuple(DIALECTS)[seed % len(DIALECTS)])
    try:
        name, inputs = name_and_inputs(module, seed)
    except (TvmsError, ValueError):  # a size depends on values in memory, or is negative
        example.outcome = FAULTS
        return
    if compare_tiers(module, name, inputs, track=True) or not _runs(module, name, inputs):
        example.outcome = FAULTS
        return
    try:
        compiled = execute(module, name)
        lowered = execute(Lowering(module, is_scheduled=False), name)
    except TvmsError:
        example.outcome = REFUSED
        return
    run = interpreted if _has_views(module) else trapped
    steps = {
        step: run(after, name) for place, (step, after) in enumerate(lowered.items()) if place % _PART == seed % _PART
    }
    example.outcome = COMPILED

    def ways(*_: object) -> Ways:
        return {**compiled, **steps}

    assert_equivalent(module, module, inputs=inputs, execute_after=ways)


def _has_views(module: IRModule) -> bool:
    """Return whether blocks access their regions through views: a trap checks that only once the views are lowered."""
    return any(isinstance(node, tir.MatchBufferRegion) for node in walk(module))


def _runs(module: IRModule, name: str, inputs: Sequence[Any]) -> bool:
    """Return whether all accesses of a run are in the regions that their blocks declare."""
    try:
        trapped(module, name)(*copies(inputs))
    except TvmsError:
        return False
    return True


_PART = 3
"""One in this number of steps of the lowering is checked."""


def _assert_printed(module: IRModule, dialect: str) -> None:
    printed = module.script(dialect)
    again = parse(printed, f"example.{dialect}")
    difference = first_difference(module, again, map_free_vars=True)
    assert difference is None, f"{dialect}: parses as a different program; the first difference is {difference}"


LAW = Law(
    _examples, _check, show=lambda example: str(example.module), read=lambda source: _Example(parse_source(source), 0),
    constructs=lambda example: [*module_constructs(example.module), example.outcome], expected=frozenset((FAULTS, REFUSED, COMPILED)),
    counted=(FAULTS, REFUSED, COMPILED),
)  # fmt: skip
