"""Figures of GPUs that estimates of times use: one GPU for each architecture."""

from __future__ import annotations

from msgspec import Struct

from ...ir.diagnostics import error


class Figures(Struct, frozen=True):
    """A GPU: its multiprocessors, clock in GHz, memory bandwidth in GB/s, L2 cache in MiB and its bandwidth in bytes per cycle, the
    memory of a multiprocessor for its L1 cache and shared memory in KiB, and the multiply-adds that a multiprocessor does in a cycle: of
    float32, of float64, and of float16 or bfloat16 by tensor cores.
    """

    gpu: str
    multiprocessors: int
    clock: float
    bandwidth: float
    l2_size: int
    l2_bandwidth: int
    l1_size: int
    float32: int
    float64: int
    tensor: int


FIGURES: dict[str, Figures] = {
    "sm_70": Figures("V100 SXM2", 80, 1.53, 900, 6, 2048, 128, 64, 32, 512),
    "sm_75": Figures("T4", 40, 1.59, 320, 4, 1280, 96, 64, 2, 512),
    "sm_80": Figures("A100 SXM4 40 GB", 108, 1.41, 1555, 40, 5120, 192, 64, 32, 1024),
    "sm_86": Figures("GeForce RTX 3090", 82, 1.695, 936, 6, 2560, 128, 128, 2, 256),
    "sm_89": Figures("GeForce RTX 4090", 128, 2.52, 1008, 72, 5120, 128, 128, 2, 256),
    "sm_90": Figures("H100 SXM5", 132, 1.83, 3352, 50, 5632, 256, 128, 64, 1270),
}
"""The figures by architecture.

Sources: NVIDIA's whitepapers "Tesla V100 GPU Architecture", "Turing GPU Architecture", "A100 Tensor Core GPU Architecture", "Ampere GA102
GPU Architecture", "Ada GPU Architecture" and "H100 Tensor Core GPU Architecture", with boost clocks; tensor cores with sums in float32. The
bandwidth of the L2 cache is given for V100 and A100; for the others it is 32 bytes per cycle for each of their slices (T4, RTX 3090), or
that of A100 for each multiprocessor at most (RTX 4090, H100). On H100, `mma.sync` reaches 62 % of the 2048 multiply-adds of `wgmma` (Luo
et al., "Benchmarking and Dissecting the Nvidia Hopper GPU Architecture via Microbenchmarking", 2024).
"""
LAUNCH = 2e-6
"""Seconds of a launch of a kernel."""
_SAME = {"sm_90a": "sm_90"}


def has_figures(arch: str) -> bool:
    """Return whether the figures for an architecture are known."""
    return _SAME.get(arch, arch) in FIGURES


def figures_of(arch: str) -> Figures:
    """Return the figures for an architecture; E1104 if they are not known."""
    if not has_figures(arch):
        help = f"tune for one of {', '.join(FIGURES)}: schedules are the same text"
        raise error("E1104", f"times for '{arch}' cannot be estimated: no figures of such a GPU are known", None, help)
    return FIGURES[_SAME.get(arch, arch)]
