"""Tensor expressions in Python (TVM: `tvm.te`): the names of `ir.te`, and the functions of expressions of `tvms.tir`."""

from ..te import *  # noqa: F403
from . import tir


def __getattr__(name: str) -> object:
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(tir, name)
