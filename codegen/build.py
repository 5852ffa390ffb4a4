"""From a program to LLVM IR: what compiling in memory, emitting text and making a library have in common."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import get_args, get_type_hints

from msgspec import Struct
from msgspec.structs import replace

from ..ir import tir
from ..ir.annotations import fits
from ..ir.base import BaseFunc, GlobalVar, IRModule
from ..ir.diagnostics import ArgumentError, Diagnostic, TvmsError, error
from ..ir.passes.transform import announce, observed
from ..ir.programs import as_module
from ..ir.schedule.apply import apply_schedules
from ..ir.verify import check_types
from ..ir.visit import walk
from .gpu.lower import lower_for_gpu
from .graph.native import NativeFunction, native_functions
from .llvm.module import EmittedModule, emit_module
from .lower import Bounds, Safety, guard_indices, lower_blocks, lower_loops
from .lower.wrapping import limit_sizes
from .pipeline import lower_graphs
from .rules import Decision, apply_rules, rules_for
from .runtime.signature import Signature, signature_of
from .target import Target

MOST_THREADS = 1024


class Settings(Struct, frozen=True):
    """How to compile.

    - `schedule`: whether functions that nobody scheduled get the default schedules (`codegen.rules`), which may round
      sums otherwise than their order says;
    - `bounds`: which indices are checked as a function runs, E0707 where one is outside its buffer: "check" all, "prove"
      those that are not proven to be inside, "trust" none;
    - `threads`: how many run a parallel loop; 0 is one a core, or as TVMS_NUM_THREADS or OMP_NUM_THREADS say;
    - `level`: how much LLVM optimises, 0 to 3;
    - `native`: whether graph-level functions whose shapes are all known become machine code as a whole, on memory that is
      planned once (`codegen.graph.native`), or are executed call by call.
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
        if not (0 <= self.level <= 3 and 0 <= self.threads <= MOST_THREADS):
            most = f"level is 0 to 3 and threads 0 to {MOST_THREADS}"
            reason = f"{most}, but they are {self.level} and {self.threads}"
            raise error("E0702", reason, help="threads=0 uses one thread per core")


class Built(Struct, frozen=True, eq=False):
    """A module as it is compiled: its loop-level functions as LLVM IR, and what a call needs to know of each.

    `natives` are the graph-level functions that became machine code. `decisions` says what the default schedules
    decided, by function, and `safety` how many indices were proven to be inside their buffers; `stats` holds the
    seconds that each stage took.
    """

    module: IRModule
    signatures: dict[str, Signature]
    natives: dict[str, NativeFunction]
    emitted: EmittedModule
    decisions: dict[str, tuple[Decision, ...]]
    safety: dict[str, Safety]
    stats: dict[str, float]


def prepare(program: IRModule | BaseFunc, target: Target) -> IRModule:
    """Return the module that is compiled: the schedules for this target that are written in it are applied, and
    graph-level operators are calls of kernels. Raises TvmsError where the program breaks the law of the IR."""
    return lower_graphs(apply_schedules(check_types(as_module(program)), target.name), target)


def build(module: IRModule, target: Target, settings: Settings, for_c: bool = True) -> Built:
    """Return a prepared module for `target`, with its graph-level functions as `Settings.native` says, and with functions
    that programs in C call unless `for_c` is false.

    Raises TvmsError with all that cannot be compiled (E0601 to E0607), of all functions.
    """
    natives = native_functions(module) if settings.native else {}
    drivers = {name: native.driver for name, native in natives.items()}
    kernels, decisions, safety, stats = lower_module(module, target, settings, drivers)
    announce("write LLVM IR")
    start = time.perf_counter()
    emitted = emit_module(kernels, target, settings.threads, for_c)
    stats["emit"] = time.perf_counter() - start
    sources = loop_level_functions(module) | drivers
    signatures = {name: signature_of(sources[name], kernel) for name, kernel in kernels.items()}
    signatures |= {name: replace(signatures[name], written=native.written) for name, native in natives.items()}
    return Built(module, signatures, natives, emitted, decisions, safety, stats)


def lower_module(
    module: IRModule, target: Target, settings: Settings, drivers: Mapping[str, tir.PrimFunc] = {}
) -> tuple[dict[str, tir.PrimFunc], dict[str, tuple[Decision, ...]], dict[str, Safety], dict[str, float]]:
    """Return the loop-level functions as kernels, what was decided and proven, and the seconds it took.

    `drivers` are lowered with them; they never pass arguments that overlap.
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
                continue
            bounds = "trust" if name in drivers else settings.bounds
            may_move = settings.schedule and (name not in called or bool(function.attrs.get("tir.noalias")))
            loops = guarded_loops(function, bounds, functions, target if may_move else None)
            safety[name] = loops.safety
            decisions |= {name: loops.decisions} if loops.decisions else {}
            kernels[name] = lower_loops(loops.scheduled or loops.plain)
        except TvmsError as problem:
            problems.extend(problem.diagnostics)
    if problems:
        raise TvmsError(problems)
    return kernels, decisions, safety, {"lower": time.perf_counter() - start}


class GuardedLoops(Struct, frozen=True, eq=False):
    """A function as loops whose indices are checked: as it stands, and by default schedules where rules apply."""

    plain: tir.PrimFunc
    safety: Safety
    scheduled: tir.PrimFunc | None = None
    decisions: tuple[Decision, ...] = ()


def guarded_loops(
    function: tir.PrimFunc, bounds: Bounds, functions: Mapping[str, BaseFunc], scheduled_for: Target | None
) -> GuardedLoops:
    """Return the loops of `function`, and those of its default schedule for a target where one is given; a schedule is
    dropped where more is to be checked than before, such as what a gather reads."""

    def guard(loops: tir.PrimFunc) -> tuple[tir.PrimFunc, Safety]:
        guarded, safety = guard_indices(loops, bounds, functions)
        return observed("GuardIndices", guard_indices, loops, guarded), safety

    plain, safety = guard(lower_blocks(function, bounds))
    if scheduled_for is None:
        return GuardedLoops(plain, safety)
    scheduled, decisions = apply_rules(function, rules_for(scheduled_for.processor))
    if scheduled is function:
        return GuardedLoops(plain, safety, None, decisions)
    loops = lower_blocks(observed("default schedule", apply_rules, function, scheduled), bounds)
    if bounds == "trust":
        return GuardedLoops(plain, safety, loops, decisions)
    limited = limit_sizes(loops) if not safety.checked else None
    if limited is not None:  # what was proven still is, as no arithmetic wraps around
        return GuardedLoops(plain, safety, observed("LimitSizes", limit_sizes, loops, limited), decisions)
    loops, now = guard(loops)
    if not now.places <= safety.places:
        return GuardedLoops(plain, safety)
    return GuardedLoops(plain, safety, loops, decisions)


def loop_level_functions(module: IRModule) -> dict[str, tir.PrimFunc]:
    """Return the loop-level functions of a module by name."""
    return {name: each for name, each in module.functions.items() if isinstance(each, tir.PrimFunc)}


def called_functions(module: IRModule) -> set[str]:
    """Return the names of the functions that loop-level functions call."""
    bodies = [function.body for function in loop_level_functions(module).values()]
    calls = (node for body in bodies for node in walk(body) if isinstance(node, tir.Call))
    return {call.op.name_hint for call in calls if isinstance(call.op, GlobalVar)}
