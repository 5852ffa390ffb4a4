"""The passes that a graph runs through before it is compiled: from operators to few kernels that read what lies there."""

from __future__ import annotations

from ..ir import relax
from ..ir.base import IRModule
from ..ir.deep import deep
from ..ir.passes.transform import Sequential, get_pass
from .target import Target

FUSION = ("AnnotateTIROpPattern", "FuseOps", "FuseTIR")
"""For modules of operators: those who call kernels themselves have fused what they want fused."""
PROCESSOR = ("FuseTransposeMatmul", "DeadCodeElimination", "MergeEqualFunctions")
"""For processors, whose products read their factors in any order."""


@deep
def lower_graphs(module: IRModule, target: Target) -> IRModule:
    """Return `module` with calls of kernels in the place of graph-level operators."""
    if not any(isinstance(function, relax.Function) for function in module.functions.values()):
        return module
    legal = get_pass("LegalizeOps")(module)
    is_processor = not target.arch
    names = [*(FUSION if legal is not module else ()), *(PROCESSOR if is_processor else ())]
    return Sequential([get_pass(name) for name in names])(legal)
