"""Reduction of a module on which a pass fails."""

from __future__ import annotations

import re
from collections.abc import Hashable

from ..base import IRModule
from ..diagnostics import TvmsError
from ..reduction import reduce_module
from .instrument import VerifyEach, breaches
from .transform import Pass, PassContext

_NAMES = re.compile(r"(?<!pass )'[^']*'|\d+")
"""Parts of a message that may differ between programs: names, except for that of the pass, and numbers."""


def symptom(transform: Pass, mod: IRModule) -> Hashable:
    """Return the failure of a pass on `mod`: codes and reasons, or an exception; None if it succeeds."""
    try:
        with PassContext(opt_level=3, instruments=[VerifyEach()]):
            transform(mod)
    except TvmsError as problem:
        return tuple([(diagnostic.code, _NAMES.sub("", diagnostic.message)) for diagnostic in problem.diagnostics])
    except Exception as problem:  # any failure of a pass is of interest
        return type(problem)
    return None


def smallest_failing(transform: Pass, mod: IRModule, tries: int = 2000) -> IRModule | None:
    """Return the smallest well-formed module found on which a pass fails as on `mod`; None if it does not fail.

    The pass runs at most `tries` times.
    """
    wanted = symptom(transform, mod)
    if wanted is None:
        return None
    is_well_formed = not breaches(mod)

    def fails(smaller: IRModule) -> bool:
        return not (is_well_formed and breaches(smaller)) and symptom(transform, smaller) == wanted

    return reduce_module(mod, fails, tries)
