"""Loop functions."""

from __future__ import annotations

from collections import Counter
from typing import cast

from ...ir import tir
from ...ir.base import Attrs
from ...ir.buffers import ALIGNMENT
from .buffers import alloc_buffers, annotation, declaration, define_buffer, is_constant, is_zero_offset
from .expressions import UsesHandle, type_of
from .heads import add_function
from .printer import Frame, Printer, prints_lines
from .statements import body
from .variables import variables_in


def _is_simple(buffer: tir.Buffer) -> bool:
    """Return whether `T.Buffer(shape, dtype)` describes the buffer completely (TVM: `IsSimpleBuffer`)."""
    return (
        not buffer.strides
        and not buffer.axis_separators
        and buffer.scope == "global"
        and buffer.data_alignment == ALIGNMENT
        and buffer.offset_factor == 1
        and buffer.buffer_type is tir.BufferType.DEFAULT
        and is_zero_offset(buffer.elem_offset)
        and not any(True for _ in variables_in(buffer.shape))
        and not buffer.attrs
    )


def _params(
    printer: Printer, node: tir.PrimFunc, frame: Frame, explicit: set[object]
) -> tuple[list[str], list[tuple[str, tir.Buffer]]]:
    """Return the parameters as text, and the buffers to be matched in the body, each with its parameter."""
    users = Counter(buffer.data for buffer in node.buffer_map.values())
    params: list[str] = []
    matched: list[tuple[str, tir.Buffer]] = []
    for param in node.params:
        buffer = node.buffer_map.get(param)
        if buffer is not None and param not in explicit and _is_simple(buffer) and users[buffer.data] == 1:
            name = define_buffer(printer, buffer)
            printer.inlined.add(param)
            params.append(f"{name}: {annotation(printer, buffer, frame)}")
            continue
        kind = printer.expr(type_of(param))
        name = printer.define(param, param.name or "v")
        params.append(f"{name}: {kind}")
        if buffer is not None:
            matched.append((name, buffer))
    return params, matched


def _has_block(stmt: tir.Stmt) -> bool:
    stack: list[object] = [stmt]
    while stack:
        item = stack.pop()
        if isinstance(item, tir.BlockRealize):
            return True
        if isinstance(item, tuple):
            stack.extend(cast("tuple[object, ...]", item))
        elif isinstance(item, tir.Stmt):
            stack.extend([getattr(item, name) for name in item.__struct_fields__])
    return False


def _implicit_root(stmt: tir.Stmt) -> tir.Block | None:
    """Return the root block if the text can omit it, else None."""
    if not isinstance(stmt, tir.BlockRealize) or stmt.iter_values or not is_constant(stmt.predicate, 1):
        return None
    root = stmt.block
    if root.annotations or root.match_buffers or root.reads or root.writes or root.init is not None:
        return None
    if stmt.trivia or root.trivia or root.name_hint != "root" or root.iter_vars:
        return None
    inner = root.body
    if root.alloc_buffers:
        return root
    shown = inner.block.iter_vars if isinstance(inner, tir.BlockRealize) else _has_block(inner)
    return root if shown else None


def _body(printer: Printer, node: tir.PrimFunc, frame: Frame) -> None:
    root = _implicit_root(node.body)
    if root is None:
        body(printer, node.body)
        return
    if not printer.dialect.native:
        frame.line(f'# with T.{printer.dialect.block}("root"):')
    alloc_buffers(printer, root.alloc_buffers)
    body(printer, root.body)


def _function(printer: Printer, node: tir.PrimFunc, explicit: set[object]) -> None:
    name = printer.function_name or str(node.attrs.get("global_symbol", "main"))
    printer.function_name = None
    keywords = dict(printer.dialect.prim_func)
    if not node.s_tir and printer.dialect.has_kinds and not _has_block(node.body):
        keywords = {"s_tir": "False"} if printer.dialect.native else {}
    if "global_symbol" not in node.attrs:
        keywords = {"private": "True"} | keywords
    with printer.frame(node) as frame:
        params, matched = _params(printer, node, frame, explicit)
        attrs: Attrs = {key: value for key, value in node.attrs.items() if key != "global_symbol" or value != name}
        if attrs:
            frame.line(f"{printer.tir('func_attr')}({printer.attrs(attrs)})")
        for param, buffer in matched:
            lhs = define_buffer(printer, buffer)
            frame.line(f"{lhs} = {declaration(printer, buffer, 'match_buffer', frame, param)}")
        _body(printer, node, frame)
        returns = printer.expr(node.ret_type) if node.ret_type is not None else "None"
    head = printer.tir("prim_func")
    add_function(printer, head, keywords, name, params, "" if returns == "None" else returns, node.trivia, frame)


@prints_lines(tir.PrimFunc)
def _prim_func(printer: Printer, node: tir.PrimFunc) -> None:
    """Print buffer parameters as annotations; if the body turns out to use a handle, print the function again."""
    root, places, inlined = printer.root, printer.places, printer.inlined
    name, in_relax = printer.function_name, printer.in_relax
    explicit: set[object] = set()
    while True:
        printer.root, printer.places, printer.accessed, printer.inlined = node, None, None, set()
        printer.function_name, printer.in_relax = name, False
        try:
            _function(printer, node, explicit)
            break
        except UsesHandle as use:
            explicit.add(use.handle)
    printer.root, printer.places, printer.inlined, printer.in_relax = root, places, inlined, in_relax
