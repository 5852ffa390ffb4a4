"""Graph-level expressions."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ...ir import relax
from ...ir.base import GlobalVar, Op
from ...ir.building.call_te import is_known
from ...ir.equal import structural_equal
from ...ir.infer import ANY_FUNCTION
from ...ir.ops.builtin import DEVICE_TYPES
from ...ir.ops.registry import REQUIRED, find
from .literals import string
from .printer import Printer, module_name, prints
from .struct_info import shape_value, vdevice_name

_CALLS_OF_FUNCTIONS = frozenset(
    Op(f"relax.{name}")
    for name in (
        "call_tir",
        "call_dps_packed",
        "call_py_func",
        "call_tir_inplace",
        "call_tir_with_grad",
        "dist.call_tir_local_view",
    )
)
"""Operators that call a function with a tuple of arguments and declare the struct info of the result."""
_HINT = Op("relax.hint_on_device")
_BUILTIN = Op("relax.call_builtin_with_ctx")
_TAKE_MADE_TYPES = (
    _BUILTIN,
    *(Op(f"relax.{name}") for name in ("call_inplace_packed", "invoke_closure", "invoke_pure_closure")),
)
"""Operators whose types of results must be made by a call, as `R.Any()` is, in the newest TVM."""
_FORMAT_PLACE = {"relax.print": 0, "relax.assert_op": 1}
"""Index of the format string among an operator's arguments."""
_LARGEST_SHOWN = 16
"""Maximum number of elements of a tensor in the text; larger ones are in the sidecar file."""
INFERRED_FROM_SINFO_ARGS = frozenset([Op("relax.call_tir"), Op("relax.call_dps_packed")])
"""Operators whose results need no annotation, because the call declares the struct info."""


# --- Values ---------------------------------------------------------------------------------------------------


@prints(relax.Var, relax.DataflowVar)
def _var(printer: Printer, node: relax.Var, level: int) -> str:
    name = printer.name_of(node)
    if name is None:
        info = printer.expr(node.struct_info) if node.struct_info is not None else printer.relax(printer.dialect.object)
        name = printer.define(node, node.name_hint or "v", printer.outer_frame)
        printer.outer_frame.line(f"{name}: {info}")
    return name


@prints(GlobalVar)
def _global_var(printer: Printer, node: GlobalVar, level: int) -> str:
    """Print a function as an attribute of the module; at the graph level of TVM's dialects, of its alias `cls`."""
    module = printer.module
    if module is None or not module_name(module) or node.name_hint not in module.functions:
        return node.name_hint
    owner = printer.name_of(module) or module_name(module)
    function = next((frame for frame in printer.frames if frame.is_function), None)
    if printer.dialect.native or not printer.in_relax or function is None:
        return f"{owner}.{node.name_hint}"
    if not function.module_alias:
        function.line(f"cls = {owner}")
        function.module_alias = True
    return f"cls.{node.name_hint}"


@prints(relax.ExternFunc)
def _extern_func(printer: Printer, node: relax.ExternFunc, level: int) -> str:
    info = "" if _is_any_function(node) else f", {printer.expr(node.struct_info)}"
    name = printer.dialect.functions.get(node.global_symbol, node.global_symbol)
    return f"{printer.relax('ExternFunc')}({string(name)}{info})"


def _is_any_function(function: relax.ExternFunc) -> bool:
    """Return whether nothing is known of an external function but its name."""
    return function.struct_info is None or structural_equal(function.struct_info, ANY_FUNCTION)


@prints(relax.Constant)
def _constant(printer: Printer, node: relax.Constant, level: int) -> str:
    """Print a small tensor as numbers, a large one by its name in the sidecar file. In TVM's dialects only scalars are
    small, unless the options say otherwise, and a large tensor is a numbered reference.
    """
    data = node.data
    if printer.dialect.native and (node.name is not None or _is_large(data)):
        info = f", {printer.expr(node.struct_info)}" if is_known(node.struct_info) else ""
        return f"{printer.ir('constant')}({string(printer.stored_name(node))}{info})"
    if not hasattr(data, "shape"):
        return printer.expr(data) if node.name is None else printer.metadata(node)
    if isinstance(node.struct_info, relax.DTensorStructInfo):
        return f"{printer.relax('dist.const')}({_number(printer, data)}, {printer.expr(node.struct_info)})"
    if data.shape and not printer.dialect.native and (_is_large(data) or not printer.options.shows_small_tensors):
        return printer.metadata(node)
    number = _number(printer, data)
    if data.shape == () and number.startswith('"') and not printer.dialect.native:
        number = f"float({number})"
    return f"{printer.relax('const')}({number}, {string(str(data.dtype))})"


