"""The places where a run can stop: statements and bindings, with their line and the names that are visible there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from msgspec import Struct

from ...ir import relax, tir
from ...ir.base import BaseFunc, IRModule, Node, Source
from ...ir.interp.struct_info import variables_in
from ...ir.source_lines import SourceLines
from ...ir.visit import children, walk

Name: TypeAlias = tir.Var | relax.Var | tir.Buffer


class Place(Struct, frozen=True, eq=False):
    """A place in a function; `node` is a statement, a binding, or the function itself, for its end.

    `names` are the variables and buffers that are visible when the run reaches it. `is_head` says that the run can stop
    there: statements that only wrap others, and the inner loops of one `T.grid`, are not places of their own.
    """

    node: Node
    function: BaseFunc
    parent: Place | None
    source: Source
    line: int
    names: tuple[Name, ...]
    is_head: bool

    @property
    def text(self) -> str:
        """The line of the program."""
        return self.source.text.splitlines()[self.line - 1]

    @property
    def is_end(self) -> bool:
        """Whether this is the end of its function."""
        return self.node is self.function

    def around(self) -> Iterator[Place]:
        """Yield the place and those around it in its function, innermost first."""
        place: Place | None = self
        while place is not None:
            yield place
            place = place.parent

    @property
    def loop(self) -> Place | None:
        """The place of the innermost loop nest around this place, or this place if it is a loop; None outside of loops."""
        loops = (place for place in self.around() if isinstance(place.node, tir.For | tir.While) and place.is_head)
        return next(loops, None)


class Places:
    """The places of functions, found when they are first asked for."""

    def __init__(self) -> None:
        self._lines = SourceLines()
        self._functions: dict[BaseFunc, dict[Node, Place]] = {}

    def of(self, function: BaseFunc) -> dict[Node, Place]:
        """Return the places of a function by node, in the order of the text; those of local functions are included."""
        if function not in self._functions:
            found: dict[Node, Place] = {}
            if isinstance(function, tir.PrimFunc):
                self._loop_function(function, found)
            elif isinstance(function, relax.Function):
                self._graph_function(function, (), found)
            self._functions[function] = found
        return self._functions[function]

    def of_module(self, module: IRModule) -> Iterator[Place]:
        """Yield the places of all functions of a module."""
        for function in module.functions.values():
            yield from self.of(function).values()

    def _place(
        self, node: Node, function: BaseFunc, parent: Place | None, names: tuple[Name, ...], is_head: bool
    ) -> Place | None:
        if node.span is None:
            return None
        return Place(
            node,
            function,
            parent,
            node.span.source,
            self._lines.line(node.span.source, node.span.start),
            names,
            is_head,
        )

    def _end(self, function: BaseFunc, names: tuple[Name, ...], found: dict[Node, Place]) -> None:
        """Add the end of a function: its last line that is not empty."""
        if function.span is not None:
            source, start, end = function.span.source, function.span.start, function.span.end
            last = start + len(source.text[start:end].rstrip()) - 1
            found[function] = Place(function, function, None, source, self._lines.line(source, last), names, True)

    # --- Loop functions ---------------------------------------------------------------------------------------

    def _loop_function(self, function: tir.PrimFunc, found: dict[Node, Place]) -> None:
        names = (*_parameters(function), *function.buffer_map.values())
        undeclared = _undeclared(function)
        stack: list[tuple[tir.Stmt, Place | None, tuple[Name, ...]]] = [(function.body, None, names)]
        while stack:
            stmt, parent, names = stack.pop()
            if isinstance(stmt, tir.Block):
                names = (*names, *[axis.var for axis in stmt.iter_vars])
            is_wrapper = isinstance(stmt, tir.SeqStmt | tir.BlockRealize)
            place = self._place(stmt, function, parent, names, not is_wrapper and not _continues(stmt, parent))
            if place is not None and not is_wrapper:
                found[stmt] = place
            inside = (*names, *_defined(stmt, undeclared))
            around = place if place is not None and not is_wrapper else parent
            parts = [child for child in children(stmt) if isinstance(child, tir.Stmt)]
            if isinstance(stmt, tir.Block) and stmt.init is not None:
                parts = [stmt.init, stmt.body]
            stack.extend((part, around, inside) for part in reversed(parts))
        body = function.body
        root = body.block.alloc_buffers if isinstance(body, tir.BlockRealize) and not body.block.iter_vars else ()
        self._end(function, (*_parameters(function), *function.buffer_map.values(), *root), found)

    # --- Graph functions ------------------------------------------------------------------------------------

    def _graph_function(self, function: relax.Function, outer: tuple[Name, ...], found: dict[Node, Place]) -> None:
        sizes = {
            size: None
            for param in function.params
            if param.struct_info is not None
            for size in variables_in(param.struct_info)
        }
        names = self._sequence(function.body, function, (*outer, *sizes, *function.params), found)
        self._end(function, names, found)

    def _sequence(
        self, body: relax.Expr, function: relax.Function, names: tuple[Name, ...], found: dict[Node, Place]
    ) -> tuple[Name, ...]:
        """Add the bindings of a body; return the names that are visible at its end."""
        if not isinstance(body, relax.SeqExpr):
            return names
        for binding in (binding for block in body.blocks for binding in block.bindings):
            place = self._place(binding, function, None, names, True)
            if place is not None:
                found[binding] = place
            match getattr(binding, "value", None):
                case relax.If(true_branch=yes, false_branch=no):
                    self._sequence(yes, function, names, found)
                    self._sequence(no, function, names, found)
                case relax.Function() as local:
                    self._graph_function(local, (*names, binding.var), found)
                case _:
                    pass
            sizes = variables_in(binding.struct_info) if isinstance(binding, relax.MatchCast) else ()
            names = (*names, *[size for size in sizes if size not in names], binding.var)
        return names


def _continues(stmt: tir.Stmt, parent: Place | None) -> bool:
    """Whether a statement is written as one with the statement around it, as the loops of `T.grid` are."""
    return (
        parent is not None
        and stmt.span is not None
        and parent.node.span is not None
        and stmt.span.start == parent.node.span.start
    )


def _parameters(function: tir.PrimFunc) -> list[tir.Var]:
    """Return the scalar parameters, and the variables that the shapes of buffer parameters define."""
    scalars = [param for param in function.params if param not in function.buffer_map]
    sizes = (
        size
        for buffer in function.buffer_map.values()
        for size in (*buffer.shape, *buffer.strides, buffer.elem_offset)
        if isinstance(size, tir.Var)
    )
    return list(dict.fromkeys([*scalars, *sizes]))


def _undeclared(function: tir.PrimFunc) -> dict[tir.Var, list[tir.Buffer]]:
    """Return the buffers that are used without a declaration, by their memory."""
    nodes = list(walk(function.body))
    declared = {*function.buffer_map.values(), *[node.buffer for node in nodes if isinstance(node, tir.DeclBuffer)]}
    for block in (node for node in nodes if isinstance(node, tir.Block)):
        declared |= {*block.alloc_buffers, *[match.buffer for match in block.match_buffers]}
    found: dict[tir.Var, list[tir.Buffer]] = {}
    used = dict.fromkeys(node.buffer for node in nodes if isinstance(node, tir.BufferLoad | tir.BufferStore))
    for buffer in used:
        if buffer not in declared:
            found.setdefault(buffer.data, []).append(buffer)
    return found


def _defined(stmt: tir.Stmt, undeclared: dict[tir.Var, list[tir.Buffer]]) -> tuple[Name, ...]:
    """Return the names that a statement defines for the statements in it."""
    match stmt:
        case tir.For(loop_var=variable) | tir.LetStmt(var=variable):
            return (variable, *undeclared.get(variable, ()))
        case tir.Block():
            return (*stmt.alloc_buffers, *[match.buffer for match in stmt.match_buffers])
        case tir.AttrStmt(node=tir.IterVar(var=variable)):
            return (variable,)
        case tir.Allocate(buffer_var=variable) | tir.AllocateConst(buffer_var=variable):
            return (variable, *undeclared.get(variable, ()))
        case tir.DeclBuffer(buffer=buffer):
            return (buffer,)
        case _:
            return ()
