"""The passes on graphs before compilation: from operators to few fused kernels."""

from __future__ import annotations

from msgspec.structs import replace

from ..ir import relax, tir
from ..ir.base import BaseFunc, GlobalVar, IRModule, Op, Span
from ..ir.building.block_builder import BlockBuilder
from ..ir.deep import deep
from ..ir.ops.attention import attended, for_one_kernel
from ..ir.passes.fold_constant import fold_constant
from ..ir.passes.transform import Sequential, get_pass, map_functions
from ..ir.run_time_checks import with_checked_results
from ..ir.schedule.analysis.origins import with_positions
from ..ir.visit import walk
from .gpu.architectures import ARCHITECTURES, FIRST_WITH_COPIES
from .target import Target

FOLDING = ("FoldBatchnormToConv2D", "FoldConstant")
"""Normalizations that become part of constant weights; `FoldConstant` computes these."""
FUSION = ("AnnotateTIROpPattern", "FuseOps", "FuseTIR")
"""Fusion, for modules of operators; modules that call kernels directly are already fused as intended."""
LAYOUTS = ("FuseTransposeMatmul", "DeadCodeElimination")
"""Products accept factors of any layout."""
PROCESSOR = ("PackWeights", "AbstractSizes", "MergeEqualFunctions")
"""Passes for processors only."""


@deep
def lower_graphs(module: IRModule, target: Target, lines: bool = False) -> IRModule:
    """Return `module` with graph operators lowered to calls of kernels, except transforms of constants for `pack_constants`.

    With `lines`, the statements of a kernel have the position of the call that it computes; of the first one, if several share it.
    """
    if not any(isinstance(function, relax.Function) for function in module.functions.values()):
        return module
    module = map_functions(module, relax.Function, with_checked_results)
    folded = get_pass(FOLDING[0])(module)
    module = module if folded is module else get_pass(FOLDING[1])(folded)
    has_copies = target.arch and ARCHITECTURES[target.arch].number >= FIRST_WITH_COPIES
    custom = {"relax.nn.attention": _in_one_kernel} if has_copies else {}
    legal = get_pass("LegalizeOps", customize_legalize_map=custom)(module)
    fused = _with_positions_of_calls(legal) if lines else legal
    is_processor = not target.arch
    names = [*(FUSION if legal is not module else ()), *LAYOUTS, *(PROCESSOR if is_processor else ())]
    options = {"PackWeights": {"columns": 2 * target.processor.vector_bytes // 4}} if is_processor else {}
    return Sequential([get_pass(name, **options.get(name, {})) for name in names])(fused)


def _in_one_kernel(builder: BlockBuilder, call: relax.Call) -> relax.Expr:
    """Return an attention as the function that GPUs compute in one kernel, if they can; otherwise the call."""
    numbers = for_one_kernel(call)
    return call if numbers is None else builder.call_te(attended, *call.args, *numbers)


def pack_constants(module: IRModule) -> IRModule:
    """Return `module` with the weights that `lower_graphs` lets kernels read in panels, whatever passes are disabled."""
    return fold_constant(module, operators=("relax.layout_transform",))


def _with_positions_of_calls(module: IRModule) -> IRModule:
    """Return a module whose kernels without positions have that of the first call of them that has one."""
    spans: dict[str, Span] = {}
    for function in module.functions.values():
        for node in walk(function) if isinstance(function, relax.Function) else ():
            if isinstance(node, relax.Call) and node.op == Op("relax.call_tir") and node.span is not None:
                callee = node.args[0]
                if isinstance(callee, GlobalVar):
                    spans.setdefault(callee.name_hint, node.span)
    functions: dict[str, BaseFunc] = {
        name: _placed(function, spans[name])
        if isinstance(function, tir.PrimFunc) and function.span is None and name in spans
        else function
        for name, function in module.functions.items()
    }
    return replace(module, functions=functions)


def _placed(function: tir.PrimFunc, span: Span) -> tir.PrimFunc:
    """Return a function with a position, which its statements share."""
    return replace(function, body=with_positions(function.body, lambda _: span), span=span)
