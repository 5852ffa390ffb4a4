"""`enter_postproc`: where in a trace the steps begin that only finish what tuning has chosen."""

from __future__ import annotations

from ..declaration import primitive
from ..program import Program


@primitive()
def enter_postproc(program: Program) -> None:
    """Mark the place in the trace from where on steps only finish what was chosen: `remove_postproc` leaves them out.

    Preserves: everything.
    """
