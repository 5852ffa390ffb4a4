"""A random change of a program that somebody wrote prints, runs, compiles and lowers like any other program.

The verifier accepts the program, which may still fault, and may not compile for the CPU: then the fault is the same in both
tiers of the interpreter, and the compiler refuses it with an error. Otherwise all executors compute the same. Compiled
code runs in a child process.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
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
from ..apart import Apart
from ..choices import Choices, drawn
from ..known_programs import known_programs
from ..oracle import Execute, ExecuteAll, Ways, assert_equivalent, interpreted
from ..smaller import programs_in
from ..variations import varied
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


class _Run(Struct, frozen=True):
    """A run of an example that does not fault: the name of the function, and its arguments."""

    name: str
    inputs: Sequence[Any]


def _check(example: _Example, execute: Execute) -> None:
    for _ in _check_all([example], lambda _: execute):
        pass


def _check_all(examples: Sequence[_Example], execute_all: ExecuteAll) -> Iterator[None]:
    runs = [_interpreted_run(example) for example in examples]
    together = [example.module for example, run in zip(examples, runs, strict=True) if isinstance(run, _Run)]
    execute = execute_all(together)
    works = [partial(_outcome, example, run, execute) for example, run in zip(examples, runs, strict=True)]
    with Apart(works) as apart:
        for number, (example, run) in enumerate(zip(examples, runs, strict=True)):
            if isinstance(run, Exception):
                raise run
            found = apart.result(number)
            if isinstance(found, str):
                if not found.startswith("ended"):
                    _outcome(example, run, execute)  # raises the error itself
                raise AssertionError(f"compiled code: {found}")
            (example.outcome,) = found
            yield


def _interpreted_run(example: _Example) -> _Run | Exception | None:
    """Return the run of an example, None if it faults, or the exception that breaks the law."""
    module, seed = example.module, example.seed
    try:
        _assert_printed(module, tuple(DIALECTS)[seed % len(DIALECTS)])
        name, inputs = name_and_inputs(module, seed)
    except (TvmsError, ValueError):  # a size depends on values in memory, or is negative
        return None
    except Exception as problem:
        return problem
    try:
        faults = compare_tiers(module, name, inputs, track=True)
    except Exception as problem:
        return problem
    return None if faults or not _is_declared(module, name, inputs) else _Run(name, inputs)


def _outcome(example: _Example, run: _Run | Exception | None, execute: Execute) -> list[str]:
    """Return the outcome of an example after comparing all executors."""
    module, seed = example.module, example.seed
    if not isinstance(run, _Run):
        return [FAULTS]
    try:
        compiled: Any = execute(module, run.name)
        lowered: Any = execute(Lowering(module, is_scheduled=False), run.name)  # pyright: ignore[reportArgumentType]
    except TvmsError:
        return [REFUSED]
    call = interpreted if _has_views(module) else trapped
    steps = {
        step: call(after, run.name)
        for place, (step, after) in enumerate(lowered.items())
        if place % _PART == seed % _PART
    }
    ways: Ways = {**compiled, **steps}

    def execute_after(_: IRModule, name: str) -> Ways:
        return ways

    assert_equivalent(module, module, inputs=run.inputs, execute_after=execute_after)
    return [COMPILED]


def _has_views(module: IRModule) -> bool:
    """Return whether blocks access their regions through views: a trap checks that only once the views are lowered."""
    return any(isinstance(node, tir.MatchBufferRegion) for node in walk(module))


def _is_declared(module: IRModule, name: str, inputs: Sequence[Any]) -> bool:
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
    _examples, _check, _check_all, show=lambda example: str(example.module), read=lambda source: _Example(parse_source(source), 0),
    constructs=lambda example: [*module_constructs(example.module), example.outcome], expected=frozenset((FAULTS, REFUSED, COMPILED)),
    counted=(FAULTS, REFUSED, COMPILED),
)  # fmt: skip
