"""Frames other than loops and blocks: allocations, attributes, bindings, threads; and the statements `T.evaluate` and `T.Return`."""

from __future__ import annotations

from math import prod
from typing import Any

from msgspec.structs import replace

from ...ir import make, tir
from ...ir.base import Op, Span, Trivia
from ...ir.equal import structural_equal
from ...ir.signature import describe
from .convert import (
    Attributes,
    Condition,
    DTypeName,
    Ints,
    Mismatch,
    PrimExpr,
    Shape,
    Text,
    Var,
    argument,
    expression,
    is_dict,
    is_tuple,
)
from .forms import Form, FormUse, Meta, form
from .operators import is_condition
from .tir_blocks import Region
from .tir_frames import Frame, assert_frame, is_message, let_frame

_TRUE = tir.IntImm("bool", 1)


@form("T.func_attr")
def func_attr(site: FormUse, attrs: Attributes) -> None:
    """`T.func_attr({"tir.noalias": True})`: attributes of the function."""
    function = site.function
    for key, value in attrs.items():
        if key in function.attrs:
            raise site.error("E0209", f"the function already has attribute '{key}'")
        function.attrs[key] = value


@form("T.evaluate")
def evaluate(site: FormUse, value: Any) -> tir.Stmt:
    """`T.evaluate(value)`: evaluates an expression for its effect."""
    try:
        return tir.Evaluate(_value(value, site.span), span=site.span)
    except Mismatch:
        raise site.error(
            "E0202", f"argument 1, 'value' to T.evaluate: expected an expression, got {describe(value)}"
        ) from None


def _value(value: Any, span: Span) -> tir.PrimExpr:
    return tir.StringImm("handle", value, span=span) if isinstance(value, str) else expression(value, span)


@form("T.Return")
def return_(site: FormUse, value: PrimExpr) -> tir.Stmt:
    """`T.Return(value)`: the same as `return value`."""
    return tir.Evaluate(tir.Call(value.dtype, Op("tir.ret"), (value,), span=site.span), span=site.span)


@form("T.allocate")
def allocate(
    site: FormUse,
    extents: Shape,
    dtype: DTypeName,
    scope: Text = "global",
    condition: Condition | None = None,
    annotations: Attributes | None = None,
) -> Frame:
    """`A = T.allocate([128], "float32", "shared")`: memory, accessed by a pointer."""
    var = tir.Var("handle", site.first_name, tir.PointerType(tir.PrimType(dtype), scope), span=site.span)
    test = _TRUE if condition is None else condition

    def wrap(body: tir.Stmt, span: Span, trivia: Trivia | None) -> tir.Stmt:
        return tir.Allocate(var, dtype, extents, test, body, annotations or {}, span=span, trivia=trivia)

    return Frame(var, wrap)


@form("T.allocate_const")
def allocate_const(
    site: FormUse, data: Any, dtype: DTypeName, extents: Ints, annotations: Attributes | None = None
) -> Frame:
    """`A = T.allocate_const([1, 2, 3], "int32", [3])`: memory with constant contents."""
    import numpy

    from ...ir.numpy_dtype import numpy_dtype

    try:
        array = numpy.asarray(_plain(data), dtype=numpy_dtype(dtype))
    except (TypeError, ValueError, OverflowError):
        message = f"argument 1, 'data' to T.allocate_const: expected numbers that fit {dtype}"
        raise site.error("E0202", message, node=site.argument("data", 0)) from None
    if array.size == prod(extents):
        array = array.reshape(extents)
    sizes = tuple(tir.IntImm("int32", extent) for extent in extents)
    var = tir.Var("handle", site.first_name, tir.PointerType(tir.PrimType(dtype)), span=site.span)

    def wrap(body: tir.Stmt, span: Span, trivia: Trivia | None) -> tir.Stmt:
        return tir.AllocateConst(var, dtype, sizes, array, body, annotations or {}, span=span, trivia=trivia)

    return Frame(var, wrap)


def _plain(data: Any) -> Any:
    if is_tuple(data):
        return [_plain(element) for element in data]
    return data.value if isinstance(data, tir.IntImm | tir.FloatImm) else data


