"""The packages that reach CUDA's driver, of which the first one that works is used."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec

from .bindings_cuda import BindingsCuda
from .cuda import Cuda
from .pycuda_cuda import PycudaCuda

BACKENDS: dict[str, tuple[str, Callable[[], Cuda]]] = {
    "pycuda": ("pycuda", PycudaCuda),
    "cuda-bindings": ("cuda.bindings", BindingsCuda),
}
"""The packages that reach CUDA's driver, in the order in which they are tried: their modules and constructors."""


def is_installed(package: str) -> bool:
    """Return whether a package of `BACKENDS` is installed."""
    module, _ = BACKENDS[package]
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def open_cuda() -> Cuda | str:
    """Return device 0 through the first package that can use it, or why there is none."""
    reasons: list[str] = []
    for package, (_, construct) in BACKENDS.items():
        if not is_installed(package):
            continue
        try:
            return construct()
        except Exception as problem:  # packages raise their own errors if libcuda is missing
            reasons.append(f"{package} cannot use it ({type(problem).__name__}: {problem})")
    return "; ".join(reasons) or f"neither {' nor '.join(BACKENDS)} is installed"
