"""Copies to shared memory through registers, in two statements (TVM: `ManifestSharedMemoryLocalStage`)."""

from __future__ import annotations

from msgspec.structs import replace

from ...ir import tir
from ...ir.local_stage import local_stage_of
from .rewriter import Rewriter, copy_of, sequence


def manifest_local_stages(func: tir.PrimFunc) -> tir.PrimFunc:
    """Return `func`, whose blocks are opaque, with the copies that ask for it divided into loads and stores.

    The buffer between them is allocated where the target of the copy is.
    """
    return replace(func, body=_Manifester().rewrite(func.body))


class _Manifester(Rewriter):
    def __init__(self) -> None:
        super().__init__({tir.For: self._for, tir.BlockRealize: self._realize, tir.Block: self._block})
        self._made: dict[tir.Buffer, list[tir.Buffer]] = {}

    def _for(self, loop: tir.For) -> tir.Stmt:
        return self._divided(loop) or self.rebuild(loop)

    def _realize(self, realize: tir.BlockRealize) -> tir.Stmt:
        return self._divided(realize) or self.rebuild(realize)

    def _divided(self, stmt: tir.Stmt) -> tir.Stmt | None:
        stage = local_stage_of(stmt)
        if stage is None:
            return None
        self._made.setdefault(stage.target, []).append(stage.buffer)
        return sequence([copy_of(stage.load, {}), self.rewrite(stage.store)])

    def _block(self, block: tir.Block) -> tir.Block:
        inner = self.rebuild(block)
        made = [buffer for target in block.alloc_buffers for buffer in self._made.pop(target, ())]
        return replace(inner, alloc_buffers=(*inner.alloc_buffers, *made)) if made else inner
