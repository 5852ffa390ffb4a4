"""Allocation of buffers in the innermost scope that contains all uses, so that they can be small.

    B = T.alloc_buffer((16, 16))                 for i in range(16):
    for i in range(16):                              with T.block(""):
        for j in range(16):                              B = T.alloc_buffer((16, 16))
            B[i, j] = A[i, j] + 1               →        for j in range(16):
        for j in range(16):                                  B[i, j] = A[i, j] + 1
            C[i, j] = B[i, j] * 2                        …

A buffer is moved into a loop only if every iteration is proven to read only what it has written itself.
(TVM: `PlanAndUpdateBufferAllocationLocation`, which relies on the kinds of iterators.)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from msgspec.structs import replace

from ...ir import tir
from ...ir.access import detect_regions, full_region
from ...ir.analysis.regions import RegionSet, is_covered
from ...ir.software_pipeline import STAGE
from ...ir.visit import substitute, walk
from .rewriter import Rewriter
from .uses import Scope, Use, Uses, common_path

Box: TypeAlias = tuple[tir.Range, ...]

TRUE = tir.IntImm("bool", 1)
_OF_THREADS = ("local", "warp", "wmma")
"""Scopes of memory that is private to a thread or a warp."""


def plan_locations(func: tir.PrimFunc) -> tir.PrimFunc:
    """Return `func`, whose blocks are opaque, with the allocations of its blocks moved to their uses."""
    uses = Uses(func.body)
    mover = _Mover(func)
    for buffer, home in uses.homes.items():
        if uses.of[buffer] and buffer.data not in uses.escaped:
            place = _best_place(buffer, home, uses.of[buffer])
            if buffer.data in uses.pointed:
                place = _pipeline_in(place, home)
            mover.move(buffer, home, place)
    return replace(func, body=mover.rewrite(func.body)) if mover.is_needed else func


def _best_place(buffer: tir.Buffer, home: tuple[Scope, ...], uses: Sequence[Use]) -> tuple[Scope, ...]:
    """Return the innermost scopes in which `buffer` can be allocated."""
    common = common_path([use.path for use in uses])
    if not buffer.scope.startswith(_OF_THREADS):
        common = common[: _shared_depth(common, len(home), buffer.scope)]
    if not any(use.is_write for use in uses):
        return common if len(common) > len(home) else home  # its contents are undefined everywhere
    for depth in range(len(common), len(home), -1):
        is_in_loop = any(isinstance(scope, tir.For) for scope in common[len(home) : depth])
        if not is_in_loop or all(_is_written_before(use, uses, depth) for use in uses if not use.is_write):
            return common[:depth]
    return home


def _pipeline_in(place: tuple[Scope, ...], home: tuple[Scope, ...]) -> tuple[Scope, ...]:
    """Return the scopes up to the innermost software pipeline in `place`; `home` if it is in none.

    Memory that operators access through pointers is moved only there, where every step needs memory of its own.
    """
    depths = [depth for depth in range(len(home), len(place)) if STAGE in getattr(place[depth], "annotations", ())]
    return place[: depths[-1] + 1] if depths else home


def _shared_depth(common: tuple[Scope, ...], start: int, scope: str) -> int:
    """Return the maximum number of scopes around memory that threads share: it must not be inside a loop over threads
    from `start` on. Exception: a software pipeline of all threads, whose steps have shared memory of their own.
    """
    inner = range(start, len(common))
    pipelines = (
        depth + 1 for depth in inner if scope != "global" and STAGE in getattr(common[depth], "annotations", ())
    )
    threads = (depth for depth in inner if _is_of_threads(common[depth]))
    return next(pipelines, next(threads, len(common)))


def _is_of_threads(scope: Scope) -> bool:
    return isinstance(scope, tir.For) and scope.thread_binding is not None


def _is_written_before(read: Use, uses: Sequence[Use], depth: int) -> bool:
    """Return whether every element that `read` reads is written before, in the same iteration of the first `depth`
    scopes.
    """
    if any(isinstance(index, tir.Ramp) for index in read.indices):
        return False
    written = [place for use in uses if use.is_write for place in _earlier(use, read, uses, depth)]
    shared = {loop.loop_var: tir.Range(loop.min, loop.extent) for loop in read.loops()}
    return is_covered(RegionSet(read.region, {}, read.conditions), written, shared).is_proven


def _earlier(write: Use, read: Use, uses: Sequence[Use], depth: int) -> Iterator[RegionSet]:
    """Yield what `write` has written before `read` executes: in earlier iterations of the loops around both, from
    scope `depth` on, and in the same iteration if `write` comes first.
    """
    if any(isinstance(index, tir.Ramp) for index in write.indices):
        return
    shared = len(common_path([write.path, read.path]))
    common = [scope for scope in write.path[depth:shared] if isinstance(scope, tir.For)]
    names = {loop.loop_var: replace(loop.loop_var) for loop in write.loops(depth)}
    region: Box = tuple([substitute(axis, names) for axis in write.region])
    conditions: tuple[tir.PrimExpr, ...] = tuple([substitute(condition, names) for condition in write.conditions])
    domains = {
        names[loop.loop_var]: tir.Range(substitute(loop.min, names), substitute(loop.extent, names))
        for loop in write.loops(depth)
    }
    for number, loop in enumerate(common):
        before = tir.LT("bool", names[loop.loop_var], loop.loop_var)
        yield RegionSet(region, domains, (*conditions, *_same(common[:number], names), before))
    if uses.index(write) < uses.index(read):
        yield RegionSet(region, domains, (*conditions, *_same(common, names)))


def _same(loops: Sequence[tir.For], names: dict[tir.Var, tir.Var]) -> list[tir.PrimExpr]:
    return [tir.EQ("bool", names[loop.loop_var], loop.loop_var) for loop in loops]


class _Mover(Rewriter):
    def __init__(self, func: tir.PrimFunc) -> None:
        super().__init__({tir.For: self._for, tir.Block: self._block, tir.Buffer: lambda buffer: buffer})
        self._owners = {buffer.data: buffer for buffer in func.buffer_map.values()}
        self._leaving: dict[Scope, set[tir.Buffer]] = {}
        self._arriving: dict[Scope, list[tir.Buffer]] = {}
        self._moved: set[tir.Buffer] = set()

    @property
    def is_needed(self) -> bool:
        return bool(self._arriving)

    def move(self, buffer: tir.Buffer, home: tuple[Scope, ...], place: tuple[Scope, ...]) -> None:
        """Allocate `buffer` in the last scope of `place`, which begins with `home`."""
        if len(place) > len(home):
            self._moved.add(buffer)
            self._arriving.setdefault(place[-1], []).append(buffer)
            for scope in place[len(home) - 1 :]:
                self._leaving.setdefault(scope, set()).add(buffer)

    def _for(self, loop: tir.For) -> tir.Stmt:
        stmt = self.rebuild(loop)
        if loop not in self._arriving:
            return stmt
        buffers = tuple(self._arriving[loop])
        block = tir.Block((), (), (), "", stmt.body, alloc_buffers=buffers)
        outer, declared = self._outer_buffers(block)
        reads, writes, _ = detect_regions(block, outer.values())
        reads, writes = (
            tuple(
                [full_region(outer[region.buffer.data]) if region.buffer in declared else region for region in regions]
            )
            for regions in (reads, writes)
        )
        return replace(stmt, body=tir.BlockRealize((), TRUE, replace(block, reads=reads, writes=writes)))

    def _outer_buffers(self, block: tir.Block) -> tuple[dict[tir.Var, tir.Buffer], set[tir.Buffer]]:
        """Return the buffers that are declared outside of `block` and whose memory it uses, by their memory, and the views
        that it declares.
        """
        nodes = list(walk(block))
        blocks = [node for node in nodes if isinstance(node, tir.Block)]
        declared = {node.buffer for node in nodes if isinstance(node, tir.DeclBuffer)}
        own = {node.buffer_var for node in nodes if isinstance(node, tir.Allocate | tir.AllocateConst)}
        own.update(buffer.data for inner in blocks for buffer in inner.alloc_buffers)
        used = [node for node in nodes if isinstance(node, tir.Buffer) and node.data not in own]
        found = {buffer.data: buffer for buffer in used if buffer not in declared}
        return found | {
            buffer.data: self._owners[buffer.data] for buffer in used if buffer.data in self._owners
        }, declared

    def _only_declared(self, block: tir.Block) -> set[tir.Buffer]:
        """Return the moved buffers in regions of `block` that it never accesses: they may be declared elsewhere now."""
        declared = {region.buffer for region in (*block.reads, *block.writes)} & self._moved
        if not declared:
            return declared
        used = {node.buffer.data for node in walk(block) if isinstance(node, tir.BufferLoad | tir.BufferStore)}
        return {buffer for buffer in declared if buffer.data not in used}

    def _block(self, old: tir.Block) -> tir.Block:
        block = self.rebuild(old)
        leaving = self._leaving.get(old, set()) | self._only_declared(block)
        if not leaving:
            return block
        kept = [buffer for buffer in block.alloc_buffers if buffer not in leaving]
        return replace(
            block,
            alloc_buffers=(*kept, *self._arriving.get(old, ())),
            reads=tuple([region for region in block.reads if region.buffer not in leaving]),
            writes=tuple([region for region in block.writes if region.buffer not in leaving]),
        )
