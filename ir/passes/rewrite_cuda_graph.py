"""Let the kernels of graph functions be recorded as CUDA graphs (TVM: `RewriteCUDAGraph`)."""

from __future__ import annotations

from msgspec.structs import replace

from .. import relax
from ..base import IRModule
from .context import PassContext
from .grouping import PRIMITIVE
from .transform import declare_pass

CUDA_GRAPH = "relax.backend.use_cuda_graph"
"""The option of the context, and the attribute of functions."""


@declare_pass("RewriteCUDAGraph")
def rewrite_cuda_graph(mod: IRModule) -> IRModule:
    """Mark the graph functions by the attribute `relax.backend.use_cuda_graph` if the option of this name is set.

    Compiled for a GPU, such a function records the launches of a call, and repeats them as CUDA graphs in later calls with arguments of the
    same sizes, unless a part of it runs on the processor. Memory for that is planned then; TVM's pass divides functions instead.
    """
    if not PassContext.current().config.get(CUDA_GRAPH):
        return mod
    functions = {
        name: replace(function, attrs={**function.attrs, CUDA_GRAPH: True})
        if isinstance(function, relax.Function) and not function.attrs.get(PRIMITIVE)
        else function
        for name, function in mod.functions.items()
    }
    return replace(mod, functions=functions)
