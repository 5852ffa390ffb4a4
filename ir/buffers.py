"""Making buffers."""

from __future__ import annotations

from collections.abc import Sequence

from . import tir
from .base import Span


def data_pointer(name: str, dtype: str, scope: str = "global", span: Span | None = None) -> tir.Var:
    """Return the pointer to the elements of a buffer; a truth value is stored in a byte."""
    element = "int8" if dtype == "bool" else dtype
    return tir.Var("handle", name, tir.PointerType(tir.PrimType(element), scope), span=span)


def decl_buffer(
    shape: Sequence[tir.PrimExpr], dtype: str = "float32", name: str = "buffer", scope: str = "global"
) -> tir.Buffer:
    """Return a compact, row-major buffer with a pointer of its own (TVM: `tir.decl_buffer`)."""
    return tir.Buffer(data_pointer(name, dtype, scope), dtype, tuple(shape), name, scope=scope)
