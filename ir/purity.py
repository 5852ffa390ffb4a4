"""Side effects of graph-level calls, and the memory that in-place calls overwrite."""

from __future__ import annotations

from . import relax, tir
from .base import GlobalVar, IRModule, Op, StructInfo
from .ops.registry import find

FORCE_PURE = "relax.force_pure"
"""The attribute of functions that are pure as a whole although they contain impure lowered calls."""

VIEWS = frozenset(("relax.reshape", "relax.memory.view", "relax.memory.ensure_zero_offset"))
"""Operators whose result may share the memory of an argument."""
_UNKNOWN = frozenset(("relax.call_pure_packed", "relax.call_inplace_packed", "relax.invoke_pure_closure"))
"""Operators that call a function of which nothing is known."""


def is_pure_call(call: relax.Call, module: IRModule | None) -> bool:
    """Whether a call is pure, or its callee is unknown. An external function may have side effects, unless its type says otherwise."""
    match call.op:
        case Op(name=name):
            known = find(name)
            return known is None or known.pure
        case GlobalVar(name_hint=name) if module is not None:
            callee = module.functions.get(name)
            if isinstance(callee, tir.PrimFunc):
                return callee.ret_type is not None  # a callee that returns nothing is called for its side effects
            return not isinstance(callee, relax.Function) or callee.is_pure
        case relax.ExternFunc(struct_info=None):
            return False
        case relax.Expr(struct_info=info):
            return _type_is_pure(info)
        case _:
            return True


def may_return_argument(call: relax.Call) -> bool:
    """Return whether the result of a call may be, or contain, an argument or memory of it."""
    return not isinstance(call.op, Op) or call.op.name in VIEWS or call.op.name in _UNKNOWN


def inplace_arguments(value: relax.Expr) -> tuple[relax.Expr, ...]:
    """Return the tensors whose memory an in-place call reuses for its results; they must not be used after it."""
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
