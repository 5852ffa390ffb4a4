"""Compilation of a program to LLVM IR, shared by compilation in memory, text output and libraries."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import get_args, get_type_hints

from msgspec import Struct
from msgspec.structs import replace

from ..ir import tir
from ..ir.annotations import fits
from ..ir.base import BaseFunc, IRModule, Source
from ..ir.diagnostics import ArgumentError, Diagnostic, TvmsError, error
from ..ir.function_table import mentions_of
from ..ir.passes.transform import announce, observed
from ..ir.programs import as_module
from ..ir.schedule.apply import apply_schedules, schedules_for
from ..ir.schedule.declaration import COMPOSITES, primitive_called
from ..ir.schedule.text import Step
from ..ir.schedule.tree import walk_statements
from ..ir.verify import check_types
from ..ir.visit import walk
from .gpu.lower import lower_for_gpu
from .gpu.pointer_checks import has_pointer_accesses
from .graph.native import NativeFunction, native_functions
from .llvm.module import EmittedModule, ModuleEmitter
from .lower import Bounds, Safety, guard_indices, lower_blocks, lower_loops
from .lower.bounds import PROVEN
from .lower.contract import contract_reductions
from .lower.wrapping import limit_sizes
from .pipeline import lower_graphs, pack_constants
from .rules import Decision, apply_rules, rules_for
from .runtime.signature import Signature, signature_of
from .target import Target
from .tuned import with_tuned

MOST_THREADS = 1024
LEVELS = range(4)
"""Optimization levels of LLVM."""


class Settings(Struct, frozen=True):
    """Compilation settings.

    - `schedule`: whether unscheduled functions get the default schedules (`codegen.rules`), which may
      change the order of summation;
    - `bounds`: which indices are checked at run time, with E0707 for one out of bounds: "check" all, "prove"
      those that are not proven to be in bounds, "trust" none;
    - `threads`: the number of threads of a parallel loop; 0 is that of TVMS_NUM_THREADS or OMP_NUM_THREADS, or one
      per core;
    - `level`: the optimization level of LLVM, 0 to 3;
    - `native`: whether graph functions become machine code as a whole (`codegen.graph.native`) if their sizes do not depend on
      data, or are executed call by call.
    """

    schedule: bool = True
    bounds: Bounds = "prove"
    threads: int = 0
    level: int = 3
    native: bool = True

    def __post_init__(self) -> None:
        hints = get_type_hints(Settings)
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if not fits(value, hints[name]):
                wanted = " or ".join(map(repr, get_args(hints[name]))) or hints[name].__name__
                raise ArgumentError(Diagnostic("E0702", f"option '{name}' must be {wanted}, not {value!r}"))
        if not (self.level in LEVELS and 0 <= self.threads <= MOST_THREADS):
            most = f"level is 0 to 3 and threads 0 to {MOST_THREADS}"
            reason = f"{most}, but they are {self.level} and {self.threads}"
            raise error("E0702", reason, help="threads=0 uses one thread per core")


class Built(Struct, frozen=True, eq=False):
    """A built module: its loop functions as LLVM IR, and the signature of each.

    `natives` are the graph functions that became machine code. `decisions` are the decisions of the default
    schedules by function, and `safety` how many indices were proven to be in bounds; `stats` holds the time
    of each stage in seconds.
    """

    module: IRModule
    signatures: dict[str, Signature]
    natives: dict[str, NativeFunction]
    emitted: EmittedModule
    decisions: dict[str, tuple[Decision, ...]]
    safety: dict[str, Safety]
    stats: dict[str, float]


@contextmanager
def rare_collections() -> Generator[None]:
    """Let Python's collector of cycles start rarely: a compilation keeps almost all that it makes, and makes few cycles."""
    thresholds = gc.get_threshold()
    if thresholds[0]:  # zero disables collections
        gc.set_threshold(max(thresholds[0], _OBJECTS), *thresholds[1:])
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)


_OBJECTS = 20_000
"""Objects that may be added between two collections of the youngest ones."""


def prepare(program: IRModule | BaseFunc, target: Target, lines: bool = False) -> IRModule:
    """Return the module with its schedules for this target applied, and with graph operators lowered to calls of
    kernels, whose statements have the positions of calls with `lines`. TvmsError if the program violates the law of the IR.
    """
    return pack_constants(lower_program(program, target, lines))


def lower_program(program: IRModule | BaseFunc, target: Target, lines: bool = False) -> IRModule:
    """Return the prepared module before `pack_constants`: its constants are those of the program."""
    module = check_types(as_module(program))
    lowered = lower_graphs(_with_proofs(module, apply_schedules(module, target.name), target), target, lines)
    tuned = with_tuned(lowered, target)
    return lowered if tuned is lowered else _with_proofs(tuned, apply_schedules(tuned, target.name), target)


