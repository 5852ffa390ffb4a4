"""Loop-level statements other than blocks and stores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ...ir import make, tir
from ...ir.base import Op, Trivia
from ...ir.buffers import is_allocation_of, is_plain
from ...ir.dtype import lanes_of, parse_dtype
from ...ir.ops import tile
from ...ir.visit import children, walk
from .buffers import declaration, define_buffer, is_constant, producer_name, slices
from .expressions import call, type_of
from .literals import string
from .printer import Printer, prints_lines, take_end_comments
from .variables import frame_to_declare_in, holds_all_uses, variables_in

_NAMED_LANES = (1, 4, 8, 16, 32, 64)
"""Lanes of the vector dtypes that have a name in TVM's `T`."""
_RET = Op("tir.ret")
_JUMPS: dict[object, str] = {Op("tir.break_loop"): "break", Op("tir.continue_loop"): "continue"}
_LOOPS = {
    tir.ForKind.SERIAL: "serial",
    tir.ForKind.PARALLEL: "parallel",
    tir.ForKind.VECTORIZED: "vectorized",
    tir.ForKind.UNROLLED: "unroll",
    tir.ForKind.THREAD_BINDING: "thread_binding",
}


def body(printer: Printer, stmt: tir.Stmt, is_rest: bool = True) -> None:
    """Add the lines of a body to the innermost frame; with `is_rest`, nothing follows it there (TVM: `AsDocBody`)."""
    frame = printer.frames[-1]
    stmts = stmt.seq if isinstance(stmt, tir.SeqStmt) else (stmt,)
    if isinstance(stmt, tir.SeqStmt) and stmt.trivia is not None:
        frame.lines.extend([frame.indent + comment for comment in stmt.trivia.before])
    last = len(stmts) - 1
    for index, item in enumerate(stmts):
        frame.concise = is_rest and index == last
        printer.statement(item)


class _Scope(Struct, frozen=True):
    """The text of a statement that opens a scope: `with head as name:` around the body, or `line` before it."""

    head: str
    line: Callable[[str], str] | None = None
    """Returns the line for a name; by default `name = head`, or `head` alone if there is no name."""
    name: Callable[[], str] | None = None
    """Defines the name of the statement's value, and returns it."""


def _add_scope(printer: Printer, node: tir.Stmt, inner: tir.Stmt, scope: _Scope) -> None:
    """Add a statement with a scope: as a plain line if its scope is the rest of the enclosing one, else as a `with`
    (TVM: `DoConciseScoping`).
    """
    if printer.frames[-1].concise:
        name = scope.name() if scope.name is not None else ""
        line = scope.line(name) if scope.line is not None else f"{name} = {scope.head}" if name else scope.head
        trivia = node.trivia or Trivia()
        printer.add(line, Trivia(trivia.before, trivia.after))
        body(printer, inner)
        frame = printer.frames[-1]
        frame.lines.extend([frame.indent + comment for comment in trivia.end])
        return
    with printer.frame(node) as frame:
        name = f" as {scope.name()}" if scope.name is not None else ""
        body(printer, inner)
    printer.add(f"with {scope.head}{name}:", node.trivia, frame)


def _define(printer: Printer, var: tir.Var) -> Callable[[], str]:
    return lambda: printer.define(var, var.name or "v")


@prints_lines(tir.SeqStmt)
def _seq(printer: Printer, node: tir.SeqStmt) -> None:
    with printer.frame(node, indented=False) as frame:
        body(printer, node)
    printer.frames[-1].lines.append(frame.lines)


@prints_lines(tir.Evaluate)
def _evaluate(printer: Printer, node: tir.Evaluate) -> None:
    value = node.value
    if isinstance(value, tir.Call) and value.op in _JUMPS and not value.args:
        text = _JUMPS[value.op]
    elif isinstance(value, tir.Call) and value.op == _RET and len(value.args) == 1:
        text = f"return {printer.expr(value.args[0])}"
    elif isinstance(value, tir.Call | tir.TileCall):
        text = printer.expr(value)
    else:
        text = f"{printer.tir('evaluate')}({printer.expr(value)})"
    printer.add(text, node.trivia)


