"""Tensors that are known at compile time: `R.const`, `I.constant`, and `metadata[…]` in TVM's texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from ...ir import relax, tir
from ...ir.base import Metadata
from ...ir.signature import describe
from .. import syntax
from . import relax_values as values
from .host import HostValue
from .relax_annotations import dtype_of, struct_info
from .relax_arguments import Arguments
from .relax_blocks import BlockBuilder

if TYPE_CHECKING:
    from numpy.typing import NDArray

_DEFAULT_DTYPES = {"int64": "int32", "float64": "float32"}
"""Dtypes of plain numbers for which no dtype is given (TVM: `relax.const`)."""


def build_const(builder: BlockBuilder, given: Arguments, call: syntax.Call) -> relax.Constant:
    """`R.const(value, dtype)`, where `value` is a number or nested lists of numbers."""
    dtype = given.get("dtype")
    return constant(builder, given["value"], dtype_of(builder, dtype, default=""), call)


def constant(builder: BlockBuilder, node: syntax.Expr, dtype: str, whole: syntax.Expr) -> relax.Constant:
    """Return the tensor that `node` holds as plain numbers; raise E0321 if it holds anything else."""
    import numpy

    from ...ir.numpy_dtype import numpy_dtype

    value = values.evaluate(builder, node)
    if isinstance(value, HostValue):
        return _of_array(builder, value, dtype, whole)
    try:
        array = numpy.array(_plain(value), dtype=numpy_dtype(dtype) if dtype else None)
        if array.dtype.kind not in "biuf" and not dtype:
            raise ValueError
    except (ValueError, TypeError, OverflowError):
        kind = f"a {dtype} tensor" if dtype else "a tensor"
        help = "write a number or nested lists of numbers of equal lengths: R.const([[1, 2], [3, 4]])"
        raise builder.context.error("E0321", f"{describe(value)} is not {kind}", node, help) from None
    if not dtype:
        dtype = _DEFAULT_DTYPES.get(str(array.dtype), str(array.dtype))
        array = array.astype(numpy_dtype(dtype))
    span = builder.context.span(whole)
    return relax.Constant(array, struct_info=constant_info(array, dtype), span=span)


def _of_array(builder: BlockBuilder, value: HostValue, dtype: str, whole: syntax.Expr) -> relax.Constant:
    """Return the tensor of an array of the Python program; raise E0321 if it is not one."""
    from ...ir.building.values import const

    if not hasattr(value.value, "__array_interface__") and not hasattr(value.value, "__dlpack__"):
        raise builder.context.error("E0321", f"the Python object '{value.name}' is not a tensor", whole)
    return replace(const(value.value, dtype or None), span=builder.context.span(whole))


def constant_info(array: NDArray[Any], dtype: str) -> relax.TensorStructInfo:
    """Return the struct info of a constant."""
    shape = tuple(tir.IntImm("int64", extent) for extent in array.shape)
    info = relax.ShapeStructInfo(shape, len(shape))
    return relax.TensorStructInfo(relax.ShapeExpr(shape, struct_info=info), dtype, len(shape))


def build_dist_const(builder: BlockBuilder, given: Arguments, call: syntax.Call) -> relax.Constant:
    """`R.dist.const(value, struct_info)`: a constant distributed over devices."""
    info = struct_info(builder, given["struct_info"])
    if not isinstance(info, relax.DTensorStructInfo):
        raise builder.context.error("E0321", "a distributed constant needs R.DTensor(…)", given["struct_info"])
    plain = constant(builder, given["value"], info.tensor_sinfo.dtype, call)
    return relax.Constant(plain.data, struct_info=info, span=plain.span)


def build_named_constant(builder: BlockBuilder, given: Arguments, call: syntax.Call) -> relax.Constant:
    """`I.constant("fc1.weight", R.Tensor((2,), "float32"))`: a tensor of the sidecar file. Without struct info,
    it is that of the annotation or of the file.
    """
    name: Any = values.evaluate(builder, given["name"])
    if not isinstance(name, str):
        raise builder.context.error("E0321", f"{describe(name)} is not the name of a constant", given["name"])
    node = given.get("struct_info")
    info = relax.TensorStructInfo() if node is None else struct_info(builder, node)
    return relax.Constant(Metadata(name, 0), name, struct_info=info, span=builder.context.span(call))


def _plain(value: Any) -> Any:
    """Return loop-level constants, also in nested tuples, as plain numbers."""
    if values.is_tuple(value):
        return [_plain(item) for item in value]
    return value.value if isinstance(value, tir.IntImm | tir.FloatImm) else value
