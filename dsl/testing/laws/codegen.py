"""Compiled code computes what the interpreter computes, on random inputs and at every optimization level."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from hypothesis import strategies as st

from ....ir.base import IRModule, Source
from ...load import parse_source
from ..aliases import aliases
from ..choices import weighted
from ..constructs import LOOP_LEVEL
from ..oracle import Execute, ExecuteAll, as_module, assert_equivalent, profiles
from ..prim_funcs import prim_funcs
from ..smaller import programs_in
from .law import Law, module_constructs

_Example: TypeAlias = tuple[IRModule, int]
"""A module, and the seed of its inputs."""


def _examples(file: Source | None) -> st.SearchStrategy[_Example]:
    formulas = prim_funcs(stages=("formulas",), max_blocks=1, symbolic=False).map(as_module)
    without_blocks = prim_funcs(stages=("statements",), max_blocks=1).map(as_module)
    pipelines = prim_funcs(features={"software pipeline"}, max_blocks=2).map(as_module)
    blocks = prim_funcs().map(as_module)
    drawn = weighted((3, blocks), (3, formulas), (3, without_blocks), (3, aliases()), (1, pipelines))
    programs = drawn if file is None else programs_in(file)
    return st.tuples(programs, st.integers(0, 1000))


def _check_all(examples: Sequence[_Example], execute_all: ExecuteAll) -> Iterator[None]:
    execute = execute_all([module for module, _ in examples])
    for example in examples:
        yield _check(example, execute)


def _check(example: _Example, execute: Execute) -> None:
    module, seed = example
    assert_equivalent(module, module, seed=seed, profiles=profiles(seed), integers=(-8, 9), execute_after=execute)


LAW = Law(
    _examples,
    _check,
    _check_all,
    show=lambda example: str(example[0]),
    read=lambda source: (parse_source(source), 0),
    constructs=lambda example: module_constructs(example[0]),
    expected=LOOP_LEVEL,
)