@prints_lines(tir.LetStmt)
def _let(printer: Printer, node: tir.LetStmt) -> None:
    kind = type_of(node.var)
    if isinstance(node.value, tir.TileCall) and node.value.name in tile.SCOPE_IDS and printer.frames[-1].concise:
        return _scope_ids(printer, node, node.value)
    annotation = printer.expr(kind)
    if printer.dialect.types_calls and isinstance(kind, tir.PointerType) and isinstance(node.value, tir.Call):
        value = call(printer, node.value, f"{annotation}.ty")
    else:
        value = printer.expr(node.value)
    known = printer.name_of(node.var)
    if known is not None and printer.dialect.types_calls and printer.frames[-1].concise:
        _add_scope(printer, node, node.body, _Scope(f"{printer.tir('Bind')}({value}, var={known})"))
        return None
    if known is not None:
        with printer.frame(node) as frame:
            body(printer, node.body)
        printer.add(f"with {printer.tir('LetStmt')}({value}, var={known}):", node.trivia, frame)
        return None
    is_tuple = isinstance(kind, tir.TupleType) and not kind.fields
    shown = "" if is_tuple else _annotation(printer, kind, annotation)
    second = "" if is_tuple or isinstance(kind, tir.PrimType) else f", {annotation}"
    head = f"{printer.tir('LetStmt')}({value}{second})"
    _add_scope(
        printer, node, node.body, _Scope(head, lambda name: f"{name}{shown} = {value}", _define(printer, node.var))
    )
    return None


def _annotation(printer: Printer, kind: tir.Type, text: str) -> str:
    """Return the annotation of a binding, with its colon. In TVM after 0.21, one without any would be a mutable scalar."""
    dtype = kind.dtype if isinstance(kind, tir.PrimType) else "handle"
    has_name = lanes_of(dtype) in _NAMED_LANES and not parse_dtype(dtype).scalable
    if printer.dialect.types_calls and (not has_name or text == printer.tir("handle")):
        return f": {printer.tir('let')}"
    return f": {printer.dialect.let.format(text)}" if has_name else ""


def _scope_ids(printer: Printer, node: tir.LetStmt, call: tir.TileCall) -> None:
    """Add the bindings of all components of one `T.cta_id`, as far as they follow each other, as one line."""
    names: list[str] = []
    inner: tir.Stmt = node
    extents: Any = call.args[0] if call.args else call.keywords.get("extents")
    for index in range(len(extents) if isinstance(extents, tuple) else 1):  # type: ignore[reportUnknownArgumentType]
        value = inner.value if isinstance(inner, tir.LetStmt) else None
        is_next = (
            isinstance(value, tir.TileCall) and value.span == call.span and value.keywords.get("component", 0) == index
        )
        if isinstance(inner, tir.LetStmt) and is_next:
            names.append(printer.define(inner.var, inner.var.name or "v"))
            inner = inner.body
        else:
            names.append("_")
    said = tir.TileCall(call.dtype, call.name, call.args, {k: v for k, v in call.keywords.items() if k != "component"})
    _add_scope(printer, node, inner, _Scope(f"{', '.join(names)} = {printer.expr(said)}"))


@prints_lines(tir.AssertStmt)
def _assert(printer: Printer, node: tir.AssertStmt) -> None:
    condition, message = printer.expr(node.condition), printer.expr(node.message)
    if node.parts:
        message = f"({string(node.kind)}, [{', '.join([string(part) for part in node.parts])}])"
    head = f"{printer.tir('Assert')}({condition}, {message})"
    _add_scope(printer, node, node.body, _Scope(head, lambda _: f"assert {condition}, {message}"))


@prints_lines(tir.While)
def _while(printer: Printer, node: tir.While) -> None:
    condition = printer.expr(node.condition)
    with printer.frame(node) as frame:
        body(printer, node.body)
    printer.add(f"while {condition}:", node.trivia, frame)


@prints_lines(tir.IfThenElse)
def _if(printer: Printer, node: tir.IfThenElse) -> None:
    condition = printer.expr(node.condition)
    with printer.frame(node.then_case) as then_frame:
        body(printer, node.then_case)
    trivia = node.trivia
    if node.else_case is None:
        printer.add(f"if {condition}:", trivia, then_frame)
        return
    with printer.frame(node.else_case) as else_frame:
        else_frame.lines.extend(take_end_comments(then_frame))
        body(printer, node.else_case)
    printer.add(f"if {condition}:", trivia and Trivia(trivia.before, trivia.after), then_frame)
    printer.add("else:", trivia and Trivia(end=trivia.end), else_frame)


# --- Loops ----------------------------------------------------------------------------------------------------


def _grid(loop: tir.For) -> list[tir.For]:
    """Return the loops, from `loop` inwards, that one `T.grid` covers; an inner loop with comments has its own line."""
    loops: list[tir.For] = []
    variables: set[object] = set()
    inner: tir.Stmt = loop
    while isinstance(inner, tir.For):
        plain = inner.kind is tir.ForKind.SERIAL and is_constant(inner.min, 0) and not inner.annotations
        if not plain or not variables.isdisjoint(variables_in(inner.extent)) or (loops and inner.trivia):
            break
        loops.append(inner)
        variables.add(inner.loop_var)
        inner = inner.body
    return loops


