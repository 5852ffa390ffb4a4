"""From loop-level functions to kernels: one step a file, each a function from IR to IR that can be printed."""

from __future__ import annotations

from ...ir import tir
from ...ir.deep import deep
from .blocks import lower_blocks
from .bounds import Bounds, Safety, guard_indices
from .flatten import flatten_buffers
from .hoist import hoist_first_steps
from .signature import flatten_signature
from .small_floats import compute_small_floats
from .threads import serialise_threads
from .unroll import unroll_loops
from .vectorize import vectorize_loops

STEPS = (
    serialise_threads,
    hoist_first_steps,
    flatten_buffers,
    unroll_loops,
    vectorize_loops,
    compute_small_floats,
    flatten_signature,
)
"""The steps, in their order, after `lower_blocks`, and `guard_indices` where indices are to be checked."""


@deep
def lower(func: tir.PrimFunc, bounds: Bounds = "trust") -> tir.PrimFunc:
    """Return `func` as a kernel: loops, flat memory, pointers and numbers for parameters."""
    func, _ = guard_indices(lower_blocks(func), bounds)
    for step in STEPS:
        func = step(func)
    return func


__all__ = ["STEPS", "Bounds", "Safety", "guard_indices", "lower", "lower_blocks"]
