"""Collectives and sharding (TVM: `relax/op/{ccl,distributed}`)."""

from __future__ import annotations

from ..base import StructInfo
from ..relax import DTensorStructInfo, Placement, TensorStructInfo
from . import dims as d
from .inference import Inference, dims_of, same_as_first, tensor_info
from .registry import Param, RelaxOp, register

register(
    RelaxOp(
        "relax.ccl.allreduce",
        (Param("x"), Param("op_type", "str", "sum"), Param("in_group", "bool", True)),
        same_as_first,
        "Return `x` reduced over all workers.",
    )
)


def _infer_allgather(a: Inference) -> StructInfo:
    info, workers = a.tensor("x"), a.attr("num_workers")
    dims = dims_of(info)
    if not dims:
        return info
    return tensor_info([d.multiply(dims[0], workers), *dims[1:]], info.dtype, info.ndim, info.vdevice)


def _infer_scatter(a: Inference) -> StructInfo:
    whole, workers = a.info(a.op.arguments[0].name), a.attr("num_workers")
    if isinstance(whole, DTensorStructInfo):
        return DTensorStructInfo(whole.tensor_sinfo, whole.device_mesh, Placement((a.attr("axis"),)))
    info = a.tensor(a.op.arguments[0].name)
    dims = dims_of(info)
    if dims is None:
        return info
    axis = a.axis(a.attr("axis"), info.ndim)
    size = dims[axis]
    a.check_multiple(
        size, workers, f"cannot give {workers} workers equal parts of axis {axis}, which is {d.show_one(size)}"
    )
    return tensor_info([*dims[:axis], d.floordiv(dims[axis], workers), *dims[axis + 1 :]], info.dtype, -1, info.vdevice)


register(
    RelaxOp(
        "relax.ccl.allgather",
        (Param("x"), Param("num_workers", "int"), Param("in_group", "bool", True)),
        _infer_allgather,
        "Return the `x` of all workers, concatenated along the first axis.",
    )
)
register(
    RelaxOp(
        "relax.ccl.broadcast_from_worker0",
        (Param("x"),),
        same_as_first,
        "Return the `x` of the first worker.",
    )
)
register(
    RelaxOp(
        "relax.ccl.scatter_from_worker0",
        (Param("x"), Param("num_workers", "int"), Param("axis", "int", 0)),
        _infer_scatter,
        "Return this worker's part of the `x` of the first worker.",
    )
)
register(
    RelaxOp(
        "relax.dist.redistribute_replica_to_shard",
        (Param("input"), Param("num_workers", "int"), Param("axis", "int")),
        _infer_scatter,
        "Return this worker's part of a replicated tensor.",
    )
)


def _infer_sharded(a: Inference) -> StructInfo:
    info = a.info("input")
    tensor = info.tensor_sinfo if isinstance(info, DTensorStructInfo) else info
    if not isinstance(tensor, TensorStructInfo):
        return same_as_first(a)
    return DTensorStructInfo(tensor, a.attr("device_mesh"), a.attr("placement"))


register(
    RelaxOp(
        "relax.dist.annotate_sharding",
        (Param("input"), Param("device_mesh", "value"), Param("placement", "value")),
        same_as_first,
        "Return `input`, marked to be distributed over `device_mesh` by `placement`.",
    )
)
register(
    RelaxOp(
        "relax.dist.redistribute",
        (Param("input"), Param("device_mesh", "value"), Param("placement", "value")),
        _infer_sharded,
        "Return `input` distributed over `device_mesh` by `placement`.",
    )
)
