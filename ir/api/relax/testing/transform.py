"""Passes for tests of passes (TVM: `relax.testing.transform`)."""

from __future__ import annotations

from ....passes.transform import Pass, passes


def ApplyEmptyCppMutator() -> Pass:
    """Return the pass that visits every expression and changes nothing but its normal form."""
    return passes()["Normalize"]()
