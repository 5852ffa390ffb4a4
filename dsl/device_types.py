"""Numbers of device types, which `R.device` uses."""

from __future__ import annotations

DEVICE_TYPES = {"llvm": 1, "cuda": 2, "opencl": 4, "vulkan": 7, "metal": 8, "rocm": 10, "webgpu": 15, "hexagon": 16}
"""Number of each kind of target in `R.device` (DLPack's `DLDeviceType`)."""
