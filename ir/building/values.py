"""Conversion of Python values to graph-level values, for `relax.op` and Python's operators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from msgspec.structs import replace

from .. import relax, tir
from ..base import Integer, Op
from ..diagnostics import TvmsError, error
from ..infer import infer_struct_info
from ..operators import Equality
from ..ops.binding import as_expr, bind
from ..ops.registry import find, get_op
from ..relax import Call, Constant, Expr, ShapeExpr, TensorStructInfo, TupleStructInfo
from .place import with_place

_DEFAULT_DTYPES = {"int64": "int32", "float64": "float32"}
"""Default dtypes of plain numbers and arrays of numbers (TVM: `relax.const`)."""


def plain_nodes(value: Any) -> Any:
    """Return `value` as data of a node: lists become tuples, also within lists, tuples and dicts, attributes plain numbers, and
    comparisons by `==` nodes.
    """
    match value:
        case list() | tuple():
            return tuple(plain_nodes(item) for item in cast("Sequence[Any]", value))
        case dict():
            return {key: plain_nodes(item) for key, item in cast("dict[Any, Any]", value).items()}
        case Integer():
            return value.value
        case Equality():
            return value.asobject()
        case _:
            return value


def graph_value(value: Any) -> Expr:
    """Return `value` as a graph-level value with struct info; accepts numbers, strings, tuples and arrays.

    Raises TypeError for other values.
    """
    if hasattr(value, "__array__") or hasattr(value, "__dlpack__"):
        return const(value)
    result = as_expr(plain_nodes(value))
    if result is None:
        raise TypeError(f"{value!r} is not a graph-level value")
    return inferred(result)


def inferred(expr: Expr) -> Expr:
    """Return `expr` with struct info, on its parts as well. A call of variables that have none may have none either."""
    if expr.struct_info is not None or isinstance(expr, relax.Var):
        return expr
    if isinstance(expr, relax.Tuple):
        expr = relax.Tuple(tuple(inferred(field) for field in expr.fields), span=expr.span)
    elif isinstance(expr, Call) and any(arg.struct_info is None for arg in expr.args):
        expr = replace(expr, args=tuple(inferred(arg) for arg in expr.args))
    try:
        return replace(expr, struct_info=infer_struct_info(expr))
    except TvmsError:
        if isinstance(expr, Call) and any(arg.struct_info is None for arg in expr.args):
            return expr
        raise


def normal_call(value: Expr) -> Expr:
    """Return the normal form of a call that its operator defines; the same object for other values."""
    op = find(value.op.name) if isinstance(value, Call) and isinstance(value.op, Op) else None
    return op.normalize(value) if op is not None and op.normalize is not None and isinstance(value, Call) else value


_NEED_TUPLES = frozenset(("relax.call_tir", "relax.call_tir_inplace", "relax.call_tir_with_grad"))


def with_written_arguments(value: Expr, bound: Mapping[Any, Expr]) -> Expr:
    """Return a call of a loop function whose arguments are a tuple that is written in the call, not a variable.

    They are those of the tuple that the variable is bound to, or its fields. Other expressions are returned as they are.
    """
    if not (isinstance(value, Call) and isinstance(value.op, Op) and value.op.name in _NEED_TUPLES):
        return value
    given = value.args[1]
    while isinstance(given, relax.Var) and isinstance(bound.get(given), relax.Var | relax.Tuple):
        given = bound[given]
    if not isinstance(given, relax.Tuple):
        info = infer_struct_info(given)
        if not isinstance(info, TupleStructInfo):
            return value
        given = inferred(relax.Tuple(parts(given)))
    return value if given is value.args[1] else replace(value, args=(value.args[0], given, *value.args[2:]))


def apply(name: str, *args: Any, **keywords: Any) -> Expr:
    """Return `R.<name>(*args, **keywords)` with its struct info; TvmsError if the arguments do not fit."""
    op = get_op(f"relax.{name}")
    operands = [plain_nodes(arg) for arg in args]
    if name in TAKE_NUMBERS:
        operands = numbers_as_constants(operands)
    try:
        return inferred(bind(op, operands, {key: plain_nodes(value) for key, value in keywords.items()}))
    except TvmsError as problem:
        raise with_place(problem) from None


TAKE_NUMBERS = frozenset(
    (
        "add", "subtract", "multiply", "divide", "floor_divide", "mod", "floor_mod", "power", "maximum", "minimum",
        "less", "less_equal", "greater", "greater_equal", "equal", "not_equal",
    )
)  # fmt: skip
"""Operators that convert a Python number to the dtype of their tensor operand."""


def numbers_as_constants(args: list[Any]) -> list[Any]:
    """Return operands with numbers converted to constants of the dtype of the first tensor."""
    infos = [arg.struct_info for arg in args if isinstance(arg, Expr)]
    dtype = next((info.dtype for info in infos if isinstance(info, TensorStructInfo)), "void")
    if dtype == "void":
        return args
    return [const(arg, dtype) if isinstance(arg, int | float) else arg for arg in args]


def const(value: Any, dtype: str | TensorStructInfo | None = None) -> Constant:
    """Return a tensor constant: a number, nested lists of numbers, or an array (TVM: `relax.const`).

    Without `dtype`, an array keeps its dtype, and plain numbers become int32 or float32.
    """
    import numpy as np

    from ..numpy_dtype import numpy_dtype

    if isinstance(dtype, TensorStructInfo):
        dtype = dtype.dtype
    given: Any = value
    if hasattr(value, "__dlpack__") and not hasattr(value, "__array_interface__"):
        given = np.from_dlpack(value)
    array: Any = np.asarray(given)
    wanted = dtype if dtype not in (None, "void") else None
    if wanted is None and not hasattr(value, "dtype"):
        wanted = _DEFAULT_DTYPES.get(str(array.dtype))
    array = array if wanted is None else array.astype(numpy_dtype(wanted), copy=False)
    return cast("Constant", inferred(Constant(array)))


def call_function(function: Expr, args: Sequence[Any]) -> Call:
    """Return the call of a function value or a function of the module."""
    call = Call(function, tuple(graph_value(arg) for arg in args))
    try:
        return cast("Call", inferred(call))
    except TvmsError as problem:
        raise with_place(problem) from None


def parts(value: Expr) -> tuple[Any, ...]:
    """Return the fields of a tuple, or the dimensions of a shape; TypeError for other values."""
    if isinstance(value, ShapeExpr):
        return value.values
    if isinstance(value, relax.Tuple):
        return value.fields
    info = infer_struct_info(value)
    if not isinstance(info, TupleStructInfo):
        raise TypeError("only a tuple has fields; take parts of a tensor with relax.op.strided_slice or relax.op.take")
    fields = enumerate(info.fields)
    return tuple(relax.TupleGetItem(value, number, struct_info=field) for number, field in fields)


def dimension(value: Any) -> tir.PrimExpr:
    """Return a dimension of a shape; an int becomes int64. Raises TvmsError (E0321) if it is not an integer."""
    node = plain_nodes(value)
    if isinstance(node, int):
        return tir.IntImm("int64", int(node))
    if isinstance(node, tir.PrimExpr):
        return node
    if isinstance(node, relax.PrimValue):
        return node.value
    raise with_place(error("E0321", f"{value!r} is not a dimension of a shape", None, "give an integer or a tir.Var"))
