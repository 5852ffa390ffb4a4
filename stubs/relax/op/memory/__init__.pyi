"""`tvms.relax.op.memory`. Generated from the declarations; do not edit."""

import builtins
import collections.abc
import tvms.ir.relax
import tvms.ir.tir
def alloc_storage(size: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.tir.PrimExpr | builtins.int], virtual_device_index: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float, storage_scope: tvms.ir.relax.Expr | builtins.str, dtype: tvms.ir.relax.Expr | builtins.str) -> tvms.ir.relax.Expr:
    """Return new memory."""
def alloc_tensor(storage: tvms.ir.relax.Expr, offset: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float, shape: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.tir.PrimExpr | builtins.int], dtype: tvms.ir.relax.Expr | builtins.str, runtime_device_ind: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float | None = None) -> tvms.ir.relax.Expr:
    """Return a tensor inside `storage`."""
def ensure_zero_offset(data: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return `data`, copied if it does not start at the beginning of its memory."""
def kill_storage(storage: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Free memory."""
def kill_tensor(tensor: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Free a tensor."""
def view(data: tvms.ir.relax.Expr, shape: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.tir.PrimExpr | builtins.int] | None = None, dtype: tvms.ir.relax.Expr | builtins.str | None = None, relative_byte_offset: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float | None = None) -> tvms.ir.relax.Expr:
    """Return a view of the memory of `data` with another shape or dtype."""
from tvms.relax.op.memory import memory as memory
