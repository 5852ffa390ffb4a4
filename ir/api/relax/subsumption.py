"""Whether every value of one struct info also matches another, and how certain that is (TVM: `StructInfoBaseCheck`)."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any

from ... import relax, tir
from ...base import StructInfo, VDevice
from ...equal import structural_equal
from ...ops import dims as d
from ...ops.inference import dims_of
from .struct_info import as_struct_info


class BaseCheckResult(IntEnum):
    """How `derived` relates to `base`, worst first: the result for a compound is the minimum over its parts."""

    FAIL_L0 = 0
    """No value matches both."""
    FAIL_L1 = 1
    """`derived` lacks a dtype, a rank, a device or a kind that `base` requires."""
    FAIL_L2 = 2
    """`derived` lacks sizes that `base` requires, or they cannot be proven equal."""
    PASS = 3
    """Every value of `derived` matches `base`."""


_L0, _L1, _L2, _PASS = BaseCheckResult


def struct_info_base_check(base: Any, derived: Any) -> BaseCheckResult:
    """Return whether `base` subsumes `derived`. Symbolic dimensions of both are those of one scope."""
    base, derived = as_struct_info(base), as_struct_info(derived)
    match base, derived:
        case (relax.ObjectStructInfo(), _):
            return _PASS
        case (_, relax.ObjectStructInfo()):
            return _L1
        case relax.PrimStructInfo(), relax.PrimStructInfo():
            if base.dtype != derived.dtype:
                return _L0
            return _sizes(_value(base), _value(derived))
        case relax.ShapeStructInfo(), relax.ShapeStructInfo():
            return min(_ranks(base.ndim, derived.ndim), _sizes(base.values, derived.values))
        case relax.TensorStructInfo(), relax.TensorStructInfo():
            return _tensors(base, derived)
        case relax.TupleStructInfo(), relax.TupleStructInfo():
            return _all(base.fields, derived.fields)
        case relax.FuncStructInfo(), relax.FuncStructInfo():
            return _functions(base, derived)
        case _:
            return _L0


def _all(bases: Sequence[StructInfo], derived: Sequence[StructInfo]) -> BaseCheckResult:
    if len(bases) != len(derived):
        return _L0
    return min(map(struct_info_base_check, bases, derived), default=_PASS)


def _value(info: relax.PrimStructInfo) -> tuple[tir.PrimExpr, ...] | None:
    return None if info.value is None else (info.value,)


def _ranks(base: int, derived: int) -> BaseCheckResult:
    if base in (-1, derived):
        return _PASS
    return _L1 if derived == -1 else _L0


def _sizes(bases: d.Dims | None, derived: d.Dims | None) -> BaseCheckResult:
    """Compare sizes of one rank; None if they are unknown."""
    if bases is None:
        return _PASS
    if derived is None or len(bases) != len(derived):
        return _L2
    results = (
        _PASS if d.is_equal(base, size) else _L0 if _are_constants(base, size) else _L2
        for base, size in zip(bases, derived, strict=True)
    )
    return min(results, default=_PASS)


def _are_constants(*sizes: tir.PrimExpr) -> bool:
    return all(isinstance(size, tir.IntImm) for size in sizes)


def _tensors(base: relax.TensorStructInfo, derived: relax.TensorStructInfo) -> BaseCheckResult:
    result = min(_ranks(base.ndim, derived.ndim), _devices(base.vdevice, derived.vdevice))
    if base.dtype not in ("void", derived.dtype):
        result = min(result, _L1 if derived.dtype == "void" else _L0)
    if base.shape is None or base.shape is derived.shape:
        return result
    if not isinstance(base.shape, relax.ShapeExpr) or not isinstance(derived.shape, relax.ShapeExpr):
        return min(result, _L2)
    return min(result, _sizes(dims_of(base), dims_of(derived)))


def _devices(base: VDevice | None, derived: VDevice | None) -> BaseCheckResult:
    if base is None:
        return _PASS
    if derived is None:
        return _L1
    return _PASS if structural_equal(base, derived) else _L0


def _functions(base: relax.FuncStructInfo, derived: relax.FuncStructInfo) -> BaseCheckResult:
    """Compare functions: an impure one is not pure, and the results must fit. Parameters are compared up to certainty."""
    if base.purity and not derived.purity:
        return _L0
    if base.params is None:
        if base.derive_func is not None:
            return _PASS if base.derive_func == derived.derive_func else _L2
        return struct_info_base_check(base.ret, derived.ret)
    if derived.params is None:
        return _L2
    if structural_equal(base, derived):
        return _PASS
    params = _all(base.params, derived.params)
    return min(_L2 if params is _L1 else params, struct_info_base_check(base.ret, derived.ret))
