"""The passes on graphs before compilation: from operators to few fused kernels."""

from __future__ import annotations

from ..ir import relax
from ..ir.base import IRModule
from ..ir.deep import deep
from ..ir.passes.fold_constant import fold_constant
from ..ir.passes.transform import Sequential, get_pass
from .target import Target

FOLDING = ("FoldBatchnormToConv2D", "FoldConstant")
"""Normalizations that become part of constant weights; `FoldConstant` computes these."""
FUSION = ("AnnotateTIROpPattern", "FuseOps", "FuseTIR")
"""Fusion, for modules of operators; modules that call kernels directly are already fused as intended."""
PROCESSOR = ("FuseTransposeMatmul", "DeadCodeElimination", "PackWeights", "AbstractSizes", "MergeEqualFunctions")
"""Passes for processors, whose products accept factors of any layout."""


@deep
def lower_graphs(module: IRModule, target: Target) -> IRModule:
    """Return `module` with graph operators lowered to calls of kernels, except transforms of constants for `pack_constants`."""
    if not any(isinstance(function, relax.Function) for function in module.functions.values()):
        return module
    folded = get_pass(FOLDING[0])(module)
    module = module if folded is module else get_pass(FOLDING[1])(folded)
    legal = get_pass("LegalizeOps")(module)
    is_processor = not target.arch
    names = [*(FUSION if legal is not module else ()), *(PROCESSOR if is_processor else ())]
    options = {"PackWeights": {"columns": 2 * target.processor.vector_bytes // 4}} if is_processor else {}
    return Sequential([get_pass(name, **options.get(name, {})) for name in names])(legal)


def pack_constants(module: IRModule) -> IRModule:
    """Return `module` with the weights that `lower_graphs` lets kernels read in panels, whatever passes are disabled."""
    return fold_constant(module, operators=("relax.layout_transform",))
