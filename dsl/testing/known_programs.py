"""The loop functions that `variations` changes, and the limits that they keep: a run is short, and inputs fit the memory."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import prod
from pathlib import Path

from ...ir import tir
from ...ir.analysis.const_bounds import Bounds, bounds_of
from ...ir.base import IRModule
from ...ir.interp.lanes.sample import work_of
from ...ir.programs import as_module
from ...ir.simplify import simplify
from ...ir.verify import verify
from ...ir.visit import walk
from ..load import parse

LARGEST = 1 << 13
"""Maximum number of iterations of a program, and of elements of a buffer."""
_SIZE = 5
"""Maximum size that random inputs give to variables and elements."""


@cache
def known_programs() -> tuple[IRModule, ...]:
    """Return the loop functions in `programs`, each as a module, except those written with schedules or for GPUs."""
    folder = Path(__file__).parent / "programs"
    files = [file for file in sorted(folder.glob("*.tvms")) if not file.name.startswith(("scheduled_", "cooperative"))]
    parsed = [parse(file.read_text(encoding="utf-8"), file.name) for file in files]
    modules = [as_module(function) for module in parsed for function in module.functions.values()]
    return tuple([module for module in modules if is_accepted(module)])


@cache
def known_kernels() -> tuple[IRModule, ...]:
    """Return the loop functions in `programs/cooperative.tvms`, whose threads share memory, each as a module."""
    file = Path(__file__).parent / "programs" / "cooperative.tvms"
    return tuple(
        [as_module(function) for function in parse(file.read_text(encoding="utf-8"), file.name).functions.values()]
    )


def is_accepted(module: IRModule) -> bool:
    """Return whether the verifier reports no error, and a run is short. It finds races only in loops of simple extents, and
    the compiler computes no size by a T.Let.
    """
    functions = [function for function in module.functions.values() if isinstance(function, tir.PrimFunc)]
    loops = [node for function in functions for node in walk(function) if isinstance(node, tir.For)]
    return (
        all(work_of(function) <= LARGEST and _has_small_buffers(function) for function in functions)
        and not any(isinstance(node, tir.Let) for function in functions for shape in _sizes(function) for size in shape for node in walk(size))
        and all(isinstance(loop.extent, tir.IntImm | tir.Var) for loop in loops if loop.kind is not tir.ForKind.SERIAL)
        and not any(problem.severity == "error" for problem in verify(module, "races"))
    )  # fmt: skip


def _sizes(function: tir.PrimFunc) -> list[Sequence[tir.PrimExpr]]:
    """Return the sizes of each buffer, allocation and region."""
    found: list[Sequence[tir.PrimExpr]] = []
    for node in walk(function):
        match node:
            case tir.Buffer(shape=sizes) | tir.Allocate(extents=sizes):
                found.append(sizes)
            case tir.BufferRegion(region=region):
                found.append([part.extent for part in region])
            case _:
                pass
    return found


def _has_small_buffers(function: tir.PrimFunc) -> bool:
    """Return whether no buffer has more than `LARGEST` elements, and each parameter has valid sizes and distinct elements.

    Variables in sizes are from 1 to `_SIZE`. Regions are limited as well: the end of a very long one overflows.
    """
    elements = [prod(max(_bounds(simplify(size)).max, 0) for size in shape) for shape in _sizes(function)]
    return max(elements, default=0) <= LARGEST and all(map(_is_valid_parameter, function.buffer_map.values()))


def _is_valid_parameter(buffer: tir.Buffer) -> bool:
    """Return whether no size is negative, and strides of numbers give each element its own memory, and not too much."""
    sizes = [_bounds(simplify(size)) for size in buffer.shape]
    if any(isinstance(stride, tir.Var) for stride in buffer.strides):
        return all(size.min >= 0 for size in sizes)
    strides = [_bounds(simplify(stride)) for stride in buffer.strides]
    ends = [0, *[stride.max * (size.max - 1) for size, stride in zip(sizes, strides, strict=False)]]
    is_apart = all(
        stride.min > sum(ends[at + 2 :]) or size.max <= 1
        for at, (size, stride) in enumerate(zip(sizes, strides, strict=False))
    )
    return all(size.min >= 0 for size in sizes) and is_apart and sum(ends) <= LARGEST


def _bounds(size: tir.PrimExpr) -> Bounds:
    return Bounds(1, _SIZE) if isinstance(size, tir.Var | tir.BufferLoad) else bounds_of(size, _bounds)
