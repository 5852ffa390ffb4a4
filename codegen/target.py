"""Compilation targets, from text or from TVM's dictionary form.

"llvm"                                              this processor
"llvm -mcpu=znver4"                                 a processor by LLVM's name
"llvm -mcpu=x86-64-v3 -mattr=+avx512f,-avx512vl"    with and without features
"llvm -num-cores=4 -opt-level=2"                    four threads in parallel loops; LLVM's level at most 2
"llvm -fast-math-contract"                          products and sums with one rounding; -fast-math: also in any order
"llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a76"  cross compilation: the code does not run here
"cuda"                                              PTX for any GPU since 2018
"cuda -arch=sm_80"                                  PTX for that compute capability, and newer GPUs
"cuda -arch=sm_90 -simulate=random"                 the same kernels on the processor, threads in random order between barriers
"cuda -arch=sm_90a"                                 PTX for H100 and H200 alone, whose products use warpgroups
"cuda -simulate=each"                               simulation in each order, whose results must be the same
"nvidia/nvidia-a100"                                a GPU by TVM's tag
"aws/cpu/c5.9xlarge"                                a processor by TVM's tag
"""

from __future__ import annotations

import difflib
import re
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias, cast

from msgspec import Struct
from msgspec.structs import replace

from ..ir.diagnostics import TvmsError, error
from .gpu.architectures import ARCHITECTURES, DEFAULT, MODELS
from .gpu.orders import ORDERS
from .llvm.api import binding
from .machine import Machine, machine_of

KIND = "llvm"
"""The kind of the targets that are processors."""


def _unknown(what: str, help: str) -> TvmsError:
    """Return the error for an unknown option or model of a processor; `what` describes it."""
    return error("E0601", f"the target '{KIND}' has no {what}", None, help)


class Answer(Struct, frozen=True):
    """LLVM's description of a processor; `runs_here` tells whether this machine has all features that its code
    may use.
    """

    vector_bytes: int
    has_fma: bool
    has_mask_moves: bool
    has_half_conversions: bool
    runs_here: bool


@cache
def _ask(triple: str, cpu: str, features: str) -> Answer:
    """Query LLVM about a processor; an empty `triple` means this machine. E0601 if LLVM does not know it."""
    script = str(Path(__file__).with_name("trial.py"))
    command = [sys.executable, "-P", script, triple, cpu, features]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    names, _, rest = done.stderr.partition("Available features")
    if not rest:
        raise _unknown(f"machine '{triple}'", "give -mtriple in LLVM's form, such as aarch64-linux-gnu")
    _check_known("processor", cpu, names)
    for feature in features.split(",") if features else ():
        if feature[:1] not in ("+", "-"):
            raise _unknown(f"feature '{feature}'", "prefix a feature with + to enable or - to disable it")
        _check_known("feature", feature[1:], rest)
    if done.returncode:
        reason = done.stderr.strip().splitlines()[-1].removeprefix("LLVM ERROR: ")
        raise _unknown(f"code for the processor '{cpu}' as described", f"LLVM says: {reason}")
    size, *answers = map(int, done.stdout.split())
    return Answer(size, *map(bool, answers))


def _check_known(what: str, name: str, listed: str) -> None:
    known = re.findall(r"^  (\S+) +- ", listed, re.MULTILINE)
    if name not in known:
        near = difflib.get_close_matches(name, known, 1)
        help = f"did you mean '{near[0]}'?" if near else f"LLVM knows of {len(known)}, such as '{known[-1]}'"
        raise _unknown(f"{what} '{name}'", help)


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
    def layout(self) -> tuple[str, str]:
        """Return the triple and the data layout of modules, by LLVM's names."""
        return _layout(self.triple, self.cpu, self.features)

    @property
    def processor(self) -> Machine:
        """Return the properties of the machine for default schedules."""
        triple, cpu, features = self.words
        machine = machine_of(features, triple)
        if self.cpu and not self.arch:
            answer = _ask(self.triple, cpu, features)
            registers = 32 if answer.vector_bytes == 64 else machine.registers
            machine = replace(
                machine, vector_bytes=answer.vector_bytes, registers=registers, has_fma=answer.has_fma,
                has_mask_moves=answer.has_mask_moves, has_half_conversions=answer.has_half_conversions,
            )  # fmt: skip
        return replace(machine, threads=self.threads) if self.threads else machine

    @property
    def words(self) -> tuple[str, str, str]:
        """Return the triple, the processor and its features, by LLVM's names."""
        return _words(self.triple, self.cpu, self.features)


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


@cache
def _words(triple: str, cpu: str, features: str) -> tuple[str, str, str]:
    """Return the words of a target once: a call of LLVM waits while another thread optimizes."""
    if cpu:
        return _machine(triple, cpu, features, 3).triple, cpu, features
    host = binding.get_host_cpu_features().flatten()
    return _machine(triple, cpu, features, 3).triple, binding.get_host_cpu_name(), host


@cache
def _layout(triple: str, cpu: str, features: str) -> tuple[str, str]:
    machine = _machine(triple, cpu, features, 3)
    return machine.triple, str(machine.target_data)


TARGETS: dict[str, Target] = {KIND: Target(KIND)}
"""The targets without options, by name: this processor."""


TargetLike: TypeAlias = str | Target | Mapping[str, Any]
"""A target, its text, or a dictionary with its "kind"."""


