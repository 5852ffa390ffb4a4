"""`enter_postproc`: mark the begin of postprocessing in a trace."""

from __future__ import annotations

from ..declaration import primitive
from ..program import Program


@primitive()
def enter_postproc(program: Program) -> None:
    """Mark the point in the trace after which steps only postprocess; `remove_postproc` drops them.

    Preserves: everything.
    """
