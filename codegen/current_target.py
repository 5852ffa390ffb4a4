"""Targets as values (TVM: `tvm.target.Target`)."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar, Token
from typing import Any

from ..ir.passes.pipelines import FOREIGN_PROCESSORS
from .device import CPU, Device
from .target import GPU_KINDS, TargetLike, get_target, options_of

_current: ContextVar[Target | None] = ContextVar("target", default=None)


CUDA_LIMITS = {
    "max_num_threads": 1024, "max_threads_per_block": 1024, "max_shared_memory_per_block": 49152, "thread_warp_size": 32,
}  # fmt: skip
"""Limits of a block of threads on NVIDIA's GPUs."""


def _limits(threads: int, shared: int, warp: int) -> dict[str, int]:
    names = ("max_num_threads", "max_threads_per_block", "max_shared_memory_per_block", "thread_warp_size")
    return dict(zip(names, (threads, threads, shared, warp), strict=True))


FOREIGN_KINDS: Mapping[str, Mapping[str, int]] = {
    "metal": _limits(256, 32768, 16),
    "opencl": _limits(256, 16384, 1),
    "rocm": _limits(256, 65536, 64),
    "vulkan": _limits(256, 16384, 1),
    "webgpu": _limits(256, 16384, 1),
}
"""Kinds of GPUs that tvms does not compile for, with the limits of a block of threads."""
FOREIGN_TAGS: Mapping[str, tuple[str, Mapping[str, str | int]]] = {
    "apple/m1-gpu": ("metal", {**_limits(256, 32768, 32), "max_threads_per_block": 1024}),
    "apple/m1-gpu-restricted": ("metal", _limits(256, 32768, 32)),
    "apple/m2-gpu": ("metal", {**_limits(256, 32768, 32), "max_threads_per_block": 1024}),
    "nvidia/geforce-gtx-1080": ("cuda", {"arch": "sm_61", **CUDA_LIMITS}),
    "nvidia/geforce-gtx-1080-ti": ("cuda", {"arch": "sm_61", **CUDA_LIMITS}),
}
"""TVM's tags of GPUs: the kind, and its attributes."""
_FOREIGN = (*FOREIGN_KINDS, *FOREIGN_PROCESSORS, *FOREIGN_TAGS)


class TargetKind(str):
    """The kind of a target, "llvm" or "cuda" (TVM: `tvm.target.TargetKind`)."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """Return the kind as text."""
        return str(self)


class Target(str):
    """A target in text form: `Target("cuda -arch=sm_80")` is accepted wherever a target is expected.

    Inside `with target:` it is the default target. The limits of a GPU are attributes with TVM's names, such as
    `target.max_threads_per_block`. Schedule rules also take GPUs that tvms does not compile for, such as
    `Target("metal")`; these, and processors such as `Target("hexagon")`, are refused elsewhere. TvmsError E0601 for an unknown target.
    """

    __slots__ = ("_tokens", "host")
    _tokens: list[Token[Target | None]]
    host: Target | None

    def __new__(cls, target: TargetLike, host: TargetLike | None = None) -> Target:
        """Parse a target; `host` is the processor that launches its kernels, for which the schedule may differ.

        A dictionary may also state it under "host".
        """
        if isinstance(target, Mapping) and "host" in target:
            host = host or target["host"]
            target = {name: value for name, value in target.items() if name != "host"}
        is_foreign = isinstance(target, str) and target.partition(" ")[0] in _FOREIGN
        made = super().__new__(cls, str(target) if is_foreign else get_target(target).text)
        made.host = None if host is None else Target(host)
        made._tokens = []
        return made

    @property
    def kind(self) -> TargetKind:
        """Return the name of the target without its options."""
        first = self.partition(" ")[0]
        return TargetKind(FOREIGN_TAGS[first][0] if first in FOREIGN_TAGS else first)

    @property
    def keys(self) -> list[str]:
        """Return the groups of targets that rules may ask for: the kind, and "cpu" or "gpu"."""
        is_gpu = self.kind in (*GPU_KINDS, *FOREIGN_KINDS)
        return [self.kind, "gpu"] if is_gpu else ["cpu"]

    @property
    def attrs(self) -> Mapping[str, Any]:
        """Return the options of the target by name."""
        first = self.partition(" ")[0]
        if first in FOREIGN_TAGS:
            return FOREIGN_TAGS[first][1]
        if first in _FOREIGN:
            return {name: value for name, value in options_of(self).items() if name != "kind"}
        return get_target(str(self)).options

    def __getattr__(self, name: str) -> Any:
        limits = FOREIGN_KINDS.get(self.kind, CUDA_LIMITS if self.kind in GPU_KINDS else {})
        given = {**limits, **self.attrs}
        if name not in given:
            raise AttributeError(f"target '{self}' has no attribute '{name}'")
        return given[name]

    @staticmethod
    def current(allow_none: bool = True) -> Target | None:
        """Return the innermost enclosing target; if there is none, None, or ValueError unless `allow_none`."""
        found = _current.get()
        if found is None and not allow_none:
            raise ValueError("no current target: call inside 'with tvms.target.Target(…):'")
        return found

    @staticmethod
    def from_device(device: str | Device) -> Target:
        """Return the target for a device."""
        if isinstance(device, Device):
            return Target("llvm" if device.device_type == CPU else "cuda")
        return Target("llvm" if device.startswith("cpu") else device.partition("(")[0])

    def __enter__(self) -> Target:
        self._tokens.append(_current.set(self))
        return self

    def __exit__(self, *_: object) -> None:
        _current.reset(self._tokens.pop())


def default_target(target: TargetLike | None) -> TargetLike:
    """Return `target` or, if it is None, the current target or the processor."""
    return target or _current.get() or "llvm"


def create(target: TargetLike) -> Target:
    """Return the target of a text, dictionary or target (TVM: `target.create`, `tvm.target.Target`)."""
    return Target(target)


def cuda(model: str = "unknown", arch: str | None = None) -> Target:
    """Return the target of an NVIDIA GPU of architecture `arch`, such as "sm_90"; `model` is informative."""
    del model
    return Target(f"cuda -arch={arch}" if arch else "cuda")