def _is_large(data: Any) -> bool:
    return hasattr(data, "size") and data.size > _LARGEST_SHOWN


def _number(printer: Printer, data: Any) -> str:
    """Return a NumPy array as nested lists of numbers."""
    if data.dtype.kind not in "biuf":
        # Python has no literals of the small floats.
        data = data.astype("float32")
    return printer.value(data.tolist())


@prints(relax.Tuple)
def _tuple(printer: Printer, node: relax.Tuple, level: int) -> str:
    if not node.fields:
        return f"{printer.relax('tuple')}()"
    texts = [scalar(printer, field) or printer.expr(field) for field in node.fields]
    return f"({texts[0]},)" if len(texts) == 1 else f"({', '.join(texts)})"


@prints(relax.TupleGetItem)
def _tuple_get_item(printer: Printer, node: relax.TupleGetItem, level: int) -> str:
    return f"{printer.expr(node.tuple_value)}[{node.index}]"


@prints(relax.ShapeExpr)
def _shape(printer: Printer, node: relax.ShapeExpr, level: int) -> str:
    return f"{printer.relax('shape')}([{', '.join([shape_value(printer, value) for value in node.values])}])"


@prints(relax.PrimValue)
def _prim_value(printer: Printer, node: relax.PrimValue, level: int) -> str:
    return f"{printer.relax('prim_value')}({printer.expr(node.value)})"


def scalar(printer: Printer, value: relax.Expr) -> str | None:
    """Return a scalar as a plain expression, if the dialect has such scalars; None for other values.

    A dimension that a parameter of the same name passes is not plain, because that name is the parameter.
    """
    if not isinstance(value, relax.PrimValue) or not printer.dialect.plain_scalars or value.value in printer.passed:
        return None
    return printer.expr(value.value)


@prints(relax.StringImm)
def _string(printer: Printer, node: relax.StringImm, level: int) -> str:
    return f"{printer.relax('str')}({string(node.value)})"


@prints(relax.DataTypeImm)
def _data_type(printer: Printer, node: relax.DataTypeImm, level: int) -> str:
    return f"{printer.relax('dtype')}({string(node.value)})"


# --- Calls ----------------------------------------------------------------------------------------------------


def _callee(printer: Printer, node: Any) -> str:
    return string(node.global_symbol) if isinstance(node, relax.ExternFunc) else printer.expr(node)


def _operator_name(printer: Printer, op: Op) -> str:
    return printer.relax(op.name[6:]) if op.name.startswith("relax.") else op.name


def _is_distributed(info: Any) -> bool:
    fields = info.fields if isinstance(info, relax.TupleStructInfo) else (info,)
    return any(isinstance(field, relax.DTensorStructInfo) for field in fields)


def _function_call(printer: Printer, node: relax.Call, op: Op) -> str:
    """Print `R.call_tir(function, arguments, out_sinfo=…)` and similar calls (TVM: `PrintCallTIRDPSPacked`)."""
    info = node.sinfo_args[0]
    arguments = [_callee(printer, node.args[0]), printer.expr(node.args[1])]
    fields = info.fields if isinstance(info, relax.TupleStructInfo) else (info,)
    out = printer.expr(info) if len(fields) == 1 else f"[{printer.joined(fields)}]"
    arguments.append(f"{printer.dialect.out_sinfo}={out}")
    for key, value in node.attrs.items():
        if key != "te_grad_kwargs" or value:
            arguments.append(f"{key}={printer.value(value)}")
    if len(node.args) == 3:
        arguments.append(f"tir_vars={printer.expr(node.args[2])}")
    distributed = op.name == "relax.call_tir" and _is_distributed(info)
    name = printer.relax("dist.call_tir") if distributed else _operator_name(printer, op)
    return f"{name}({', '.join(arguments)})"


def _formatted_call(printer: Printer, node: relax.Call, op: Op) -> str:
    """Print `R.print` and `R.assert_op`, whose format string is a keyword argument, lest it be read as a value."""
    place = _FORMAT_PLACE[op.name]
    others = node.args[:place] + node.args[place + 1 :]
    arguments = [printer.expr(argument) for argument in others]
    if place and not printer.dialect.native and len(arguments) > 2:  # TVM takes all values as one argument
        arguments = [arguments[0], f"[{', '.join(arguments[1:])}]"]
    return f"{_operator_name(printer, op)}({', '.join([*arguments, f'format={printer.expr(node.args[place])}'])})"


