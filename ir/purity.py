"""Whether a graph-level call has side effects, and what it changes that only it uses."""

from __future__ import annotations

from . import relax, tir
from .base import GlobalVar, IRModule, Op, StructInfo
from .ops.registry import find

FORCE_PURE = "relax.force_pure"
"""The attribute of functions whose calls were lowered to some with side effects that together have none."""

VIEWS = frozenset(("relax.reshape", "relax.memory.view", "relax.memory.ensure_zero_offset"))
"""Operators that may return the memory that they are given."""


def is_pure_call(call: relax.Call, module: IRModule | None) -> bool:
    """Whether a call is pure, or nothing is known of what it calls."""
    match call.op:
        case Op(name=name):
            known = find(name)
            return known is None or known.pure
        case GlobalVar(name_hint=name) if module is not None:
            callee = module.functions.get(name)
            if isinstance(callee, tir.PrimFunc):
                return callee.ret_type is not None  # what returns nothing is called for what it writes
            return not isinstance(callee, relax.Function) or callee.is_pure
        case relax.Expr(struct_info=info):
            return _type_is_pure(info)
        case _:
            return True


def inplace_arguments(value: relax.Expr) -> tuple[relax.Expr, ...]:
    """Return the tensors whose memory an in-place call takes for its results: none of them may be used after it."""
    match value:
        case (
            relax.Call(op=Op(name="relax.call_tir_inplace"), args=(_, relax.Tuple(fields=fields), *_))
            | relax.Call(op=Op(name="relax.call_inplace_packed"), args=(_, *fields))
        ):
            places: tuple[int, ...] = value.attrs["inplace_indices"]
            return tuple([fields[place] for place in places if place != -1])
        case _:
            return ()


def _type_is_pure(info: StructInfo | None) -> bool:
    return not isinstance(info, relax.FuncStructInfo) or info.purity
