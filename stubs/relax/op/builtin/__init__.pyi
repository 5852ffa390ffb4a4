"""`tvms.relax.op.builtin`. Generated from the declarations; do not edit."""

import builtins
import collections.abc
import tvms.ir.relax
import tvms.ir.tir
def alloc_tensor(shape: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.tir.PrimExpr | builtins.int], dtype: tvms.ir.relax.Expr | builtins.str, runtime_device_index: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float, storage_scope: tvms.ir.relax.Expr | builtins.str = 'global') -> tvms.ir.relax.Expr:
    """Return a new tensor."""
def stop_lift_params(x: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return `x` and stop the lifting of parameter transformations."""
from tvms.relax.op.builtin import builtin as builtin