def _with_proofs(before: IRModule, after: IRModule, target: Target) -> IRModule:
    """Return a scheduled module that marks the functions (`PROVEN`) whose indices were proven before they were scheduled.

    These are functions that only composite steps changed, which access nothing else: a default schedule that was kept in the
    text needs no more checks than one that was not. No other function has the mark.
    """
    functions = {name: _without_mark(function) for name, function in after.functions.items()}
    for text in schedules_for(before, target.name) if before.schedules else ():
        function = before.functions[text.function]
        assert isinstance(function, tir.PrimFunc)
        primitives = [
            primitive_called(step.primitive) for step in walk(text) if isinstance(step, Step) and step.function is None
        ]
        if all(found is not None and (found.is_query or found.name in COMPOSITES) for found in primitives):
            safety = guard_indices(lower_blocks(function), "prove")[1]
            if not safety.checked and not (target.arch and has_pointer_accesses(function)):
                marked = functions[text.function]
                functions[text.function] = replace(marked, attrs={**marked.attrs, PROVEN: tir.IntImm("bool", 1)})
    return after if functions == after.functions else replace(after, functions=functions)


def _without_mark(function: BaseFunc) -> BaseFunc:
    if PROVEN not in function.attrs:
        return function
    return replace(function, attrs={name: value for name, value in function.attrs.items() if name != PROVEN})


def build(
    module: IRModule, target: Target, settings: Settings, for_c: bool = True, take: Callable[[str], None] | None = None,
    source: Source | None = None,
) -> Built:  # fmt: skip
    """Build a prepared module for `target`. Graph functions become machine code if `Settings.native` is true; C
    entries are emitted if `for_c` is true.

    With `take`, the LLVM IR of large modules is passed on in parts, while others are still lowered; `Built.emitted` is
    the last part. With `source`, instructions have the lines of statements in it.

    Raises TvmsError with everything that cannot be compiled (E0601 to E0607), from all functions.
    """
    natives = native_functions(module) if settings.native else {}
    drivers = {name: native.driver for name, native in natives.items()}
    writer = _Writer(target, settings, for_c, None if target.order else take, source)
    kernels, decisions, safety, stats = lower_module(module, target, settings, drivers, writer.add)
    announce("write LLVM IR")
    emitted = writer.finish()
    stats["lower"] -= writer.early
    stats["emit"] = writer.early + writer.late
    sources = loop_level_functions(module) | drivers
    signatures = {name: signature_of(sources[name], kernel) for name, kernel in kernels.items()}
    signatures |= {name: replace(signatures[name], written=native.written) for name, native in natives.items()}
    return Built(module, signatures, natives, emitted, decisions, safety, stats)


class _Writer:
    """Emits kernels as they are lowered if their IR is passed on in parts, and all at the end otherwise."""

    def __init__(
        self, target: Target, settings: Settings, for_c: bool, take: Callable[[str], None] | None, source: Source | None
    ) -> None:
        self._kernels: dict[str, tir.PrimFunc] = {}
        self._emitter = ModuleEmitter(self._kernels, target, settings.threads, for_c, take, source)
        self._is_early, self._left = take is not None, list[str]()
        self.early = self.late = 0.0
        """Seconds of work in `add` and in `finish`."""

    def add(self, name: str, kernel: tir.PrimFunc) -> None:
        """Emit a lowered function; one that calls others waits for `finish`, when all are known."""
        start = time.perf_counter()
        self._kernels[name] = kernel
        if self._is_early and not mentions_of(kernel).called:
            self._emitter.add(name)
        else:
            self._left.append(name)
        self.early += time.perf_counter() - start

    def finish(self) -> EmittedModule:
        """Emit the rest; TvmsError with everything that the target cannot do."""
        start = time.perf_counter()
        for name in self._left:
            self._emitter.add(name)
        emitted = self._emitter.finish()
        self.late = time.perf_counter() - start
        return emitted


def lower_module(
    module: IRModule,
    target: Target,
    settings: Settings,
    drivers: Mapping[str, tir.PrimFunc] = {},
    take: Callable[[str, tir.PrimFunc], None] | None = None,
) -> tuple[dict[str, tir.PrimFunc], dict[str, tuple[Decision, ...]], dict[str, Safety], dict[str, float]]:
    """Return the loop functions as kernels, with decisions, proofs, and the time in seconds.

    `drivers` are lowered with them; they never pass overlapping arguments. `take` receives each kernel as soon as it is
    lowered.
    """
    start = time.perf_counter()
    kernels: dict[str, tir.PrimFunc] = {}
    decisions: dict[str, tuple[Decision, ...]] = {}
    safety: dict[str, Safety] = {}
    problems: list[Diagnostic] = []
    called, functions = called_functions(module), {**loop_level_functions(module), **drivers}
    for number, (name, function) in enumerate(functions.items(), 1):
        announce(f"lower {name} ({number} of {len(functions)})")
        try:
            if target.arch and name not in drivers:
                kernels[name], decisions[name], safety[name] = lower_for_gpu(function, name, target, settings.bounds)
            else:
                bounds = "trust" if name in drivers else settings.bounds
                may_move = settings.schedule and (name not in called or bool(function.attrs.get("tir.noalias")))
                loops = guarded_loops(function, bounds, functions, target if may_move else None)
                safety[name] = loops.safety
                decisions |= {name: loops.decisions} if loops.decisions else {}
                kernels[name] = lower_loops(loops.loops)
        except TvmsError as problem:
            problems.extend(problem.diagnostics)
            continue
        if take is not None:
            take(name, kernels[name])
    if problems:
        raise TvmsError(problems)
    return kernels, decisions, safety, {"lower": time.perf_counter() - start}


