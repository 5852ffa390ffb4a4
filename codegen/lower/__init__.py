"""Lowering of loop functions to kernels: one pass per file, each a function from IR to IR that can be printed."""

from __future__ import annotations

from collections.abc import Callable

from ...ir import tir
from ...ir.deep import deep
from ...ir.empty_reductions import start_empty_reductions
from ...ir.passes.transform import observed
from .blocks import lower_opaque_blocks
from .bounds import Bounds, Safety, guard_indices
from .compact import compact_buffers
from .divisions import simplify_divisions
from .double_buffer import inject_double_buffers
from .flatten import flatten_buffers
from .guard_blocks import guard_blocks
from .hoist import hoist_first_steps
from .init_block import lower_init_blocks
from .invariants import hoist_conditions
from .lane_layout import order_lanes
from .local_stage import manifest_local_stages
from .locate import plan_locations
from .match_buffer import lower_match_buffers
from .no_op import remove_no_ops
from .opaque import convert_blocks_to_opaque
from .partition import partition_loops
from .pipeline import inject_software_pipelines
from .signature import declare_result, flatten_signature
from .small_floats import compute_small_floats
from .storage import rewrite_storage
from .threads import serialize_threads
from .unroll import unroll_loops
from .vectorize import vectorize_loops
from .windows import merge_windows

Step = Callable[[tir.PrimFunc], tir.PrimFunc]

BLOCK_STEPS: dict[str, Step] = {
    "StartEmptyReductions": start_empty_reductions,
    "LowerInitBlock": lower_init_blocks,
    "ConvertBlocksToOpaque": convert_blocks_to_opaque,
    "ManifestSharedMemoryLocalStage": manifest_local_stages,
    "LowerMatchBuffer": lower_match_buffers,
    "PlanAndUpdateBufferAllocationLocation": plan_locations,
    "CompactBufferAllocation": compact_buffers,
    "OrderLanes": order_lanes,
    "InjectSoftwarePipeline": inject_software_pipelines,
    "LowerOpaqueBlock": lower_opaque_blocks,
}
"""The passes on functions with blocks, in order, by their pass names (`lower.passes`)."""

LOOP_STEPS: dict[str, Step] = {
    "SerializeThreads": serialize_threads,
    "HoistFirstSteps": hoist_first_steps,
    "HoistIfThenElse": hoist_conditions,
    "LoopPartition": partition_loops,
    "RemoveNoOp": remove_no_ops,
    "SimplifyDivisions": simplify_divisions,
    "FlattenBuffer": flatten_buffers,
    "InjectDoubleBuffer": inject_double_buffers,
    "StorageRewrite": rewrite_storage,
    "UnrollLoop": unroll_loops,
    "VectorizeLoop": vectorize_loops,
    "MergeWindows": merge_windows,
    "SmallFloatComputeLegalize": compute_small_floats,
    "FlattenSignature": flatten_signature,
}
"""The passes on functions without blocks, in order. Index checks are inserted before them."""

_before_matches = tuple(BLOCK_STEPS).index("LowerMatchBuffer")
ORDER = (
    *tuple(BLOCK_STEPS)[:_before_matches],
    "GuardBlocks",
    *tuple(BLOCK_STEPS)[_before_matches:],
    "GuardIndices",
    *LOOP_STEPS,
)
"""The names of all passes in order, including the insertion of checks."""


@deep
def lower_blocks(func: tir.PrimFunc, bounds: Bounds = "trust") -> tir.PrimFunc:
    """Return `func` with its blocks lowered to loops and allocations; sizes and matched buffers are checked
    according to `bounds`.
    """
    func = declare_result(func)
    for name, step in BLOCK_STEPS.items():
        if name == "LowerMatchBuffer":
            func = observed("GuardBlocks", guard_blocks, func, guard_blocks(func, bounds))
        func = observed(name, step, func, step(func))
    return func


@deep
def lower_loops(func: tir.PrimFunc) -> tir.PrimFunc:
    """Return `func`, which has no blocks, as a kernel: flat memory, and pointers and numbers as parameters."""
    for name, step in LOOP_STEPS.items():
        func = observed(name, step, func, step(func))
    return func


def lower(func: tir.PrimFunc, bounds: Bounds = "trust") -> tir.PrimFunc:
    """Return `func` as a kernel, with its indices checked according to `bounds`."""
    return lower_loops(guard_indices(lower_blocks(func, bounds), bounds)[0])


__all__ = [
    "BLOCK_STEPS",
    "LOOP_STEPS",
    "ORDER",
    "Bounds",
    "Safety",
    "guard_blocks",
    "guard_indices",
    "lower",
    "lower_blocks",
    "lower_loops",
]
