"""Pictures of loop functions: a box for every loop and block, with its body inside."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from ...ir import tir
from ...ir.base import Node
from ...ir.deep import deep
from .svg import MARGIN, Drawing, box, moved, size_of, stacked, text

_TITLES = {
    tir.ForKind.SERIAL: "serial", tir.ForKind.PARALLEL: "parallel", tir.ForKind.VECTORIZED: "vectorized",
    tir.ForKind.UNROLLED: "unrolled", tir.ForKind.THREAD_BINDING: "thread",
}  # fmt: skip
_TYPED = re.compile(r"T\.int\d+\((-?\d+)\)")


@deep
def draw_loops(function: tir.PrimFunc, said: Callable[[Node], str], line: Callable[[Node], int | None]) -> Drawing:
    """Return the picture of `function`; `said` returns the text of a node, from which dtypes of numbers are removed, and `line` its
    source line.
    """
    return _Painter(lambda node: _TYPED.sub(r"\1", said(node)), line).draw(function.body)


class _Painter:
    def __init__(self, said: Callable[[Node], str], line: Callable[[Node], int | None]) -> None:
        self._said, self._line = said, line

    def draw(self, stmt: tir.Stmt) -> Drawing:
        """Return the picture of a statement."""
        match stmt:
            case tir.SeqStmt(seq=parts):
                return stacked([self.draw(part) for part in parts])
            case tir.For():
                return _around(_TITLES[stmt.kind], [self._loop(stmt)], [self.draw(stmt.body)], self._line(stmt))
            case tir.BlockRealize(block=block) if block.name_hint == "root" and not block.iter_vars:
                return self._root(block)
            case tir.BlockRealize():
                return self._block(stmt)
            case tir.IfThenElse():
                rest = [self.draw(stmt.else_case)] if stmt.else_case is not None else []
                return _around(
                    "choice", [f"if {self._said(stmt.condition)}"], [self.draw(stmt.then_case), *rest], self._line(stmt)
                )
            case tir.AttrStmt() | tir.LetStmt() | tir.Allocate() | tir.AssertStmt() | tir.While():
                return _around("statement", [self._heading(stmt)], [self.draw(stmt.body)], self._line(stmt))
            case tir.DeclBuffer():
                return self.draw(stmt.body)
            case _:
                return _around("statement", [self._statement(stmt)], [], self._line(stmt))

    def _statement(self, stmt: tir.Stmt) -> str:
        """Return the last line of a statement's text; declarations of free variables precede it."""
        return self._said(stmt).splitlines()[-1]

    def _heading(self, stmt: tir.AttrStmt | tir.LetStmt | tir.Allocate | tir.AssertStmt | tir.While) -> str:
        match stmt:
            case tir.AttrStmt():
                return f"{stmt.attr_key} = {self._said(stmt.value)}"
            case tir.LetStmt():
                return f"{stmt.var.name} = {self._said(stmt.value)}"
            case tir.Allocate():
                return f"{stmt.buffer_var.name}: ({', '.join(map(self._said, stmt.extents))}) {stmt.dtype}"
            case tir.AssertStmt():
                return f"assert {self._said(stmt.condition)}"
            case _:
                return f"while {self._said(stmt.condition)}"

    def _loop(self, loop: tir.For) -> str:
        title, thread = f"{loop.loop_var.name} < {self._said(loop.extent)}", loop.thread_binding
        if thread is not None:
            return f"{title}  {thread.thread_tag}"
        return title if loop.kind is tir.ForKind.SERIAL else f"{title}  {_TITLES[loop.kind]}"

    def _root(self, block: tir.Block) -> Drawing:
        memory = [self._buffer(buffer) for buffer in block.alloc_buffers]
        body = self.draw(block.body)
        return _around("constant", memory, [body]) if memory else body

    def _block(self, realize: tir.BlockRealize) -> Drawing:
        block = realize.block
        values = zip(block.iter_vars, realize.iter_values, strict=True)
        axes = ", ".join(f"{axis.var.name} = {self._said(value)} ({axis.iter_type.value})" for axis, value in values)
        lines = [f"block {block.name_hint}", *([axes] if axes else [])]
        for name, regions in (("reads", block.reads), ("writes", block.writes)):
            lines += [f"{name} {', '.join(map(self._region, regions))}"] if regions else []
        lines += [self._buffer(buffer) for buffer in block.alloc_buffers]
        init = (
            []
            if block.init is None
            else [_around("statement", ["init", self._statement(block.init)], [], self._line(block.init))]
        )
        return _around("block", lines, [*init, self.draw(block.body)], self._line(realize))

    def _buffer(self, buffer: tir.Buffer) -> str:
        return f"{buffer.name}: ({', '.join(map(self._said, buffer.shape))}) {buffer.dtype} in {buffer.scope} memory"

    def _region(self, region: tir.BufferRegion) -> str:
        return f"{region.buffer.name}[{', '.join(map(self._range, region.region))}]"

    def _range(self, part: tir.Range) -> str:
        start = self._said(part.min)
        one = isinstance(part.extent, tir.IntImm) and part.extent.value == 1
        return start if one else f"{start} : {start} + {self._said(part.extent)}"


def _around(kind: str, lines: Iterable[str], inner: Iterable[Drawing], line: int | None = None) -> Drawing:
    """Return a box with lines of text and drawings below them. `line` is the source line of what it shows."""
    said, body = list(lines), stacked(list(inner))
    width, height = size_of(said)
    width = max(width, body.width + 2 * MARGIN)
    whole = height + (body.height + MARGIN if body.elements else 0)
    elements = (box(kind, 0, 0, width, whole, line), *text(said, MARGIN, MARGIN), moved(body, MARGIN, height))
    return Drawing(width, whole, elements)
