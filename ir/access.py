"""Detection of the regions that a block reads and writes (TVM: `tir.analysis.GetBlockAccessRegion`)."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence

from msgspec.structs import replace

from . import make, tir
from .base import Node, Op
from .deep import deep
from .int_set import EVERYTHING, Interval, cover, eval_set, evaluate, from_range, intersect, point, union
from .linear import linear
from .visit import children, substitute, walk

Regions = tuple[tir.BufferRegion, ...]


def full_region(buffer: tir.Buffer) -> tir.BufferRegion:
    """Return the region that covers all of `buffer`."""
    return tir.BufferRegion(buffer, tuple([tir.Range(make.const(0, extent.dtype), extent) for extent in buffer.shape]))


@deep
def detect_regions(block: tir.Block, visible: Iterable[tir.Buffer]) -> tuple[Regions, Regions, Regions]:
    """Return the regions that `block` reads, writes, and accesses through pointers.

    Only buffers in `visible` count. They are listed in the order of their first access. Variables of loops inside the
    block are relaxed to their domains; nested blocks count by their declared `reads` and `writes`. An axis is covered
    completely if its bounds depend on memory that the block defines or writes. If the block has an `init`, a buffer that
    it writes is not listed as read: that read is part of the reduction.
    """
    detector = _Detector({buffer.data: buffer for buffer in visible})
    detector.visit_block(block)
    writes = detector.writes.regions(detector.changed)
    written = {region.buffer for region in writes} if block.init is not None else set[tir.Buffer]()
    reads = tuple([region for region in detector.reads.regions(detector.changed) if region.buffer not in written])
    return reads, writes, detector.opaque.regions(detector.changed)


def with_regions(block: tir.Block, visible: Iterable[tir.Buffer]) -> tir.Block:
    """Return a block with its regions derived anew, for the buffers in `visible` and those that it declared before."""
    known = [region.buffer for region in (*block.reads, *block.writes)]
    reads, writes, opaque = detect_regions(block, dict.fromkeys((*known, *visible)))
    for region in opaque:
        reads = reads if any(read.buffer is region.buffer for read in reads) else (*reads, region)
        writes = writes if any(write.buffer is region.buffer for write in writes) else (*writes, region)
    return replace(block, reads=reads, writes=writes)


class _Accesses:
    """The union of the accesses to each buffer, in the order of first access."""

    def __init__(self) -> None:
        self.found: dict[tir.Buffer, list[Interval]] = {}

    def add(self, buffer: tir.Buffer, region: list[Interval]) -> None:
        known = self.found.get(buffer)
        if known is not None and len(known) == len(region):
            region = [union(a, b) for a, b in zip(known, region, strict=True)]
        self.found[buffer] = region

    def regions(self, changed: Container[tir.Var]) -> Regions:
        """Return the regions. Bounds that depend on the memory in `changed` are unknown outside of the block."""

        def known(axis: Interval) -> Interval:
            nodes = (node for end in (axis.min, axis.max) if end is not None for node in walk(end))
            loads = (node for node in nodes if isinstance(node, tir.BufferLoad))
            return EVERYTHING if any(load.buffer.data in changed for load in loads) else axis

        return tuple(
            [tir.BufferRegion(buffer, _covered(buffer, list(map(known, axes)))) for buffer, axes in self.found.items()]
        )


def _covered(buffer: tir.Buffer, region: Sequence[Interval]) -> tuple[tir.Range, ...]:
    return tuple([cover(axis, extent) for axis, extent in zip(region, buffer.shape, strict=False)])


class _Detector:
    def __init__(self, visible: dict[tir.Var, tir.Buffer]) -> None:
        self.visible = visible
        self.matches: dict[tir.Var, tir.MatchBufferRegion] = {}
        self.domains: dict[tir.Var, Interval] = {}
        self.lets: dict[tir.Var, tir.PrimExpr] = {}
        self.reads, self.writes, self.opaque = _Accesses(), _Accesses(), _Accesses()
        self.changed: set[tir.Var] = set()
        """The memory that the block defines or writes."""

    def visit_block(self, block: tir.Block) -> None:
        self.changed.update([buffer.data for buffer in block.alloc_buffers])
        self.changed.update([match.buffer.data for match in block.match_buffers])
        for match in block.match_buffers:
            if match.source.buffer.data in self.visible:
                self.matches[match.buffer.data] = match
                self.visible[match.buffer.data] = match.buffer
        for axis in block.iter_vars:
            if axis.dom is not None:
                self._visit_all((axis.dom.min, axis.dom.extent))
        for region in (*block.reads, *block.writes, *[match.source for match in block.match_buffers]):
            for axis in region.region:
                self._visit_all((axis.min, axis.extent))
        if block.init is not None:
            self.visit(block.init)
        self.visit(block.body)

    def _visit_all(self, nodes: Iterable[Node]) -> None:
        for node in nodes:
            self.visit(node)

    def visit(self, node: Node) -> None:
        match node:
            case tir.Var():
                if node in self.visible:
                    self.changed.add(node)
                    buffer = self.visible[node]
                    self._add(self.opaque, buffer, [from_range(r.min, r.extent) for r in full_region(buffer).region])
            case tir.BufferLoad():
                self._add(self.reads, node.buffer, self._intervals(node.indices))
                self._visit_all(node.indices)
            case tir.BufferStore():
                self.changed.add(node.buffer.data)
                self._add(self.writes, node.buffer, self._intervals(node.indices))
                self._visit_all((node.value, *node.indices))
            case tir.For():
                self._visit_for(node)
            case tir.LetStmt():
                self.lets[node.var] = node.value
                self._visit_all((node.value, node.body))
                del self.lets[node.var]
            case tir.IfThenElse():
                self._visit_choice(node.condition, node.then_case, node.else_case)
            case tir.Call(op=Op(name="tir.if_then_else")):
                condition, then_case, else_case = node.args
                assert isinstance(condition, tir.PrimExpr)
                self._visit_choice(condition, then_case, else_case)
            case tir.Call(op=Op(name="tir.tvm_access_ptr")) if len(node.args) == 5:
                self._visit_access_pointer(node)
            case tir.BlockRealize():
                self._visit_realize(node)
            case tir.Let():
                self._visit_all((node.value, node.body))
            case tir.AllocateConst():
                self.changed.add(node.buffer_var)
                self.visit(node.body)
            case tir.DeclBuffer() | tir.BufferRealize():
                self.visit(node.body)
            case tir.Allocate():
                self.changed.add(node.buffer_var)
                self._visit_all((*node.extents, node.body, node.condition))
            case tir.AttrStmt():
                self._visit_all((node.value, node.body))
            case _:
                self._visit_all([child for child in children(node) if isinstance(child, tir.PrimExpr | tir.Stmt)])

    def _visit_for(self, node: tir.For) -> None:
        self.domains[node.loop_var] = from_range(node.min, node.extent)
        self._visit_all((node.min, node.extent, node.body))
        del self.domains[node.loop_var]

    def _visit_choice(self, condition: tir.PrimExpr, then_case: Node, else_case: Node | None) -> None:
        self.visit(condition)
        for branch, holds in ((then_case, True), (else_case, False)):
            if branch is not None:
                outside = dict(self.domains)
                self.domains.update(restricted(condition, holds, self.domains))
                self.visit(branch)
                self.domains = outside

    def _visit_access_pointer(self, node: tir.Call) -> None:
        data, mask = node.args[1], node.args[4]
        if not (isinstance(data, tir.Var) and isinstance(mask, tir.IntImm)):
            self._visit_all(node.args)
        elif data in self.visible:
            accesses = {1: self.reads, 2: self.writes, 3: self.opaque}.get(mask.value & 3)
            buffer = self.visible[data]
            if accesses is not None:
                self._add(accesses, buffer, [from_range(r.min, r.extent) for r in full_region(buffer).region])

    def _visit_realize(self, node: tir.BlockRealize) -> None:
        """Add the declared regions of a nested block; its body is not analysed."""
        values = dict(zip([axis.var for axis in node.block.iter_vars], node.iter_values, strict=False))
        self.changed.update([region.buffer.data for region in node.block.writes])
        for accesses, regions in ((self.reads, node.block.reads), (self.writes, node.block.writes)):
            for region in regions:
                axes = [from_range(substitute(r.min, values), substitute(r.extent, values)) for r in region.region]
                self._add(accesses, region.buffer, [eval_set(axis, self.domains) for axis in axes])

    def _intervals(self, indices: Sequence[tir.PrimExpr]) -> list[Interval]:
        result: list[Interval] = []
        for index in indices:
            inlined = substitute(index, self.lets)
            while inlined is not index:
                index, inlined = inlined, substitute(inlined, self.lets)
            whole = point(index) if index.dtype in ("int32", "int64") else evaluate(index, {})
            result.append(eval_set(whole, self.domains))
        return result

    def _add(self, accesses: _Accesses, buffer: tir.Buffer, region: list[Interval]) -> None:
        if buffer.data not in self.visible:
            return
        match = self.matches.get(buffer.data)
        if match is not None:
            buffer, region = match.source.buffer, self._through(match, region)
        accesses.add(buffer, region)

    def _through(self, match: tir.MatchBufferRegion, region: list[Interval]) -> list[Interval]:
        """Return the region of the source of `match` that corresponds to `region` of its buffer."""
        covered = _covered(match.buffer, region)
        source = match.source.region
        leading = len(source) - len(covered)
        if leading < 0:  # malformed: the verifier reports it
            return [eval_set(from_range(axis.min, axis.extent), self.domains) for axis in source]
        ranges = [*source[:leading]]
        for outer, inner in zip(source[leading:], covered, strict=True):
            ranges.append(tir.Range(make.add(outer.min, inner.min), inner.extent))
        return [eval_set(from_range(axis.min, axis.extent), self.domains) for axis in ranges]


def restricted(condition: tir.PrimExpr, holds: bool, domains: Mapping[tir.Var, Interval]) -> dict[tir.Var, Interval]:
    """Return the domains of the loop variables that `condition`, or its negation, bounds.

    Like TVM, ignore a condition that mentions other variables than relaxed loop variables.
    """
    if any(isinstance(node, tir.Var) and node not in domains for node in walk(condition)):
        return {}
    result: dict[tir.Var, Interval] = {}
    result.update(_without_end(condition, holds, domains))
    for comparison in comparisons(condition, holds):
        form = linear(comparison)
        if len(form.terms) != 1:
            continue
        ((term, factor),) = form.terms.items()
        if isinstance(term, tir.Var) and abs(factor) == 1:
            end = make.const(-form.constant * factor, term.dtype)
            bound = Interval(None, end) if factor == 1 else Interval(end, None)
            result[term] = intersect(result.get(term, domains[term]), bound)
    return result


def _without_end(condition: tir.PrimExpr, holds: bool, domains: Mapping[tir.Var, Interval]) -> dict[tir.Var, Interval]:
    """Return the domain of a variable that is not equal to the first or the last value of its domain."""
    match condition:
        case tir.NE(a=tir.Var() as var, b=tir.IntImm(value=value)) if holds:
            pass
        case tir.EQ(a=tir.Var() as var, b=tir.IntImm(value=value)) if not holds:
            pass
        case _:
            return {}
    least, most = domains[var].min, domains[var].max
    if isinstance(least, tir.IntImm) and least.value == value:
        return {var: Interval(make.add(least, 1), most)}
    if isinstance(most, tir.IntImm) and most.value == value:
        return {var: Interval(least, make.sub(most, 1))}
    return {}


def comparisons(condition: tir.PrimExpr, holds: bool) -> list[tir.PrimExpr]:
    """Return expressions that are <= 0 if `condition` is true (or false, unless `holds`); conjunctions are split."""
    match condition:
        case tir.Call(op=Op(name="tir.likely"), args=(tir.PrimExpr() as inner,)) | tir.Not(a=inner):
            return comparisons(inner, holds != isinstance(condition, tir.Not))
        case tir.And(a=a, b=b) if holds:
            return comparisons(a, holds) + comparisons(b, holds)
        case tir.Or(a=a, b=b) if not holds:
            return comparisons(a, holds) + comparisons(b, holds)
        case tir.LT(a=a, b=b) | tir.GT(a=b, b=a):
            return [make.add(make.sub(a, b), 1) if holds else make.sub(b, a)]
        case tir.LE(a=a, b=b) | tir.GE(a=b, b=a):
            return [make.sub(a, b) if holds else make.add(make.sub(b, a), 1)]
        case tir.EQ(a=a, b=b) if holds:
            return [make.sub(a, b), make.sub(b, a)]
        case _:
            return []
