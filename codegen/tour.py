"""The stages of compiling a module for the processor: the program after each, and the code that produced it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from ..ir.base import IRModule
from ..ir.deep import deep
from ..ir.diagnostics import error
from ..ir.passes.instrument import PassInstrument
from ..ir.passes.transform import PassContext, PassInfo, passes
from ..ir.schedule.apply import apply_schedules
from ..ir.tir import PrimFunc
from .build import Settings, build, lower_module
from .llvm.backend import optimize, to_assembly
from .llvm.module import emit_module
from .pipeline import lower_graphs, pack_constants
from .target import TargetLike, get_target

_ROOT = Path(__file__).parent.parent


class Stage(Struct, frozen=True):
    """One stage; `text` is empty if it left the program unchanged."""

    name: str
    function: str
    """The function that it transformed; "" for the whole module."""
    code: str
    """The Python function that implements it, as `file:line`."""
    purpose: str
    text: str

    @classmethod
    def of(cls, name: str, code: Callable[..., Any], text: str, function: str = "") -> Stage:
        """Return a stage that `code` implements; the first sentence of its docstring is the purpose."""
        inner: Any = inspect.unwrap(code)
        path = Path(inner.__code__.co_filename)
        file = path.relative_to(_ROOT).as_posix() if path.is_relative_to(_ROOT) else path.name
        purpose = " ".join((inner.__doc__ or "").split()).partition(". ")[0].removesuffix(".")
        return cls(name, function, f"{file}:{inner.__code__.co_firstlineno}", purpose, text)


class _Step(Struct, frozen=True):
    name: str
    code: Callable[..., Any]
    before: PrimFunc
    after: PrimFunc


class _Recorder(PassInstrument):
    """Records the module after every pass, and the steps of lowering."""

    def __init__(self) -> None:
        self.stages: list[Stage] = []
        self.steps: list[_Step] = []
        self._before: list[IRModule] = []

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        self._before.append(mod)

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        before = self._before.pop()
        if info.name in passes():
            self.stages.append(_stage(info.name, passes()[info.name], before, mod))

    def run_after_step(self, name: str, code: Callable[..., Any], before: PrimFunc, after: PrimFunc) -> None:
        self.steps.append(_Step(name, code, before, after))


@deep
def tour(module: IRModule, target: TargetLike = "llvm") -> tuple[Stage, ...]:
    """Return the stages of compiling `module` for the processor; E0601 for other targets."""
    return tuple(_stages(module, target))


def _stages(module: IRModule, target: TargetLike) -> Iterator[Stage]:
    chosen = get_target(target)
    if chosen.is_device:
        raise error("E0601", f"tvms tour shows code for the processor, not for '{chosen.name}'", None, "use llvm")
    scheduled = apply_schedules(module, chosen.name)
    if module.schedules:
        yield _stage("schedules", apply_schedules, module, scheduled)
    recorder = _Recorder()
    with PassContext(opt_level=3, instruments=(recorder,)):
        legal = pack_constants(lower_graphs(scheduled, chosen))
        kernels = lower_module(legal, chosen, Settings())[0]
    yield from recorder.stages
    for name, kernel in kernels.items():
        for step in _steps_to(kernel, recorder.steps):
            text = step.after.script()
            yield Stage.of(step.name, step.code, text if text != step.before.script() else "", name)
    emitted = build(legal, chosen, Settings()).emitted.text
    yield Stage.of("LLVM IR", emit_module, str(emitted))
    yield Stage.of("optimized LLVM IR", optimize, str(optimize(emitted, chosen)))
    yield Stage.of("assembly", to_assembly, to_assembly(optimize(emitted, chosen), chosen))


def _steps_to(kernel: PrimFunc, steps: list[_Step]) -> list[_Step]:
    """Return the steps that led to `kernel`, in order; lowering also tries alternatives, which are left out."""
    found: dict[str, _Step] = {}
    for step in reversed(steps):
        if step.after is kernel and step.name not in found:
            found[step.name] = step
            kernel = step.before
    return list(reversed(found.values()))


def _stage(name: str, code: Callable[..., Any], before: IRModule, after: IRModule) -> Stage:
    text = after.script()
    return Stage.of(name, code, text if text != before.script() else "")
