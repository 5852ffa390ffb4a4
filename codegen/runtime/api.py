"""The public names of the runtime, as in TVM (TVM: `tvm.runtime`)."""

from __future__ import annotations

from ..device import Device, device
from ..profiling import report as profiling
from .executable import Executable as Module
from .executable import load_module
from .ndarray import NDArray
from .ndarray import NDArray as Tensor
from .ndarray import array as tensor

ShapeTuple = tuple
"""Shapes are plain tuples of integers."""

__all__ = ["Device", "Module", "NDArray", "ShapeTuple", "Tensor", "device", "load_module", "profiling", "tensor"]