@form("T.attr")
def attr(site: FormUse, node: Any, attr_key: Text | None = None, value: Any = None) -> Frame:
    """`with T.attr(A.data, "key", value):`, or `T.attr({"key": value})` without a node: an attribute of the body."""
    pairs = node.items() if is_dict(node) else ((attr_key, value),)
    subject = tir.IntImm("int32", 0) if is_dict(node) else node
    if isinstance(subject, str | bool | int | float):
        subject = argument(subject, site.span)
    said = [(_key(site, key), _said(site, item)) for key, item in pairs]

    def wrap(body: tir.Stmt, span: Span, trivia: Trivia | None) -> tir.Stmt:
        for index, (key, expr) in reversed(list(enumerate(said))):
            outer = trivia if index == 0 else None
            body = tir.AttrStmt(subject, key, expr, body, span=span, trivia=outer)
        return body

    return Frame(None, wrap)


def _key(site: FormUse, key: Any) -> str:
    if not isinstance(key, str):
        raise site.error("E0105", "T.attr needs argument 2, 'attr_key'", 'write T.attr(node, "key", value)')
    return key


def _said(site: FormUse, value: Any) -> tir.PrimExpr:
    try:
        return _value(value, site.span)
    except Mismatch:
        message = f"argument 3, 'value' to T.attr: expected an expression, got {describe(value)}"
        raise site.error("E0202", message, node=site.argument("value", 2)) from None


@form("T.realize")
def realize(site: FormUse, buffer_slice: Region, storage_scope: Text, condition: Condition = _TRUE) -> Frame:
    """`T.realize(A[0:16], "local")`: the region of a buffer that is allocated."""
    buffer = buffer_slice.buffer

    def wrap(body: tir.Stmt, span: Span, trivia: Trivia | None) -> tir.Stmt:
        inner = tir.BufferRealize(buffer, buffer_slice.region, condition, body, span=span)
        scope = tir.StringImm("handle", storage_scope)
        return tir.AttrStmt(buffer, "realize_scope", scope, inner, span=span, trivia=trivia)

    return Frame(None, wrap)


@form("T.Assert")
def assert_stmt(site: FormUse, condition: Condition, message: Any) -> Frame:
    """`with T.Assert(n > 0, "n is positive"):`: an `assert` with an explicit body."""
    if not is_condition(condition):
        raise site.error("E0406", f"expected a bool condition, got {condition.dtype}", help="compare it with a value")
    if not is_message(message):
        help = 'write "wrong size", or ("ValueError", ["wrong ", "size"])'
        place = site.argument("message", 1)
        raise site.error("E0202", f"expected a string, got {describe(message)}", help, place)
    return assert_frame(condition, message)


# --- Bindings -------------------------------------------------------------------------------------------------


@form("T.LetStmt")
def let_stmt(site: FormUse, value: PrimExpr, type_annotation: Any = None, *, var: Var | None = None) -> Frame:
    """`with T.LetStmt(value) as x:`, or with a given variable: `T.LetStmt(value, var=x)`."""
    if var is None and isinstance(type_annotation, Form):
        type_annotation = type_annotation.call(site, (), ())
    if not isinstance(type_annotation, tir.Var | tir.Type | None):
        message = f"argument 2, 'type_annotation' to {site.name}: expected a type, got {describe(type_annotation)}"
        raise site.error("E0202", message, "write a type, such as T.int32", site.argument("type_annotation", 1))
    if var is None and isinstance(type_annotation, tir.Var):
        var = tir.Var(type_annotation.dtype, site.first_name, type_annotation.type_annotation, span=site.span)
    return let_frame(tir.Var(value.dtype, site.first_name, span=site.span) if var is None else var, value)


@form("T.meta_var", "I.meta_var")
def meta_var(site: FormUse, value: Any) -> Any:
    """`x = T.meta_var(value)`: another name for a value, not a variable."""
    return value if site.target is None else Meta(value)


@form("T.bind", "T.Bind")
def bind(site: FormUse, value: PrimExpr, type_annotation: Any = None, *, var: Var | None = None) -> Frame:
    """`x = T.bind(value)`, the newer name of `T.LetStmt`."""
    return let_stmt(site, value, type_annotation, var=var)


@form("T.Let")
def let_expr(site: FormUse, expr: PrimExpr, where: Any) -> tir.PrimExpr:
    """`T.Let(x + x, where={x: value})`: an expression in which a variable is bound to a value."""
    if not is_dict(where) or len(where) != 1:
        raise site.error("E0202", "argument 2, 'where' to T.Let: expected one variable and its value, as in {x: 1}")
    [(var, value)] = where.items()
    if not isinstance(var, tir.Var):
        raise site.error("E0202", f"T.Let binds a variable, not {describe(var)}")
    bound = make.const(value, var.dtype) if isinstance(value, int | float) else expression(value, site.span)
    return tir.Let(expr.dtype, var, bound, expr, span=site.span)


