"""Python API for both levels (TVM: `tvm.ir`): ranges, types, structural comparison, printing."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, cast

from .. import base, equal, make, relax, tir
from ..base import StructInfo
from ..building.values import plain_nodes
from ..infer import infer_struct_info
from ..spelling import newer_names
from .constructor import constructor, plain_node

Array = tuple
"""Sequences in nodes are tuples."""
Map = dict
"""Maps in nodes are dicts."""
DictAttrs = dict
BaseExpr = tir.PrimExpr | base.RelaxExpr
"""Expressions of both levels, for `isinstance`."""
Expr = BaseExpr
"""Name in TVM 0.27."""
Type = tir.Type | StructInfo
"""Types of both levels, for `isinstance`."""


@constructor(tir.PrimType, relax.PrimStructInfo)
def PrimType(dtype: str) -> tir.PrimType:
    """The type of scalars of a dtype; in TVM 0.27, that of a scalar of the graph level is one too.

    Raises TypeError if `dtype` is not the name of a dtype.
    """
    if not isinstance(cast("object", dtype), str):
        raise TypeError(f"expected the name of a dtype, got {dtype!r}")
    return tir.PrimType(dtype)


@constructor(tir.Var, relax.Var)
@newer_names(name_hint="name")
def Var(name: str, ty: Any = None) -> tir.Var | relax.Var:
    """A variable: of the loop level if the type is that of a scalar or a pointer, else of the graph level (TVM 0.27)."""
    if ty is None:
        return relax.Var(name)
    info = getattr(ty, "struct_info", ty)
    if isinstance(info, relax.PrimStructInfo):
        return tir.Var(info.dtype, name)
    if isinstance(info, StructInfo):
        return relax.Var(name, struct_info=info)
    return tir.Var(info.dtype, name) if isinstance(info, tir.PrimType) else tir.Var("handle", name, info)


def is_prim_expr(value: object) -> bool:
    """Return whether a value is an expression of the loop level, or a scalar of the graph level (TVM 0.27)."""
    if isinstance(value, base.RelaxExpr):
        return isinstance(infer_struct_info(value), relax.PrimStructInfo)
    return isinstance(value, tir.PrimExpr)


def is_prim_var(value: object) -> bool:
    """Return whether a value is a variable of the loop level, or a variable of the graph level that is a scalar (TVM 0.27)."""
    return isinstance(value, tir.Var | relax.Var) and is_prim_expr(value)


class CallingConv(IntEnum):
    """Values of the attribute `calling_conv` of functions (TVM: `ir.CallingConv`)."""

    DEFAULT = 0
    C_PACKED_FUNC = 1
    DEVICE_KERNEL_LAUNCH = 2


"""Attributes are dicts."""


def _from_min_extent(min_value: Any, extent: Any) -> tir.Range:
    """The `extent` integers from `min_value` on."""
    return tir.Range(plain_node(min_value), plain_node(extent))


@constructor(tir.Range, from_min_extent=_from_min_extent)
def Range(begin: Any, end: Any = None) -> tir.Range:
    """The integers from `begin` up to but not including `end`; with one argument, from 0 up to it."""
    start, stop = (0, begin) if end is None else (begin, end)
    last = plain_node(stop)
    first = plain_node(start, last.dtype)
    return tir.Range(first, last if end is None else make.sub(last, first))


@constructor(base.VDevice)
def VDevice(target: Any = None, vdevice_id: int = 0, memory_scope: str = "global") -> base.VDevice:
    """A device that holds tensors; `target` is a Target or its attributes, as a dict or a text such as "cuda -arch=sm_80"."""
    config = base.target_attributes(target) if isinstance(target, str) else getattr(target, "attrs", target) or {}
    return base.VDevice(dict(config), vdevice_id, memory_scope)


def structural_equal(lhs: Any, rhs: Any, map_free_vars: bool = False) -> bool:
    """Whether two programs, nodes, or containers of nodes are equal up to names, also those of blocks, as in TVM."""
    return equal.structural_equal(*_pair(lhs, rhs), map_free_vars, as_tvm=True)


def assert_structural_equal(lhs: Any, rhs: Any, map_free_vars: bool = False) -> None:
    """Raise ValueError with the first difference unless two programs are equal up to names, also those of blocks."""
    equal.assert_structural_equal(*_pair(lhs, rhs), map_free_vars, as_tvm=True)


def structural_hash(node: Any, map_free_vars: bool = False) -> int:
    """Return a hash that agrees with `structural_equal`."""
    return equal.structural_hash(comparable(node), map_free_vars, as_tvm=True)


def _pair(lhs: Any, rhs: Any) -> tuple[Any, Any]:
    """Return both values as nodes. A type of TVM 0.27 knows no value, so that of the struct info beside it does not count."""
    kinds = (tir.PrimType, relax.PrimStructInfo)
    if isinstance(lhs, tir.PrimType) or isinstance(rhs, tir.PrimType):
        lhs, rhs = (relax.PrimStructInfo(kind.dtype) if isinstance(kind, kinds) else kind for kind in (lhs, rhs))
    return comparable(lhs), comparable(rhs)


def comparable(value: Any) -> Any:
    """Return a value as a node: a number becomes a constant, a type the struct info of a scalar, and a scalar of the graph level its
    expression, as in TVM 0.27.
    """
    if isinstance(value, tir.PrimType):
        return relax.PrimStructInfo(value.dtype)
    if isinstance(value, relax.PrimValue):
        return value.value
    return plain_node(value) if isinstance(value, int | float) else plain_nodes(value)
