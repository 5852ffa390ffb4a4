"""Blocks: `with T.block(name):` with their signature."""

from __future__ import annotations

from ...ir import make, tir
from ...ir.equal import structural_equal
from .buffers import alloc_buffers, is_constant
from .literals import string
from .printer import Frame, Printer, prints_lines
from .statements import body

_REMAPPED = {tir.IterVarType.DATA_PAR: "S", tir.IterVarType.COMM_REDUCE: "R"}


def _open_loops(printer: Printer) -> dict[object, tir.For]:
    """Return the loops around the block, by variable; a grid is one frame with all its loops."""
    loops: dict[object, tir.For] = {}
    for frame in printer.frames:
        loop = frame.node
        while isinstance(loop, tir.For):
            loops.setdefault(loop.loop_var, loop)
            loop = loop.body
    return loops


def _is_remapped(axis: tir.IterVar, value: tir.PrimExpr, loops: dict[object, tir.For]) -> bool:
    """Return whether the axis has the same domain as the loop whose variable is its binding."""
    loop = loops.get(value)
    return (
        loop is not None
        and axis.iter_type in _REMAPPED
        and axis.dom is not None
        and structural_equal(loop.min, axis.dom.min)
        and structural_equal(loop.extent, axis.dom.extent)
    )


def _axis(printer: Printer, axis: tir.IterVar, value: tir.PrimExpr | None) -> None:
    if axis.dom is None:
        domain = "None"
    elif is_constant(axis.dom.min, 0):
        domain = printer.expr(axis.dom.extent)
    else:
        domain = printer.tuple((axis.dom.min, make.add(axis.dom.min, axis.dom.extent)))
    arguments = domain if value is None else f"{domain}, {printer.expr(value)}"
    name = printer.define(axis.var, axis.var.name or "v")
    printer.add(f"{name} = {printer.tir('axis')}.{axis.iter_type.value}({arguments})")


def _remap(printer: Printer, axes: list[tuple[tir.IterVar, tir.PrimExpr]]) -> None:
    if len(axes) == 1 and not (printer.dialect.loops_simplify and _is_computed(axes[0][0])):
        _axis(printer, *axes[0])
    elif axes:
        names = [printer.define(axis.var, axis.var.name or "v") for axis, _ in axes]
        kinds = "".join([_REMAPPED[axis.iter_type] for axis, _ in axes])
        values = printer.joined([value for _, value in axes])
        printer.add(f"{', '.join(names)} = {printer.tir('axis')}.remap({string(kinds)}, [{values}])")


def _is_computed(axis: tir.IterVar) -> bool:
    return axis.dom is not None and not isinstance(axis.dom.extent, tir.Var | tir.IntImm)


def _axes(printer: Printer, node: tir.Block, realize: tir.BlockRealize | None) -> None:
    if realize is None:
        for axis in node.iter_vars:
            _axis(printer, axis, None)
        return
    loops = _open_loops(printer) if node.iter_vars and printer.options.syntax_sugar else {}
    pending: list[tuple[tir.IterVar, tir.PrimExpr]] = []
    # The verifier reports a block whose values do not match its axes (E0410), and shows its text.
    for axis, value in zip(node.iter_vars, realize.iter_values, strict=False):
        if _is_remapped(axis, value, loops):
            pending.append((axis, value))
            continue
        _remap(printer, pending)
        pending = []
        _axis(printer, axis, value)
    _remap(printer, pending)
    for axis in node.iter_vars[len(realize.iter_values) :]:
        _axis(printer, axis, None)
    for value in realize.iter_values[len(node.iter_vars) :]:
        printer.add(f"# bound to no axis: {printer.expr(value)}")


def _signature(printer: Printer, node: tir.Block, realize: tir.BlockRealize | None) -> None:
    _axes(printer, node, realize)
    if realize is not None and not is_constant(realize.predicate, 1):
        printer.add(f"{printer.tir('where')}({printer.expr(realize.predicate)})")
    printer.add(f"{printer.tir('reads')}({printer.joined(node.reads)})")
    printer.add(f"{printer.tir('writes')}({printer.joined(node.writes)})")
    if node.annotations:
        printer.add(f"{printer.tir(printer.dialect.block_attr)}({printer.attrs(node.annotations)})")


def _block(printer: Printer, node: tir.Block, realize: tir.BlockRealize | None) -> None:
    with printer.frame(node) as frame:
        _signature(printer, node, realize)
        alloc_buffers(printer, node.alloc_buffers)
        for match in node.match_buffers:
            printer.statement(match)
        if node.init is not None:
            init = _init(printer, node.init)
            printer.add(f"with {printer.tir('init')}():", body=init)
        body(printer, node.body)
    arguments = string(node.name_hint) + ("" if realize is not None else ", no_realize=True")
    trivia = (realize.trivia if realize is not None else None) or node.trivia
    head = printer.marked(node, f"{printer.tir(printer.dialect.block)}({arguments})")
    printer.add(f"with {head}:", trivia, frame)


def _init(printer: Printer, init: tir.Stmt) -> Frame:
    with printer.frame(init) as frame:
        body(printer, init)
    return frame


@prints_lines(tir.BlockRealize)
def _block_realize(printer: Printer, node: tir.BlockRealize) -> None:
    _block(printer, node.block, node)


@prints_lines(tir.Block)
def _bare_block(printer: Printer, node: tir.Block) -> None:
    _block(printer, node, None)
