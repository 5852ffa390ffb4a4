"""`tvms.relax.op.ccl`. Generated from the declarations; do not edit."""

import builtins
import tvms.ir.relax
def allgather(x: tvms.ir.relax.Expr, num_workers: builtins.int, in_group: builtins.bool = True) -> tvms.ir.relax.Expr:
    """Return the `x` of all workers, concatenated along the first axis."""
def allreduce(x: tvms.ir.relax.Expr, op_type: builtins.str = 'sum', in_group: builtins.bool = True) -> tvms.ir.relax.Expr:
    """Return `x` reduced over all workers."""
def broadcast_from_worker0(x: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the `x` of the first worker."""
def scatter_from_worker0(x: tvms.ir.relax.Expr, num_workers: builtins.int, axis: builtins.int = 0) -> tvms.ir.relax.Expr:
    """Return this worker's part of the `x` of the first worker."""
from tvms.relax.op.ccl import ccl as ccl
