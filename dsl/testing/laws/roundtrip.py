"""A printed program parses as the same program, in every dialect and inside host files, and prints the same again."""

from __future__ import annotations

from itertools import zip_longest
from typing import TypeAlias

from hypothesis import strategies as st

from ....ir.base import IRModule, Source
from ....ir.equal import first_difference, structural_equal
from ...load import parse, parse_source
from ...printer import DIALECTS
from ..choices import Choices, drawn
from ..constructs import LOOP_LEVEL
from ..details import detailed
from ..hosts import HostText, hosted, module_of
from ..modules import all_modules
from ..oracle import Execute
from .law import Law, module_constructs

_Example: TypeAlias = tuple[IRModule, str, HostText | None]
"""A module, the dialect to print it in, and perhaps a host file around the printed text."""


def _examples(file: Source | None) -> st.SearchStrategy[_Example]:
    programs = all_modules() if file is None else st.just(parse_source(file))
    return drawn(lambda choose: _example(choose, choose.draw(programs)))


def _example(choose: Choices, program: IRModule) -> _Example:
    module, dialect = detailed(choose, program), choose.pick(tuple(DIALECTS))
    is_hosted = choose.rarely(4)
    return module, dialect, hosted(choose, module.script(dialect), dialect != "tvms") if is_hosted else None


def _check(example: _Example, execute: Execute) -> None:
    module, dialect, file = example
    printed = module.script(dialect)
    again = parse(printed, f"example.{dialect}")
    has_left_out = dialect != "tvms" and "metadata[" in printed  # TVMScript names the tensors but does not contain them
    if not has_left_out and not structural_equal(module, again, map_free_vars=True):
        place = first_difference(module, again, map_free_vars=True)
        raise AssertionError(f"{dialect}: parses as a different program; the first difference is {place}")
    reprinted = again.script(dialect)
    if file and not has_left_out:
        host = file.host()
        assert host.definitions, f"the definitions are not found in the host:\n{file.text}"
        if first_difference(module_of(host), again, map_free_vars=True):
            raise AssertionError(f"{dialect}: parses as a different program inside a host:\n{file.text}")
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
    read=lambda source: (parse_source(source), "tvms", None),
    constructs=lambda example: [*module_constructs(example[0]), *([f"host {example[2].suffix}"] if example[2] else [])],
    expected=LOOP_LEVEL | {"host .py", "host .md", "host .ipynb"},
)
