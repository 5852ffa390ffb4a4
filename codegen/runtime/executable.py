"""Compiled modules: `compile` makes an `Executable`, which holds a callable for every function."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, Literal, overload

from ...ir import relax, tir
from ...ir.base import BaseFunc, GlobalVar, IRModule
from ...ir.deep import deep
from ...ir.diagnostics import Diagnostic, TvmsError, error
from ...ir.schedule.apply import apply_schedules
from ...ir.visit import walk
from ..llvm.backend import optimise, to_assembly, to_object
from ..llvm.module import EmittedModule, emit_module
from ..lower import lower
from ..rules import Decision, apply_rules
from ..target import Target, get_target
from .jit import link
from .prim_entry import PrimEntry

Entry = Callable[..., Any]


class Executable:
    """A compiled module.

    `exe["main"](x, w)` calls a function; `module` is the program as it was compiled; `stats` holds the seconds that
    each stage of the compilation took, `decisions` what the default schedules decided, by function.
    """

    def __init__(
        self,
        module: IRModule,
        entries: dict[str, Entry],
        stats: dict[str, float],
        decisions: Mapping[str, tuple[Decision, ...]],
    ) -> None:
        self.module, self.stats, self.decisions = module, stats, decisions
        self._entries = entries

    @property
    def entry_names(self) -> tuple[str, ...]:
        """The names of all functions that can be called."""
        return tuple(self._entries)

    def __getitem__(self, name: str) -> Entry:
        """Return the function `name`; TvmsError E0102 where there is none."""
        if name not in self._entries:
            help = f"functions are: {', '.join(self._entries)}"
            raise error("E0102", f"the module has no function '{name}'", None, help)
        return self._entries[name]

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)


@deep
def compile(
    program: IRModule | BaseFunc,
    target: str | Target = "llvm",
    *,
    schedule: bool = True,
    threads: int = 0,
    level: int = 3,
) -> Executable:
    """Compile a module, or a single function, for `target`.

    `schedule`: whether functions that nobody scheduled get the default schedules (`codegen.rules`), which may round
    sums otherwise than their order says. `threads`: how many run a parallel loop; 0 is one a core, or as
    TVMS_NUM_THREADS or OMP_NUM_THREADS say. `level`: how much LLVM optimises, 0 to 3.

    Schedules that are written in the module for this target (`S.schedule`) are applied first.

    Raises TvmsError with all that cannot be compiled (E0601 to E0607), of all functions.
    """
    chosen, stats = get_target(target), dict[str, float]()
    start = time.perf_counter()
    module = _legalize(apply_schedules(_as_module(program), chosen.name))
    kernels, decisions = _lower_all(module, chosen, schedule)
    stats["lower"] = time.perf_counter() - start
    emitted = emit_module(kernels, chosen, threads)
    stats["emit"] = time.perf_counter() - start - stats["lower"]
    image = to_object(optimise(emitted.text, chosen, level), chosen)
    library = link(image, kernels, chosen)
    stats["llvm"] = time.perf_counter() - start - stats["lower"] - stats["emit"]
    entries: dict[str, Entry] = {}
    for name, kernel in kernels.items():
        source = module.functions[name]
        assert isinstance(source, tir.PrimFunc)
        relies_on_rules = kernel.attrs.get("tir.noalias") and not source.attrs.get("tir.noalias")
        again = _unscheduled(name, module, chosen, threads, level) if relies_on_rules else None
        entries[name] = PrimEntry(name, source, kernel, library, emitted.faults, again)
    _compile_graphs(module, entries)
    stats["total"] = time.perf_counter() - start
    ordered = {name: entries[name] for name in module.functions if name in entries}
    return Executable(module, ordered, stats, decisions)


@overload
def emit(program: IRModule | BaseFunc, kind: Literal["llvm", "asm"], target: str | Target = "llvm") -> str: ...
@overload
def emit(program: IRModule | BaseFunc, kind: Literal["obj"], target: str | Target = "llvm") -> bytes: ...
@deep
def emit(program: IRModule | BaseFunc, kind: str, target: str | Target = "llvm") -> str | bytes:
    """Return the loop-level functions of a program as optimised LLVM IR, assembly or an object file."""
    chosen = get_target(target)
    module = optimise(_emit(program, chosen).text, chosen)
    if kind == "obj":
        return to_object(module, chosen)
    return to_assembly(module, chosen) if kind == "asm" else str(module)


def _emit(program: IRModule | BaseFunc, target: Target) -> EmittedModule:
    module = _legalize(apply_schedules(_as_module(program), target.name))
    return emit_module(_lower_all(module, target, True)[0], target)


def _as_module(program: IRModule | BaseFunc) -> IRModule:
    if isinstance(program, IRModule):
        return program
    return IRModule({program.attrs.get("global_symbol", "main"): program}, name="")


def _legalize(module: IRModule) -> IRModule:
    """Let graph-level operators become calls of loop-level functions."""
    if not any(isinstance(function, relax.Function) for function in module.functions.values()):
        return module
    from ...ir.passes.legalize_ops import legalize_ops

    return legalize_ops(module)


def _lower_all(
    module: IRModule, target: Target, schedule: bool
) -> tuple[dict[str, tir.PrimFunc], dict[str, tuple[Decision, ...]]]:
    kernels: dict[str, tir.PrimFunc] = {}
    decisions: dict[str, tuple[Decision, ...]] = {}
    problems: list[Diagnostic] = []
    called = _called_functions(module)
    for name, function in module.functions.items():
        if not isinstance(function, tir.PrimFunc):
            continue
        try:
            if schedule and (name not in called or function.attrs.get("tir.noalias")):
                function, decisions[name] = apply_rules(function, target.processor)
            kernels[name] = lower(function)
        except TvmsError as problem:
            problems.extend(problem.diagnostics)
    if problems:
        raise TvmsError(problems)
    return kernels, decisions


def _called_functions(module: IRModule) -> set[str]:
    """Return the names of the functions that loop-level functions call."""
    bodies = [function.body for function in module.functions.values() if isinstance(function, tir.PrimFunc)]
    calls = (node for body in bodies for node in walk(body) if isinstance(node, tir.Call))
    return {call.op.name_hint for call in calls if isinstance(call.op, GlobalVar)}


def _unscheduled(name: str, module: IRModule, target: Target, threads: int, level: int) -> Callable[[], Entry]:
    """Return what compiles function `name` as it stands, once: for arguments that overlap."""

    @cache
    def make() -> Entry:
        return compile(module, target, schedule=False, threads=threads, level=level)[name]

    return make


def _compile_graphs(module: IRModule, entries: dict[str, Entry]) -> None:
    """Add the graph-level functions to `entries`; they may call each other, and what is there."""
    from ...ir.backend.external import external_functions
    from ..graph.compiler import compile_function

    problems: list[Diagnostic] = []
    external = external_functions(module)
    for name, function in module.functions.items():
        try:
            if isinstance(function, relax.Function):
                entries[name] = compile_function(name, function, entries, external)
        except TvmsError as problem:
            problems.extend(problem.diagnostics)
    if problems:
        raise TvmsError(problems)
