"""GPU targets, from text or from TVM's dictionary form.

"cuda"                              PTX for any GPU since 2018
"cuda -arch=sm_80"                  PTX for that compute capability, and newer GPUs
"cuda -arch=sm_90 -simulate=random" the same kernels on the processor, threads in random order between barriers
"nvidia/nvidia-a100"                a GPU by TVM's tag
"cuda -simulate=each"               simulation in each order, whose results must be the same
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from ...ir.diagnostics import TvmsError, error
from ..llvm.intrinsics import CPU
from ..target import Target, options_of
from .architectures import ARCHITECTURES, DEFAULT, MODELS
from .orders import ORDERS

KINDS = ("cuda", "nvptx")
_TRIPLE = "nvptx64-nvidia-cuda"
_ARCHITECTURE_OPTIONS, _IGNORED = ("arch", "mcpu"), ("keys", "max_num_threads", "thread_warp_size", "tag")


def gpu_target(target: str | Mapping[str, Any]) -> Target:
    """Return the target that `target` names; TvmsError E0601 for an unknown option or architecture."""
    options = options_of(target)
    kind = options.pop("kind")
    kind, arch, order = ("cuda", MODELS[kind], "") if kind in MODELS else (kind, DEFAULT, "")
    for name, value in options.items():
        if name in _ARCHITECTURE_OPTIONS:
            arch = value
        elif name == "simulate":
            order = value or ORDERS[0]
        elif name not in _IGNORED:
            raise _unknown(kind, f"option '-{name}'", "-arch=sm_80, -simulate=random")
    if arch not in ARCHITECTURES:
        raise _unknown(kind, f"architecture '{arch}'", ", ".join(ARCHITECTURES))
    if order and order not in ORDERS:
        raise _unknown(kind, f"order of threads '{order}'", ", ".join(ORDERS))
    return _target(kind, arch, order)


@cache
def _target(kind: str, arch: str, order: str) -> Target:
    from ..llvm.nvptx_intrinsics import NVPTX, SIMULATED

    if order:
        return Target(kind, {**CPU, **SIMULATED}, arch=arch, order=order)
    return Target(kind, NVPTX, _TRIPLE, arch, ARCHITECTURES[arch].features, arch=arch)


def _unknown(kind: str, what: str, known: str) -> TvmsError:
    return error("E0601", f"the target '{kind}' has no {what}", None, f"it has: {known}")
