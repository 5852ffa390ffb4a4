"""Binding of the arguments in a text to a call in normal form: arguments in order, all attributes, struct info."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from msgspec.structs import replace

from .. import tir
from ..base import BaseFunc, GlobalVar, NamedAttrs, Op, Span, StructInfo
from ..diagnostics import error
from ..dtype import is_dtype
from ..relax import (
    Call,
    DataTypeImm,
    Expr,
    ExternFunc,
    PrimValue,
    ShapeExpr,
    ShapeStructInfo,
    StringImm,
    Tuple,
    TupleStructInfo,
)
from ..signature import BadArguments, Parameter, Signature, describe, wrong_kind
from ..spelling import did_you_mean
from .registry import REQUIRED, Param, RelaxOp

_signatures: dict[str, Signature[Parameter]] = {}
NEWER_NAMES = {"out_ty": "out_sinfo", "ty_args": "sinfo_args", "ty": "struct_info"}
"""Parameters that TVM renamed after 0.21, and their names here."""


def bind(op: RelaxOp, args: Sequence[Any], keywords: Mapping[str, Any] | None = None, span: Span | None = None) -> Expr:
    """Return the expression that `R.<op>(*args, **keywords)` denotes, without struct info.

    Values may be graph-level values, loop-level expressions, and Python numbers, strings, None, tuples and lists.
    The result is a call of `op`, unless `op` is an abbreviation that expands to other calls.

    Raises TvmsError: E0105 if the arguments do not fit the signature, E0321 if one has an invalid value.
    """
    values = match_arguments(op, args, keywords or {}, span)
    if op.expand is not None:
        return _placed(op.expand(_Named(values)), span)
    if op.complete is not None:
        op.complete(values)
    arguments: list[Expr] = []
    for param in op.arguments:
        value = values[param.name]
        if param.kind == "exprs":
            arguments.extend(value)
        elif value is not None:
            arguments.append(value)
    attrs = NamedAttrs((param.name, values[param.name]) for param in op.attributes)
    sinfo_args: list[StructInfo] = []
    for param in op.params:
        if param.kind == "sinfo" and values[param.name] is not None:
            sinfo_args.append(values[param.name])
        elif param.kind == "sinfos":
            sinfo_args.extend(values[param.name])
    name = op.name if op.rename is None else op.rename(values)
    return Call(Op(name), tuple(arguments), attrs, tuple(sinfo_args), span=span)


def _placed(expr: Expr, span: Span | None) -> Expr:
    """Return an expansion with the position of the original call."""
    if not isinstance(expr, Call) or expr.span is not None:
        return expr
    return replace(expr, args=tuple(_placed(arg, span) for arg in expr.args), span=span)


def signature_of(op: RelaxOp) -> Signature[Parameter]:
    """Return the signature of an operator; a variadic parameter also accepts a tuple by its name."""
    found = _signatures.get(op.name)
    if found is None:
        parameters = [
            Parameter(param.name, False, "variadic")
            if param.kind == "exprs"
            else Parameter(param.name, param.default is REQUIRED)
            for param in op.params
        ]
        found = _signatures[op.name] = Signature(parameters, variadic_by_name=True)
    return found


def match_arguments(
    op: RelaxOp, args: Sequence[Any], keywords: Mapping[str, Any], span: Span | None = None
) -> dict[str, Any]:
    """Return the value of each parameter of `op`, converted to its kind, with defaults filled in."""

    try:
        named = [(NEWER_NAMES.get(name, name), value) for name, value in keywords.items()]
        bound = signature_of(op).bind(f"R.{op.script_name}", args, named)
    except BadArguments as wrong:
        raise error(wrong.code, wrong.message, span, wrong.help) from None
    values: dict[str, Any] = {}
    for number, param in enumerate(op.params, 1):
        value: Any = bound.values.get(param.name, param.default)
        if param.kind == "exprs":
            value = _all_values(bound.values.get(param.name, bound.rest))
        if param.name == "args" and param.kind == "tuple":
            value = _as_arguments(value)
        values[param.name] = _convert(op, number, param, value, span)
    return values


def _as_arguments(value: Any) -> Any:
    """Return the arguments of another function; a single value is wrapped in a tuple."""
    is_single = isinstance(value, Expr) and not isinstance(value, Tuple)
    return (value,) if is_single and not isinstance(value.struct_info, TupleStructInfo) else value


def _all_values(values: Any) -> tuple[Any, ...]:
    """Return the values of a variadic parameter, which may also be a single tuple, a single value, or None."""
    items = cast("Sequence[Any]", values) if isinstance(values, tuple | list) else (values,)
    if len(items) == 1 and (items[0] is None or isinstance(items[0], tuple | list | Tuple)):
        inner = cast("Any", items[0])
        return inner.fields if isinstance(inner, Tuple) else tuple(cast("Sequence[Any]", inner or ()))
    return tuple(items)


class _Named:
    """Values by parameter name."""

    def __init__(self, values: dict[str, Any]) -> None:
        self.__dict__.update(values)


def as_expr(value: Any) -> Expr | None:
    """Return `value` as a graph-level value (TVM: `relax.utils.convert_to_expr`), or None if it cannot be converted."""
    match value:
        case Expr():
            return value
        case tir.PrimExpr():
            return PrimValue(value)
        case bool():
            return PrimValue(tir.IntImm("bool", int(value)))
        case int():
            return PrimValue(tir.IntImm("int64", value))
        case float():
            return PrimValue(tir.FloatImm("float64", value))
        case str():
            return StringImm(value)
        case tuple() | list():
            fields = [as_expr(field) for field in cast("Sequence[Any]", value)]
            known = tuple(field for field in fields if field is not None)
            return Tuple(known) if len(known) == len(fields) else None
        case _:
            return None


def _as_dimension(value: Any) -> tir.PrimExpr | None:
    match value:
        case tir.PrimExpr():
            return value
        case PrimValue():
            return value.value
        case int() if not isinstance(value, bool):
            return tir.IntImm("int64", value)
        case _:
            return None


def _as_shape(value: Any) -> Expr | None:
    if isinstance(value, tuple | list):
        dimensions = [_as_dimension(item) for item in cast("Sequence[Any]", value)]
        known = tuple(item for item in dimensions if item is not None)
        return ShapeExpr(known) if len(known) == len(dimensions) else None
    return value if isinstance(value, Expr) else None


def plain(value: Any) -> Any:
    """Return a constant as a Python value for an attribute; lists become tuples; other values are unchanged."""
    match value:
        case PrimValue():
            return plain(value.value)
        case tir.IntImm(dtype="bool"):
            return bool(value.value)
        case tir.IntImm() | tir.FloatImm() | tir.StringImm() | StringImm() | DataTypeImm():
            return value.value
        case Tuple():
            return tuple(plain(field) for field in value.fields)
        case ShapeExpr():
            return tuple(plain(item) for item in value.values)
        case tuple() | list():
            return tuple(plain(item) for item in cast("Sequence[Any]", value))
        case _:
            return value


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_dimension(value: Any) -> bool:
    return _is_int(value) or isinstance(value, tir.PrimExpr)


def _are(items: Any, fits: Callable[[Any], bool]) -> bool:
    return isinstance(items, tuple) and all(map(fits, cast("tuple[Any, ...]", items)))


def _as_attribute(kind: str, value: Any) -> tuple[bool, Any]:
    """Return whether `value` fits an attribute of `kind`, and the value to store."""
    value = plain(value)
    base = kind.removeprefix("opt_")
    if value is None and (base != kind or kind in ("dtype", "value")):
        return True, "void" if kind == "dtype" else None
    match base:
        case "int":
            return _is_int(value), value
        case "ints":
            value = (value,) if _is_dimension(value) else value
            return _are(value, _is_dimension), value
        case "sections":
            return _is_int(value) or _are(value, _is_int), value
        case "float":
            return isinstance(value, int | float) and not isinstance(value, bool), _real(value)
        case "bool":
            return isinstance(value, int) and value in (0, 1), bool(value)
        case "str":
            return isinstance(value, str), value
        case "dtype":
            value = value.dtype if isinstance(value, tir.PrimType) else value
            return isinstance(value, str) and (value in ("", "void") or is_dtype(value)), value or "void"
        case _:
            return True, value


def _real(value: Any) -> Any:
    return float(value) if isinstance(value, int) else value


def _as_argument(kind: str, value: Any) -> tuple[bool, Any]:
    """Return whether `value` fits an argument of `kind`, and its graph-level value."""
    if value is None and kind.startswith("opt_"):
        return True, None
    match kind.removeprefix("opt_"):
        case "shape":
            result: Any = _as_shape(value)
        case "sizes":
            result = _as_shape(value if isinstance(value, tuple | list | Expr) else (value,))
        case "exprs":
            fields = as_expr(value)
            result = fields.fields if isinstance(fields, Tuple) else None
        case "string":
            result = StringImm(value) if isinstance(value, str) else value if isinstance(value, Expr) else None
        case "datatype":
            result = DataTypeImm(value) if isinstance(value, str) and is_dtype(value) else value
            result = result if isinstance(result, Expr) else None
        case "callee":
            result = ExternFunc(value) if isinstance(value, str) else value
            result = result if isinstance(result, GlobalVar | BaseFunc | Expr) else None
        case "tuple":
            result = as_expr(tuple(cast("Sequence[Any]", value)) if isinstance(value, list) else value)
        case _:
            result = as_expr(value)
    return result is not None, result


def _as_struct_info(kind: str, value: Any) -> tuple[bool, Any]:
    listed = isinstance(value, tuple | list)
    items = tuple(cast("Sequence[Any]", value)) if listed else (value,)
    if value is None and kind == "sinfo":
        return True, None
    fits = all(isinstance(item, StructInfo) for item in items)
    if kind == "sinfos" or not fits:
        return fits, items if kind == "sinfos" else value
    return True, items[0] if len(items) == 1 else TupleStructInfo(items)  # a list of one result is that result


_DTYPES = (
    "float32", "float16", "float64", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool",
)  # fmt: skip
"""The dtypes that remedies offer."""
_EXPECTED = {
    "int": "an integer", "ints": "integers", "sections": "an integer or a list of integers", "float": "a number",
    "bool": "True or False", "str": "a string", "dtype": 'a dtype such as "float32"', "shape": "a shape", "sizes": "a shape or a number",
    "string": "a string", "datatype": 'a dtype such as "float32"', "callee": "a function of the module or its name",
    "tuple": "a tuple of values", "sinfo": "struct info such as R.Tensor(…)", "sinfos": "struct info such as R.Tensor(…)",
}  # fmt: skip


def _convert(op: RelaxOp, number: int, param: Param, value: Any, span: Span | None) -> Any:
    if param.is_argument:
        fits, result = _as_argument(param.kind, value)
    elif param.is_attribute:
        fits, result = _as_attribute(param.kind, value)
    else:
        fits, result = _as_struct_info(param.kind, value)
    if fits:
        return result
    place = getattr(value, "span", None) or span
    kind = param.kind.removeprefix("opt_")
    expected = _EXPECTED.get(kind, "a value of the graph level")
    message = wrong_kind(f"R.{op.script_name}", number, param.name, expected, describe(value))
    help = _remedy(kind, value) or (f"write {expected}" if kind in _EXPECTED else None)
    raise error("E0321", message, place, help)


def _remedy(kind: str, value: Any) -> str | None:
    """Return what to write for an argument of the wrong kind, if its value shows what is meant."""
    if kind in ("dtype", "datatype") and isinstance(value, str):
        return did_you_mean(value, _DTYPES)
    if kind == "shape" and isinstance(value, ShapeStructInfo):
        return "write R.shape([…]), in lower case: R.Shape(…) is the type of a shape"
    items = cast("tuple[Any, ...]", value) if kind == "shape" and isinstance(value, tuple) else ()
    names = [item for item in items if isinstance(item, str)]
    if names:
        return f"declare the dimension first: {names[0]} = T.int64(), and write ({names[0]}, …); R.match_cast binds it to a value"
    if any(isinstance(item, Expr) for item in items):
        return "a shape has integers and dimensions such as n = T.int64(); write R.tensor_to_shape(t) for a tensor t of sizes"
    return None
