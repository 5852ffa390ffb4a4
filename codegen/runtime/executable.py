"""Compiled modules: `compile` makes an `Executable`, which holds a callable for every function."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, Literal, overload

from ...ir import relax, tir
from ...ir.base import BaseFunc, IRModule
from ...ir.deep import deep
from ...ir.diagnostics import Diagnostic, TvmsError, error
from ..build import Built, Settings, build
from ..llvm.backend import optimise, to_assembly, to_object
from ..lower import Bounds
from ..target import Target, get_target
from .jit import Library, link
from .prim_entry import PrimEntry

Entry = Callable[..., Any]


class Executable:
    """A compiled module.

    `exe["main"](x, w)` calls a function; `module` is the program as it was compiled; `stats` holds the seconds that
    each stage of the compilation took, `decisions` what the default schedules decided, by function, and `safety` how
    many of its indices were proven to be inside their buffers.
    """

    def __init__(self, built: Built, entries: dict[str, Entry]) -> None:
        self.module, self.stats, self.decisions, self.safety = built.module, built.stats, built.decisions, built.safety
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
    bounds: Bounds = "prove",
    threads: int = 0,
    level: int = 3,
) -> Executable:
    """Compile a module, or a single function, for `target`; what the settings mean says `codegen.build.Settings`.

    Schedules that are written in the module for this target (`S.schedule`) are applied first.

    Raises TvmsError with all that cannot be compiled (E0601 to E0607), of all functions.
    """
    chosen, start = get_target(target), time.perf_counter()
    settings = Settings(schedule, bounds, threads, level)
    built = build(program, chosen, settings)
    image = to_object(optimise(built.emitted.text, chosen, level), chosen)
    executable = load_image(built, image, chosen, settings)
    stats = built.stats
    stats["total"] = time.perf_counter() - start
    stats["llvm"] = stats["total"] - stats["lower"] - stats["emit"]
    return executable


def load_image(built: Built, image: bytes, target: Target, settings: Settings) -> Executable:
    """Return the executable of a module whose kernels are in the object file `image`."""
    library, module = link(image, built.kernels, target), built.module
    entries: dict[str, Entry] = {}
    for name, kernel in built.kernels.items():
        entries[name] = _entry(name, kernel, built, library, target, settings)
    _compile_graphs(module, entries)
    return Executable(built, {name: entries[name] for name in module.functions if name in entries})


def _entry(
    name: str, kernel: tir.PrimFunc, built: Built, library: Library, target: Target, settings: Settings
) -> PrimEntry:
    source = built.module.functions[name]
    assert isinstance(source, tir.PrimFunc)

    @cache
    def unscheduled() -> Entry:
        bounds, threads, level = settings.bounds, settings.threads, settings.level
        return compile(built.module, target, schedule=False, bounds=bounds, threads=threads, level=level)[name]

    relies_on_rules = kernel.attrs.get("tir.noalias") and not source.attrs.get("tir.noalias")
    return PrimEntry(name, source, kernel, library, built.emitted.faults, unscheduled if relies_on_rules else None)


@overload
def emit(program: IRModule | BaseFunc, kind: Literal["llvm", "asm"], target: str | Target = "llvm") -> str: ...
@overload
def emit(program: IRModule | BaseFunc, kind: Literal["obj"], target: str | Target = "llvm") -> bytes: ...
@deep
def emit(program: IRModule | BaseFunc, kind: str, target: str | Target = "llvm") -> str | bytes:
    """Return the loop-level functions of a program as optimised LLVM IR, assembly or an object file."""
    chosen = get_target(target)
    module = optimise(build(program, chosen, Settings()).emitted.text, chosen)
    if kind == "obj":
        return to_object(module, chosen)
    return to_assembly(module, chosen) if kind == "asm" else str(module)


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
