"""Legalization of collectives: calls of the functions of a runtime for several devices (TVM: `legalize_ops/ccl.py`).

tvms has no such runtime. A program that runs on several devices registers the functions itself.
"""

from __future__ import annotations

from .. import relax, tir
from ..building.block_builder import BlockBuilder
from ..building.values import apply
from ..infer import infer_struct_info
from ..ops.dims import value_of
from ..ops.inference import dims_of
from ..relax import Call, Expr
from .legalize_ops import register_legalize

_REDUCTIONS = ("sum", "prod", "min", "max", "avg")


def _runtime_call(name: str, call: Call, *args: Expr) -> Call:
    info = infer_struct_info(call)
    return apply("call_dps_packed", f"runtime.disco.{name}", relax.Tuple(args), out_sinfo=info)  # type: ignore[reportReturnType]


def _flag(value: bool) -> relax.PrimValue:
    return relax.PrimValue(tir.IntImm("bool", int(value)))


@register_legalize("relax.ccl.allreduce")
def _allreduce(_: BlockBuilder, call: Call) -> Expr:
    kind = call.attrs["op_type"]
    if kind not in _REDUCTIONS:
        return call
    number = relax.ShapeExpr((tir.IntImm("int64", _REDUCTIONS.index(kind)),))
    return _runtime_call("allreduce", call, call.args[0], number, _flag(call.attrs["in_group"]))


@register_legalize("relax.ccl.allgather")
def _allgather(_: BlockBuilder, call: Call) -> Expr:
    return _runtime_call("allgather", call, call.args[0], _flag(call.attrs["in_group"]))


@register_legalize("relax.ccl.broadcast_from_worker0")
def _broadcast(_: BlockBuilder, call: Call) -> Expr:
    return _runtime_call("broadcast_from_worker0", call, call.args[0], _flag(False))


@register_legalize("relax.ccl.scatter_from_worker0")
def _scatter(builder: BlockBuilder, call: Call) -> Expr:
    """The parts of all workers become the rows of the tensor that the first worker sends."""
    info, workers, axis = infer_struct_info(call.args[0]), call.attrs["num_workers"], call.attrs["axis"]
    dims = dims_of(info) if isinstance(info, relax.TensorStructInfo) else None
    axis = int(axis) % len(dims) if dims else 0
    size = value_of(dims[axis]) if dims else None
    if dims is None or size is None:
        return call
    parts = [*dims[:axis], workers, size // workers, *dims[axis + 1 :]]
    split = builder.emit(apply("reshape", call.args[0], parts))
    order = [axis, *[number for number in range(len(parts)) if number != axis]]
    rows = builder.emit(apply("permute_dims", split, order)) if axis else split
    return _runtime_call("scatter_from_worker0", call, rows, _flag(False))
