"""Calls of intrinsics: one form for every row of `ir.ops.tir`, and forms that are more than a call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import update_wrapper
from typing import Any

from ...ir import make, tir
from ...ir.base import Node, Op, Target, target_attributes
from ...ir.dtype import is_dtype
from ...ir.ops import tir as ops
from ...ir.signature import Signature, describe, wrong_kind
from ...ir.spelling import did_you_mean
from ..printer.dialects import DIALECTS, NAMES_OF_025
from . import remedies
from .convert import (
    CONVERTERS,
    Argument,
    Attributes,
    Condition,
    DTypeName,
    Mismatch,
    PrimExpr,
    Text,
    argument,
    is_dict,
    is_tuple,
)
from .forms import NAMESPACES, Form, FormFamily, FormParameter, FormUse, dtype_name, form, register, signature_of


def _intrinsic_form(name: str, row: ops.Intrinsic) -> Form:
    def build(site: FormUse, *args: Any, **named: Any) -> tir.PrimExpr:
        dtype, values = _split_dtype(site, row, args, named)
        return ops.build(
            row,
            [_argument(site, value, index) for index, value in enumerate(values)],
            {key: _argument(site, value, 0, key) for key, value in named.items() if key != "dtype"},
            dtype,
            site.span,
        )

    build.__doc__ = row.doc
    return Form(f"T.{name}", build, signature_of(build))


def _split_dtype(
    site: FormUse, row: ops.Intrinsic, args: Sequence[Any], named: dict[str, Any]
) -> tuple[str | None, Sequence[Any]]:
    """Return the dtype given in the call, and the other arguments."""
    place = row.dtype_location
    if place == "none":
        return None, args
    if "dtype" in named:
        return _dtype(site, named["dtype"], site.argument("dtype", 0)), args
    if not args:
        return None, args
    if place == "first" and row.script in _DTYPE_FROM:
        said = args[0]
        if not (isinstance(said, str) and is_dtype(said)) and not isinstance(said, Form):
            return _implied_dtype(args[min(_DTYPE_FROM[row.script], len(args) - 1)]), args
    index = 0 if place == "first" else len(args) - 1
    rest = args[1:] if place == "first" else args[:-1]
    return _dtype(site, args[index], site.argument("", index)), rest


_DTYPE_FROM = {"ptx_mma": 5, "ptx_ldmatrix": 3}
"""Intrinsics whose dtype TVM after 0.21 leaves out, with the position of the argument that implies it."""


def _implied_dtype(argument: Any) -> str:
    """Return the dtype that an argument names, or that of the elements that it points to."""
    kind = argument.type_annotation if isinstance(argument, tir.Var) else None
    element = kind.element_type if isinstance(kind, tir.PointerType) else None
    if isinstance(element, tir.PrimType):
        return element.dtype
    return argument if isinstance(argument, str) and is_dtype(argument) else "handle"


def _dtype(site: FormUse, value: Any, node: Any) -> str:
    if value == "":
        return "void"
    try:
        return dtype_name(value, None)
    except Mismatch as mismatch:
        message = wrong_kind(site.name, None, "dtype", mismatch.expected, describe(value))
        help = remedies.argument(site.name, "dtype", value) or mismatch.help
        raise site.error("E0202", message, help, node) from None


def _argument(site: FormUse, value: Any, index: int, name: str = "") -> tir.PrimExpr | Node:
    try:
        return argument(value, site.span)
    except Mismatch as mismatch:
        message = wrong_kind(site.name, None if name else index + 1, name, mismatch.expected, describe(value))
        raise site.error("E0202", message, mismatch.help, site.argument(name, index)) from None


def _operator_form(name: str, operator: Callable[..., tir.PrimExpr]) -> Form:
    """Return the form of an operator on expressions that promotes and folds."""
    names = operator.__code__.co_varnames[: operator.__code__.co_argcount - 1]

    def build(site: FormUse, *args: tir.PrimExpr, dtype: Any = None, **named: tir.PrimExpr) -> tir.PrimExpr:
        return operator(*args, **named, span=site.span)

    update_wrapper(build, operator, assigned=("__doc__",))
    parameters = [FormParameter(key, convert=CONVERTERS["PrimExpr"]) for key in names]
    dtype = FormParameter("dtype", False, "named", convert=CONVERTERS["Any"])
    return Form(f"T.{name}", build, Signature([*parameters, dtype]))


for _row in ops.INTRINSICS.values():
    register(f"T.{_row.script}", _intrinsic_form(_row.script, _row))
for _name in ("tvm_call_packed", "tvm_call_cpacked", "tvm_call_packed_lowered", "tvm_call_cpacked_lowered"):
    _found = ops.find_script(_name)
    assert _found is not None
    register(f"T.{_name}", _intrinsic_form(_name, _found))
for _name, _operator in ops.OPERATORS.items():
    if _name not in NAMESPACES["T"].members or ops.find_script(_name) is not None:
        register(f"T.{_name}", _operator_form(_name, _operator))


@form("T.tvm_storage_sync")
def tvm_storage_sync(site: FormUse, storage_scope: Text, is_load: Any = False, num_blocks: Any = -1) -> tir.PrimExpr:
    """`T.tvm_storage_sync("shared")`: synchronize all threads that share the scope. TVM prints two defaults after it."""
    row = ops.INTRINSICS["tir.tvm_storage_sync"]
    if _is_integer(is_load, 0) and _is_integer(num_blocks, -1):
        return ops.build(row, (_argument(site, storage_scope, 0),), span=site.span)
    help = "leave out the arguments after the scope: the others are for threads of several blocks"
    raise site.error("E0202", f"{site.name} takes a scope", help)


def _is_integer(value: Any, expected: int) -> bool:
    return (
        bool(value == expected) if isinstance(value, int) else isinstance(value, tir.IntImm) and value.value == expected
    )


@form("T.if_then_else")
def if_then_else(site: FormUse, cond: Condition, t: PrimExpr, f: PrimExpr, *, dtype: Any = None) -> tir.PrimExpr:
    """`T.if_then_else(condition, a, b)`: evaluates only one side."""
    return make.if_then_else(cond, t, f, site.span)


@form("T.min_value")
def min_value(site: FormUse, dtype: DTypeName) -> tir.PrimExpr:
    """`T.min_value("float32")`: the least finite value."""
    return make.min_value(dtype, site.span)


@form("T.max_value")
def max_value(site: FormUse, dtype: DTypeName) -> tir.PrimExpr:
    """`T.max_value("float32")`: the greatest finite value."""
    return make.max_value(dtype, site.span)


@form("T.infinity")
def infinity(site: FormUse, dtype: DTypeName) -> tir.PrimExpr:
    """`T.infinity("float32")`: positive infinity."""
    return make.infinity(dtype, site.span)


@form("T.reinterpret")
def reinterpret(site: FormUse, *args: Any, dtype: Any = None) -> tir.PrimExpr:
    """`T.reinterpret("int32", x)`, or `T.reinterpret(x, dtype="int32")`: the bits of `x` as another dtype."""
    row = ops.INTRINSICS["tir.reinterpret"]
    target, values = _split_dtype(site, row, args, {} if dtype is None else {"dtype": dtype})
    if target is None or len(values) != 1:
        raise site.error("E0105", "T.reinterpret takes a dtype and one value", 'write T.reinterpret("int32", x)')
    value = _argument(site, values[0], 1)
    assert isinstance(value, tir.PrimExpr)
    return make.reinterpret(target, value, site.span)


@form("T.address_of")
def address_of(site: FormUse, obj: Any, *, dtype: Any = None) -> tir.PrimExpr:
    """`T.address_of(A[0])`: a pointer to an element; of a buffer, to its first element."""
    if isinstance(obj, tir.Buffer):
        obj = make.buffer_load(obj, [make.const(0, extent.dtype) for extent in obj.shape], span=site.span)
    return make.call("tir.address_of", (_argument(site, obj, 0),), "handle", site.span)


@form("T.llvm_lookup_intrinsic_id")
def llvm_lookup_intrinsic_id(site: FormUse, name: Text) -> str:
    """`T.llvm_lookup_intrinsic_id("llvm.fma.f32")`: an intrinsic of LLVM, by name."""
    return name


@form("T.call_intrin")
def call_intrin(site: FormUse, dtype: Any, func_name: Text, *args: Argument) -> tir.Call:
    """`T.call_intrin("int32", "tir.clz", x)`: a call of an intrinsic by its registered name."""
    func_name = func_name.replace("tirx.", "tir.", 1)
    if ops.get(func_name) is None:
        external = f'T.call_extern("{dtype if isinstance(dtype, str) else "float32"}", "name", …) calls a C function'
        help = did_you_mean(func_name, ops.INTRINSICS) or f"see docs/language.md for the intrinsics; {external}"
        raise site.error("E0103", f"unknown intrinsic '{func_name}'", help, site.argument("func_name", 1))
    name = _dtype(site, dtype, site.argument("dtype", 0))
    return tir.Call(name, Op(func_name), args, span=site.span)


@form("T.Call")
def call_node(site: FormUse, dtype: Any, op: Any, args: Any = None, *, ret_ty: Any = None) -> tir.Call:
    """`T.Call("handle", "tir.tvm_tuple", [x])`: the plain node. The newest TVM writes `T.Call(op, args, ret_ty=…)`."""
    if ret_ty is not None:
        dtype, op, args = ret_ty, dtype, op
    values = args if is_tuple(args) else (args,)
    if isinstance(op, str):
        return call_intrin(site, dtype, op, *[_argument(site, value, 2) for value in values])
    if not isinstance(op, Node):
        raise site.error("E0202", f"argument 2, 'op' to T.Call: expected the name of an intrinsic, got {describe(op)}")
    arguments = tuple([_argument(site, value, 2) for value in values])
    return tir.Call(_dtype(site, dtype, site.node), op, arguments, span=site.span)  # type: ignore[reportArgumentType]


def _packed_form(name: str) -> Form:
    """Return the form of a call of a registered function: a buffer argument is passed as a tensor."""
    row = ops.find_script(name)
    assert row is not None

    def build(site: FormUse, *args: Any, dtype: Any = None) -> tir.Call:
        values = [
            value if isinstance(value, tir.Buffer) else _argument(site, value, index)
            for index, value in enumerate(args)
        ]
        return ops.build(row, values, span=site.span)

    build.__doc__ = row.doc
    return Form(f"T.{name}", build, signature_of(build))


for _name in ops.PACKED_CALLS:
    register(f"T.{_name}", _packed_form(_name))


@form("T.target", "I.target")
def target(site: FormUse, target_config: Any, host: Any = None) -> Target:
    """`T.target({"kind": "cuda"}, host="llvm")`: a target of the compiler."""
    config = config_of(site, target_config, 0)
    return Target(config if host is None else {**config, "host": config_of(site, host, 1)}, span=site.span)


def config_of(site: FormUse, config: Any, index: int) -> Attributes:
    """Return a target as attributes: "llvm -mcpu=native" gives kind and mcpu, "nvidia/a100" the tag."""
    if isinstance(config, Target):
        return config.attrs
    if is_dict(config):
        return config
    if not isinstance(config, str) or not config.strip():
        message = f"{site.name}: expected the kind of a target or a dict of its attributes, got {describe(config)}"
        raise site.error("E0202", message, node=site.argument("", index))
    return target_attributes(config)


for _newer, _name in (
    *((newer, name) for name, newer in DIALECTS["tvm-0.27"].intrinsics.items()),
    *NAMES_OF_025.items(),
):
    register(f"T.{_newer}", NAMESPACES["T"].members[_name])
_copy: Form = NAMESPACES["T"].members["ptx_cp_async"]
register("T.s_tir.cp_async_raw", FormFamily(_copy.name, _copy.build, _copy.signature, {"legacy": _copy}))
