"""Requirements of a function with kernels on an array: it is in GPU memory, or is copied there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...ir import tir
from ..runtime.sizes import Frame, Slots
from ..runtime.specs import ArgumentContext, TensorSpec
from .arrays import Array, DeviceArray, from_host, is_on_device, on_device

ALIGNMENT = 16
"""Alignment of argument memory in bytes: the widest access of a kernel."""


class DeviceSpec:
    """A tensor in GPU memory; see `TensorSpec`."""

    def __init__(
        self, dtype: str, shape: Sequence[tir.PrimExpr] | None, slots: Slots, ndim: int = -1,
        strides: Sequence[tir.PrimExpr] = (), is_written: bool = False,
    ) -> None:  # fmt: skip
        self._spec, self.is_written = TensorSpec(dtype, shape, slots, ndim, strides, is_written), is_written

    def check(self, value: Any, place: ArgumentContext, frame: Frame) -> DeviceArray:
        """Return `value` as an array on the GPU, copied if it is in host memory; raise as `TensorSpec.check` does,
        E0717 if GPU memory is exhausted, and E0721 if there is no GPU.
        """
        if not is_on_device(value):
            source = self._spec.check(value, place, frame)
            memory = source if self._spec.is_row_major else _memory_of(source)
            array = from_host(memory)
            array.shape, array.origin, array.is_writeable = source.shape, memory, source.flags.writeable
            return array
        array = on_device(value, place)
        self._spec.check_kind(array, place, frame)
        if array.address % ALIGNMENT:
            reason = f"its elements do not start at a multiple of {ALIGNMENT} bytes"
            raise place.fault("E0706", reason, "pass a copy of it")
        if self.is_written and not array.is_writeable:
            raise place.fault("E0702", "the function writes it, but it is read-only", "pass a writeable array")
        return array

    def check_deferred(self, value: Any, place: ArgumentContext, frame: Frame) -> None:
        """Check the dimensions that are expressions, once every variable is bound."""
        self._spec.check_deferred(value, place, frame)


def _memory_of(source: Array) -> Array:
    """Return all elements from the first to the last of `source`, including those between that are not its own."""
    size = source.itemsize
    last = sum((count - 1) * step for count, step in zip(source.shape, source.strides, strict=True))
    return np.lib.stride_tricks.as_strided(source, (last // size + 1 if source.size else 0,), (size,))
