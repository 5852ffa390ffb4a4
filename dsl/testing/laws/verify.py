"""The verifier accepts what is right."""

from __future__ import annotations

from hypothesis import strategies as st

from ....ir.base import IRModule, Source
from ....ir.diagnostics import TvmsError
from ....ir.verify import verify
from ...load import parse_source
from ..constructs import LOOP_LEVEL
from ..modules import modules
from ..oracle import Execute
from .law import Law


def _examples(file: Source | None) -> st.SearchStrategy[IRModule]:
    return modules() if file is None else st.just(parse_source(file))


def _check(module: IRModule, execute: Execute) -> None:
    found = [each for each in verify(module) if each.severity == "error"]
    if found:
        raise TvmsError(found)


LAW = Law(_examples, _check, expected=LOOP_LEVEL)
