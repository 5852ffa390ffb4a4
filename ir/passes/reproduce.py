"""The smallest module on which a pass goes wrong."""

from __future__ import annotations

import re
from collections.abc import Hashable

from ..base import IRModule
from ..diagnostics import TvmsError
from ..reduction import reduce_module
from .instrument import VerifyEach, breaches
from .transform import Pass, PassContext

_NAMES = re.compile(r"(?<!pass )'[^']*'|\d+")
"""What the same reason may say of another program: names, apart from that of the pass, and numbers."""


def symptom(transform: Pass, mod: IRModule) -> Hashable:
    """Return what goes wrong when a pass runs on `mod`: codes and reasons, or an exception; None if nothing."""
    try:
        with PassContext(opt_level=3, instruments=[VerifyEach()]):
            transform(mod)
    except TvmsError as problem:
        return tuple([(each.code, _NAMES.sub("", each.message)) for each in problem.diagnostics])
    except Exception as problem:  # whatever a pass stumbles over is what we are after
        return type(problem)
    return None


def smallest_failing(transform: Pass, mod: IRModule, tries: int = 2000) -> IRModule | None:
    """Return the smallest well-formed module found on which a pass goes wrong as it does on `mod`; None where it does not.

    The pass runs at most `tries` times.
    """
    wanted = symptom(transform, mod)
    if wanted is None:
        return None
    is_well_formed = not breaches(mod)

    def fails(smaller: IRModule) -> bool:
        return not (is_well_formed and breaches(smaller)) and symptom(transform, smaller) == wanted

    return reduce_module(mod, fails, tries)