def _placed(printer: Printer, node: relax.Call, op: Op) -> str:
    """Print a call that names a device of the module; TVM 0.21 cannot read its own text of `hint_on_device`."""
    device = node.attrs["dst_vdevice"]
    name = vdevice_name(printer, device)
    kind = device.target.get("kind")
    if not name.startswith('"') and op == _HINT and device.target.keys() == {"kind"} and kind in DEVICE_TYPES:
        name = f"{printer.relax('device')}({DEVICE_TYPES[kind]}, {device.vdevice_id})"
    rest = replace(node, attrs={key: value for key, value in node.attrs.items() if key != "dst_vdevice"})
    arguments = [_callee(printer, node.args[0]), f"dst_vdevice={name}", *_attributes(printer, rest)]
    return f"{_operator_name(printer, op)}({', '.join(arguments)})"


def _call_with_types(printer: Printer, node: relax.Call, op: Op) -> str:
    """Print `R.emit_with_sinfo("relax.add", (x, y), (R.Tensor((4,), "float32"),))`."""
    name = printer.relax(f"emit_with_{printer.dialect.sinfo_args.removesuffix('_args')}")
    return f"{name}({string(op.name)}, {printer.tuple(node.args)}, {printer.tuple(node.sinfo_args)})"


def _takes_types(op: Op) -> bool:
    """Return whether an operator has a parameter for the types of its results, or is not declared."""
    operator = find(op.name)
    return operator is None or any(param.kind in ("sinfo", "sinfos") for param in operator.params)


def _special_call(printer: Printer, node: relax.Call, op: Op) -> str | None:
    if node.sinfo_args and not node.attrs and not _takes_types(op):
        return _call_with_types(printer, node, op)
    if op in _CALLS_OF_FUNCTIONS and len(node.args) in (2, 3) and len(node.sinfo_args) == 1:
        return _function_call(printer, node, op)
    if len(node.args) > _FORMAT_PLACE.get(op.name, len(node.args)):
        return _formatted_call(printer, node, op)
    if op.name in ("relax.hint_on_device", "relax.to_vdevice") and node.args and "dst_vdevice" in node.attrs:
        return _placed(printer, node, op)
    return None


def _attributes(printer: Printer, node: relax.Call) -> list[str]:
    """Return the attributes as keyword arguments; the native dialect omits defaults."""
    attrs = node.attrs
    operator = find(node.op.name) if isinstance(node.op, Op) else None
    if operator is None:
        return [f"{key}={printer.attr_value(attrs[key])}" for key in sorted(attrs)]
    defaults = {param.name: param.kept_default for param in operator.attributes}
    attrs = {
        key: value
        for key, value in attrs.items()
        if not (printer.dialect.native or f"{operator.name[6:]}.{key}" in printer.dialect.optional_attrs)
        or not _same_value(value, defaults.get(key, REQUIRED))
    }
    dtypes = {param.name for param in operator.attributes if param.kind == "dtype"}
    return [
        f"{key}={printer.dialect.no_dtype if key in dtypes and value == 'void' else printer.attr_value(value)}"
        for key, value in attrs.items()
    ]


def _same_value(a: Any, b: Any) -> bool:
    """Return whether two attribute values are the same; `1`, `True` and `1.0` are different."""
    return type(a) is type(b) and repr(a) == repr(b)


def _types(printer: Printer, node: relax.Call) -> str:
    """Print the types of results."""
    if not printer.dialect.types_calls or node.op not in _TAKE_MADE_TYPES:
        return printer.tuple(node.sinfo_args)
    texts = [printer.expr(info) for info in node.sinfo_args]
    made = [text if text.endswith(")") else f"{text}()" for text in texts]
    return f"({made[0]},)" if len(made) == 1 else f"({', '.join(made)})"


@prints(relax.Call)
def _call(printer: Printer, node: relax.Call, level: int) -> str:
    op = node.op
    if isinstance(op, Op):
        special = _special_call(printer, node, op)
        if special is not None:
            return special
        callee, arguments = _operator_name(printer, op), []
    elif isinstance(op, relax.ExternFunc) and _is_any_function(op):
        callee, arguments = printer.relax("call_packed"), [string(op.global_symbol)]
    else:
        callee, arguments = printer.expr(op), []
    arguments += [_callee(printer, argument) for argument in node.args[:1]]
    arguments += [printer.expr(argument) for argument in node.args[1:]]
    arguments += _attributes(printer, node)
    if node.sinfo_args or (op == _BUILTIN and printer.dialect.types_calls):
        arguments.append(f"{printer.dialect.sinfo_args}={_types(printer, node)}")
    return f"{callee}({', '.join(arguments)})"