@prints_lines(tir.For)
def _for(printer: Printer, node: tir.For) -> None:
    loops = _grid(node) if printer.options.syntax_sugar else [node]
    if len(loops) > 1:
        head = f"{printer.tir('grid')}({printer.joined([loop.extent for loop in loops])})"
    else:
        head, loops = _loop_head(printer, node), [node]
    with printer.frame(node) as frame:
        names = [printer.define(loop.loop_var, loop.loop_var.name or "v") for loop in loops]
        body(printer, loops[-1].body)
    shown = [printer.marked(loop, name) for loop, name in zip(loops, names, strict=True)]
    printer.add(f"for {', '.join(shown)} in {head}:", node.trivia, frame)


def _loop_head(printer: Printer, node: tir.For) -> str:
    if is_constant(node.min, 0):
        arguments = [printer.expr(node.extent)]
    else:
        arguments = [printer.expr(node.min), printer.expr(make.add(node.min, node.extent))]
    if node.kind is tir.ForKind.SERIAL and not node.annotations:
        return f"range({', '.join(arguments)})"
    if node.kind is tir.ForKind.THREAD_BINDING:
        tag = node.thread_binding.thread_tag if node.thread_binding is not None else ""
        arguments.append(f"thread={string(tag)}")
    if node.annotations:
        arguments.append(f"annotations={printer.attrs(node.annotations)}")
    return f"{printer.tir(_LOOPS[node.kind])}({', '.join(arguments)})"


# --- Memory ---------------------------------------------------------------------------------------------------


def _declare_buffer(printer: Printer, node: tir.DeclBuffer, outer: tir.Stmt, form: str, data_is_new: bool) -> None:
    head = declaration(printer, node.buffer, form, printer.frames[-1], data_is_new=data_is_new)
    _add_scope(printer, outer, node.body, _Scope(head, name=lambda: define_buffer(printer, node.buffer)))


@prints_lines(tir.DeclBuffer)
def _decl_buffer(printer: Printer, node: tir.DeclBuffer) -> None:
    _declare_buffer(printer, node, node, "decl_buffer", data_is_new=False)


def _storage_scope(var: tir.Var) -> str:
    kind = var.type_annotation
    return kind.storage_scope or "global" if isinstance(kind, tir.PointerType) else "global"


@prints_lines(tir.Allocate)
def _allocate(printer: Printer, node: tir.Allocate) -> None:
    inner = node.body
    if isinstance(inner, tir.DeclBuffer) and is_allocation_of(node, inner) and _is_named(printer, node, inner):
        if inner.trivia:
            outer = node.trivia or Trivia()
            node = replace(node, trivia=Trivia(outer.before, outer.after, inner.trivia.end + outer.end))
        _declare_buffer(printer, inner, node, printer.dialect.allocated_buffer, data_is_new=True)
        return
    if printer.dialect.allocates_buffers and is_constant(node.condition, 1):
        _allocate_buffer(printer, node)
        return
    arguments = [f"[{printer.joined(node.extents)}]", string(node.dtype), string(_storage_scope(node.buffer_var))]
    if not is_constant(node.condition, 1):
        arguments.append(printer.expr(node.condition))
    if node.annotations:
        arguments.append(f"annotations={printer.attrs(node.annotations)}")
    head = f"{printer.tir('allocate')}({', '.join(arguments)})"
    name = printer.define(node.buffer_var, node.buffer_var.name or "v")
    _add_scope(printer, node, node.body, _Scope(head, name=lambda: name))


def _is_named(printer: Printer, node: tir.Allocate, inner: tir.DeclBuffer) -> bool:
    """Return whether the buffer that an allocation declares has the name of the allocation."""
    if not printer.dialect.allocates_buffers or not is_plain(inner.buffer) or _is_accessed(printer, inner.buffer):
        return True
    second = inner.body  # without the first, the allocation would have the name of a second buffer that is like it
    if not isinstance(second, tir.DeclBuffer) or not is_allocation_of(node, second):
        return False
    return _is_accessed(printer, second.buffer)


