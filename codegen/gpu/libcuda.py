"""CUDA's driver library, for the functions that pycuda does not wrap."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

from .cuda import CudaError

_libraries: list[Any] = []


def use_library(library: Any) -> None:
    """Call functions of `library` instead of those of CUDA's driver; None restores it."""
    _libraries[:] = [] if library is None else [library]


def status_of(name: str, *args: Any) -> int:
    """Call a function, whose pointers and handles are `ctypes` objects, and return its status; CudaError if the driver lacks it."""
    return _function(name)(*args)


def call(name: str, *args: Any) -> None:
    """Call a function as `status_of` does; CudaError with the driver's message if it fails."""
    status = status_of(name, *args)
    if status:
        text = ctypes.c_char_p()
        status_of("cuGetErrorString", status, ctypes.byref(text))
        raise CudaError(f"{name.partition('_v')[0]} failed: {(text.value or b'').decode()}")


def _function(name: str) -> Callable[..., int]:
    try:
        return getattr(_libraries[0] if _libraries else _driver(), name)  # type: ignore[no-any-return]
    except (OSError, AttributeError) as problem:
        raise CudaError(f"{name.partition('_v')[0]}, of CUDA 12 and newer, cannot be loaded: {problem}") from None


@cache
def _driver() -> Any:
    return ctypes.CDLL("nvcuda.dll" if hasattr(ctypes, "WinDLL") else "libcuda.so.1")
