"""Limits of GPUs by compute capability (CUDA C++ Programming Guide, "Technical Specifications per Compute
Capability").
"""

from __future__ import annotations

from msgspec import Struct

WARP = 32
"""Threads of a warp."""
MOST_THREADS = 1024
"""Maximum number of threads of a block."""
MOST_EXTENT = {
    "blockIdx.x": 2**31 - 1, "blockIdx.y": 65535, "blockIdx.z": 65535,
    "threadIdx.x": 1024, "threadIdx.y": 1024, "threadIdx.z": 64,
}  # fmt: skip
"""Maximum extent of a launch along each axis."""
STATIC_SHARED_BYTES = 48 << 10
"""Maximum shared memory of a block whose size the kernel declares."""
RESERVED_SHARED_BYTES = 1 << 10
"""Shared memory of a multiprocessor that no block can use, from sm_80 on."""
LOCAL_BYTES = 512 << 10
"""Maximum local memory of a thread."""
PARAMETER_BYTES = 4096
"""Maximum size of all arguments of a kernel together."""


class Architecture(Struct, frozen=True):
    """A compute capability: the blocks, warps, bytes of shared memory and 32-bit registers of one multiprocessor;
    and LLVM's PTX feature, if the first PTX version with the architecture lacks instructions.
    """

    name: str
    blocks: int
    warps: int
    shared_bytes: int
    features: str = ""
    registers: int = 65536
    registers_of_thread: int = 255

    @property
    def number(self) -> int:
        """Return 80 for sm_80, 90 for sm_90a."""
        return int(self.name.removeprefix("sm_").rstrip("a"))

    @property
    def dynamic_shared_bytes(self) -> int:
        """Return the maximum dynamic shared memory of a block, whose size the launch gives."""
        return self.shared_bytes - (RESERVED_SHARED_BYTES if self.number >= 80 else 0)


_PTX = "+ptx70"
"""PTX of CUDA 11.0, which has all tensor core instructions of its GPUs."""

ARCHITECTURES: dict[str, Architecture] = {
    row.name: row
    for row in (
        Architecture("sm_70", 32, 64, 96 << 10, _PTX),
        Architecture("sm_72", 32, 64, 96 << 10, _PTX),
        Architecture("sm_75", 16, 32, 64 << 10, _PTX),
        Architecture("sm_80", 32, 64, 164 << 10),
        Architecture("sm_86", 16, 48, 100 << 10),
        Architecture("sm_87", 16, 48, 164 << 10),
        Architecture("sm_89", 24, 48, 100 << 10),
        Architecture("sm_90", 32, 64, 228 << 10),
        Architecture("sm_90a", 32, 64, 228 << 10),
        Architecture("sm_100", 32, 64, 228 << 10),
        Architecture("sm_100a", 32, 64, 228 << 10),
        Architecture("sm_103", 32, 64, 228 << 10),
        Architecture("sm_103a", 32, 64, 228 << 10),
        Architecture("sm_120", 24, 48, 100 << 10),
        Architecture("sm_121", 24, 48, 100 << 10),
    )
}


def arch_of(major: int, minor: int) -> str:
    """Return the architecture of a GPU of a compute capability: with the instructions that only its generation has, if they are known."""
    name = f"sm_{major}{minor}"
    return f"{name}a" if f"{name}a" in ARCHITECTURES else name


FIRST_WITH_COPIES = 80
"""The first architecture with asynchronous copies to shared memory; on older ones the thread copies
synchronously.
"""

DEFAULT = "sm_75"
"""The default architecture; newer GPUs run its code."""


def occupancy(architecture: Architecture, threads: int, registers: int, shared_bytes: int) -> float:
    """Return the fraction of a multiprocessor's warps that are active, for blocks of `threads` threads and
    `shared_bytes` bytes of shared memory, and threads of `registers` registers. Registers are allocated to
    warps in units of 256.
    """
    warps = -(-threads // WARP)
    of_warp = -(-max(registers, 1) * WARP // 256) * 256
    blocks = min(architecture.blocks, architecture.warps // warps, architecture.registers // of_warp // warps)
    if shared_bytes:
        blocks = min(blocks, architecture.shared_bytes // shared_bytes)
    return blocks * warps / architecture.warps


_MODELS = {
    "sm_70": "nvidia-v100 nvidia-titan-v quadro-gv100",
    "sm_72": "jetson-agx-xavier",
    "sm_75": "nvidia-t4 nvidia-titan-rtx geforce-rtx-2060 geforce-rtx-2070 geforce-rtx-2080 geforce-rtx-2080-ti "
    "quadro-rtx-4000 quadro-rtx-5000 quadro-rtx-6000 quadro-rtx-8000 rtx-3000 rtx-4000 rtx-5000 t1000 t2000",
    "sm_80": "nvidia-a100 nvidia-a30",
    "sm_86": "nvidia-a2 nvidia-a10 nvidia-a10g nvidia-a16 nvidia-a40 rtx-a6000 geforce-rtx-3060 geforce-rtx-3070 "
    "geforce-rtx-3070-ti geforce-rtx-3080 geforce-rtx-3080-ti geforce-rtx-3090 geforce-rtx-3090-ti",
    "sm_87": "jetson-orin-nano jetson-agx-orin-32gb jetson-agx-orin-64gb",
    "sm_89": "geforce-rtx-4090",
    "sm_90a": "nvidia-h100",
    "sm_100a": "nvidia-b100",
}
MODELS = {f"nvidia/{model}": arch for arch, models in _MODELS.items() for model in models.split()}
"""The architectures of GPUs, by TVM's target tags."""
