"""All checks of a loop-level function, in the order in which one mistake explains the next."""

from __future__ import annotations

from .. import tir
from ..diagnostics import Diagnostic
from .blocks import check_blocks
from .bounds import check_binding, check_bounds
from .dtypes import check_dtypes
from .flow import Access, Flow, Place
from .loops import check_loops
from .races import check_race
from .report import Report
from .scoping import check_scoping


def check_prim_func(function: tir.PrimFunc) -> list[Diagnostic]:
    """Return every breach of the law in `function`; bounds and races only where all else is well."""
    report = Report(function)
    check_scoping(function, report)
    check_dtypes(function, report)
    check_blocks(function, report)
    check_loops(function, report)
    if report.has_errors:
        return report.found
    shared = frozenset([buffer.data for buffer in function.buffer_map.values()])

    def visit_access(access: Access, place: Place) -> None:
        check_bounds(access, place, report)
        check_race(access, place, shared, report)

    flow = Flow(visit_access, lambda node, place: check_binding(node, place, report))
    flow.visit(function.body, Place())
    return report.found
