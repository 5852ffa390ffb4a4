"""What the rules for GPUs share."""

from __future__ import annotations

from ...current_target import Target
from ..base import TargetRule


class GPUScheduleRule(TargetRule):
    """A rule for GPUs; it does not apply to other targets (TVM: `GPUScheduleRule`)."""

    key = "gpu"


def is_adreno(target: Target) -> bool:
    """Return whether a target is a GPU of an Android device."""
    return target.kind == "opencl" and ("android" in str(target.host) or "adreno" in str(target))