@form("T.let")
def let(site: FormUse, v: Var, value: PrimExpr, body: PrimExpr | None = None) -> Frame | tir.PrimExpr:
    """`with T.let(x, value):`, or with a body the expression (the older spelling of T.LetStmt and T.Let)."""
    return let_frame(v, value) if body is None else tir.Let(body.dtype, v, value, body, span=site.span)


# --- Threads --------------------------------------------------------------------------------------------------


ITERATORS = {
    "DataPar": tir.IterVarType.DATA_PAR, "CommReduce": tir.IterVarType.COMM_REDUCE,
    "Ordered": tir.IterVarType.ORDERED, "DimInfo": tir.IterVarType.OPAQUE, "Opaque": tir.IterVarType.OPAQUE,
    "ThreadIndex": tir.IterVarType.THREAD_INDEX, "Unrolled": tir.IterVarType.UNROLLED,
    "Vectorized": tir.IterVarType.VECTORIZED, "Parallelized": tir.IterVarType.PARALLELIZED,
    "Tensorized": tir.IterVarType.TENSORIZED,
}  # fmt: skip
"""Kinds of iterators, by the names that `T.iter_var` takes."""


@form("T.iter_var")
def iter_var(site: FormUse, v: Any, dom: Any, iter_type: Text, thread_tag: Text) -> tir.IterVar:
    """`T.iter_var(tx, T.Range(0, 128), "ThreadIndex", "threadIdx.x")`: an iterator, for `T.attr`."""
    if iter_type not in ITERATORS:
        message = f"argument 3, 'iter_type' to T.iter_var: expected one of {', '.join(ITERATORS)}, got '{iter_type}'"
        raise site.error("E0202", message, node=site.argument("iter_type", 2))
    if not isinstance(v, tir.Var | str) or not isinstance(dom, tir.Range | None):
        raise site.error("E0202", "T.iter_var: expected a variable or its name, and a range or None")
    var = tir.Var("int32", v, span=site.span) if isinstance(v, str) else v
    return replace(iterator(var, dom, iter_type, thread_tag), span=site.span)


def iterator(v: tir.Var | str, dom: tir.Range | None, iter_type: str, thread_tag: str) -> tir.IterVar:
    """Return the node of `T.iter_var`, also for calls in Python; the name of a variable becomes one of int32."""
    var = tir.Var("int32", v) if isinstance(v, str) else v
    return tir.IterVar(dom, var, ITERATORS[iter_type], thread_tag)


@form("T.env_thread")
def env_thread(site: FormUse, thread_tag: Text, dtype: DTypeName = "int32") -> tir.Var:
    """`tx = T.env_thread("threadIdx.x")`: a thread index, launched later."""
    var = tir.Var(dtype, site.first_name, span=site.span)
    site.function.threads[var] = tir.IterVar(None, var, tir.IterVarType.THREAD_INDEX, thread_tag, span=site.span)
    return var


@form("T.launch_thread")
def launch_thread(site: FormUse, thread: Any, extent: PrimExpr) -> Frame:
    """`with T.launch_thread("blockIdx.x", 128) as bx:`, or `T.launch_thread(tx, 128)` of an env_thread."""
    if isinstance(thread, str):
        thread = env_thread(site, thread, extent.dtype)
    threads: dict[tir.Var, tir.IterVar] = site.function.threads
    if not isinstance(thread, tir.Var) or thread not in threads:
        help = 'create it with T.env_thread("threadIdx.x")'
        raise site.error("E0202", f"expected a thread, got {describe(thread)}", help, site.argument("thread", 0))
    axis = threads[thread]
    if axis.dom is None:
        dom = tir.Range(make.const(0, extent.dtype), extent)
        axis = threads[thread] = tir.IterVar(dom, thread, axis.iter_type, axis.thread_tag, span=axis.span)
    elif not structural_equal(axis.dom.extent, extent):
        raise site.error("E0202", f"thread '{thread.name}' was already launched with another extent")
    key = "virtual_thread" if axis.thread_tag == "vthread" else "thread_extent"

    def wrap(body: tir.Stmt, span: Span, trivia: Trivia | None) -> tir.Stmt:
        return tir.AttrStmt(axis, key, extent, body, span=span, trivia=trivia)

    return Frame(thread, wrap)
