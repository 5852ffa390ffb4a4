"""Loop-level expressions and types."""

from __future__ import annotations

from functools import partial
from typing import Any, cast

from ...ir import make, tir
from ...ir.base import GlobalVar, Metadata, Op, Target
from ...ir.diagnostics import TvmsError
from ...ir.ops.tile import VALUES
from ...ir.ops.tir import INTRINSICS, OPERATORS, result_dtype
from ...ir.ops.tir_table import Intrinsic
from .literals import string
from .printer import Printer, prints
from .variables import frame_to_declare_in

OR, AND, NOT, COMPARISON, SUM, PRODUCT = range(3, 9)
"""Precedence levels; all expressions but operators have the highest."""

_OPERATORS: dict[type, tuple[str, int, Any]] = {
    tir.Or: ("or", OR, make.logical_or),
    tir.And: ("and", AND, make.logical_and),
    tir.EQ: ("==", COMPARISON, make.equal),
    tir.NE: ("!=", COMPARISON, make.not_equal),
    tir.LT: ("<", COMPARISON, make.less),
    tir.LE: ("<=", COMPARISON, make.less_equal),
    tir.GT: (">", COMPARISON, make.greater),
    tir.GE: (">=", COMPARISON, make.greater_equal),
    tir.Add: ("+", SUM, make.add),
    tir.Sub: ("-", SUM, make.sub),
    tir.Mul: ("*", PRODUCT, make.mul),
    tir.Div: ("/", PRODUCT, make.div),
    tir.FloorDiv: ("//", PRODUCT, make.floordiv),
    tir.FloorMod: ("%", PRODUCT, make.floormod),
}
_CONSTANTS = (tir.IntImm, tir.FloatImm)
_ITER_TYPES = {
    tir.IterVarType.DATA_PAR: "DataPar",
    tir.IterVarType.COMM_REDUCE: "CommReduce",
    tir.IterVarType.ORDERED: "Ordered",
    tir.IterVarType.OPAQUE: "Opaque",
    tir.IterVarType.THREAD_INDEX: "ThreadIndex",
    tir.IterVarType.UNROLLED: "Unrolled",
    tir.IterVarType.VECTORIZED: "Vectorized",
    tir.IterVarType.PARALLELIZED: "Parallelized",
    tir.IterVarType.TENSORIZED: "Tensorized",
}


# --- Operators ------------------------------------------------------------------------------------------------


def _is_operator(node: Any) -> bool:
    """Return whether the infix form parses back to this node, neither folded nor promoted."""
    a, b = node.a, node.b
    kind: type = node.__class__
    if kind is tir.Div and not a.dtype.startswith(("float", "bfloat")):
        return False
    if kind in (tir.And, tir.Or) and a.dtype != "bool":
        return False
    plain = kind not in (tir.FloorDiv, tir.FloorMod) or a.dtype.startswith(("int", "uint"))
    if plain and a.dtype == b.dtype and not isinstance(a, _CONSTANTS) and not isinstance(b, _CONSTANTS):
        return True
    return _makes(_OPERATORS[kind][2], (a, b), node)


def _makes(function: Any, operands: tuple[Any, ...], node: Any) -> bool:
    """Return whether `function(*operands)` builds the same kind of node, with these very operands."""
    try:
        made = function(*operands)
    except (TvmsError, TypeError):  # operands of a wrong dtype or number
        return False
    if type(made) is not type(node) or made.dtype != node.dtype:
        return False
    kept = made.args if isinstance(made, tir.Call) else (made.a, made.b)
    return len(kept) == len(operands) and all(a is b for a, b in zip(kept, operands, strict=True))


def _operand(printer: Printer, node: Any, other: Any, level: int) -> str:
    """Return an operand; in the native dialect a literal whose dtype follows from `other` is plain."""
    if printer.dialect.native and not isinstance(other, _CONSTANTS) and node.dtype == other.dtype:
        if type(node) is tir.IntImm and node.dtype == "int64":
            return str(node.value)
        if type(node) is tir.FloatImm and node.dtype == "float32":
            return printer.value(float(node.value)) if abs(node.value) < float("inf") else printer.expr(node)
    return printer.expr(node, level)


@prints(*_OPERATORS)
def _operator(printer: Printer, node: Any, level: int) -> str:
    """Print a chain of operators of one precedence along its left side, without recursion."""
    precedence = _OPERATORS[type(node)][1]
    if not _is_operator(node):
        return _node_call(printer, node, type(node).__name__)
    chain = [node]
    while precedence != COMPARISON:
        left = chain[-1].a
        if type(left) not in _OPERATORS or _OPERATORS[type(left)][1] != precedence or not _is_operator(left):
            break
        chain.append(left)
    first = chain[-1]
    parts = [_operand(printer, first.a, first.b, precedence + 1)]
    for item in reversed(chain):
        parts.append(f" {_OPERATORS[type(item)][0]} {_operand(printer, item.b, item.a, precedence + 1)}")
    text = "".join(parts)
    return f"({text})" if precedence < level else text


