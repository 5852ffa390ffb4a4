"""`GEMV`: products of a matrix and a vector on processors (TVM: `tvm.dlight.cpu.GEMV`)."""

from __future__ import annotations

from ....ir import tir
from ....ir.schedule import Schedule
from ...current_target import Target
from ..analysis import is_gemv, normalize, normalize_prim_func
from ..base import TargetRule, get_extent, try_inline_contiguous_spatial, unroll_up_to

_VECTOR = 8
_UNROLLED = 256


class CPUScheduleRule(TargetRule):
    """A rule for processors (TVM: `CPUScheduleRule`)."""

    key = "cpu"


class GEMV(CPUScheduleRule):
    """Tiles of rows in parallel, the rows of a tile as lanes of a vector."""

    def schedule(self, func: tir.PrimFunc, target: Target) -> Schedule | None:
        """Return the schedule; None if the function is not a product of a row-major matrix and a vector."""
        sch = Schedule(func)
        infos = try_inline_contiguous_spatial(sch, normalize_prim_func(sch))
        if not infos or len(infos) > 2 or not all(info.is_injective() for info in infos[1:]):
            return None
        info = infos[0]
        if len(info.iters) not in (2, 3) or is_gemv(sch, info) is None or not normalize(sch, info):
            return None
        loops = sch.get_loops(info.block_rv)
        batch, rows, length, packed = [get_extent(sch, loop) for loop in loops]
        tile = (64, 64)
        if isinstance(batch, int) and isinstance(rows, int) and isinstance(length, int) and isinstance(packed, int):
            tile = (128, 64) if batch * rows > length * packed else (64, 128)
        outer, inner = sch.split(loops[1], factors=[None, tile[0]])
        steps, _ = sch.split(loops[2], factors=[None, tile[1]])
        sch.split(loops[3], factors=[None, min(_VECTOR, packed) if isinstance(packed, int) else _VECTOR])
        sch.vectorize(inner)
        sch.parallel(outer)
        unroll_up_to(sch, steps, _UNROLLED)
        return sch
