"""A printed program parses as the same program, in every dialect, and prints the same again."""

from __future__ import annotations

from itertools import zip_longest
from typing import TypeAlias

from hypothesis import strategies as st

from ....ir.base import IRModule, Source
from ....ir.equal import first_difference, structural_equal
from ...load import parse, parse_source
from ...printer import DIALECTS
from ..choices import drawn
from ..constructs import LOOP_LEVEL
from ..details import detailed
from ..modules import all_modules
from ..oracle import Execute
from .law import Law, module_constructs

_Example: TypeAlias = tuple[IRModule, str]
"""A module, and the dialect to print it in."""


def _examples(file: Source | None) -> st.SearchStrategy[_Example]:
    programs = all_modules() if file is None else st.just(parse_source(file))
    return drawn(lambda choose: (detailed(choose, choose.draw(programs)), choose.pick(tuple(DIALECTS))))


def _check(example: _Example, execute: Execute) -> None:
    module, dialect = example
    printed = module.script(dialect)
    again = parse(printed, f"example.{dialect}")
    has_left_out = dialect != "tvms" and "metadata[" in printed  # TVMScript names the tensors but does not contain them
    if not has_left_out and not structural_equal(module, again, map_free_vars=True):
        place = first_difference(module, again, map_free_vars=True)
        raise AssertionError(f"{dialect}: parses as a different program; the first difference is {place}")
    reprinted = again.script(dialect)
    if reprinted != printed:
        pairs = zip_longest(printed.splitlines(), reprinted.splitlines(), fillvalue="")
        before, after = next(pair for pair in pairs if pair[0] != pair[1])
        raise AssertionError(
            f"{dialect}: prints differently after parsing: {after.strip()!r} instead of {before.strip()!r}"
        )


LAW = Law(
    _examples,
    _check,
    show=lambda example: str(example[0]),
    read=lambda source: (parse_source(source), "tvms"),
    constructs=lambda example: module_constructs(example[0]),
    expected=LOOP_LEVEL,
)