class GuardedLoops(Struct, frozen=True, eq=False):
    """A function as loops with checked indices. If `is_scheduled`, rules apply or it is scheduled by hand: then arguments must not
    overlap, and products and sums are fused.
    """

    loops: tir.PrimFunc
    safety: Safety
    is_scheduled: bool = False
    decisions: tuple[Decision, ...] = ()


def guarded_loops(
    function: tir.PrimFunc, bounds: Bounds, functions: Mapping[str, BaseFunc], scheduled_for: Target | None,
    unscheduled: GuardedLoops | None = None,
) -> GuardedLoops:  # fmt: skip
    """Return the loops of `function`, or those of its default schedule if a target is given; the schedule is
    dropped if it needs more checks, for example of indices that are loaded. `unscheduled` is the result without a target, if known.
    """

    def as_it_is() -> GuardedLoops:
        return _plain_loops(function, bounds, functions) if unscheduled is None else unscheduled

    if scheduled_for is None:
        return as_it_is()
    scheduled, decisions = apply_rules(function, rules_for(scheduled_for.processor))
    is_by_rules = scheduled is not function
    fused = contract_reductions(scheduled) if scheduled_for.processor.has_fma else scheduled
    if fused is function:
        plain = as_it_is()
        if not _is_vectorized(plain.loops):
            return GuardedLoops(plain.loops, plain.safety, decisions=decisions)
        return GuardedLoops(_with_distinct_arguments(plain.loops), plain.safety, True, decisions)
    loops = lower_blocks(_with_distinct_arguments(observed("default schedule", apply_rules, function, fused)), bounds)
    if bounds == "trust":
        return GuardedLoops(loops, Safety(0, 0), True, decisions)
    plain = as_it_is() if is_by_rules or _has_proofs(function, bounds) else None
    limited = limit_sizes(loops) if plain is not None and not plain.safety.checked else None
    if plain is not None and limited is not None:  # proofs remain valid, since no arithmetic wraps around
        return GuardedLoops(observed("LimitSizes", limit_sizes, loops, limited), plain.safety, True, decisions)
    loops, safety = _guarded(loops, bounds, functions)
    if safety.places and plain is None:  # else nothing can need fewer checks
        plain = as_it_is()
    if plain is not None and not safety.places <= plain.safety.places:
        return plain
    return GuardedLoops(loops, safety if plain is None else plain.safety, True, decisions)


def _plain_loops(function: tir.PrimFunc, bounds: Bounds, functions: Mapping[str, BaseFunc]) -> GuardedLoops:
    """Return the loops of `function` as it is."""
    loops = lower_blocks(function, bounds)
    guarded, safety = _guarded(loops, bounds, functions)
    limited = limit_sizes(loops) if safety.checked and _has_proofs(function, bounds) else None
    if limited is not None:
        return GuardedLoops(limited, Safety(safety.proven + safety.checked, 0))
    return GuardedLoops(guarded, safety)


def _guarded(loops: tir.PrimFunc, bounds: Bounds, functions: Mapping[str, BaseFunc]) -> tuple[tir.PrimFunc, Safety]:
    guarded, safety = guard_indices(loops, bounds, functions)
    return observed("GuardIndices", guard_indices, loops, guarded), safety


def _has_proofs(function: tir.PrimFunc, bounds: Bounds) -> bool:
    """Return whether all indices of a scheduled function were proven to be in bounds before it was scheduled."""
    return bounds == "prove" and bool(function.attrs.get(PROVEN))


def _is_vectorized(func: tir.PrimFunc) -> bool:
    """Return whether a loop is vectorized: the function was scheduled by hand."""
    return any(isinstance(stmt, tir.For) and stmt.kind is tir.ForKind.VECTORIZED for stmt in walk_statements(func.body))


def _with_distinct_arguments(func: tir.PrimFunc) -> tir.PrimFunc:
    """Return a scheduled function as `tir.noalias`, so that sums stay in registers while others are stored. Calls with
    overlapping arguments use another version (`runtime.executable`).
    """
    if func.attrs.get("tir.noalias"):
        return func
    alone = replace(func, attrs={**func.attrs, "tir.noalias": tir.IntImm("bool", 1)})
    return observed("distinct arguments", _with_distinct_arguments, func, alone)


def loop_level_functions(module: IRModule) -> dict[str, tir.PrimFunc]:
    """Return the loop functions of a module by name."""
    return {name: function for name, function in module.functions.items() if isinstance(function, tir.PrimFunc)}


def called_functions(module: IRModule) -> set[str]:
    """Return the names of the functions that loop functions call."""
    functions = loop_level_functions(module).values()
    return {name for function in functions for name in mentions_of(function).called}
