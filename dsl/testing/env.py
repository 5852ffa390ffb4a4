"""What this machine and tvms have, as predicates of tests (TVM 0.27: `tvm.testing.env`)."""

from __future__ import annotations

from typing import Any

from . import requirements as needs

has_cuda, has_gpu, has_nvptx, has_cublas = (
    feature.is_met for feature in (needs.requires_cuda, needs.requires_gpu, needs.requires_nvptx, needs.requires_cublas)
)
has_llvm = needs.requires_llvm.is_met
has_cudnn, has_cutlass, has_nccl, has_cudagraph = (
    feature.is_met
    for feature in (needs.requires_cudnn, needs.requires_cutlass, needs.requires_nccl, needs.requires_cudagraph)
)
has_vulkan, has_metal, has_rocm, has_opencl, has_hipblas = (
    feature.is_met
    for feature in (
        needs.requires_vulkan, needs.requires_metal, needs.requires_rocm, needs.requires_opencl, needs.requires_hipblas,
    )
)  # fmt: skip
has_hexagon, has_hexagon_toolchain, has_matrixcore = (
    feature.is_met for feature in (needs.requires_hexagon, needs.requires_hexagon, needs.requires_matrixcore)
)
has_nvshmem = has_adreno_opencl = needs.requires_opencl.is_met


def build_flag_enabled(flag: str) -> bool:
    """Return whether a library is part of tvms: only LLVM is."""
    return flag == "USE_LLVM"


def has_multi_gpu(count: int = 2) -> bool:
    """Return whether there are `count` CUDA devices."""
    from importlib import import_module

    return has_cuda() and all(import_module("tvms").cuda(number).exist for number in range(count))


def has_cuda_compute(major: int, minor: int = 0, exact: bool = False) -> bool:
    """Return whether there is a CUDA device of a compute capability, at least or exactly."""
    return needs.requires_cuda_compute_version(major, minor, exact).is_met()


def has_nvcc_version(major: int, minor: int = 0, release: int = 0) -> bool:
    """Return whether there is a CUDA device; tvms does not need nvcc."""
    return has_cuda()


def has_llvm_min_version(major: int) -> bool:
    """Return whether LLVM has at least this version."""
    return needs.requires_llvm_minimum_version(major).is_met()


def has_cpu_feature(features: Any) -> bool:
    """Return whether this processor has a feature of LLVM, such as "avx2", or all of several."""
    from importlib import import_module

    known = import_module("llvmlite.binding").get_host_cpu_features()
    return all(known.get(name, False) for name in ([features] if isinstance(features, str) else features))


def has_x86_avx512() -> bool:
    """Return whether this processor has AVX-512."""
    return has_cpu_feature(("avx512f", "avx512bw", "avx512vl"))


def has_x86_vnni() -> bool:
    """Return whether this processor has VNNI."""
    return has_cpu_feature("avx512vnni")
