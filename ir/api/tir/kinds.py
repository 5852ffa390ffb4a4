"""Enumerations and small functions of `tvm.tir` that nothing else in tvms needs."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from ... import make, tir
from ...base import GlobalVar
from ...dtype import parse_dtype
from ..constructor import plain_node


class CallEffectKind(IntEnum):
    """How much a call of an intrinsic depends on the state, and changes it (TVM: `tir.CallEffectKind`)."""

    ExprAnnotation = 0
    Pure = 1
    ReadState = 2
    UpdateState = 3
    SpecialCallArg = 4
    EmbedInfo = 5
    ControlJump = 6
    Opaque = UpdateState


def call_tir(global_var: GlobalVar, *args: Any) -> tir.Call:
    """Return the call of a function of the module; its dtype is void (TVM: `tir.call_tir`)."""
    return tir.Call("void", global_var, tuple(plain_node(arg) for arg in args))


def get_vscale_expr(dtype: str, min_size: int = 128) -> tir.PrimExpr:
    """Return the number of elements of `dtype` in a scalable vector of at least `min_size` bits: `n * T.vscale()`."""
    return make.vscale() * (min_size // parse_dtype(dtype).bits)
