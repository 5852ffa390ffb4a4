"""The law of names at the loop level (TVM: `tir.analysis.VerifyWellFormed`).

E0401: a variable is used where it is not defined · E0402: it is defined twice (except for threads, and for a `T.Let` that
occurs several times in one expression, because these definitions are equal) · E0403: a buffer is used where it is not
declared, or in the layout of a parameter · E0404: a block uses a loop variable from outside other than through its axes.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import cast

from .. import tir
from ..base import Node
from ..diagnostics import Note
from ..equal import structural_equal
from ..variables import layout_of, variables_of_buffer
from ..visit import children, walk
from .report import Report
from .subject import Subject

_THREADS = ("thread_extent", "virtual_thread")
_CONSTANTS = (tir.IntImm, tir.FloatImm, tir.StringImm)


def check_scoping(subject: Subject) -> None:
    """Check that a function uses only defined variables and buffers, and defines nothing twice."""
    function, checker = subject.function, _Scoping(subject.report)
    shapes = [variable for buffer in function.buffer_map.values() for variable in variables_of_buffer(buffer)]
    checker.defined.update({variable: variable for variable in (*function.params, *shapes)})
    checker.visible.update(checker.defined)
    for buffer in function.buffer_map.values():
        checker.check_layout(buffer)
    checker.visit(function.body)


class _Scoping:
    def __init__(self, report: Report) -> None:
        self.report = report
        self.visible: set[tir.Var] = set()
        self.defined: dict[tir.Var, Node] = {}
        self.threads: set[tir.Var] = set()
        self.loops: dict[tir.Var, int] = {}
        self.blocks: list[tir.Block] = []
        self.outside: set[tuple[tir.Block, tir.Var]] = set()
        """The loop variables that blocks use from outside, which are reported once."""
        self.here: Node | None = None

    @contextmanager
    def scope(self, node: Node, variables: Iterable[tir.Var]) -> Generator[None]:
        """Define `variables` by `node` inside the context."""
        added = [variable for variable in variables if self._define(node, variable)]
        yield
        self.visible.difference_update(added)

    def _define(self, node: Node, variable: tir.Var) -> bool:
        known = self.defined.get(variable)
        if known is not None and variable not in self.threads and not _is_same_let(known, node):
            first = Note("it is defined here first", known.span)
            message = f"variable '{variable.name}' is defined twice"
            self.report.add("E0402", message, node, "use another variable for the second one", first)
        self.defined.setdefault(variable, node)
        if variable in self.visible:
            return False
        self.visible.add(variable)
        return True

    def _visit_all(self, nodes: Iterable[Node]) -> None:
        for node in nodes:
            self.visit(node)

    def visit(self, node: Node) -> None:
        """Check `node` and its descendants; errors are placed at the innermost expression or statement."""
        kind = type(node)
        if kind is tir.Var or kind is tir.SizeVar:
            self._use(cast("tir.Var", node))
            return
        if kind in _CONSTANTS:
            return
        outside = self.here
        if node.span is not None:
            self.here = node
        self._visit_parts(node)
        self.here = outside

    def _visit_parts(self, node: Node) -> None:
        match node:
            case tir.BinaryOp():
                self.visit(node.a)
                self.visit(node.b)
            case tir.BufferLoad():
                self._use_buffer(node, node.buffer)
                self._visit_all(node.indices)
            case tir.BufferStore():
                self._use_buffer(node, node.buffer)
                self._visit_all((*node.indices, node.value))
            case tir.For():
                self._visit_for(node)
            case tir.LetStmt() | tir.Let():
                self.visit(node.value)
                with self.scope(node, (node.var,)):
                    self.visit(node.body)
            case tir.Allocate() | tir.AllocateConst():
                self._visit_all(node.extents)
                with self.scope(node, (node.buffer_var,)):
                    self.visit(node.body)
            case tir.AttrStmt():
                self._visit_attribute(node)
            case tir.DeclBuffer():
                self._use(node.buffer.data)
                self.visit(node.body)
            case tir.BufferRealize():
                new = [variable for variable in variables_of_buffer(node.buffer) if variable not in self.visible]
                with self.scope(node, new):
                    self._visit_all([end for axis in node.bounds for end in (axis.min, axis.extent)])
                    self.visit(node.body)
            case tir.BlockRealize():
                self._visit_all((*node.iter_values, node.predicate))
                self._visit_block(node.block)
            case tir.Block():
                self._visit_block(node)
            case tir.CommReducer() | tir.Reduce() | tir.IndexMap():
                pass
            case _:
                self._visit_all([child for child in children(node) if isinstance(child, tir.PrimExpr | tir.Stmt)])

    def _use(self, variable: tir.Var) -> None:
        if variable not in self.visible:
            first = self.defined.get(variable)
            help = "define it by an assignment, a parameter, a loop, or the shape of a matched buffer"
            note = Note("it is defined here, and no longer visible", None if first is None else first.span)
            message = f"variable '{variable.name}' is not defined here"
            self.report.add("E0401", message, variable if self.here is None else self.here, help, note)
            self.visible.add(variable)
        elif self.loops.get(variable, len(self.blocks)) < len(self.blocks):
            block = self.blocks[-1]
            if (block, variable) in self.outside:
                return
            self.outside.add((block, variable))
            message = f"block '{block.name_hint}' uses the loop variable '{variable.name}' from outside"
            help = "bind it to an axis of the block, and use that"
            self.report.add("E0404", message, variable if self.here is None else self.here, help)

    def check_layout(self, buffer: tir.Buffer) -> None:
        """Report loads in the layout of a parameter: it is needed before any memory can be accessed."""
        for load in (node for expr in layout_of(buffer) for node in walk(expr) if isinstance(node, tir.BufferLoad)):
            message = f"the layout of parameter '{buffer.name}' reads buffer '{load.buffer.name}'"
            where = buffer if load.span is None else load
            self.report.add("E0403", message, where, "use a parameter, such as n: T.int32, or a variable for this size")

    def _use_buffer(self, node: Node, buffer: tir.Buffer) -> None:
        if buffer.data in self.visible:
            return
        message = f"buffer '{buffer.name}' is used where it is not declared"
        note = Note("it is declared here", buffer.span)
        self.report.add("E0403", message, node, None, note)
        self.visible.add(buffer.data)

    def _visit_for(self, node: tir.For) -> None:
        self._visit_all((node.min, node.extent))
        if node.thread_binding is None:
            self.loops[node.loop_var] = len(self.blocks)
        with self.scope(node, (node.loop_var,)):
            self.visit(node.body)

    def _visit_attribute(self, node: tir.AttrStmt) -> None:
        self.visit(node.value)
        if isinstance(node.node, tir.IterVar) and node.attr_key in _THREADS:
            self.threads.add(node.node.var)
            with self.scope(node, (node.node.var,)):
                self.visit(node.body)
        else:
            self.visit(node.body)

    def _visit_block(self, block: tir.Block) -> None:
        """Visit a block; its axes and allocations are visible in its regions, matched buffers, init and body."""
        allocated = [buffer.data for buffer in block.alloc_buffers]
        axes = [axis.var for axis in block.iter_vars]
        for axis in block.iter_vars:
            self._visit_domain(axis)
        if axes:
            self.blocks.append(block)
        with self.scope(block, (*axes, *allocated)):
            self._visit_all([size for buffer in block.alloc_buffers for size in buffer.shape])
            sources = [match.source for match in block.match_buffers]
            for region in sources:
                self._visit_region(region)
            found = len(self.report.found)
            matched = [v for match in block.match_buffers for v in variables_of_buffer(match.buffer)]
            with self.scope(block, dict.fromkeys([v for v in matched if v not in self.visible])):
                self._visit_all([part for part in (block.init, block.body) if part is not None])
            # After an error in the body, a variable of the body is not reported again in the regions.
            known = (
                {v for v in self.defined if v not in self.visible} if len(self.report.found) > found else set[tir.Var]()
            )
            self.visible |= known
            for region in (*block.reads, *block.writes):
                self._visit_region(region)
            self.visible -= known
        if axes:
            self.blocks.pop()

    def _visit_domain(self, axis: tir.IterVar) -> None:
        """Visit the domain of an axis, which is evaluated outside of the block."""
        if axis.dom is not None:
            outside = self.here
            self.here = outside if axis.span is None else axis
            self._visit_all((axis.dom.min, axis.dom.extent))
            self.here = outside

    def _visit_region(self, region: tir.BufferRegion) -> None:
        self._use_buffer(region, region.buffer)
        outside = self.here
        self.here = outside if region.span is None else region
        self._visit_all([end for axis in region.region for end in (axis.min, axis.extent)])
        self.here = outside


def _is_same_let(one: Node, other: Node) -> bool:
    """Whether both definitions give a variable the same value (TVM: the weaker condition of `VerifySSA`)."""
    return isinstance(one, tir.Let) and isinstance(other, tir.Let) and structural_equal(one.value, other.value)
