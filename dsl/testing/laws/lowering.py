"""No step of the lowering, and no pass on loops, changes what a loop function computes, and blocks declare what they access.

The verifier accepts default schedules of all functions. Half of the functions are lowered with default schedules. Each
example checks some of the steps, and always the last one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st
from msgspec import Struct

from ....ir.base import IRModule, Source
from ....ir.diagnostics import TvmsError
from ....ir.verify import verify
from ...load import parse_source
from ..aliases import aliases
from ..constructs import LOOP_LEVEL
from ..oracle import Call, as_module, assert_equivalent, profiles
from ..prim_funcs import prim_funcs
from ..smaller import programs_in
from .law import Law, module_constructs


class Lowering(Struct, frozen=True):
    """A module whose lowering is requested from the executor of the law, or only its default schedules."""

    module: IRModule
    is_scheduled: bool
    is_lowered: bool = True


_Example = tuple[IRModule, int]
"""A module, and the seed of its inputs."""
_PART = 3
"""One in this number of steps is checked."""


def _examples(file: Source | None) -> st.SearchStrategy[_Example]:
    without_blocks = prim_funcs(stages=("statements",), max_blocks=1).map(as_module)
    programs = (
        prim_funcs().map(as_module) | without_blocks | aliases()
        if file is None
        else programs_in(file, is_loop_level=True)
    )
    return st.tuples(programs, st.integers(0, 1000))


def _check(example: _Example, execute: Any) -> None:
    """Check modules that `execute` returns for a `Lowering`, by the names of the passes."""
    module, seed = example
    assert_scheduled_well(module, execute)
    after: Mapping[str, IRModule] = execute(Lowering(module, seed % 2 == 1), "main")
    some = [name for place, name in enumerate(reversed([*after])) if not place or (place + seed) % _PART == 0]

    def ways(_: IRModule, entry: str) -> dict[str, Call]:
        return {name: trapped(after[name], entry) for name in some}

    assert_equivalent(module, module, seed=seed, profiles=profiles(seed), integers=(-8, 9), execute_after=ways)


def assert_scheduled_well(module: IRModule, execute: Any) -> None:
    """Check that the verifier accepts the default schedules of a module, apart from kinds of faults that it had before."""
    lowering = Lowering(module, is_scheduled=True, is_lowered=False)
    after: IRModule = execute(lowering, "main").get("ApplyDefaultSchedule", module)
    known = {problem.code for problem in verify(module)}
    new = [f"{problem.code} {problem.message}" for problem in verify(after) if problem.code not in known]
    assert not new, f"after ApplyDefaultSchedule: {', '.join(new)}"


def trapped(module: IRModule, entry: str) -> Call:
    """Return a function that interprets `entry`. An access outside the regions that its block declares is an error."""
    from ....ir.interp import Trap, run

    return lambda *args: run(module, entry, args, track=True, observer=Trap(module))


class Faulty(Exception):
    """A program faults, or accesses what its blocks do not declare, before anything was done to it."""


def checked(module: IRModule, entry: str) -> Call:
    """Return a function like that of `trapped` that raises Faulty instead of a fault."""
    call = trapped(module, entry)

    def run(*args: Any) -> Any:
        try:
            return call(*args)
        except TvmsError as problem:
            raise Faulty from problem

    return run


LAW = Law(
    _examples, _check, show=lambda example: str(example[0]), read=lambda source: (parse_source(source), 0),
    constructs=lambda example: module_constructs(example[0]), expected=LOOP_LEVEL,
)  # fmt: skip