@prints(tir.Not)
def _not(printer: Printer, node: tir.Not, level: int) -> str:
    if isinstance(node.a, _CONSTANTS):
        return f"{printer.tir('Not')}({printer.expr(node.a)})"
    text = f"not {printer.expr(node.a, NOT)}"
    return f"({text})" if level > NOT else text


_FUNCTIONS: dict[type, tuple[str, Any]] = {
    tir.Mod: ("truncmod", make.truncmod),
    tir.Min: ("min", make.minimum),
    tir.Max: ("max", make.maximum),
}


@prints(*_FUNCTIONS)
def _binary_call(printer: Printer, node: tir.BinaryOp, level: int) -> str:
    """Print `T.max(a, b)`, or `T.Max(a, b)` if the former would fold."""
    name, function = _FUNCTIONS[type(node)]
    if isinstance(node.a, _CONSTANTS) or isinstance(node.b, _CONSTANTS) or node.a.dtype != node.b.dtype:
        name = name if _makes(function, (node.a, node.b), node) else type(node).__name__
    return _node_call(printer, node, name)


def _node_call(printer: Printer, node: tir.BinaryOp, name: str) -> str:
    """Return a call such as `T.FloorDiv(a, b)`; of two constants in a graph function, whose literals are int64, with dtypes."""
    operands = [printer.expr(operand) for operand in (node.a, node.b)]
    if printer.in_relax and all(text.lstrip("-").isdigit() for text in operands):
        operands = [f"{printer.tir('int64')}({text})" for text in operands]
    return f"{printer.tir(name)}({', '.join(operands)})"


# --- Literals and variables -----------------------------------------------------------------------------------


@prints(tir.IntImm)
def _int(printer: Printer, node: tir.IntImm, level: int) -> str:
    dtype = node.dtype
    if printer.in_relax and dtype in ("int64", "bool"):
        return str(bool(node.value) if dtype == "bool" else node.value)
    if dtype == "int32" and not printer.in_relax:
        return str(node.value)
    value = bool(node.value) if dtype == "bool" else node.value
    return f"{printer.tir(dtype)}({value})"


@prints(tir.FloatImm)
def _float(printer: Printer, node: tir.FloatImm, level: int) -> str:
    return f"{printer.tir(node.dtype)}({printer.float_text(float(node.value))})"


@prints(tir.StringImm)
def _string(printer: Printer, node: tir.StringImm, level: int) -> str:
    return string(node.value)


@prints(tir.Var, tir.SizeVar)
def _var(printer: Printer, node: tir.Var, level: int) -> str:
    name = printer.names.get(node)
    if name is None:
        return _declare(printer, node)
    return name if isinstance(name, str) else name()


class UsesHandle(Exception):
    """The body uses a handle parameter for which the signature shows a buffer."""

    def __init__(self, handle: tir.Var) -> None:
        self.handle = handle


def _declare(printer: Printer, var: tir.Var) -> str:
    """Declare a variable that no statement defines: at the graph level in the function, else around all its uses."""
    if var in printer.inlined:
        raise UsesHandle(var)
    function = next((frame for frame in printer.frames if frame.is_function), None) if printer.in_relax else None
    if function is not None and function.function_vars is not None:
        function.function_vars.add(var)
    frame = function or frame_to_declare_in(printer, var)
    name = printer.define(var, var.name or "v", frame)
    frame.line(f"{name} = {var_creation(printer, var)}")
    return name


def var_creation(printer: Printer, var: tir.Var) -> str:
    """Return the call that creates a variable, such as `T.int64()` or `T.handle("float32", "global")`."""
    size = ["is_size_var=True"] if type(var) is tir.SizeVar else []
    if isinstance(var.type_annotation, tir.PointerType):
        arguments = _pointer_arguments(printer, var.type_annotation)
        return f"{printer.tir('handle')}({', '.join(arguments + size)})"
    return f"{printer.tir(var.dtype)}({', '.join(size)})"


# --- Types ----------------------------------------------------------------------------------------------------


def type_of(var: tir.Var) -> tir.Type:
    """Return the type of a variable; by default it follows from its dtype."""
    return var.type_annotation or tir.PrimType(var.dtype)


