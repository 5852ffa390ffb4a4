"""The properties of a processor that rules use: vectors, registers, caches and cores."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from msgspec import Struct


class Machine(Struct, frozen=True):
    """A processor; sizes are in bytes, and cache sizes per core."""

    vector_bytes: int
    registers: int
    l1_bytes: int
    l2_bytes: int
    threads: int
    has_fma: bool
    has_byte_dots: bool = False
    """Whether one instruction multiplies groups of four unsigned and signed bytes and adds them to int32 (x86: `vpdpbusd`)."""
    has_mask_moves: bool = False
    """Whether vectors are loaded under a mask by `vmaskmov` (x86: AVX without AVX-512)."""
    has_half_conversions: bool = True
    """Whether instructions convert between float16 and float32 (x86: F16C)."""


_BYTE_DOTS = ("+avx512vnni", "+avxvnni")


@cache
def machine_of(features: str, triple: str) -> Machine:
    """Return the machine with LLVM's `features` and `triple`; caches and cores are those of this machine."""
    names = set(features.split(","))
    vector_bytes, registers = 16, 32 if triple.startswith(("aarch64", "arm64")) else 16
    if "+avx512f" in names and "+avx512vl" in names:
        vector_bytes, registers = 64, 32
    elif "+avx2" in names:
        vector_bytes = 32
    has_fma = "+fma" in names or triple.startswith(("aarch64", "arm64"))
    caches = _cache_bytes(1, 32 << 10), _cache_bytes(2, 512 << 10)
    has_byte_dots = not names.isdisjoint(_BYTE_DOTS) and vector_bytes >= 32
    has_mask_moves = "+avx" in names and "+avx512vl" not in names
    has_half = not triple.startswith("x86") or "+f16c" in names
    return Machine(vector_bytes, registers, *caches, core_count(), has_fma, has_byte_dots, has_mask_moves, has_half)


def core_count() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _cache_bytes(level: int, otherwise: int) -> int:
    """Return the size of the data cache of that level, as Linux reports it."""
    for folder in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        try:
            level_of, kind, size = ((folder / name).read_text().strip() for name in ("level", "type", "size"))
            if level_of == str(level) and kind != "Instruction" and size.endswith("K"):
                return int(size[:-1]) << 10
        except (OSError, ValueError):
            continue
    return otherwise
