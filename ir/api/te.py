"""Tensor expressions in Python (TVM: `tvm.te`): the names of `ir.te`, and the functions of expressions of `tvms.tir`."""

from ..left_out import message_for, reason_for
from ..schedule.layout_arguments import AXIS_SEPARATOR as AXIS_SEPARATOR
from ..te import *  # noqa: F403
from . import tir


def __getattr__(name: str) -> object:
    if name.startswith("__"):
        raise AttributeError(name)
    if reason_for(f"tvms.te.{name}"):
        raise AttributeError(message_for(f"tvms.te.{name}"))
    return getattr(tir, name)


def __dir__() -> list[str]:
    return sorted({*(name for name in globals() if not name.startswith("_")), *dir(tir)})