def _is_accessed(printer: Printer, buffer: tir.Buffer) -> bool:
    """Return whether a buffer is used other than for its memory."""
    if printer.accessed is None:
        users = () if printer.root is None else walk(printer.root)
        below = [child for node in users if not isinstance(node, tir.DeclBuffer) for child in children(node)]
        printer.accessed = {child for child in below if isinstance(child, tir.Buffer)}
    return buffer in printer.accessed


def _allocate_buffer(printer: Printer, node: tir.Allocate) -> None:
    """Add an allocation as a buffer whose data is the pointer."""
    arguments = [printer.tuple(node.extents)]
    if node.dtype != "float32":
        arguments.append(string(node.dtype))
    if _storage_scope(node.buffer_var) != "global":
        arguments.append(f"scope={string(_storage_scope(node.buffer_var))}")
    if node.annotations:
        arguments.append(f"annotations={printer.attrs(node.annotations)}")

    def name_it() -> str:
        name = printer.define(node, node.buffer_var.name or "v")
        printer.define_as(node.buffer_var, lambda: f"{name}.data", printer.frames[-1])
        return name

    _add_scope(printer, node, node.body, _Scope(f"{printer.tir('alloc_buffer')}({', '.join(arguments)})", name=name_it))


@prints_lines(tir.AllocateConst)
def _allocate_const(printer: Printer, node: tir.AllocateConst) -> None:
    data = printer.value(None if node.data is None else node.data.reshape(-1).tolist())
    head = f"{printer.tir('allocate_const')}({data}, {string(node.dtype)}, [{printer.joined(node.extents)}])"
    _add_scope(printer, node, node.body, _Scope(head, name=_define(printer, node.buffer_var)))


def _realize_head(printer: Printer, node: tir.BufferRealize | tir.ProducerRealize, scope: str | None) -> str:
    target = printer.expr(node.buffer) if isinstance(node, tir.BufferRealize) else producer_name(node)
    arguments = [f"{target}[{slices(printer, node.bounds, points=False)}]"]
    if scope is not None:
        arguments.append(scope)
    if not is_constant(node.condition, 1):
        arguments.append(f"condition={printer.expr(node.condition)}")
    return f"{printer.tir('realize')}({', '.join(arguments)})"


@prints_lines(tir.BufferRealize, tir.ProducerRealize)
def _realize(printer: Printer, node: tir.BufferRealize | tir.ProducerRealize) -> None:
    scope = string(node.storage_scope) if isinstance(node, tir.ProducerRealize) else None
    _add_scope(printer, node, node.body, _Scope(_realize_head(printer, node, scope)))


# --- Attributes -----------------------------------------------------------------------------------------------


def _launch_thread(printer: Printer, node: tir.AttrStmt, axis: tir.IterVar) -> tuple[str, tir.Var | None]:
    """Return the head of a thread launch, and the variable that its `with` defines, or None."""
    defines: tir.Var | None = None
    name = printer.name_of(axis.var)
    takes_dtype = axis.var.dtype == node.value.dtype
    if name is None and takes_dtype and holds_all_uses(printer, node, axis.var):
        name, defines = string(axis.thread_tag), axis.var
    elif name is None:
        frame = frame_to_declare_in(printer, axis.var)
        name = printer.define(axis.var, axis.var.name or "v", frame)
        dtype = "" if axis.var.dtype == "int32" else f", {string(axis.var.dtype)}"
        frame.line(f"{name} = {printer.tir('env_thread')}({string(axis.thread_tag)}{dtype})")
    return f"{printer.tir('launch_thread')}({name}, {printer.expr(node.value)})", defines


@prints_lines(tir.AttrStmt)
def _attr(printer: Printer, node: tir.AttrStmt) -> None:
    inner, defines = node.body, None
    if node.attr_key == "realize_scope" and isinstance(inner, tir.BufferRealize) and inner.buffer is node.node:
        head = _realize_head(printer, inner, printer.expr(node.value))
        inner = inner.body
    elif node.attr_key in ("thread_extent", "virtual_thread") and isinstance(node.node, tir.IterVar):
        head, defines = _launch_thread(printer, node, node.node)
    else:
        key = string(node.attr_key)
        head = f"{printer.tir('attr')}({printer.expr(node.node)}, {key}, {printer.expr(node.value)})"
    name = _define(printer, defines) if defines is not None else None
    line: Callable[[str], str] | None = None
    if isinstance(node.node, tir.TileCall):
        head = printer.expr(node.node)
    elif node.attr_key == tile.DEVICE_ENTRY and is_constant(node.node, 0) and is_constant(node.value, 1):
        line = lambda _: f"{printer.tir('device_entry')}()"  # noqa: E731
    _add_scope(printer, node, inner, _Scope(head, line, name))
