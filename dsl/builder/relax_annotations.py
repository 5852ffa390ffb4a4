"""Struct info in the text: `R.Tensor((n, 4), "float32")`, `R.Tuple(…)`, `R.Callable(…)`, …"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...ir import relax, tir
from ...ir.base import StructInfo
from ...ir.dtype import current_dtype, is_dtype
from ...ir.infer import FEWER_DIMENSIONS, why_too_many_dimensions
from ...ir.signature import Parameter, Signature, describe
from ...ir.spelling import did_you_mean
from .. import syntax
from ..printer.dialects import FUNCTIONS
from . import relax_values as values
from . import remedies
from .forms import Form
from .relax_arguments import Arguments, bind, parameters
from .relax_blocks import BlockBuilder
from .relax_dimensions import dimensions, scalar
from .relax_distributed import device_mesh, placement, vdevice


def struct_info(builder: BlockBuilder, node: syntax.Expr) -> StructInfo:
    """Return the struct info that `node` denotes; None is the empty tuple. Raise E0315 if it is not struct info."""
    value = values.evaluate(builder, node)
    if value is None:
        return relax.TupleStructInfo((), span=builder.context.span(node))
    if isinstance(value, Form) and is_dtype(value.name.removeprefix("T.")):  # the newest TVM prints R.Prim("int64") so
        return relax.PrimStructInfo(value.name.removeprefix("T."), span=builder.context.span(node))
    if not isinstance(value, StructInfo):
        help = "write R.Tensor(shape, dtype), R.Shape(dims), R.Prim(dtype), R.Tuple(…), R.Callable(…) or R.Object"
        raise builder.context.error("E0315", f"{describe(value)} is not struct info", node, help)
    return value


def struct_infos(builder: BlockBuilder, node: syntax.Expr) -> tuple[StructInfo, ...]:
    """Return the struct info of each element of a list, or of `node` alone."""
    elements = node.elements if isinstance(node, syntax.Tuple | syntax.List) else (node,)
    return tuple(struct_info(builder, element) for element in elements)


def bare_struct_info(builder: BlockBuilder, name: str, node: syntax.Attribute) -> StructInfo:
    """Return the struct info of `R.Tensor` without arguments; raise E0103 if `name` is not a kind of struct info."""
    if name not in FORMS:
        dtype = name.rpartition(".")[2]
        help = f'write "{dtype}"' if is_dtype(dtype) else did_you_mean(name, FORMS) or f"call it: {name}(…)"
        raise builder.context.error("E0103", f"'{name}' is not allowed without arguments", node, help)
    return build_struct_info(builder, name, syntax.Call(node, (), (), start=node.start, end=node.end))


def build_struct_info(builder: BlockBuilder, name: str, call: syntax.Call) -> StructInfo:
    """Return the struct info of a call of `name`, one of `FORMS`."""
    expected, build = FORMS[name]
    info = build(builder, bind(builder.context, name, expected, call), call)
    check_ndim(builder, info, call)
    return info


def check_ndim(builder: BlockBuilder, info: StructInfo, node: syntax.Expr) -> None:
    """Raise E0010 if `node` describes a tensor or a shape with too many dimensions."""
    if reason := why_too_many_dimensions(info):
        raise builder.context.error("E0010", reason, node, FEWER_DIMENSIONS)


def dtype_of(builder: BlockBuilder, node: syntax.Expr | None, default: str = "void") -> str:
    """Return a dtype given as a string; raise E0321 if it is not one."""
    if node is None:
        return default
    value = values.evaluate(builder, node)
    if value is None or value == "":
        return default
    value = current_dtype(value) if isinstance(value, str) else value
    if not isinstance(value, str) or not is_dtype(value):
        raise builder.context.error("E0321", f"{describe(value)} is not a dtype", node, _dtype_help(value))
    return value


def _dtype_help(value: Any) -> str:
    known = ("float16", "float32", "float64", "bfloat16", "int8", "int32", "int64", "uint8", "bool")
    guess = did_you_mean(value, known) if isinstance(value, str) else None
    return guess or 'a dtype is a string such as "float32" or "int64"'


def _tensor(builder: BlockBuilder, given: Arguments, call: syntax.Call) -> relax.TensorStructInfo:
    """`R.Tensor((n, 4), "float32")`: a tensor; omitted arguments are unknown."""
    shape, dtype = given.get("shape"), given.get("dtype")
    if isinstance(shape, syntax.Constant) and isinstance(shape.value, str) and dtype is None:
        shape, dtype = None, shape
    value = None if shape is None else _tensor_shape(builder, shape)
    ndim = _ndim(builder, given.get("ndim"))
    if isinstance(value, relax.ShapeExpr):
        ndim = _check_ndim(builder, ndim, len(value.values), call)
    elif value is not None and isinstance(value.struct_info, relax.ShapeStructInfo):
        ndim = value.struct_info.ndim
    device = given.get("vdevice")
    where = None if device is None else vdevice(builder, device)
    return relax.TensorStructInfo(value, dtype_of(builder, dtype), ndim, where, span=builder.context.span(call))


def _tensor_shape(builder: BlockBuilder, node: syntax.Expr) -> relax.Expr | None:
    """Return the shape of a tensor: explicit dimensions, or a variable that holds a shape."""
    written = dimensions(builder, node, or_value=True)
    if not values.is_tuple(written):
        if written is None or isinstance(written, relax.Var | relax.ShapeExpr):
            return written
        help = "write the dimensions as a tuple, or a variable that holds a shape"
        raise builder.context.error("E0321", f"{describe(written)} is not a shape", node, help)
    info = relax.ShapeStructInfo(written, len(written))
    return relax.ShapeExpr(written, struct_info=info, span=builder.context.span(node))


def _ndim(builder: BlockBuilder, node: syntax.Expr | None) -> int:
    value = -1 if node is None else values.evaluate(builder, node)
    if not isinstance(value, int) or value < -1:
        reason = f"expected a number of dimensions for ndim, got {describe(value)}"
        raise builder.context.error("E0321", reason, node or syntax.Constant(None))
    return value


def _check_ndim(builder: BlockBuilder, ndim: int, rank: int, call: syntax.Call) -> int:
    if ndim not in (-1, rank):
        raise builder.context.error(
            "E0321", f"ndim is {ndim}, but the shape has {rank} dimensions", call, "remove ndim"
        )
    return rank


def _shape(builder: BlockBuilder, given: Arguments, call: syntax.Call) -> relax.ShapeStructInfo:
    """`R.Shape([n, 4])` or `R.Shape(ndim=2)`: a shape."""
    node = given.get("values")
    ndim, span = _ndim(builder, given.get("ndim")), builder.context.span(call)
    written: tuple[tir.PrimExpr, ...] | None = None if node is None else dimensions(builder, node)
    if written is None:
        return relax.ShapeStructInfo(None, ndim, span=span)
    return relax.ShapeStructInfo(written, _check_ndim(builder, ndim, len(written), call), span=span)


def _tuple(builder: BlockBuilder, given: Arguments, call: syntax.Call) -> relax.TupleStructInfo:
    """`R.Tuple(R.Tensor, R.Shape)`: a tuple with these elements."""
    nodes = given.rest
    if len(nodes) == 1 and isinstance(nodes[0], syntax.Tuple | syntax.List):
        nodes = nodes[0].elements
    fields = tuple(struct_info(builder, node) for node in nodes)
    return relax.TupleStructInfo(fields, span=builder.context.span(call))


def _callable(builder: BlockBuilder, given: Arguments, call: syntax.Call) -> relax.FuncStructInfo:
    """`R.Callable((R.Tensor,), R.Tensor, purity=True)`: a function."""
    params, ret, derive = given.get("params"), given.get("ret"), given.get("derive_func")
    fields = None if params is None or _is_none(params) else struct_infos(builder, params)
    result = relax.ObjectStructInfo() if ret is None else struct_info(builder, ret)
    purity = given.get("purity")
    pure = fields is not None if purity is None else bool(values.evaluate(builder, purity))
    derive_func: Any = None if derive is None else values.evaluate(builder, derive)
    derive_func = FUNCTIONS.get(derive_func, derive_func)
    return relax.FuncStructInfo(fields, result, pure, derive_func, span=builder.context.span(call))


def _is_none(node: syntax.Expr) -> bool:
    return isinstance(node, syntax.Constant) and node.value is None


def _object(builder: BlockBuilder, given: Arguments, call: syntax.Call) -> relax.ObjectStructInfo:
    """`R.Object`: any value."""
    return relax.ObjectStructInfo(span=builder.context.span(call))


def _prim(builder: BlockBuilder, given: Arguments, call: syntax.Call) -> relax.PrimStructInfo:
    """`R.Prim("int64")` or `R.Prim(value="n")`: a scalar of the loop level."""
    node = given.get("value")
    dtype = dtype_of(builder, given.get("dtype"), default="")
    value = None if node is None else _prim_value(builder, node, dtype)
    if value is None and not dtype:
        help = 'write R.Prim("int64") or R.Prim(value="n")'
        raise builder.context.error("E0105", "R.Prim needs a dtype or a value", call, help)
    return relax.PrimStructInfo(dtype if value is None else value.dtype, value, span=builder.context.span(call))


def _prim_value(builder: BlockBuilder, node: syntax.Expr, dtype: str) -> tir.PrimExpr:
    """Return the known value of a scalar; plain numbers get `dtype`, or else int64, float32 or bool."""
    value = scalar(builder, node, dtype)
    if dtype and value.dtype != dtype:
        raise builder.context.error("E0321", f"the value is {value.dtype}, not {dtype}", node)
    return value


def _dtensor(builder: BlockBuilder, given: Arguments, call: syntax.Call) -> relax.DTensorStructInfo:
    """`R.DTensor((n, 4), "float32", "mesh[0]", "S[0]")`: a tensor distributed over devices."""
    tensor = _tensor(builder, Arguments({k: given[k] for k in ("shape", "dtype", "ndim") if given.get(k)}), call)
    mesh, how = given.get("device_mesh"), given.get("placement")
    if mesh is None or how is None:
        help = 'write R.DTensor(shape, dtype, "mesh[0]", "S[0], R")'
        raise builder.context.error("E0105", "R.DTensor needs a device mesh and a placement", call, help)
    span = builder.context.span(call)
    return relax.DTensorStructInfo(tensor, device_mesh(builder, mesh), placement(builder, how), span=span)


Build = Callable[[BlockBuilder, Arguments, syntax.Call], StructInfo]
_DTENSOR = parameters("shape?", "dtype?", "device_mesh?", "placement?", "ndim?")
FORMS: dict[str, tuple[Signature[Parameter], Build]] = {
    "R.Tensor": (parameters("shape?", "dtype?", "vdevice?", "ndim?"), _tensor),
    "R.Shape": (parameters("values?", "ndim?"), _shape),
    "R.Tuple": (parameters("*fields"), _tuple),
    "R.Callable": (parameters("params?", "ret?", "purity?", "derive_func?"), _callable),
    "R.Object": (parameters(), _object),
    "R.Any": (parameters(), _object),
    "R.Prim": (parameters("dtype?", "value?"), _prim),
    "R.DTensor": (_DTENSOR, _dtensor),
    "R.dist.DTensor": (_DTENSOR, _dtensor),
}
"""All kinds of struct info by name, with their parameters."""

values.NAMED_FORMS.append(bare_struct_info)
remedies.FORMS.append(lambda: FORMS)
