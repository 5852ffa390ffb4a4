"""Software pipelines: loops whose stages execute for different iterations at the same time (TVM:
`InjectSoftwarePipeline`).

    for i in T.serial(16, annotations={"software_pipeline_stage": [0, 1], "software_pipeline_order": [0, 1]}):
        X = T.alloc_buffer((4,))                     X = T.alloc_buffer((2, 4))
        load(X, i)                         →         load(X[0], 0)
        compute(X, i)                                for i in range(15): load(X[(i + 1) % 2], i + 1); compute(X[i % 2], i)
                                                     compute(X[1], 15)

A later stage reads what an earlier one has written some iterations before; the buffers of the body have as
many versions as that needs. Stages in `software_pipeline_async_stages` are emitted in order, but on targets
with asynchronous copies their copies may complete later. `T.attr(0, "async_scope", n)` marks them
(`codegen.gpu.async_copies`): inside the loop, the copied elements are read at least `n` iterations later;
in the prologue and epilogue, `n` is 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce

from msgspec.structs import replace

from ...ir import make, tir
from ...ir.analysis.proof import Verdict, prove
from ...ir.analysis.regions import are_disjoint
from ...ir.base import Op
from ...ir.diagnostics import error
from ...ir.idioms import NOTHING
from ...ir.simplify import simplify
from ...ir.software_pipeline import (
    ASYNC,
    ORDER,
    STAGE,
    Body,
    NotPipelined,
    Part,
    as_block,
    async_stages,
    body_of,
    check_order,
    is_pipeline,
    number_of,
    parts_of,
)  # fmt: skip
from ...ir.visit import substitute, walk
from .rewriter import Rewriter, copy_of, sequence
from .uses import OFFSET_OF_PART

_TRUE = tir.IntImm("bool", 1)
_POINTERS = {
    "tir.tvm_access_ptr": (1,),
    "tir.ptx_ldmatrix": (3,),
    "tir.ptx_stmatrix": (3, 5),
    "tir.ptx_mma": (6, 8, 10),
    "tir.ptx_wgmma_mma_async": (6, 8, 10),
    "tir.ptx_tcgen05_mma": (6, 8),
}
"""Positions of pointers to buffers in the arguments of intrinsics; an offset in elements follows each of them."""


def inject_software_pipelines(func: tir.PrimFunc) -> tir.PrimFunc:
    """Return `func`, whose blocks are opaque, with annotated loops replaced by software pipelines.

    Raises TvmsError E0616 if the annotations of a loop are invalid.
    """
    return replace(func, body=_Injector(func).rewrite(func.body))


class _Injector(Rewriter):
    def __init__(self, func: tir.PrimFunc) -> None:
        super().__init__({tir.For: self._for})
        blocks = [node for node in walk(func.body) if isinstance(node, tir.Block)]
        self._around = 0
        """Number of pipelines around the statement."""
        self._twice = {_double_buffer(block) for block in blocks if "double_buffer_scope" in block.annotations}

    def _for(self, stmt: tir.For) -> tir.Stmt:
        self._around += is_pipeline(stmt)
        loop = self.rebuild(stmt)
        self._around -= is_pipeline(stmt)
        if not is_pipeline(loop):
            return loop
        try:
            body = body_of(loop)
            parts = parts_of(loop, body)
            check_order(parts, body.buffers)
        except NotPipelined as problem:
            raise error("E0616", problem.reason, loop.span, problem.remedy) from None
        kept = {key: value for key, value in loop.annotations.items() if key not in (STAGE, ORDER, ASYNC)}
        later = async_stages(loop)
        pipeline = _Pipeline(replace(loop, annotations=kept), parts, body.buffers, self._twice, later).build()
        checks = list(_checks(loop, body))
        if not checks:
            return pipeline
        checked = sequence([*checks, pipeline])
        is_entered = simplify(make.greater(loop.extent, make.const(0, loop.extent.dtype)))
        return checked if self._around else tir.IfThenElse(is_entered, checked)


def _checks(loop: tir.For, body: Body) -> Iterator[tir.Stmt]:
    """Yield the checks at the beginning of an iteration that are the same in all of them, such as those of the sizes of its
    buffers, which are allocated before the pipeline.
    """
    for check in body.checks:
        if not any(node is loop.loop_var or isinstance(node, tir.BufferLoad) for node in walk(check)):
            yield check


def _double_buffer(block: tir.Block) -> tir.Buffer:
    position = number_of(block.annotations["double_buffer_scope"])
    if position is None or not 0 <= position < len(block.writes):
        reason = (
            f"block '{block.name_hint}' writes {len(block.writes)} buffers, but 'double_buffer_scope' is "
            f"{block.annotations['double_buffer_scope']}"
        )
        raise error("E0616", reason, block.span, "set 'double_buffer_scope' to the position of a buffer in T.writes")
    return block.writes[position].buffer


# --- The pipeline ---------------------------------------------------------------------------------------------


class _Pipeline:
    """Builds the prologue, the steady state and the epilogue."""

    def __init__(
        self,
        loop: tir.For,
        parts: Sequence[Part],
        buffers: Sequence[tir.Buffer],
        twice: set[tir.Buffer],
        later: set[int],
    ) -> None:
        self._loop, self._buffers, self._later = loop, buffers, later
        self._parts = sorted(parts, key=lambda part: part.order)
        self._depth = max(part.stage for part in parts)
        self._versions: dict[tir.Buffer, tir.Buffer] = {}
        for buffer in buffers:
            count = _versions(buffer, parts, loop)
            if count > 1 or buffer in twice:
                self._versions[buffer] = _with_versions(buffer, max(count, 2))

    def build(self) -> tir.Stmt:
        """Return the block of all three parts."""
        loop, depth = self._loop, make.const(self._depth, self._loop.min.dtype)
        end = make.add(loop.min, loop.extent)
        filled = make.add(loop.min, depth)
        steps = [(loop.min, filled), (filled, end), (make.maximum(end, filled), make.add(end, depth))]
        unroll = [True, False, True]
        emitted = [self._emit(*step, is_end) for step, is_end in zip(steps, unroll, strict=True)]
        buffers = [self._versions.get(buffer, buffer) for buffer in self._buffers]
        return tir.BlockRealize((), _TRUE, as_block(sequence(emitted), buffers))

    def _emit(self, start: tir.PrimExpr, end: tir.PrimExpr, is_unrolled: bool) -> tir.Stmt:
        """Return the steps from `start` to `end`, counted by the iterations of stage 0."""
        loop, count = self._loop, simplify(make.sub(end, start))
        if isinstance(count, tir.IntImm) and count.value <= 0:
            # In an outer pipeline, an empty part counts as a statement, unless all statements have one stage.
            return tir.BlockRealize((), _TRUE, as_block(NOTHING)) if self._depth else NOTHING
        is_once = isinstance(count, tir.IntImm) and count.value == 1
        var = replace(loop.loop_var)
        step = start if is_once else make.add(make.sub(var, loop.min), start)
        domains = {} if is_once else {var: tir.Range(loop.min, count)}
        parts: list[tir.Stmt] = []
        for part in self._parts:
            index = simplify(make.sub(step, make.const(part.stage, step.dtype)), domains)
            inside = self._inside(index, domains)
            if isinstance(inside, tir.IntImm) and not inside.value:
                continue
            block = copy_of(_Versioned(self._versions, loop).rewrite(part.block), {loop.loop_var: index})
            assert isinstance(block, tir.Block)
            realize = tir.BlockRealize((), inside, block)
            goes_on = not (is_once or is_unrolled or loop.kind is tir.ForKind.UNROLLED)
            parts.append(self._asynchronous(part, realize, goes_on) if part.stage in self._later else realize)
        if not is_once:
            kind = tir.ForKind.UNROLLED if is_unrolled else loop.kind
            parts = [replace(loop, loop_var=var, extent=count, kind=kind, body=sequence(parts))]
        return tir.BlockRealize((), _TRUE, as_block(sequence(parts)))

    def _asynchronous(self, part: Part, stmt: tir.Stmt, goes_on: bool) -> tir.Stmt:
        """Mark the copies of `part` as asynchronous; in the steady state, with the number of iterations until they are
        read.
        """
        written = {region.buffer for region in part.block.writes}
        readers = [
            other for other in self._parts if other is not part and any(other.reads(buffer) for buffer in written)
        ]
        distance = min((reader.stage - part.stage for reader in readers), default=0) if goes_on else 0
        return tir.AttrStmt(tir.IntImm("int32", 0), "async_scope", tir.IntImm("int32", distance), stmt)

    def _inside(self, index: tir.PrimExpr, domains: Mapping[tir.Var, tir.Range]) -> tir.PrimExpr:
        """Return the condition that `index` is in the range of the loop, without the parts that are proven."""
        end = make.add(self._loop.min, self._loop.extent)
        conditions = [make.greater_equal(index, self._loop.min), make.less(index, end)]
        verdicts = [(condition, prove(condition, domains).verdict) for condition in conditions]
        if any(
            verdict is Verdict.REFUTED and prove(make.logical_not(expr), domains).is_proven
            for expr, verdict in verdicts
        ):
            return tir.IntImm("bool", 0)
        open_ones = [expr for expr, verdict in verdicts if verdict is not Verdict.PROVEN]
        return simplify(reduce(make.logical_and, open_ones, _TRUE), domains)


def _versions(buffer: tir.Buffer, parts: Sequence[Part], loop: tir.For) -> int:
    """Return how many versions of the buffer are needed."""
    writers = [part for part in parts if part.writes(buffer)]
    readers = [part for part in parts if part.reads(buffer)]
    if not writers or not readers:
        return 1
    count = max(part.stage for part in readers) - min(part.stage for part in writers) + 1
    ahead = [(w, r) for w in writers for r in readers if w.order < r.order and w.stage < r.stage]
    return count if count > 2 or any(_meet(w, r, buffer, loop) for w, r in ahead) else 1


def _meet(writer: Part, reader: Part, buffer: tir.Buffer, loop: tir.For) -> bool:
    """Return whether `writer` in the next iteration may write what `reader` reads in this one."""
    following = {loop.loop_var: make.add(loop.loop_var, make.const(1, loop.loop_var.dtype))}
    written = [write.region for write in writer.block.writes if write.buffer is buffer]
    read = [region.region for region in reader.block.reads if region.buffer is buffer]
    domains = {loop.loop_var: tir.Range(loop.min, loop.extent)}
    return not all(
        are_disjoint([substitute(axis, following) for axis in w], r, domains).is_proven for w in written for r in read
    )


def _with_versions(buffer: tir.Buffer, count: int) -> tir.Buffer:
    number = make.const(count, buffer.shape[0].dtype if buffer.shape else "int32")
    strides = buffer.strides and (make.mul(buffer.strides[0], buffer.shape[0]), *buffer.strides)
    return replace(buffer, shape=(number, *buffer.shape), strides=strides)


class _Versioned(Rewriter):
    """Redirects accesses to the version of the iteration."""

    def __init__(self, versions: Mapping[tir.Buffer, tir.Buffer], loop: tir.For) -> None:
        super().__init__(
            {
                tir.BufferLoad: self._access, tir.BufferStore: self._access, tir.BufferRegion: self._region,
                tir.Call: self._call, tir.Buffer: lambda buffer: versions.get(buffer, buffer),
            }
        )  # fmt: skip
        self._versions, self._loop = versions, loop
        self._by_data = {buffer.data: buffer for buffer in versions}

    def _version(self, buffer: tir.Buffer) -> tir.PrimExpr:
        count = self._versions[buffer].shape[0]
        return make.floormod(make.sub(self._loop.loop_var, self._loop.min), make.cast(count, self._loop.loop_var.dtype))

    def _access(self, access: tir.BufferLoad | tir.BufferStore) -> tir.BufferLoad | tir.BufferStore:
        rebuilt = self.rebuild(access)
        if access.buffer not in self._versions:
            return rebuilt
        return replace(rebuilt, indices=(self._version(access.buffer), *rebuilt.indices))

    def _region(self, region: tir.BufferRegion) -> tir.BufferRegion:
        rebuilt = self.rebuild(region)
        if region.buffer not in self._versions:
            return rebuilt
        version = self._version(region.buffer)
        return replace(rebuilt, region=(tir.Range(version, make.const(1, version.dtype)), *rebuilt.region))

    def _call(self, call: tir.Call) -> tir.Call:
        call = self.rebuild(call)
        args = list(call.args)
        for position in _POINTERS.get(call.op.name, ()) if isinstance(call.op, Op) else ():
            data, offset = args[position], args[position + 1]
            is_part = any(isinstance(node, tir.Call) and node.op == OFFSET_OF_PART for node in walk(offset))
            if isinstance(data, tir.Var) and data in self._by_data and isinstance(offset, tir.PrimExpr) and not is_part:
                buffer = self._by_data[data]
                size = reduce(make.mul, buffer.shape) if not buffer.strides else self._versions[buffer].strides[0]
                args[position + 1] = make.add(offset, make.mul(self._version(buffer), size))
        return replace(call, args=tuple(args))
