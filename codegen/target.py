"""Compilation targets: a row per target with its intrinsics and its machine."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, TypeAlias, cast

from msgspec import Struct
from msgspec.structs import replace

from ..ir.diagnostics import error
from .llvm.api import binding
from .llvm.intrinsics import CPU, Table
from .machine import Machine, machine_of

FAST_MATH = {"fast-math": "fast"} | {
    f"fast-math-{flag}": flag for flag in ("nnan", "ninf", "nsz", "arcp", "contract", "reassoc")
}
"""TVM's options for fast-math flags, with LLVM's names: no NaN, no infinity, unsigned zeros, reciprocals,
contraction of a product and a sum, reassociation; or all of them.
"""


class Target(Struct, frozen=True, eq=False):
    """A target with its name and LLVM's names for the machine; an empty `cpu` means this machine.

    `arch` is the compute capability of a GPU, "sm_80"; `order` is set if its threads are simulated on the
    processor, in that order ("ascending", "descending", "random", or "each"). `threads` is the number of
    threads of parallel loops (0: the default), and `level` the maximum optimization level, unless a call says
    otherwise. `fast_math` are the fast-math flags for sums, products and quotients of floats in the program,
    by LLVM's names; none by default.
    """

    name: str
    intrinsics: Table
    triple: str = ""
    cpu: str = ""
    features: str = ""
    arch: str = ""
    order: str = ""
    threads: int = 0
    level: int = 3
    fast_math: tuple[str, ...] = ()

    @property
    def options(self) -> dict[str, str | int]:
        """Return the options of the target, by TVM's names."""
        if self.arch:
            return {"arch": self.arch, **({"simulate": self.order} if self.order else {})}
        said = {"mtriple": self.triple, "mcpu": self.cpu, "mattr": self.features, "num-cores": self.threads}
        said |= {"opt-level": self.level} if self.level < 3 else {}
        return {name: value for name, value in said.items() if value or name == "opt-level"} | {
            name: 1 for name, flag in FAST_MATH.items() if flag in self.fast_math
        }

    @property
    def text(self) -> str:
        """Return the target as text, which `get_target` parses."""
        return " ".join([self.name, *(f"-{name}={value}" for name, value in self.options.items())])

    @property
    def is_device(self) -> bool:
        """Return whether code for the target runs on a GPU."""
        return bool(self.arch) and not self.order

    @property
    def machine(self) -> Any:
        """Return the LLVM target machine (`llvmlite.binding.TargetMachine`) that optimizes and emits code."""
        return self.machine_at(3)

    def machine_at(self, level: int) -> Any:
        """Return the target machine for an optimization level, 0 to 3; level 0 emits code seven times as fast."""
        return _machine(self.triple, self.cpu, self.features, min(level, self.level))

    @property
    def processor(self) -> Machine:
        """Return the properties of the machine for default schedules."""
        triple, cpu, features = self.words
        machine = machine_of(features, triple)
        if self.cpu and not self.arch:
            from .processor import ask

            answer = ask(self.triple, cpu, features)
            registers = 32 if answer.vector_bytes == 64 else machine.registers
            machine = replace(machine, vector_bytes=answer.vector_bytes, registers=registers, has_fma=answer.has_fma)
        return replace(machine, threads=self.threads) if self.threads else machine

    @property
    def words(self) -> tuple[str, str, str]:
        """Return the triple, the processor and its features, by LLVM's names."""
        if self.cpu:
            return self.machine.triple, self.cpu, self.features
        return self.machine.triple, binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten()


@cache
def _machine(triple: str, cpu: str, features: str, level: int) -> Any:
    """Create a target machine. Contraction of `a * b + c` into one rounding stays off; it needs fast-math flags."""
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
"""The targets without options, by name: this processor."""


TargetLike: TypeAlias = str | Target | Mapping[str, Any]
"""A target, its text, or a dictionary with its "kind"."""


def get_target(target: TargetLike) -> Target:
    """Return the target for a text such as "llvm -mcpu=znver4" (`processor`) or "cuda -arch=sm_80"
    (`gpu.target`), or for TVM's dictionary form, {"kind": "cuda", "arch": "sm_80"}.

    Raises TvmsError E0601 for an unknown target.
    """
    if isinstance(target, Target):
        return target
    if not isinstance(cast("object", target), str | Mapping):
        help = "pass a text such as 'llvm', a dictionary with its 'kind', or a Target"
        raise error("E0601", f"expected a target, got {type(target).__name__}", None, help)
    if isinstance(target, str) and target in TARGETS:
        return TARGETS[target]
    if not str(target).isprintable():
        raise error("E0601", f"the target {str(target)!r} contains control characters", None, "write it in one line")
    from .gpu.architectures import MODELS
    from .gpu.target import KINDS, gpu_target
    from .processor import KIND, processor_target

    kind = options_of(target)["kind"]
    if kind in KINDS or kind in MODELS:
        return gpu_target(target)
    if kind == KIND:
        return processor_target(target)
    raise error("E0601", f"unknown target '{kind}'", None, f"use one of {', '.join([KIND, *KINDS])}")


def options_of(target: str | Mapping[str, Any]) -> dict[str, str]:
    """Return the options of a target by name, its own name under "kind": "-num-cores=4", "-num-cores 4",
    {"num-cores": 4}.
    """
    if not isinstance(target, str):
        return {"kind": "", **{name: _word(value) for name, value in target.items()}}
    kind, *words = target.split() or [""]
    options, name = {"kind": kind}, ""
    for word in words:
        if word.startswith("-"):
            name, _, options[name] = word.lstrip("-").partition("=")
        else:
            options[name or word] = word
    return options


def _word(value: Any) -> str:
    return ",".join(cast("list[str]", value)) if isinstance(value, list | tuple) else str(value)
