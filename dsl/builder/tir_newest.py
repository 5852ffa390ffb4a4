"""Forms that TVM has added since 0.21, mapped to existing nodes of the loop level."""

from __future__ import annotations

from typing import Any

from ...ir import make, tir
from ...ir.base import Op
from .convert import Buffer, DTypeName, PrimExpr
from .forms import FormUse, Meta, form
from .tir_access import store


@form("T.meta_var", "I.meta_var")
def meta_var(site: FormUse, value: Any) -> Any:
    """`x = T.meta_var(value)`: another name for a value, not a variable."""
    return value if site.target is None else Meta(value)


@form("T.masked_load")
def masked_load(site: FormUse, dtype: DTypeName, buffer: Buffer, *indices_and_mask: PrimExpr) -> tir.BufferLoad:
    """`T.masked_load("float32x4", A, T.Ramp(0, 1, 4), mask)`: loads the lanes that a mask selects."""
    *indices, mask = _with_mask(site, indices_and_mask)
    return make.buffer_load(buffer, indices, mask, span=site.span)


@form("T.masked_store")
def masked_store(site: FormUse, buffer: Buffer, value: PrimExpr, *indices_and_mask: PrimExpr) -> tir.Stmt:
    """`T.masked_store(A, value, T.Ramp(0, 1, 4), mask)`: stores the lanes that a mask selects."""
    *indices, mask = _with_mask(site, indices_and_mask)
    return store(buffer, value, indices, mask, site.span)


def _with_mask(site: FormUse, values: tuple[tir.PrimExpr, ...]) -> tuple[tir.PrimExpr, ...]:
    if len(values) < 2:
        raise site.error("E0105", f"{site.name} needs an index and a mask", "give the indices first, then the mask")
    return values


@form("T.Return")
def return_(site: FormUse, value: PrimExpr) -> tir.Stmt:
    """`T.Return(value)`: the same as `return value`."""
    return tir.Evaluate(tir.Call(value.dtype, Op("tir.ret"), (value,), span=site.span), span=site.span)
