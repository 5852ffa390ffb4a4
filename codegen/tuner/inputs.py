"""Arguments of the calls that a tuner measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from ...ir import tir
from ...ir.diagnostics import error
from ...ir.dtype import is_bool, is_float
from ...ir.numpy_dtype import numpy_dtype
from ...ir.simplify import simplify
from ...ir.variables import tir_variables
from ...ir.visit import substitute

_INTEGERS = 4
"""Upper bound of random integers: small, so that they are likely to be valid indices."""
_ALIGNMENT = 64
"""Alignment of arguments in bytes: a cache line, and the widest vector."""


def make_inputs(function: tir.PrimFunc, sizes: Mapping[str, int], seed: int) -> list[Any]:
    """Return random arguments: floats uniform in [-0.5, 0.5), integers from 0 to 3.

    `sizes` are the values of symbolic sizes by name. Raises E0806 if a size has no value, or the function needs arrays
    that are not contiguous.
    """
    random = np.random.default_rng(seed)
    found: list[Any] = []
    for param in function.params:
        buffer = function.buffer_map.get(param)
        if buffer is None:
            found.append(_scalar(param, sizes, random))
            continue
        if buffer.strides and any(
            _value(stride, sizes, buffer.name) != expected for stride, expected in _packed(buffer, sizes)
        ):
            reason = f"parameter '{buffer.name}' has strides; only contiguous arguments can be generated"
            raise error("E0806", reason, None, "tune the function with a contiguous buffer")
        shape = [_value(size, sizes, buffer.name) for size in buffer.shape]
        found.append(random_array(shape, buffer.dtype, random))
    return found


def symbolic_sizes(function: tir.PrimFunc) -> tuple[str, ...]:
    """Return the names of the symbolic sizes of the parameters of a function."""
    buffers = [function.buffer_map[param] for param in function.params if param in function.buffer_map]
    names = [var.name for buffer in buffers for size in buffer.shape for var in tir_variables(size)]
    return tuple(dict.fromkeys(names))


def _packed(buffer: tir.Buffer, sizes: Mapping[str, int]) -> list[tuple[tir.PrimExpr, int]]:
    shape = [_value(size, sizes, buffer.name) for size in buffer.shape]
    return [(stride, prod(shape[axis + 1 :])) for axis, stride in enumerate(buffer.strides or ())]


def _value(size: tir.PrimExpr, sizes: Mapping[str, int], name: str) -> int:
    known = {var: tir.IntImm(var.dtype, sizes[var.name]) for var in tir_variables(size) if var.name in sizes}
    value = simplify(substitute(size, known))
    if not isinstance(value, tir.IntImm):
        missing = ", ".join(f"--dim {var.name}=N" for var in tir_variables(value))
        raise error("E0806", f"parameter '{name}' has the symbolic size {size}", None, f"give its value: {missing}")
    return value.value


def _scalar(param: tir.Var, sizes: Mapping[str, int], random: np.random.Generator) -> Any:
    if param.name in sizes:
        return sizes[param.name]
    return random_array([], param.dtype, random).item()


def random_array(shape: Sequence[int], dtype: str, random: np.random.Generator) -> Any:
    """Return a random array: floats uniform in [-0.5, 0.5), integers from 0 to 3."""
    kind, count = numpy_dtype(dtype), prod(shape)
    values = (
        random.random(count, np.float32) - 0.5
        if is_float(dtype)
        else random.integers(0, 2 if is_bool(dtype) else _INTEGERS, count)
    )
    memory = np.empty(count * kind.itemsize + _ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % _ALIGNMENT
    array = memory[start : start + count * kind.itemsize].view(kind).reshape(shape)
    array[...] = values.astype(kind).reshape(shape)
    return array
