"""What `tvms compile` writes: lowered functions, machine code, and libraries for programs without Python (`library`)."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct, structs

from ..ir.base import BaseFunc, IRModule
from ..ir.deep import deep
from .build import Settings, lower_module, prepare
from .graph.native import native_functions
from .library import exports, header_text, link_library
from .runtime.executable import build_image, compile, emit
from .target import TargetLike, get_target


@deep
def lowered(
    program: IRModule | BaseFunc, target: TargetLike = "llvm", settings: Settings | None = None, lines: bool = False
) -> IRModule:
    """Return a program after lowering: with default schedules, and without blocks and multi-dimensional buffers.

    With `lines`, the statements of kernels of operators have the positions of the calls.
    """
    chosen = get_target(target)
    module = prepare(program, chosen, lines)
    if chosen.is_device:
        from .gpu.executable import lowered_for_gpu

        return lowered_for_gpu(module, chosen, settings or Settings())
    kernels, *_ = lower_module(module, chosen, settings or Settings())
    return IRModule({**kernels}, name="Lowered")


@deep
def header(program: IRModule | BaseFunc, target: TargetLike = "llvm") -> str:
    """Return the C header of a program's library; TvmsError E0620 if a graph function needs Python."""
    module = prepare(program, get_target(target))
    exported = exports(module, native_functions(module))
    exported.check()
    return header_text(exported)


@deep
def shared_library(
    program: IRModule | BaseFunc, target: TargetLike = "llvm", settings: Settings | None = None
) -> bytes:
    """Return a program as a shared library for C.

    Raises TvmsError: E0608 if it cannot be linked, E0620 if a graph function needs Python.
    """
    chosen, how = get_target(target), settings or Settings()
    module = prepare(program, chosen)
    exports(module, native_functions(module)).check()  # its errors come before those of long work
    return link_library(*build_image(module, chosen, how), chosen)


class Output(Struct, frozen=True):
    """One kind of output of `tvms compile --emit`."""

    make: Callable[[IRModule, str, Settings], str | bytes]
    is_binary: bool = False


OUTPUTS: dict[str, Output] = {
    "tir": Output(lambda module, target, settings: lowered(module, target, settings).script()),
    "llvm": Output(lambda module, target, settings: emit(module, "llvm", target, settings)),
    "asm": Output(lambda module, target, settings: emit(module, "asm", target, settings)),
    "ptx": Output(lambda module, target, settings: emit(module, "ptx", target, settings)),
    "obj": Output(lambda module, target, settings: emit(module, "obj", target, settings), is_binary=True),
    "so": Output(shared_library, is_binary=True),
    "header": Output(lambda module, target, _: header(module, target)),
    "module": Output(
        lambda module, target, settings: compile(module, target, **structs.asdict(settings)).to_bytes(), is_binary=True
    ),
}
"""Kinds of output, from lowered functions to a module for `tvms.runtime.load_module`."""
