"""Whether sorting and scanning call Thrust (TVM: `tvm.contrib.thrust`)."""

from __future__ import annotations


def can_use_thrust(target: object, func_name: str) -> bool:
    """Return False: tvms generates its own kernels that sort and scan."""
    del target, func_name
    return False