def _pointer_arguments(printer: Printer, node: tir.PointerType) -> list[str]:
    element = node.element_type
    if isinstance(element, tir.PrimType):
        first = string(element.dtype)
    else:
        first = '"tensormap"' if isinstance(element, tir.TensorMapType) else printer.expr(element)
    return [first, string(node.storage_scope)] if node.storage_scope else [first]


@prints(tir.PrimType)
def _prim_type(printer: Printer, node: tir.PrimType, level: int) -> str:
    return printer.tir(node.dtype)


@prints(tir.PointerType)
def _pointer_type(printer: Printer, node: tir.PointerType, level: int) -> str:
    return f"{printer.tir('handle')}({', '.join(_pointer_arguments(printer, node))})"


@prints(tir.TupleType)
def _tuple_type(printer: Printer, node: tir.TupleType, level: int) -> str:
    return f"{printer.tir('Tuple')}({printer.joined(node.fields)})" if node.fields else "None"


@prints(tir.FuncType)
def _func_type(printer: Printer, node: tir.FuncType, level: int) -> str:
    return f"{printer.ir('FuncType')}([{printer.joined(node.arg_types)}], {printer.expr(node.ret_type)})"


@prints(tir.TensorMapType)
def _tensor_map_type(printer: Printer, node: tir.TensorMapType, level: int) -> str:
    return f"{printer.tir('TensorMap')}()"


# --- Calls and the like ---------------------------------------------------------------------------------------


@prints(tir.Call)
def _call(printer: Printer, node: tir.Call, level: int) -> str:
    return call(printer, node, string(node.dtype))


def call(printer: Printer, node: tir.Call, dtype: str) -> str:
    """Return a call; `dtype` is the text of its dtype, if the call has to name it."""
    arguments = [printer.expr(argument) for argument in node.args]
    if isinstance(node.op, GlobalVar):
        callee = printer.expr(node.op)
    else:
        row = INTRINSICS.get(node.op.name)
        is_typed = dtype != string(node.dtype)
        if row is None or not _reads_back(row, node) or (is_typed and row.dtype_location == "none"):
            callee = printer.tir("call_intrin")
            arguments[:0] = [dtype, string(printer.attr_key(node.op.name))]
        else:
            callee = printer.tir(printer.dialect.intrinsics.get(row.script, row.script))
            if row.dtype_location == "first":
                arguments.insert(0, dtype)
            elif row.dtype_location == "last":
                arguments.append(dtype)
    if node.annotations:
        arguments.append(f"annotations={printer.attrs(node.annotations)}")
    return f"{callee}({', '.join(arguments)})"


def _reads_back(row: Intrinsic, node: tir.Call) -> bool:
    """Return whether `T.<name>(…)` parses back to this call: its arguments imply the dtype, and nothing is folded."""
    if not row.in_script or result_dtype(row, node.args) not in (None, node.dtype):
        return False
    operator = OPERATORS.get(row.script)
    if operator is not None and row.dtype_location == "first":
        operator = partial(operator, node.dtype)
    return operator is None or _makes(operator, node.args, node)


def _tile_argument(printer: Printer, value: Any) -> str:
    """Return an argument; all axes of a region are slices, because a point would be an element."""
    if isinstance(value, tir.BufferRegion):
        axes = [f"{printer.expr(axis.min)}:{printer.expr(make.add(axis.min, axis.extent))}" for axis in value.region]
        return f"{printer.expr(value.buffer)}[{', '.join(axes)}]"
    if isinstance(value, tir.IndexMap):
        return function_text(printer, value, value.initial_indices, value.final_indices, single=True)
    if isinstance(value, tuple | list):
        parts = [_tile_argument(printer, part) for part in cast("tuple[Any, ...]", value)]
        return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"
    if isinstance(value, dict):
        items = cast("dict[Any, Any]", value).items()
        return f"{{{', '.join([f'{printer.expr(key)}: {_tile_argument(printer, part)}' for key, part in items])}}}"
    return printer.expr(value)


@prints(tir.TileCall)
def _tile_call(printer: Printer, node: tir.TileCall, level: int) -> str:
    if node.name == ":":
        return ":".join(["" if end == "" else printer.expr(end) for end in node.args])
    arguments = [_tile_argument(printer, argument) for argument in node.args]
    name = node.name.removesuffix("[]")
    head = f"{arguments.pop(0)}{name}" if name.startswith(".") or not name else printer.tir(name)
    if node.name in VALUES:
        return head
    arguments += [f"{name}={_tile_argument(printer, value)}" for name, value in node.keywords.items()]
    return f"{head}[{', '.join(arguments)}]" if node.name.endswith("[]") else f"{head}({', '.join(arguments)})"


