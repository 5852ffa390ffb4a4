"""All checks of a loop-level function, in the order in which one mistake explains the next."""

from __future__ import annotations

from .. import tir
from ..diagnostics import Diagnostic
from .blocks import check_blocks
from .bounds import check_binding, check_bounds
from .dtypes import check_dtypes
from .flow import Access, Flow
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

    def check_access(access: Access, flow: Flow) -> None:
        check_bounds(access, flow, report)
        check_race(access, flow, shared, report)

    Flow(check_access, lambda node, flow: check_binding(node, flow, report)).visit(function.body)
    return report.found
