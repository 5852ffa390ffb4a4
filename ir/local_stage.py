"""Copies to shared memory that load into registers first and store later, so that a software pipeline can overlap the loads
with the work on the previous tile (TVM: `ManifestSharedMemoryLocalStage`).

    for i, ty, tx in …:                              for i, ty, tx in …: local[i] = A[…]
        with T.block("copy"):              →
            S[…] = A[…]                              for i, ty, tx in …: S[…] = local[i]

The block has the annotation `tir.manifest_shared_memory_local_stage`.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from . import make, tir
from .buffers import decl_buffer

LOCAL_STAGE = "tir.manifest_shared_memory_local_stage"


class LocalStage(Struct, frozen=True):
    """A copy in two statements: `load` fills `buffer` in local memory, `store` copies its elements to `target`."""

    buffer: tir.Buffer
    target: tir.Buffer
    load: tir.Stmt
    store: tir.Stmt


def local_stage_of(stmt: tir.Stmt) -> LocalStage | None:
    """Return the two statements of a copy that asks for them: loops around a block that stores one element per iteration.
    Both have the same loop variables. None for other statements, and where the number of iterations is not constant.
    """
    loops: list[tir.For] = []
    while isinstance(stmt, tir.For):
        loops.append(stmt)
        stmt = stmt.body
    if not isinstance(stmt, tir.BlockRealize) or LOCAL_STAGE not in stmt.block.annotations:
        return None
    block, store = stmt.block, stmt.block.body
    own = [loop for loop in loops if loop.thread_binding is None]
    if not isinstance(store, tir.BufferStore) or not all(isinstance(loop.extent, tir.IntImm) for loop in own):
        return None
    shape = tuple([loop.extent for loop in own]) or (tir.IntImm("int32", 1),)
    buffer = decl_buffer(shape, store.value.dtype, f"{store.buffer.name}_local", "local")
    place = tuple([make.sub(loop.loop_var, loop.min) for loop in own]) or (tir.IntImm("int32", 0),)
    region = tir.BufferRegion(buffer, tuple([tir.Range(index, tir.IntImm(index.dtype, 1)) for index in place]))
    kept = {key: value for key, value in block.annotations.items() if key != LOCAL_STAGE}
    load = replace(
        block,
        name_hint=f"{block.name_hint}_local",
        writes=(region,),
        body=tir.BufferStore(buffer, store.value, place, span=store.span),
        annotations={},
    )
    loaded = tir.BufferLoad(buffer.dtype, buffer, place)
    second = replace(block, reads=(region,), body=replace(store, value=loaded), annotations=kept)
    return LocalStage(
        buffer, store.buffer, _around(loops, replace(stmt, block=load)), _around(loops, replace(stmt, block=second))
    )


def _around(loops: list[tir.For], stmt: tir.Stmt) -> tir.Stmt:
    for loop in reversed(loops):
        stmt = replace(loop, body=stmt)
    return stmt
