"""What a function with kernels expects of an array: it lies on the GPU, or is copied there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...ir import tir
from ..runtime.sizes import Frame, Slots
from ..runtime.specs import Place, TensorSpec
from .arrays import DeviceArray, from_host, is_on_device, on_device

ALIGNMENT = 16
"""Bytes that memory of arguments is aligned to: the widest access of a kernel."""


class DeviceSpec:
    """A tensor as `TensorSpec` has it, in the memory of the GPU."""

    def __init__(
        self, dtype: str, shape: Sequence[tir.PrimExpr] | None, slots: Slots, ndim: int = -1,
        strides: Sequence[tir.PrimExpr] = (), is_written: bool = False,
    ) -> None:  # fmt: skip
        self._spec, self.is_written = TensorSpec(dtype, shape, slots, ndim, strides, is_written), is_written

    def check(self, value: Any, place: Place, frame: Frame) -> DeviceArray:
        """Return `value` as an array on the GPU, a copy where it lies on the host; raises as `TensorSpec.check`, and E0717
        and E0721 where it has no room, or is not there."""
        if not is_on_device(value):
            source = self._spec.check(value, place, frame)
            array = from_host(source)
            array.origin, array.is_writeable = source, source.flags.writeable
            return array
        array = on_device(value, place)
        self._spec.check_kind(array, place, frame)
        if not self._spec.is_row_major:
            reason = "its buffer declares strides, which arrays on the GPU have not"
            raise place.fault("E0706", reason, "pass a host array")
        if array.address % ALIGNMENT:
            reason = f"its elements do not start at a multiple of {ALIGNMENT} bytes"
            raise place.fault("E0706", reason, "pass a copy of it")
        if self.is_written and not array.is_writeable:
            raise place.fault("E0702", "it is written, but is read-only", "pass a writeable array")
        return array

    def check_deferred(self, value: Any, place: Place, frame: Frame) -> None:
        """Check the dimensions that are expressions, once every variable is bound."""
        self._spec.check_deferred(value, place, frame)
