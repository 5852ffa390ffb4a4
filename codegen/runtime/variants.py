"""Modules compiled in several ways that must compute the same, for the laws of compiled code.

Many modules are compiled together, as one LLVM module per level, since starting LLVM takes longer than
compiling a small function.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ...ir import tir
from ...ir.base import GlobalVar, IRModule
from ...ir.deep import deep
from ...ir.diagnostics import TvmsError
from ...ir.visit import rewrite
from ..build import Settings, called_functions, guarded_loops, loop_level_functions, prepare
from ..llvm.backend import InternalError, optimize, to_object
from ..llvm.faults import Fault
from ..llvm.module import emit_module
from ..lower import Bounds, lower_loops
from ..target import Target, get_target
from .executable import prim_entry
from .jit import Library, link
from .prim_entry import PrimEntry
from .signature import signature_of

Ways = dict[str, dict[str, PrimEntry]]
"""The functions of a module, by the name of the variant and by their own name."""
Program = tuple[IRModule, Bounds]


class _Lowered(Struct, frozen=True, eq=False):
    """The loop functions of a module as kernels: unscheduled, and with default schedules if a rule applies."""

    module: IRModule
    bounds: Bounds
    plain: Mapping[str, tir.PrimFunc]
    scheduled: Mapping[str, tir.PrimFunc]


def compile_variants(program: IRModule, bounds: Bounds = "prove") -> Ways:
    """Return the loop functions of a module: unscheduled, not optimized ("O0") and optimized ("O3"), and with
    default schedules ("scheduled") if a rule applies. Raises TvmsError as `compile` does.
    """
    (found,) = compile_together([(program, bounds)])
    if isinstance(found, Exception):
        raise found
    return found


def compile_together(programs: Sequence[Program]) -> list[Ways | Exception]:
    """Return for each module the result of `compile_variants`, or its exception."""
    target = get_target("llvm")
    lowered = [_lowered(program, bounds, target) for program, bounds in programs]
    right = [variant for variant in lowered if isinstance(variant, _Lowered)]
    try:
        compiled: Iterable[Ways | Exception] = _compiled(right, target)
    except (TvmsError, InternalError) as problem:
        compiled = [problem] if len(right) == 1 else [_compiled_alone(variant, target) for variant in right]
    found = iter(compiled)
    return [next(found) if isinstance(variant, _Lowered) else variant for variant in lowered]


def _compiled_alone(lowered: _Lowered, target: Target) -> Ways | Exception:
    try:
        return _compiled([lowered], target)[0]
    except (TvmsError, InternalError) as problem:
        return problem


def _lowered(program: IRModule, bounds: Bounds, target: Target) -> _Lowered | Exception:
    try:
        return _lower(program, bounds, target)
    except TvmsError as problem:
        return problem


@deep
def _lower(program: IRModule, bounds: Bounds, target: Target) -> _Lowered:
    module = prepare(program, target)
    functions, called = loop_level_functions(module), called_functions(module)
    plain: dict[str, tir.PrimFunc] = {}
    scheduled: dict[str, tir.PrimFunc] = {}
    for name, function in functions.items():
        unscheduled = guarded_loops(function, bounds, functions, None)
        plain[name] = lower_loops(unscheduled.loops)
        if name not in called or function.attrs.get("tir.noalias"):
            own = guarded_loops(function, bounds, functions, target, unscheduled)
            scheduled |= {name: lower_loops(own.loops)} if own.is_scheduled else {}
    return _Lowered(module, bounds, plain, plain | scheduled if scheduled else {})


@deep
def _compiled(lowered: Sequence[_Lowered], target: Target) -> list[Ways]:
    found: list[Ways] = [{} for _ in lowered]
    for way, levels in (("plain", (0, 3)), ("scheduled", (3,))):
        own = [getattr(variant, way) for variant in lowered]
        kernels = {new: func for at, some in enumerate(own) for new, func in _renamed(some, f"{at}.").items()}
        if not kernels:
            continue
        emitted = emit_module(kernels, target, for_c=False)
        for level in levels:
            library = link([to_object(optimize(emitted.text, target, level), target, level)], kernels, target)
            for at, (variant, some) in enumerate(zip(lowered, own, strict=True)):
                part = Library({name: library.addresses[f"{at}.{name}"] for name in some}, library.keep_alive)
                entries = _entries(variant, some, part, emitted.faults, target, level)
                found[at] |= {way if way == "scheduled" else f"O{level}": entries} if entries else {}
    return found


def _entries(
    lowered: _Lowered, kernels: Mapping[str, tir.PrimFunc], library: Library, faults: Sequence[Fault], target: Target,
    level: int,
) -> dict[str, PrimEntry]:  # fmt: skip
    """Return the entries of the kernels of a module."""
    functions = loop_level_functions(lowered.module)
    settings = Settings(schedule=False, bounds=lowered.bounds, level=level)
    return {
        name: prim_entry(
            name, functions[name], lowered.module, signature_of(functions[name], kernel), library, faults, target, settings
        )
        for name, kernel in kernels.items()
    }  # fmt: skip


def _renamed(kernels: Mapping[str, tir.PrimFunc], prefix: str) -> dict[str, tir.PrimFunc]:
    """Return the kernels of a module, which may call each other, with names that are unique among modules."""

    def rename(node: object) -> tir.Call | None:
        if isinstance(node, tir.Call) and isinstance(node.op, GlobalVar):
            return replace(node, op=replace(node.op, name_hint=f"{prefix}{node.op.name_hint}"))
        return None

    calls = len(kernels) > 1
    return {f"{prefix}{name}": rewrite(kernel, rename) if calls else kernel for name, kernel in kernels.items()}