def get_target(target: TargetLike) -> Target:
    """Return the target for a text such as "llvm -mcpu=znver4" or "cuda -arch=sm_80", or for TVM's dictionary
    form, {"kind": "cuda", "arch": "sm_80"}.

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
        raise error(
            "E0601", f"the target {str(target)!r} contains control characters", None, "remove them, also line breaks"
        )
    options = options_of(target)
    kind = options.pop("kind")
    if kind in GPU_KINDS or kind in MODELS:
        return _gpu(kind, options)
    if kind in _PROCESSORS:
        cpu, cores = _PROCESSORS[kind]
        return _processor({"mcpu": cpu, "num-cores": str(cores), **options})
    if kind == KIND:
        return _processor(options)
    raise error("E0601", f"unknown target '{kind}'", None, f"use one of {', '.join([KIND, *GPU_KINDS])}")


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


# --- Processors ---------------------------------------------------------------------------------------------

_NATIVE, _NUMBERS = ("mtriple", "mcpu", "mattr"), {"num-cores": (1, 1024), "opt-level": (0, 3)}
_PROCESSORS = {
    f"aws/cpu/c5.{size}": (cpu, cores)
    for cpu, sizes in (
        ("skylake-avx512", {"large": 1, "xlarge": 2, "2xlarge": 4, "4xlarge": 8, "9xlarge": 18, "18xlarge": 36}),
        ("cascadelake", {"12xlarge": 24, "24xlarge": 48}),
    )
    for size, cores in sizes.items()
}
"""The processors and numbers of cores of TVM's target tags."""
_PROCESSOR_IGNORED = ("keys", "device", "model", "tag")


def _processor(options: Mapping[str, str]) -> Target:
    """Return the processor with these options; TvmsError E0601 if LLVM does not know the processor, a feature or
    the machine, and for an unknown option.
    """
    numbers: dict[str, int] = {}
    fast: list[str] = []
    for name, value in options.items():
        if name in _NUMBERS:
            numbers[name] = _number(name, value)
        elif name in FAST_MATH:
            fast += [FAST_MATH[name]] if _is_on(name, value) else []
        elif name not in (*_NATIVE, *_PROCESSOR_IGNORED):
            known = ", ".join(f"-{key}" for key in (*_NATIVE, *_NUMBERS, *FAST_MATH))
            raise _unknown(f"option '-{name}'", f"it has: {known}")
    triple, cpu, features = (options.get(name, "") for name in _NATIVE)
    if triple or features:
        cpu = cpu or "generic"
    if cpu:
        _ask(triple, cpu, features)
    threads, level = numbers.get("num-cores", 0), numbers.get("opt-level", 3)
    return Target(KIND, triple, cpu, features, threads=threads, level=level, fast_math=tuple(fast))


def _number(name: str, value: str) -> int:
    low, high = _NUMBERS[name]
    if not value.isdecimal() or not low <= int(value) <= high:
        raise _unknown(f"-{name} of '{value}'", f"give a number from {low} to {high}")
    return int(value)


def _is_on(name: str, value: str) -> bool:
    if value.lower() not in ("", "0", "1", "false", "true"):
        raise _unknown(f"-{name} of '{value}'", "omit the value, or give 0 or 1")
    return value.lower() in ("", "1", "true")


def check_runs_here(target: Target) -> None:
    """Raise E0617 if code for `target` may use features that this processor lacks."""
    if target.cpu and not _ask(target.triple, target.cpu, target.features).runs_here:
        here = get_target(KIND).words[1]
        reason = f"code for '{target.text}' does not run on this processor ('{here}')"
        raise error(
            "E0617", reason, None, "write it to a file (tvms compile --emit so), or compile for this processor ('llvm')"
        )


# --- GPUs ---------------------------------------------------------------------------------------------------

GPU_KINDS = ("cuda", "nvptx")
_TRIPLE = "nvptx64-nvidia-cuda"
_ARCHITECTURE_OPTIONS, _GPU_IGNORED = ("arch", "mcpu"), (
    "keys", "max_num_threads", "max_threads_per_block", "max_shared_memory_per_block", "registers_per_block", "thread_warp_size",
    "tag",
)  # fmt: skip


def _gpu(kind: str, options: Mapping[str, str]) -> Target:
    """Return the GPU of that kind with these options; TvmsError E0601 for an unknown option or architecture."""
    kind, arch, order = ("cuda", MODELS[kind], "") if kind in MODELS else (kind, DEFAULT, "")
    for name, value in options.items():
        if name in _ARCHITECTURE_OPTIONS:
            arch = value
        elif name == "simulate":
            order = value or ORDERS[0]
        elif name not in _GPU_IGNORED:
            raise _unknown_of(kind, f"option '-{name}'", "-arch=sm_80, -simulate=random")
    if arch not in ARCHITECTURES:
        raise _unknown_of(kind, f"architecture '{arch}'", ", ".join(ARCHITECTURES))
    if order and order not in ORDERS:
        raise _unknown_of(kind, f"order of threads '{order}'", ", ".join(ORDERS))
    return _gpu_of(kind, arch, order)


@cache
def _gpu_of(kind: str, arch: str, order: str) -> Target:
    if order:
        return Target(kind, arch=arch, order=order)
    return Target(kind, _TRIPLE, arch, ARCHITECTURES[arch].features, arch=arch)


def _unknown_of(kind: str, what: str, known: str) -> TvmsError:
    return error("E0601", f"the target '{kind}' has no {what}", None, f"it has: {known}")
