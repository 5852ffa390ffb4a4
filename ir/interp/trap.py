"""A trap that stops a run at accesses that a block does not declare.

Schedules rely on the declared regions of blocks (`T.reads`, `T.writes`). Faults such as an index out of bounds or a
division by zero stop every run; reads of uninitialized memory stop runs that track them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np

from .. import tir
from ..base import IRModule, Node
from ..visit import children
from .buffers import compile_buffer
from .expressions import compile_all
from .frame import Access, Frame, Observer, fault
from .memory import Array

_Region: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]
"""The first index and the extent of each dimension."""


class Trap(Observer):
    """Raises E0720 at the first access of a block to an outside buffer that is in none of its declared regions.

    A block may read what it declares to read or to write: reductions read the elements that they update. A block that
    declares nothing, such as the root block, is not checked.
    """

    def __init__(self, program: IRModule | tir.PrimFunc) -> None:
        functions = program.functions.values() if isinstance(program, IRModule) else (program,)
        bodies = [function.body for function in functions if isinstance(function, tir.PrimFunc)]
        self._around = {access: blocks for body in bodies for access, blocks in _accesses_in_blocks(body)}
        self._declared: dict[tir.Block, _Declared] = {}

    def statement(self, stmt: tir.Stmt, frame: Frame) -> None:
        if isinstance(stmt, tir.Block) and (stmt.reads or stmt.writes):
            if stmt not in self._declared:
                self._declared[stmt] = _Declared(stmt)
            self._declared[stmt].enter(frame)

    def access(self, access: Access, indices: tuple[int, ...], frame: Frame) -> None:
        for block in self._around.get(access, ()):
            declared = self._declared.get(block)
            if declared is None or access.buffer.data in declared.own:
                return
            is_write = isinstance(access, tir.BufferStore)
            if not declared.holds(access.buffer, indices, is_write, frame):
                verb, form = ("writes", "T.writes") if is_write else ("reads", "T.reads")
                element = f"{access.buffer.name}[{', '.join(map(str, indices))}]"
                said = f"block '{block.name_hint}' {verb} {element}, which it does not declare"
                raise fault("E0720", said, access, f"correct the regions in its {form}(…)")


class _Declared:
    """The regions of a block, evaluated each time it is entered."""

    def __init__(self, block: tir.Block) -> None:
        mine = (*block.alloc_buffers, *[match.buffer for match in block.match_buffers])
        self.own = {buffer.data for buffer in mine}
        """Memory that the block defines; accesses to it are not checked."""
        self._compiled = [
            (part.buffer, _compile(part), i >= len(block.reads)) for i, part in enumerate((*block.reads, *block.writes))
        ]
        self._now: list[tuple[tir.Buffer, _Region, bool]] = []

    def enter(self, frame: Frame) -> None:
        self._now = [(buffer, region(frame), is_written) for buffer, region, is_written in self._compiled]

    def holds(self, buffer: tir.Buffer, indices: tuple[int, ...], is_write: bool, frame: Frame) -> bool:
        """Return whether the block may write an element or, unless `is_write`, read it. Regions of other buffers of the same memory count."""
        regions = [
            (other, region) for other, region, is_written in self._now
            if other.data is buffer.data and (is_written or not is_write)
        ]  # fmt: skip
        if any(other is buffer and _holds(region, indices) for other, region in regions):
            return True
        others = [_bytes(other, region, frame) for other, region in regions if other is not buffer]
        element = (indices, (1,) * len(indices))
        return bool(others) and bool(np.isin(_bytes(buffer, element, frame), np.concatenate(others)).all())


def _bytes(buffer: tir.Buffer, region: _Region, frame: Frame) -> Array:
    """Return the positions of the bytes of a region in its memory."""
    view = compile_buffer(buffer)(frame)
    size = view.flat.itemsize * view.lanes
    places = np.array([view.offset])
    for first, extent, stride in zip(*region, view.strides, strict=True):
        places = (places[:, None] + (first + np.arange(extent)) * stride).ravel()
    return (view.pointer.offset + places[:, None] * size + np.arange(size)).ravel()


def _compile(part: tir.BufferRegion) -> Callable[[Frame], _Region]:
    starts = compile_all(tuple([axis.min for axis in part.region]))
    extents = compile_all(tuple([axis.extent for axis in part.region]))
    return lambda frame: (starts(frame), extents(frame))


def _holds(region: _Region, indices: tuple[int, ...]) -> bool:
    return all(first <= index < first + extent for index, first, extent in zip(indices, *region, strict=True))


def _accesses_in_blocks(body: tir.Stmt) -> Iterator[tuple[Access, tuple[tir.Block, ...]]]:
    """Yield each access with the surrounding blocks, innermost first; regions and iterator values are outside their block."""
    stack: list[tuple[Node, tuple[tir.Block, ...]]] = [(body, ())]
    while stack:
        node, blocks = stack.pop()
        if isinstance(node, Access):
            yield node, blocks
        if isinstance(node, tir.Block):
            inside = [part for part in (node.init, node.body) if part is not None]
            stack.extend((part, (node, *blocks)) for part in inside)
        elif not isinstance(node, tir.Buffer):
            stack.extend((child, blocks) for child in children(node))
