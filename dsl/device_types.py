"""Devices by number, as `R.device` names them."""

from __future__ import annotations

DEVICE_TYPES = {"llvm": 1, "cuda": 2, "opencl": 4, "vulkan": 7, "metal": 8, "rocm": 10, "webgpu": 15, "hexagon": 16}
"""What `R.device` calls a kind of target (DLPack's `DLDeviceType`)."""
