"""Transitions into and out of lockstep: which loops run as lanes, and the fallback if they cannot."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

import numpy as np

from ... import tir
from ...base import Node
from ...dtype import int_range
from ...visit import walk
from ..expressions import compile_expr
from ..frame import Frame
from ..memory import Memory, Pointer
from . import blocks as _blocks  # registers the compilers of blocks
from .state import Conflict, Doubt, Lanes, Refused
from .statements import MAX_AXES, LaneLoop, loop_extents

Body: TypeAlias = Callable[[Frame], Iterable[Node]]
Some: TypeAlias = Callable[[Frame, int, int, Iterable[int]], Iterable[Node]]
"""Runs the iterations with these numbers, given the first value and the extent of the loop."""


LEAST_WORK = 64
"""Minimum number of iterations for which lanes are faster."""


class LaneTier:
    """A loop that is entered from the obvious tier: it runs in lockstep if that is possible and pays.

    Otherwise, `run_all` runs the whole loop in the obvious tier, or `run_some` the iterations that may fault.
    """

    def __init__(self, stmt: tir.For, run_all: Body, run_some: Some) -> None:
        self._stmt, self._run_all, self._run_some = stmt, run_all, run_some
        self._start, self._extent = compile_expr(stmt.min), compile_expr(stmt.extent)
        self._last = int_range(stmt.loop_var.dtype)[1]
        self._work = 0
        self._loop: LaneLoop | None = None
        self._is_refused = False
        self._sequential: set[tir.For] = set()
        self._stored: list[tir.Var] = []
        self._touched: list[tir.Var] = []

    def __call__(self, frame: Frame) -> Iterable[Node]:
        if self._is_refused or frame.world.tier == "obvious":
            return self._run_all(frame)
        first, size = self._start(frame), self._extent(frame)
        if first + size > self._last:
            return self._run_all(frame)
        try:
            self._work = self._work or loop_extents(self._stmt.body)
            if frame.world.tier == "auto" and size * self._work < LEAST_WORK:
                return self._run_all(frame)
            loop = self._loop = self._loop or self._compile()
            written = self._written(frame)
        except Refused:
            self._is_refused = True
            return self._run_all(frame)
        if written is None:
            return self._run_all(frame)
        return self._run(frame, loop, written, first, size)

    def _compile(self) -> LaneLoop:
        loop = LaneLoop(self._stmt, 0)
        sources: dict[tir.Var, tir.Var] = {}
        stored: dict[tir.Var, None] = {}
        touched: dict[tir.Var, None] = {}
        for node in walk(self._stmt):
            match node:
                case tir.MatchBufferRegion():
                    sources[node.buffer.data] = node.source.buffer.data
                case tir.BufferStore():
                    stored[node.buffer.data] = None
                case tir.BufferLoad():
                    touched[node.buffer.data] = None
                case _:
                    pass

        def root(data: tir.Var) -> tir.Var:
            while data in sources:
                data = sources[data]
            return data

        self._stored = list(dict.fromkeys(map(root, stored)))
        self._touched = list(dict.fromkeys(map(root, [*stored, *touched])))
        return loop

    def _written(self, frame: Frame) -> set[Memory] | None:
        """Return the memories that the nest writes; None if one of them overlaps another memory that it accesses."""
        stored = {value.memory for var in self._stored if isinstance(value := frame.get(var), Pointer)}
        touched = {value.memory for var in self._touched if isinstance(value := frame.get(var), Pointer)}
        for memory in stored:
            if any(other is not memory and np.may_share_memory(memory.data, other.data) for other in touched):
                return None
        return stored

    def _run(self, frame: Frame, loop: LaneLoop, written: set[Memory], first: int, size: int) -> Iterable[Node]:
        """Run iterations in lockstep, in pieces. A piece that raises Doubt is halved; single iterations use the obvious tier."""
        pieces = [(start, min(start + loop.piece, size)) for start in range(0, size, loop.piece)]
        pieces.reverse()
        while pieces:
            start, end = pieces.pop()
            if frame.world.report is not None:
                frame.world.report(f"interpret loop {self._stmt.loop_var.name} ({start} of {size})")
            lanes = Lanes(frame, MAX_AXES, written, self._sequential)
            try:
                loop.run(lanes, first + start, end - start)
                self._is_refused |= not lanes.was_forked
                continue
            except Conflict as conflict:
                self._sequential.add(conflict.loop)
                remaining = [(start, end)]
            except Refused:
                self._is_refused = True
                remaining = []
            except Doubt:
                middle = (start + end) // 2
                remaining = [(start, middle), (middle, end)] if end - start > 1 else []
            except BaseException:
                lanes.undo.rollback()
                raise
            lanes.undo.rollback()
            if frame.world.thread_order != "ascending" or self._is_refused:
                return self._rest(frame, first, size, start)
            pieces.extend(reversed(remaining))
            if not remaining:
                for _ in self._run_some(frame, first, size, (start,)):
                    pass
        return ()

    def _rest(self, frame: Frame, first: int, size: int, start: int) -> Iterable[Node]:
        """Run all iterations from `start` on by the obvious tier, in the order of the run."""
        is_free = self._stmt.kind in (tir.ForKind.PARALLEL, tir.ForKind.THREAD_BINDING)
        numbers = [number for number in (frame.world.order(size) if is_free else range(size)) if number >= start]
        return self._run_some(frame, first, size, numbers)


_ = _blocks
