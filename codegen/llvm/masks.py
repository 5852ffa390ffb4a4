"""Masked loads and stores of vectors."""

from __future__ import annotations

from .api import Builder, Value, ir
from .operators import number, type_suffix
from .types import I32, POINTER


def masked_load(builder: Builder, address: Value, mask: Value, otherwise: Value, align: int) -> Value:
    """Load the vector at `address`; take the lanes of `otherwise` where `mask` does not hold."""
    params = [POINTER, I32, mask.type, otherwise.type]
    function = declared(builder, f"llvm.masked.load.{type_suffix(otherwise.type)}.p0", otherwise.type, params)
    return builder.call(function, [address, number(I32, align), mask, otherwise])


def masked_store(builder: Builder, value: Value, address: Value, mask: Value, align: int) -> None:
    """Store the lanes of `value` where `mask` holds to the vector at `address`."""
    params = [value.type, POINTER, I32, mask.type]
    function = declared(builder, f"llvm.masked.store.{type_suffix(value.type)}.p0", ir.VoidType(), params)
    builder.call(function, [value, address, number(I32, align), mask])


def declared(builder: Builder, symbol: str, result: object, params: list[object]) -> Value:
    """Return the declaration of an LLVM intrinsic."""
    found = builder.module.globals.get(symbol)
    return found or ir.Function(builder.module, ir.FunctionType(result, params), symbol)
