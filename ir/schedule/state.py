"""The program of a schedule as TVM's `ScheduleState` shows it: references to blocks and loops, and dependences of blocks."""

from __future__ import annotations

from enum import IntFlag

from msgspec import Struct

from .. import tir
from ..base import IRModule
from ..programs import as_module
from .analysis.affine import is_affine_block
from .analysis.order import is_shared
from .analysis.pipeline import is_region_covered
from .analysis.scope import Dependency, DepKind, Scope
from .program import Program
from .random import Random


class ScheduleDebugMask(IntFlag):
    """What a schedule checks after each primitive (TVM: `ScheduleDebugMask`); here any of them verifies the program."""

    VERIFY_SREF_TREE = 1
    VERIFY_CACHED_FLAGS = 2


class StmtSRef(Struct, frozen=True, eq=False):
    """Block or loop with its ancestors (TVM: `tvm.tir.schedule.StmtSRef`)."""

    stmt: tir.Block | tir.For
    parent: StmtSRef | None

    def same_as(self, other: object) -> bool:
        """Return whether `other` is this reference: the same block or loop in the same schedule."""
        return self is other


class ReferredDependency(Struct, frozen=True):
    """Dependence between two blocks, as references (TVM: `tvm.tir.schedule.Dependency`)."""

    src: StmtSRef
    dst: StmtSRef
    kind: DepKind


class CachedFlags(Struct, frozen=True):
    """What holds for a block and its scope (TVM: `tvm.tir.schedule.state.CachedFlags`)."""

    affine_binding: bool
    """Whether its bindings are affine in the loops around it."""
    region_cover: bool
    """Whether preceding blocks write all that it reads of their buffers."""
    stage_pipeline: bool
    """Whether that holds for all blocks in it, and none writes what another one has read."""


class BlockScope(Struct, frozen=True):
    """Dependences between the blocks of a scope (TVM: `tvm.tir.schedule.BlockScope`)."""

    state: ScheduleState
    scope: Scope

    def get_deps_by_src(self, block: StmtSRef) -> list[ReferredDependency]:
        """Return the dependences of other blocks on `block`."""
        return self._referred(self.scope.after(_block_of(block)))

    def get_deps_by_dst(self, block: StmtSRef) -> list[ReferredDependency]:
        """Return the dependences of `block` on other blocks."""
        return self._referred(self.scope.before(_block_of(block)))

    def _referred(self, found: list[Dependency]) -> list[ReferredDependency]:
        sref = self.state.get_sref
        return [ReferredDependency(sref(one.src), sref(one.dst), one.kind) for one in found]


class ScheduleState:
    """Program of a schedule (TVM: `tvm.tir.ScheduleState`). It cannot be changed; primitives of a `Schedule` change programs."""

    def __init__(
        self, mod: IRModule | tir.PrimFunc, *, debug_mask: str | int = "none", enable_check: bool = True
    ) -> None:
        module = IRModule({"main": mod}, name="Module") if isinstance(mod, tir.PrimFunc) else as_module(mod)
        self._program = Program(module, {}, None, Random(None))
        self._srefs: dict[tir.Stmt, StmtSRef] = {}

    @classmethod
    def of(cls, program: Program, srefs: dict[tir.Stmt, StmtSRef]) -> ScheduleState:
        """Return the state of a program, which shares the references that a schedule has given out."""
        state = object.__new__(cls)
        state._program, state._srefs = program, srefs
        return state

    @property
    def mod(self) -> IRModule:
        """Current module."""
        return self._program.module

    def get_sref(self, stmt: tir.Block | tir.For) -> StmtSRef:
        """Return the reference to a block or loop of the program."""
        if stmt not in self._srefs:
            parent = self._program.parent(stmt)
            self._srefs[stmt] = StmtSRef(stmt, None if parent is None else self.get_sref(parent))
        return self._srefs[stmt]

    def get_block_scope(self, block_sref: StmtSRef) -> BlockScope:
        """Return the dependences between the blocks right inside a block."""
        return BlockScope(self, Scope(_block_of(block_sref)))

    get_sblock_scope = get_block_scope
    """Name of the newest TVM."""

    def _get_cached_flags(self, block_sref: StmtSRef) -> CachedFlags:
        """Return what holds for a block (TVM's tests and rules call this method).

        Threads see what others have written to memory that they share.
        """
        block, inside = _block_of(block_sref), Scope(_block_of(block_sref))
        around = self._program.scope_of(block)
        return CachedFlags(
            is_affine_block(self._program, block),
            around is None or is_region_covered(self._program, Scope(around), block, is_shared),
            all(dependency.kind is not DepKind.WAR for dependency in inside.dependencies)
            and all(is_region_covered(self._program, inside, child, is_shared) for child in inside.blocks),
        )


def _block_of(sref: StmtSRef) -> tir.Block:
    if not isinstance(sref.stmt, tir.Block):
        raise TypeError("expected a reference to a block, got one to a loop")
    return sref.stmt
