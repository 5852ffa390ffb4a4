"""The work of a call of a loop function: floating-point operations and bytes, counted from its loops and buffers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from msgspec import Struct

from ...ir import tir
from ...ir.deep import deep
from ...ir.dtype import is_float
from ...ir.numpy_dtype import numpy_dtype
from ...ir.variables import tir_variables
from ...ir.visit import substitute, walk

_OPERATIONS = (tir.Add, tir.Sub, tir.Mul, tir.Div, tir.Min, tir.Max)


class Work(Struct, frozen=True):
    """Floating-point operations of a call, and bytes of its arguments, each counted once; 0 if unknown."""

    operations: int = 0
    bytes: int = 0


def work_of(function: tir.PrimFunc, sizes: Mapping[str, int]) -> Work:
    """Return the work of a call with these symbolic sizes, by name."""
    return Work(count_operations(function, sizes), sum(_bytes_of(buffer, sizes) for buffer in _buffers(function)))


def sizes_of(function: tir.PrimFunc, args: Sequence[Any]) -> dict[str, int]:
    """Return the symbolic sizes that the arguments of a call determine, by name."""
    sizes: dict[str, int] = {}
    for param, value in zip(function.params, args, strict=False):
        buffer = function.buffer_map.get(param)
        if buffer is None and isinstance(value, int):
            sizes[param.name] = value
        for size, actual in zip(buffer.shape if buffer else (), getattr(value, "shape", ()), strict=False):
            if isinstance(size, tir.Var):
                sizes[size.name] = int(actual)
    return sizes


def _buffers(function: tir.PrimFunc) -> list[tir.Buffer]:
    return [function.buffer_map[param] for param in function.params if param in function.buffer_map]


def _bytes_of(buffer: tir.Buffer, sizes: Mapping[str, int]) -> int:
    """Return the bytes of a buffer; 0 if a size is unknown."""
    shape = [_known(size, sizes) for size in buffer.shape]
    return prod(size for size in shape if size is not None) * numpy_dtype(buffer.dtype).itemsize * (None not in shape)


def _known(expr: tir.PrimExpr, sizes: Mapping[str, int]) -> int | None:
    """Return the value of a size; None if it depends on variables other than `sizes`."""
    known = {var: tir.IntImm(var.dtype, sizes[var.name]) for var in tir_variables(expr) if var.name in sizes}
    value = substitute(expr, known)
    return value.value if isinstance(value, tir.IntImm) else None


def longest_reduction(function: tir.PrimFunc, sizes: Mapping[str, int]) -> int:
    """Return how many values are combined to one result at most, as far as sizes are known: 1 without reductions."""

    def combined(block: tir.Block) -> int:
        extents = [
            _known(iter_var.dom.extent, sizes) if iter_var.dom else None
            for iter_var in block.iter_vars
            if iter_var.iter_type is not tir.IterVarType.DATA_PAR
        ]
        return prod(extent or 1 for extent in extents)

    return max((combined(node) for node in walk(function.body) if isinstance(node, tir.Block)), default=1)


@deep
def count_operations(function: tir.PrimFunc, sizes: Mapping[str, int]) -> int:
    """Return the number of floating-point operations of a loop function; 0 if the extent of a loop is unknown.

    `sizes` are the symbolic dimensions by name. Both branches of a condition count.
    """

    def count(node: Any) -> int:
        if isinstance(node, tir.For):
            return (_known(node.extent, sizes) or 0) * count(node.body)
        if isinstance(node, tir.SeqStmt):
            return sum(map(count, node.seq))
        if isinstance(node, tir.BlockRealize):
            return count(node.block.body)
        if isinstance(node, tir.IfThenElse):
            return count(node.then_case) + (count(node.else_case) if node.else_case is not None else 0)
        if isinstance(node, tir.BufferStore):
            return sum(isinstance(inner, _OPERATIONS) and is_float(inner.dtype) for inner in walk(node.value))
        body = getattr(node, "body", None)
        return count(body) if isinstance(body, tir.Stmt) else 0

    return count(function.body)
