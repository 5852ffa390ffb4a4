"""Vectors in memory of which only some lanes are read or written."""

from __future__ import annotations

from .api import Builder, Value, ir
from .operators import number, type_suffix
from .types import I32, POINTER


def masked_load(builder: Builder, address: Value, mask: Value, otherwise: Value, align: int) -> Value:
    """Return the vector at `address`, with the lanes of `otherwise` where `mask` does not hold."""
    params = [POINTER, I32, mask.type, otherwise.type]
    function = declared(builder, f"llvm.masked.load.{type_suffix(otherwise.type)}.p0", otherwise.type, params)
    return builder.call(function, [address, number(I32, align), mask, otherwise])


def masked_store(builder: Builder, value: Value, address: Value, mask: Value, align: int) -> None:
    """Write the lanes of `value` where `mask` holds to `address` and on."""
    params = [value.type, POINTER, I32, mask.type]
    function = declared(builder, f"llvm.masked.store.{type_suffix(value.type)}.p0", ir.VoidType(), params)
    builder.call(function, [value, address, number(I32, align), mask])


def declared(builder: Builder, symbol: str, result: object, params: list[object]) -> Value:
    """Return the declaration of an intrinsic of LLVM."""
    found = builder.module.globals.get(symbol)
    return found or ir.Function(builder.module, ir.FunctionType(result, params), symbol)
