"""`tvms.relax.op.vm`. Generated from the declarations; do not edit."""

import builtins
import collections.abc
import tvms.ir.base
import tvms.ir.relax
import tvms.ir.tir
def alloc_storage(shape: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.tir.PrimExpr | builtins.int], runtime_device_index: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float, dtype: tvms.ir.relax.Expr | builtins.str, storage_scope: tvms.ir.relax.Expr | builtins.str = 'global') -> tvms.ir.relax.Expr:
    """Return new memory."""
def alloc_tensor(storage: tvms.ir.relax.Expr, offset: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float, shape: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.tir.PrimExpr | builtins.int], dtype: tvms.ir.relax.Expr | builtins.str, runtime_device_ind: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float | None = None) -> tvms.ir.relax.Expr:
    """Return a tensor inside `storage`."""
def call_tir_dyn(func: tvms.ir.relax.Expr | tvms.ir.base.GlobalVar | tvms.ir.base.BaseFunc | builtins.str, args: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.relax.Expr]) -> tvms.ir.relax.Expr:
    """Call a loop function whose variables are given as a shape at the end of `args`."""
def kill_object(obj: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Free an object."""
from tvms.relax.op.vm import vm as vm