@prints(tir.Cast)
def _cast(printer: Printer, node: tir.Cast, level: int) -> str:
    return f"{printer.tir('Cast')}({string(node.dtype)}, {printer.expr(node.value)})"


@prints(tir.Select)
def _select(printer: Printer, node: tir.Select, level: int) -> str:
    return f"{printer.tir('Select')}({printer.joined((node.condition, node.true_value, node.false_value))})"


@prints(tir.Ramp)
def _ramp(printer: Printer, node: tir.Ramp, level: int) -> str:
    return f"{printer.tir('Ramp')}({printer.joined((node.base, node.stride, node.lanes))})"


@prints(tir.Broadcast)
def _broadcast(printer: Printer, node: tir.Broadcast, level: int) -> str:
    return f"{printer.tir('Broadcast')}({printer.joined((node.value, node.lanes))})"


@prints(tir.Shuffle)
def _shuffle(printer: Printer, node: tir.Shuffle, level: int) -> str:
    return f"{printer.tir('Shuffle')}([{printer.joined(node.vectors)}], [{printer.joined(node.indices)}])"


@prints(tir.Let)
def _let(printer: Printer, node: tir.Let, level: int) -> str:
    where = f"{{{printer.expr(node.var)}: {printer.expr(node.value)}}}"
    return f"{printer.tir('Let')}({printer.expr(node.body)}, where={where})"


@prints(tir.Range)
def _range(printer: Printer, node: tir.Range, level: int) -> str:
    room = printer.relax if printer.in_relax else printer.tir
    return f"{room('Range')}({printer.joined((node.min, make.add(node.min, node.extent)))})"


@prints(tir.IterVar)
def _iter_var(printer: Printer, node: tir.IterVar, level: int) -> str:
    kind = string(_ITER_TYPES[node.iter_type])
    return f"{printer.tir('iter_var')}({printer.joined((node.var, node.dom))}, {kind}, {string(node.thread_tag)})"


def function_text(
    printer: Printer, node: object, params: tuple[tir.Var, ...], results: tuple[Any, ...], single: bool
) -> str:
    """Return a lambda; with `single`, a single result is not a tuple."""
    with printer.frame(node, indented=False):
        names = [printer.define(param, param.name or "v") for param in params]
        body = printer.expr(results[0]) if single and len(results) == 1 else printer.tuple(results)
    head = f"lambda {', '.join(names)}" if names else "lambda"
    return f"{head}: {body}"


@prints(tir.CommReducer)
def _comm_reducer(printer: Printer, node: tir.CommReducer, level: int) -> str:
    function = function_text(printer, node, node.lhs + node.rhs, node.result, single=True)
    return f"{printer.tir('comm_reducer')}({function}, [{printer.joined(node.identity_element)}])"


@prints(tir.Reduce)
def _reduce(printer: Printer, node: tir.Reduce, level: int) -> str:
    return (
        f"{printer.tir('reduce')}({printer.expr(node.combiner)}, source=[{printer.joined(node.source)}], "
        f"init=[{printer.joined(node.init)}], axis=[{printer.joined(node.axis)}], "
        f"condition={printer.expr(node.condition)}, value_index={node.value_index})"
    )


@prints(Target)
def _target(printer: Printer, node: Target, level: int) -> str:
    """Print a target; one that is known only by its tag as that tag, whose meaning only TVM knows."""
    host = node.attrs.get("host")
    if set(node.attrs) - {"host"} == {"tag"} and isinstance(node.attrs["tag"], str):
        after = "" if host is None else f", host={printer.attr_value(host)}"
        return f"{printer.tir('target')}({string(node.attrs['tag'])}{after})"
    return f"{printer.tir('target')}({printer.attrs(node.attrs)})"


@prints(tir.IndexMap)
def _index_map(printer: Printer, node: tir.IndexMap, level: int) -> str:
    text = function_text(printer, node, node.initial_indices, node.final_indices, single=False)
    inverse = node.inverse_index_map
    if inverse is not None:
        text += f", inverse_index_map={function_text(printer, inverse, inverse.initial_indices, inverse.final_indices, False)}"
    dtype = node.initial_indices[0].dtype if node.initial_indices else "int64"
    if dtype != "int64":
        text += f", index_dtype={string(dtype)}"
    return f"{printer.tir('index_map')}({text})"


# --- What both levels share -----------------------------------------------------------------------------------


@prints(Op)
def _op(printer: Printer, node: Op, level: int) -> str:
    return f"{printer.ir('Op')}({string(node.name)})"


@prints(Metadata)
def _metadata(printer: Printer, node: Metadata, level: int) -> str:
    printer.omits_metadata = True
    return f"metadata[{string(node.key)}][{node.index}]"
