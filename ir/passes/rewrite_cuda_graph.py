"""Record the kernels of a function as a CUDA graph (TVM: `RewriteCUDAGraph`), which is not supported."""

from __future__ import annotations

from ..base import IRModule
from ..diagnostics import error
from .context import PassContext
from .transform import declare_pass


@declare_pass("RewriteCUDAGraph")
def rewrite_cuda_graph(mod: IRModule) -> IRModule:
    """Return the module, as TVM's pass does unless the option `relax.backend.use_cuda_graph` is set: that is an error (E0902)."""
    if PassContext.current().config.get("relax.backend.use_cuda_graph"):
        help = "leave the option out: functions launch their kernels themselves"
        raise error(
            "E0902",
            "the option 'relax.backend.use_cuda_graph' asks for CUDA graphs, which are not recorded",
            None,
            help,
        )
    return mod
