"""`tvms.relax.op.distributed`. Generated from the declarations; do not edit."""

import builtins
import collections.abc
import tvms.ir.base
import tvms.ir.relax
import tvms.ir.tir
import typing
def annotate_sharding(input: tvms.ir.relax.Expr, device_mesh: typing.Any, placement: typing.Any) -> tvms.ir.relax.Expr:
    """Return `input`, marked to be distributed over `device_mesh` by `placement`."""
def call_tir(gvar: tvms.ir.relax.Expr | tvms.ir.base.GlobalVar | tvms.ir.base.BaseFunc | builtins.str, args: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.relax.Expr], out_sinfo: tvms.ir.base.StructInfo, tir_vars: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.tir.PrimExpr | builtins.int] | None = None) -> tvms.ir.relax.Expr:
    """Call a loop function on distributed tensors; otherwise the same as `R.call_tir`."""
def call_tir_local_view(gvar: tvms.ir.relax.Expr | tvms.ir.base.GlobalVar | tvms.ir.base.BaseFunc | builtins.str, args: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.relax.Expr], out_sinfo: tvms.ir.base.StructInfo, tir_vars: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.tir.PrimExpr | builtins.int] | None = None) -> tvms.ir.relax.Expr:
    """Call a loop function on the part of each tensor that is on this device."""
def redistribute(input: tvms.ir.relax.Expr, device_mesh: typing.Any, placement: typing.Any) -> tvms.ir.relax.Expr:
    """Return `input` distributed over `device_mesh` by `placement`."""
def redistribute_replica_to_shard(input: tvms.ir.relax.Expr, num_workers: builtins.int, axis: builtins.int) -> tvms.ir.relax.Expr:
    """Return this worker's part of a replicated tensor."""
