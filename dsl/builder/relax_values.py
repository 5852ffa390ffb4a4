"""Evaluates expressions of a graph function.

Values are those of `expressions` (plain Python values, loop-level nodes, namespaces), graph-level expressions and
struct info. Operands are bound as they are read, so that bindings have TVM's order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeGuard

from msgspec import Struct
from msgspec.structs import replace

from ...ir import relax
from ...ir.base import Metadata, Op, StructInfo
from ...ir.diagnostics import count
from ...ir.ops.binding import as_expr
from ...ir.ops.registry import relax_ops
from ...ir.signature import describe
from .. import syntax
from . import expressions
from .forms import ModuleReference, Namespace
from .relax_blocks import BlockBuilder
from .remedies import tensor_attribute

_BINARY_OPERATORS = {
    "+": "add", "-": "subtract", "*": "multiply", "/": "divide", "//": "floor_divide", "**": "power", "%": "mod",
    "<": "less", "<=": "less_equal", ">": "greater", ">=": "greater_equal", "==": "equal", "!=": "not_equal",
}  # fmt: skip
"""Operator for each sign between two graph-level values (TVM: `ExprWithOp`)."""
_TENSOR_FIELDS = {
    "ndim": "tensor_ndim", "byte_offset": "tensor_byte_offset", "elem_offset": "tensor_elem_offset",
}  # fmt: skip
_INDEXED_TENSOR_FIELDS = {"shape": "tensor_shape_i", "strides": "tensor_stride_i"}
_STRUCT_INFO_FIELDS = ("shape", "dtype", "ndim", "values", "fields", "value")
_DTYPE_FIELDS = {"type_code": "tensor_dtype_code", "bits": "tensor_dtype_bits", "lanes": "tensor_dtype_lanes"}


RULES: dict[type[syntax.Expr], Callable[[BlockBuilder, Any], Any]] = {}
"""Meanings of further kinds of expressions; `relax_calls` adds that of calls."""
NAMED_FORMS: list[Callable[[BlockBuilder, str, syntax.Attribute], Any]] = []
"""The meaning of a form that is named, but not called; `relax_annotations` adds it."""


def evaluate(builder: BlockBuilder, node: syntax.Expr) -> Any:
    """Return the value of `node`; tuples and lists become tuples, their graph-level elements in normal form."""
    match node:
        case syntax.Name():
            return _name(builder, node)
        case syntax.Tuple() | syntax.List():
            return tuple(operand(builder, element) for element in node.elements)
        case syntax.Dict():
            values = (evaluate(builder, value) for value in node.values)
            return {evaluate(builder, key): value for key, value in zip(node.keys, values, strict=True)}
        case syntax.Unary():
            return _unary(builder, node)
        case syntax.Binary():
            return _binary(builder, node)
        case syntax.Attribute():
            return _attribute(builder, node)
        case syntax.Subscript():
            return _subscript(builder, node)
        case syntax.Conditional():
            return expressions.conditional(builder.context, node, lambda branch: evaluate(builder, branch))
        case _:
            rule = RULES.get(type(node))
            return expressions.evaluate(builder.context, node) if rule is None else rule(builder, node)


class Hidden(Struct, frozen=True):
    """The value of a name outside the block that binds it; `help` says how to make the name visible."""

    help: str


def _name(builder: BlockBuilder, node: syntax.Name) -> Any:
    value = builder.context.lookup(node)
    if isinstance(value, Hidden):
        raise builder.context.error("E0101", f"name '{node.id}' is not defined here", node, value.help)
    return value


def operand(builder: BlockBuilder, node: syntax.Expr) -> Any:
    """Return the value of `node` as an operand: graph-level values in normal form, other values unchanged."""
    value = evaluate(builder, node)
    return builder.operand(value) if isinstance(value, relax.Expr) else value


def to_expr(builder: BlockBuilder, value: Any, node: syntax.Expr) -> relax.Expr:
    """Return an evaluated `value` as a graph-level operand (TVM: `convert_to_expr`).

    Plain numbers become int64 and float64 scalars. Raise E0202 if `value` is not a graph-level value.
    """
    if is_tuple(value) and isinstance(node, syntax.Tuple | syntax.List) and len(value) == len(node.elements):
        value = tuple(to_expr(builder, item, place) for item, place in zip(value, node.elements, strict=True))
    expr = as_expr(value)
    if expr is None:
        help = "write a variable, R.const(…), R.prim_value(…), a tuple of them, or a call"
        raise builder.context.error("E0202", f"{describe(value)} is not a graph-level value", node, help)
    return builder.operand(expr if expr.span else replace(expr, span=builder.context.span(node)))


def dotted(builder: BlockBuilder, node: syntax.Expr) -> str | None:
    """Return the full name, such as `R.nn.relu`, if `node` is a name in a namespace, else None.

    A surrounding program may name an operator by a variable of its own, and write `relax.op.add` for `R.add`.
    """
    parts: list[str] = []
    while isinstance(node, syntax.Attribute):
        parts.append(node.attr)
        node = node.value
    root = builder.context.scope.get(node.id) if isinstance(node, syntax.Name) else None
    if not isinstance(root, Namespace):
        return None
    name = ".".join((root.name, *reversed(parts)))
    return f"R.{name[5:]}" if name.startswith("R.op.") else name if "." in name else None


def operator_call(builder: BlockBuilder, name: str, node: syntax.Expr, *args: relax.Expr) -> relax.Call:
    """Return a call of an operator all of whose arguments are values."""
    return relax.Call(Op(f"relax.{name}"), args, span=builder.context.span(node))


def _unary(builder: BlockBuilder, node: syntax.Unary) -> Any:
    value = operand(builder, node.operand)
    if not isinstance(value, relax.Expr):
        return expressions.unary(builder.context, node, value)
    if node.op != "-":
        help = "use R.logical_not(…) or R.bitwise_not(…)"
        raise builder.context.error("E0206", f"'{node.op}' does not apply to a graph-level value", node, help)
    return operator_call(builder, "negative", node, value)


def _binary(builder: BlockBuilder, node: syntax.Binary) -> Any:
    context = builder.context
    left, right = operand(builder, node.left), operand(builder, node.right)
    if not isinstance(left, relax.Expr) or not isinstance(right, relax.Expr) or context.is_newer_tvm:
        known = [known_scalar(side) for side in (left, right)]
        if not any(isinstance(side, relax.Expr) for side in known):
            return expressions.binary(context, node, *known)
    for value, side in ((left, node.left), (right, node.right)):
        if not isinstance(value, relax.Expr):
            other = right if value is left else left
            help = f"write {_as_constant(value, other)} for a tensor, R.prim_value(…) for a scalar"
            reason = f"'{node.op}' needs graph-level values on both sides, got {describe(value)}"
            raise context.error("E0206", reason, side, help)
    if node.op not in _BINARY_OPERATORS:
        help = "call the operator by its name, such as R.logical_and(…)"
        raise context.error("E0206", f"'{node.op}' does not apply to graph-level values", node, help)
    return operator_call(builder, _BINARY_OPERATORS[node.op], node, left, right)


def known_scalar(value: Any) -> Any:
    """Return the known value of a graph-level scalar, or `value` itself if it is anything else."""
    info = value.struct_info if isinstance(value, relax.Expr) else None
    known = info.value if isinstance(info, relax.PrimStructInfo) else None
    return value if known is None else known


def _as_constant(value: Any, other: Any) -> str:
    """Return the text of `value` as a tensor with the dtype of `other`."""
    info = other.struct_info if isinstance(other, relax.Expr) else None
    if isinstance(value, bool | int | float) and isinstance(info, relax.TensorStructInfo):
        return f'R.const({value}, "{info.dtype}")'
    return "R.const(…)"


def _attribute(builder: BlockBuilder, node: syntax.Attribute) -> Any:
    """Return `R.Tensor`, `Module.f`, or an attribute of a value: `x.struct_info`, `x.struct_info.shape`, `x.ndim`."""
    context = builder.context
    name = dotted(builder, node)
    if name is not None and name.startswith("R."):
        (meaning,) = NAMED_FORMS
        return meaning(builder, name, node)
    if name is not None:
        return expressions.evaluate(context, node)
    owner = node.value
    if node.attr in _DTYPE_FIELDS and isinstance(owner, syntax.Attribute) and owner.attr == "dtype":
        field, owner = _DTYPE_FIELDS[node.attr], owner.value
    else:
        field = _TENSOR_FIELDS.get(node.attr)
    value = operand(builder, owner)
    if isinstance(value, ModuleReference):
        return context.global_var(node.attr, node)
    if isinstance(value, StructInfo):
        known = [name for name in _STRUCT_INFO_FIELDS if hasattr(value, name)]
        if node.attr not in known:
            help = f"it has: {', '.join(known)}" if known else None
            raise context.error("E0103", f"{describe(value)} has no attribute '{node.attr}'", node, help)
        return getattr(value, node.attr)
    if not isinstance(value, relax.Expr):
        return expressions.evaluate(context, node)
    if node.attr in ("struct_info", "ty"):
        return value.struct_info
    if field is not None:
        return operator_call(builder, f"inspect.{field}", node, value)
    help = "use R.shape_of(…) for the shape as a value" if node.attr == "shape" else None
    names = [op.script_name for op in relax_ops().values() if op.script_name.rpartition(".")[2] == node.attr]
    if names and isinstance(node.value, syntax.Name):
        help = f"write R.{min(names, key=len)}({node.value.id}, …)"
    if isinstance(node.value, syntax.Name):
        help = help or tensor_attribute(node.attr, node.value.id)
    raise context.error("E0103", f"a graph-level value has no attribute '{node.attr}'", node, help)


def _subscript(builder: BlockBuilder, node: syntax.Subscript) -> Any:
    """Return `t[0]` of a tuple, `x.shape[i]` of a tensor, `x.struct_info.shape[0]`, or `metadata["relax.expr.Constant"][0]`."""
    context, owner = builder.context, node.value
    metadata = _metadata(node)
    if metadata is not None:
        return relax.Constant(metadata, struct_info=relax.TensorStructInfo(), span=context.span(node))
    index = operand(builder, node.indices[0]) if len(node.indices) == 1 else None
    if isinstance(owner, syntax.Attribute) and owner.attr in _INDEXED_TENSOR_FIELDS:
        value = operand(builder, owner.value)
        if isinstance(value, relax.Expr) and index is not None:
            operator = f"inspect.{_INDEXED_TENSOR_FIELDS[owner.attr]}"
            return operator_call(builder, operator, node, value, to_expr(builder, index, node.indices[0]))
    value = operand(builder, owner)
    if value is None and isinstance(owner, syntax.Attribute):
        help = "declare it, or take R.shape_of(…)" if owner.attr == "shape" else None
        raise context.error("E0202", f"'{owner.attr}' is unknown, so none of its elements can be used", node, help)
    if not isinstance(value, relax.Expr) and not isinstance(value, tuple):
        return expressions.evaluate(context, node)
    if not isinstance(index, int):
        help = "take elements of a tensor with R.strided_slice(…) or R.take(…)"
        raise context.error("E0202", "expected one plain number as the index of a graph-level value", node, help)
    return tuple_item(builder, value, index, node)


def is_tuple(value: Any) -> TypeGuard[tuple[Any, ...]]:
    """Return whether `value` was written as a tuple or a list."""
    return isinstance(value, tuple)


def tuple_item(builder: BlockBuilder, value: Any, index: int, node: syntax.Expr) -> Any:
    """Return element `index` of a tuple; raise E0304 if it has no such element."""
    fields: Any = value.values if isinstance(value, relax.ShapeExpr) else tuple_fields(value)
    if fields is None:
        help = "take elements of a tensor with R.strided_slice(…) or R.take(…)"
        raise builder.context.error("E0304", "only a tuple can be indexed", node, help)
    if not -len(fields) <= index < len(fields):
        raise builder.context.error(
            "E0304", f"index {index} is out of range for a tuple of {count(len(fields), 'element')}", node
        )
    if isinstance(value, tuple | relax.Tuple | relax.ShapeExpr):
        return fields[index]
    info = fields[index]
    return relax.TupleGetItem(value, index % len(fields), struct_info=info, span=builder.context.span(node))


def tuple_fields(value: Any) -> tuple[Any, ...] | None:
    """Return the elements of a written tuple, or the struct info of the elements of a tuple value, or None."""
    if is_tuple(value):
        return value
    if isinstance(value, relax.Tuple):
        return value.fields
    info = value.struct_info
    return info.fields if isinstance(info, relax.TupleStructInfo) else None


def _metadata(node: syntax.Subscript) -> Metadata | None:
    """Return the object that `metadata["key"][0]` names, or None for another subscript."""
    inner = node.value
    if not (
        isinstance(inner, syntax.Subscript) and isinstance(inner.value, syntax.Name) and inner.value.id == "metadata"
    ):
        return None
    match inner.indices, node.indices:
        case (syntax.Constant(value=str(key)),), (syntax.Constant(value=int(index)),):
            return Metadata(key, index)
        case _:
            return None
