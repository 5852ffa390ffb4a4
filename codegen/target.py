"""What programs are compiled for: a target is a row that says which intrinsics there are and what the machine is."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, TypeAlias

from msgspec import Struct

from ..ir.diagnostics import error
from .llvm.api import binding
from .llvm.intrinsics import CPU, Table
from .machine import Machine, machine_of


class Target(Struct, frozen=True, eq=False):
    """A target by its name, with LLVM's words for the machine; an empty `cpu` stands for the one that compiles.

    `arch` is the compute capability of a GPU, "sm_80"; `order` says that its threads are simulated on the processor, in
    which order ("ascending", "descending", "random", or "each").
    """

    name: str
    intrinsics: Table
    triple: str = ""
    cpu: str = ""
    features: str = ""
    arch: str = ""
    order: str = ""

    @property
    def text(self) -> str:
        """The target as text, from which `get_target` makes it again."""
        arch = f" -arch={self.arch}" if self.arch else ""
        return self.name + arch + (f" -simulate={self.order}" if self.order else "")

    @property
    def is_device(self) -> bool:
        """Whether code for it runs on a GPU."""
        return bool(self.arch) and not self.order

    @property
    def machine(self) -> Any:
        """The LLVM target machine (`llvmlite.binding.TargetMachine`) that optimises and emits code."""
        return self.machine_at(3)

    def machine_at(self, level: int) -> Any:
        """Return the target machine that takes so much care, 0 to 3: at 0 it emits code in a seventh of the time."""
        return _machine(self.triple, self.cpu, self.features, level)

    @property
    def processor(self) -> Machine:
        """What default schedules ask about the machine."""
        triple, _, features = self.words
        return machine_of(features, triple)

    @property
    def words(self) -> tuple[str, str, str]:
        """The triple, the processor and its features, as LLVM calls them."""
        if self.cpu:
            return self.machine.triple, self.cpu, self.features
        return self.machine.triple, binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten()


@cache
def _machine(triple: str, cpu: str, features: str, level: int) -> Any:
    """Contraction of `a * b + c` into one rounding stays off: nothing in the code asks for it."""
    if triple:
        binding.initialize_all_targets()
        binding.initialize_all_asmprinters()
    else:
        binding.initialize_native_target()
        binding.initialize_native_asmprinter()
    target = binding.Target.from_triple(triple) if triple else binding.Target.from_default_triple()
    if not cpu:
        cpu, features = binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten()
    return target.create_target_machine(cpu=cpu, features=features, opt=level, reloc="pic", codemodel="default")


TARGETS: dict[str, Target] = {"llvm": Target("llvm", CPU)}
"""Every target, by name."""


TargetLike: TypeAlias = str | Target | Mapping[str, Any]
"""What names a target: text, itself, or a dictionary with its "kind"."""


def get_target(target: TargetLike) -> Target:
    """Return the target of that name, or of a GPU: "cuda -arch=sm_80", {"kind": "cuda", "arch": "sm_80"}.

    Raises TvmsError E0601 where there is none.
    """
    if isinstance(target, Target):
        return target
    name = target if isinstance(target, str) else str(target.get("kind", ""))
    if name in TARGETS:
        return TARGETS[name]
    from .gpu.target import KINDS, gpu_target

    if name.split(" ")[0] in KINDS:
        return gpu_target(target)
    raise error("E0601", f"there is no target '{name}'", None, f"targets are: {', '.join([*TARGETS, *KINDS])}")
