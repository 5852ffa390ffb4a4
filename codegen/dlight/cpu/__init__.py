"""Schedule rules for processors (TVM: `tvm.dlight.cpu`)."""

from .gemv import GEMV, CPUScheduleRule

__all__ = ["GEMV", "CPUScheduleRule"]
