"""Loop functions: `T.prim_func`."""

from __future__ import annotations

from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ...ir import relax, tir
from ...ir.base import Attrs, GlobalVar
from ...ir.buffers import is_allocation_of, is_plain
from ...ir.ops.tile import PERSISTENT
from ...ir.signature import describe
from ...ir.visit import children, rewrite, walk
from .. import syntax
from .context import Context, Failed
from .convert import Flag
from .expressions import apply, evaluate
from .forms import Form, FormUse, form
from .signatures import check_no_value, check_private, matched_annotation, type_variables
from .tir_assignments import build_annotation
from .tir_frames import FunctionFrame
from .tir_statements import build_statements, joined

_TRUE = tir.IntImm("bool", 1)


class PrimFuncHead(Struct, frozen=True):
    """What the head of a loop function says."""

    private: bool
    attrs: Attrs
    s_tir: bool


@form("T.prim_func")
def prim_func(
    site: FormUse,
    func: Any = None,
    private: Flag = False,
    check_well_formed: Flag = True,
    s_tir: Flag | None = None,
    persistent: Flag = False,
) -> PrimFuncHead:
    """`T.prim_func(private=True) f(…):` opens a loop function.

    `s_tir=False` says that it has no blocks, which a function for TVM after 0.21 says by leaving it out.
    """
    attrs: Attrs = {PERSISTENT: True} if persistent else {}
    return PrimFuncHead(private, attrs, not site.context.is_newer_tvm if s_tir is None else s_tir)


def declare_prim_func(context: Context, definition: syntax.Definition) -> GlobalVar:
    """Return the reference to a function whose body is not built yet, with the type of its result."""
    reported = len(context.diagnostics)
    try:
        returned = return_type(context, definition.returns)
    except Failed:
        returned = None
        del context.diagnostics[reported:]
    is_scalar = isinstance(returned, tir.PrimType)
    ret = relax.PrimStructInfo(returned.dtype) if is_scalar else relax.TupleStructInfo(())
    return GlobalVar(definition.name, struct_info=relax.FuncStructInfo(None, ret, purity=False))


def build_prim_func(context: Context, definition: syntax.Definition) -> tir.PrimFunc:
    """Return the function that `definition` defines; report all its errors, then raise Failed."""
    reported, outer = len(context.diagnostics), context.tir
    function = context.tir = FunctionFrame(context.scope.depth)
    try:
        with context.scope.frame():
            head = _head(context, definition.head)
            function.attrs |= head.attrs
            returned = _recovered_return_type(context, definition)
            _define_dimensions(context, function, definition)
            _build_params(context, function, definition)
            build_statements(context, definition.body)
            body, comments = function.body.close()
            body = _without_unused_names(function, completed(function, body))
    finally:
        context.tir = outer
    if head.private and "global_symbol" in function.attrs:
        check_private(context, definition)
    if len(context.diagnostics) > reported:
        raise Failed
    attrs = function.attrs
    if not head.private:
        attrs.setdefault("global_symbol", definition.name)
    return tir.PrimFunc(
        tuple(function.params), body, returned, function.buffer_map,
        s_tir=head.s_tir, attrs=attrs, span=context.span(definition), trivia=joined(definition.trivia, comments),
    )  # fmt: skip


def _head(context: Context, head: syntax.Expr | None) -> PrimFuncHead:
    assert head is not None
    value = evaluate(context, head)
    return apply(FormUse(context, head, value.name), value, (), ()) if isinstance(value, Form) else value


def return_type(context: Context, node: syntax.Expr | None) -> tir.Type | None:
    """Return the type that a function's `-> T.int32` names; None if it returns nothing."""
    value = None if node is None else evaluate(context, node)
    if node is None or value is None:
        return None
    if isinstance(value, Form):
        value = value.call(FormUse(context, node, value.name), (), ())
    if isinstance(value, tir.Var):
        return value.type_annotation or tir.PrimType(value.dtype)
    message = f"a loop function returns a scalar or nothing, not {describe(value)}"
    help = "write -> T.int32, or remove the annotation and store results in buffer parameters"
    raise context.error("E0208", message, node, help)


def _recovered_return_type(context: Context, definition: syntax.Definition) -> tir.Type | None:
    with context.recover():
        return return_type(context, definition.returns)
    return None


def _define_dimensions(context: Context, function: FunctionFrame, definition: syntax.Definition) -> None:
    function.dimensions = type_variables(context, definition)
    for name, var in function.dimensions.items():
        context.scope.define(name, var)


def _build_params(context: Context, function: FunctionFrame, definition: syntax.Definition) -> None:
    seen: set[str] = set()
    for param in definition.params or ():
        with context.recover((param.name,)), context.signature():
            if param.name in seen:
                raise context.error("E0208", f"two parameters are called '{param.name}'", param, "rename one of them")
            seen.add(param.name)
            built = _build_param(context, function, param, definition)
            context.scope.define(param.name, built, "parameter")


def _build_param(
    context: Context, function: FunctionFrame, param: syntax.Param, definition: syntax.Definition
) -> tir.Var | tir.Buffer:
    check_no_value(context, param)
    if param.annotation is None:
        help = f'write {param.name}: T.Buffer((128,), "float32"), {param.name}: T.handle or {param.name}: T.int32'
        raise context.error("E0208", f"parameter '{param.name}' has no type", param, help)
    name = syntax.Name(param.name, start=param.start, end=param.start + len(param.name))
    value = build_annotation(context, matched_annotation(context, definition, param.annotation), name)
    if isinstance(value, tir.Buffer):
        handle = tir.Var("handle", f"{param.name}_handle", span=context.span(name))
        function.params.append(handle)
        function.buffer_map[handle] = value
        return value
    if isinstance(value, tir.Var):
        value = function.dimensions.get(param.name, value)
        function.params.append(value)
        return value
    message = f"expected a buffer, a handle or a scalar for parameter '{param.name}', got {describe(value)}"
    raise context.error("E0208", message, param.annotation)


def _without_unused_names(function: FunctionFrame, body: tir.Stmt) -> tir.Stmt:
    """Remove the declarations of allocated buffers of which only the memory is used.

    A declaration stays if it says more than an allocation does, and if a buffer that is like it follows, lest that one be
    taken for the allocated one.
    """
    if not function.allocated_buffers:
        return body
    users = [node for node in walk(body) if not isinstance(node, tir.DeclBuffer)]
    used = {child for node in users for child in children(node) if isinstance(child, tir.Buffer)}
    unused = {made for made in function.allocated_buffers if is_plain(made)} - used
    for node in users:
        match node:
            case tir.Allocate(body=tir.DeclBuffer(buffer=first, body=tir.DeclBuffer(buffer=second) as inner)):
                if second in used and is_allocation_of(node, inner):
                    unused.discard(first)
            case _:
                pass

    def undeclared(node: Any) -> tir.Stmt | None:
        return node.body if isinstance(node, tir.DeclBuffer) and node.buffer in unused else None

    return rewrite(body, undeclared) if unused else body


def completed(function: FunctionFrame, body: tir.Stmt) -> tir.Stmt:
    """Put the root block around a body that has blocks or allocates buffers (TVM: `ScriptComplete`)."""
    is_root = isinstance(body, tir.BlockRealize) and not body.block.iter_vars
    if function.root_buffers or (function.has_block and not is_root):
        root = tir.Block((), (), (), "root", body, alloc_buffers=tuple(function.root_buffers))
        return tir.BlockRealize((), _TRUE, root)
    if isinstance(body, tir.BlockRealize) and function.last_block_as_written is not None:
        return replace(body, block=function.last_block_as_written)
    return body
