"""DLight: schedule rules under TVM's names, as recipes of schedule primitives (TVM: `tvm.dlight`).

    with tvms.target.Target("cuda"):
        mod = dlight.ApplyDefaultSchedule(dlight.gpu.Matmul(), dlight.gpu.Fallback())(mod)

`dlight.gpu.Matmul().apply(func, target, False).script()` prints the recipe of a function as an `S.schedule`.
"""

from . import analysis, cpu, gpu
from .analysis import BlockInfo, IterInfo, normalize_prim_func
from .base import ApplyDefaultSchedule, ScheduleRule, try_inline, try_inline_contiguous_spatial

__all__ = [
    "ApplyDefaultSchedule", "BlockInfo", "IterInfo", "ScheduleRule", "analysis", "cpu", "gpu", "normalize_prim_func",
    "try_inline", "try_inline_contiguous_spatial",
]  # fmt: skip
