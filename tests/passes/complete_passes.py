"""The passes that can run without options and keep the signatures of functions."""

from __future__ import annotations

from inspect import signature
from typing import Any

import tvms.codegen.lower.passes
from tvms.ir.passes.transform import passes
from tvms.testing.laws.passes import NEW_SIGNATURES


def is_complete(constructor: Any) -> bool:
    """Whether a pass needs no options."""
    return all(option.default is not option.empty for option in signature(constructor).parameters.values())


assert tvms.codegen.lower.passes, "the steps of the lowering are passes, too"
COMPLETE = [name for name, constructor in passes().items() if is_complete(constructor) and name not in NEW_SIGNATURES]
