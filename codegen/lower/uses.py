"""The uses of the buffers that blocks allocate: their enclosing loops and blocks, and their conditions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from ...ir import make, tir
from ...ir.base import Node, Op
from ...ir.equal import structural_equal
from ...ir.idioms import is_one
from ...ir.simplify import simplify
from ...ir.visit import Substitution, children, walk

Scope: TypeAlias = tir.For | tir.Block
OFFSET_OF_PART = Op("tir.offset_of_part")
"""The offset of a part of a buffer, given by its first and its last element, until the shape of the buffer is final."""
_IF_THEN_ELSE = Op("tir.if_then_else")


class Use(Struct, frozen=True, eq=False):
    """A load or store inside the scopes of `path`, the outermost first, under `conditions`.

    `extents` is the size of the part that is accessed through a pointer; `indices` is then its first element.
    """

    buffer: tir.Buffer
    indices: tuple[tir.PrimExpr, ...]
    is_write: bool
    path: tuple[Scope, ...]
    conditions: tuple[tir.PrimExpr, ...]
    extents: tuple[tir.PrimExpr, ...] = ()
    is_of_match: bool = False
    """Whether a block matches the part; if it may write it, `extents` are 0, as it need not write all."""

    @property
    def region(self) -> tuple[tir.Range, ...]:
        """The elements that are accessed."""
        ones = [tir.IntImm(index.dtype, 1) for index in self.indices]
        return tuple([tir.Range(*axis) for axis in zip(self.indices, self.extents or ones, strict=True)])

    def loops(self, start: int = 0) -> list[tir.For]:
        """Return the enclosing loops among the scopes from `start` on."""
        return [scope for scope in self.path[start:] if isinstance(scope, tir.For)]


class Uses:
    """All uses, in program order, of the buffers that the blocks of `body` allocate; block iterators are replaced by their values.

    `homes` maps each buffer to the scopes around its allocation; `escaped` are the buffers whose address is
    taken, `pointed` those that are only accessed through pointers to known parts, and `matched` holds the parts that blocks match. `with_allocations` adds the buffers that
    are allocated by a statement of their own.
    """

    def __init__(self, body: tir.Stmt, with_allocations: bool = False) -> None:
        self._with_allocations = with_allocations
        self.homes: dict[tir.Buffer, tuple[Scope, ...]] = {}
        self.of: dict[tir.Buffer, list[Use]] = {}
        self.escaped: set[tir.Var] = set()
        self.pointed: set[tir.Var] = set()
        self.matched: dict[tir.Var, list[Use]] = {}
        self._bound = Substitution()
        self._visit(body, (), ())

    def _visit(self, node: Node, path: tuple[Scope, ...], conditions: tuple[tir.PrimExpr, ...]) -> None:
        match node:
            case tir.For():
                self._visit(node.body, (*path, node), conditions)
            case tir.BlockRealize(predicate=predicate, block=block):
                inner = (*path, block)
                for buffer in block.alloc_buffers:
                    self.homes[buffer], self.of[buffer] = inner, []
                for axis, value in zip(block.iter_vars, node.iter_values, strict=True):
                    self._visit(value, path, conditions)
                    self._bound[axis.var] = make.cast(self._bound(value), axis.var.dtype)
                for match in block.match_buffers:
                    self._match(match, block, inner, conditions)
                predicate = self._bound(predicate)
                if block.init is not None:
                    self._visit(block.init, inner, (*conditions, predicate))
                self._visit(block.body, inner, (*conditions, predicate))
            case tir.Allocate(body=tir.DeclBuffer(buffer=buffer, body=body)) if (
                self._with_allocations and is_declared_by(node, buffer)
            ):
                self.homes[buffer], self.of[buffer] = path, []
                self._visit(body, path, conditions)
            case tir.LetStmt(var=var, value=value) | tir.Let(var=var, value=value):
                self._visit(value, path, conditions)
                self._bound[var] = self._bound(value)
                self._visit(node.body, path, conditions)
            case tir.IfThenElse(condition=condition, then_case=then_case, else_case=else_case):
                self._choice(condition, then_case, else_case, path, conditions)
            case tir.Call(op=op, args=(tir.PrimExpr() as condition, yes, no)) if op == _IF_THEN_ELSE:
                self._choice(condition, yes, no, path, conditions)
            case tir.Call() if parts := _parts_in(node):
                self._pointers(node, parts, path, conditions)
            case tir.BufferLoad() | tir.BufferStore():
                for child in children(node):
                    if not isinstance(child, tir.Buffer):
                        self._visit(child, path, conditions)
                if node.buffer in self.of:
                    is_write = isinstance(node, tir.BufferStore)
                    indices = tuple([self._bound(index) for index in node.indices])
                    self.of[node.buffer].append(Use(node.buffer, indices, is_write, path, conditions))
                else:
                    self.escaped.add(node.buffer.data)
            case tir.Var():
                self.escaped.add(node)
            case _:
                for child in children(node):
                    self._visit(child, path, conditions)

    def _match(
        self,
        match: tir.MatchBufferRegion,
        block: tir.Block,
        path: tuple[Scope, ...],
        conditions: tuple[tir.PrimExpr, ...],
    ) -> None:
        """Record that a block matches a buffer. It reads the region if it declares so; its writes may be partial."""
        buffer = match.source.buffer
        if buffer not in self.of:
            self.escaped.add(buffer.data)
            return
        for axis in match.source.region:
            self._visit(axis.min, path, conditions)
            self._visit(axis.extent, path, conditions)
        if not all(isinstance(stride, tir.Var) for stride in match.buffer.strides):
            self.escaped.add(buffer.data)  # its layout is fixed
        start = tuple([self._bound(axis.min) for axis in match.source.region])
        extents = tuple([self._bound(axis.extent) for axis in match.source.region])
        use = Use(buffer, start, False, path, conditions, extents, is_of_match=True)
        self.matched.setdefault(buffer.data, []).append(use)
        if not any(region.buffer.data is buffer.data for region in block.reads):
            nothing = tuple([make.const(0, extent.dtype) for extent in extents])
            use = replace(use, is_write=True, extents=nothing)
        self.of[buffer].append(use)

    def _pointers(
        self, call: tir.Call, parts: list[tir.Call], path: tuple[Scope, ...], conditions: tuple[tir.PrimExpr, ...]
    ) -> None:
        """Record the parts that a call accesses through pointers: it reads and writes what the block around it declares."""
        block = next((scope for scope in reversed(path) if isinstance(scope, tir.Block)), None)
        for first, last in (part.args for part in parts):
            assert isinstance(first, tir.BufferLoad)
            assert isinstance(last, tir.BufferLoad)
            buffer, low, high = first.buffer, map(self._bound, first.indices), map(self._bound, last.indices)
            if block is None or buffer not in self.of:
                self.escaped.add(buffer.data)
                continue
            start = tuple(low)
            extents = tuple(
                [simplify(make.add(make.sub(b, a), make.const(1, a.dtype))) for a, b in zip(start, high, strict=True)]
            )
            self.pointed.add(buffer.data)
            for regions, is_write in ((block.reads, False), (block.writes, True)):
                if any(region.buffer.data is buffer.data for region in regions):
                    self.of[buffer].append(Use(buffer, start, is_write, path, conditions, extents))
        known = {part.args[0].buffer.data for part in parts if isinstance(part.args[0], tir.BufferLoad)}
        self.escaped.update(node for node in walk(call) if isinstance(node, tir.Var) and node not in known)

    def _choice(
        self, condition: tir.PrimExpr, yes: Node, no: Node | None, path: tuple[Scope, ...],
        conditions: tuple[tir.PrimExpr, ...],
    ) -> None:  # fmt: skip
        self._visit(condition, path, conditions)
        condition = self._bound(condition)
        self._visit(yes, path, (*conditions, condition))
        if no is not None:
            self._visit(no, path, (*conditions, make.logical_not(condition)))


def _parts_in(call: tir.Call) -> list[tir.Call]:
    """Return the parts of buffers to which the arguments of a call point."""
    if not any(isinstance(arg, tir.Var) and arg.dtype == "handle" for arg in call.args):
        return []
    return [node for node in walk(call) if isinstance(node, tir.Call) and node.op == OFFSET_OF_PART]


def is_declared_by(stmt: tir.Allocate, buffer: tir.Buffer) -> bool:
    """Return whether `stmt` always allocates all of the memory of `buffer`, whose layout is row-major."""
    is_whole = len(stmt.extents) == len(buffer.shape) and all(map(structural_equal, stmt.extents, buffer.shape))
    is_plain = not buffer.strides and buffer.elem_offset is None and stmt.dtype == buffer.dtype
    return stmt.buffer_var is buffer.data and is_whole and is_plain and is_one(stmt.condition)


def common_path(paths: Sequence[tuple[Scope, ...]]) -> tuple[Scope, ...]:
    """Return the longest common prefix of `paths`."""
    first = paths[0]
    length = next(
        (depth for depth in range(len(first)) if any(path[depth : depth + 1] != first[depth : depth + 1] for path in paths)),
        len(first),
    )  # fmt: skip
    return first[:length]
