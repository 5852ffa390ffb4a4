"""Libraries for programs without Python: a shared library of the kernels, and the C header that declares
them.

Each loop function becomes `int32_t tvms_NAME(…)`, with pointers for buffers, numbers for scalars, and
then the symbolic sizes of the buffers. It returns 0, or a number for which `tvms_message` has a text.
Arguments are not checked.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec import Struct, structs

from ..ir import tir
from ..ir.base import BaseFunc, IRModule
from ..ir.deep import deep
from ..ir.diagnostics import error
from ..ir.dtype import parse_dtype
from ..ir.files import memory_limit, read_file, write_together
from ..ir.sanitize import c_comment, symbol, visible
from .build import Built, Settings, lower_module, prepare
from .llvm.api import ir
from .llvm.backend import objects_in, optimize, to_object
from .llvm.faults import POSITION, Fault
from .llvm.types import I32, POINTER
from .lower.signature import size_variables
from .names import mangle
from .runtime.executable import build_image, compile, emit
from .runtime.pool import pool_text
from .runtime.sizes import size_text
from .target import Target, TargetLike, get_target

COMPILERS = ("cc", "gcc", "clang")
"""Compilers that can link a library; the first one that is installed is used."""
_C_TYPES = {
    "bool": "bool", "float16": "uint16_t", "bfloat16": "uint16_t", "float32": "float", "float64": "double",
    **{f"{sign}int{bits}": f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)},
}  # fmt: skip


@deep
def lowered(program: IRModule | BaseFunc, target: TargetLike = "llvm", settings: Settings | None = None) -> IRModule:
    """Return a program after lowering: with default schedules, and without blocks and multi-dimensional buffers."""
    chosen = get_target(target)
    if chosen.is_device:
        from .gpu.executable import lowered_for_gpu

        return lowered_for_gpu(prepare(program, chosen), chosen, settings or Settings())
    kernels, *_ = lower_module(prepare(program, chosen), chosen, settings or Settings())
    return IRModule({**kernels}, name="Lowered")


@deep
def header(program: IRModule | BaseFunc, target: str | Target = "llvm") -> str:
    """Return the C header of a program's library."""
    module = prepare(program, get_target(target))
    functions = {name: function for name, function in module.functions.items() if isinstance(function, tir.PrimFunc)}
    declared = "\n\n".join(_declaration(name, function) for name, function in functions.items())
    return _HEADER.format(declared=declared)


_HEADER = """\
/* Made by tvms. Functions return 0, or a number for which tvms_message has a text. Arguments are not checked. */
#ifndef TVMS_LIBRARY_H
#define TVMS_LIBRARY_H
#include <stdbool.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {{
#endif

{declared}

/* What a status means; NULL for 0. */
const char *tvms_message(int32_t status);

#ifdef __cplusplus
}}
#endif
#endif
"""


def _declaration(name: str, function: tir.PrimFunc) -> str:
    said: list[str] = []
    params: list[str] = []
    for param in function.params:
        buffer = function.buffer_map.get(param)
        if buffer is None:
            params.append(f"{_c_type(param.dtype)} {_c_name(param.name)}")
            continue
        params.append(f"{_c_type(buffer.dtype)} *{_c_name(buffer.name)}")
        shape = ", ".join(map(size_text, buffer.shape))
        said.append(f"{_c_name(buffer.name)}: ({shape}) of {buffer.dtype}")
    params += [f"{_c_type(var.dtype)} {_c_name(var.name)}" for var in size_variables(function)]
    comment = f"/* {c_comment('; '.join(said))} */\n" if said else ""
    return f"{comment}int32_t {mangle(name)}({', '.join(params) or 'void'});"


def _c_type(dtype: str) -> str:
    return _C_TYPES.get(parse_dtype(dtype).name, "uint8_t" if parse_dtype(dtype).bits == 8 else "void")


def _c_name(name: str) -> str:
    """Return a name that is valid in C: neither a keyword nor a macro."""
    return symbol(name, lambda character: "_") + "_"


@deep
def shared_library(
    program: IRModule | BaseFunc, target: str | Target = "llvm", settings: Settings | None = None
) -> bytes:
    """Return the loop functions of a program as a shared library; TvmsError E0608 if it cannot be linked."""
    chosen, how = get_target(target), settings or Settings()
    built, image = build_image(prepare(program, chosen), chosen, how, for_c=True)
    kernels = {f"kernels{number}": part for number, part in enumerate(objects_in(image))}
    messages = to_object(optimize(_messages(built, chosen), chosen), chosen)
    pool = to_object(optimize(pool_text(chosen.layout[0]), chosen), chosen)
    return _link({**kernels, "messages": messages, "pool": pool})


def _link(objects: dict[str, bytes]) -> bytes:
    compiler = next((path for path in map(shutil.which, COMPILERS) if path), None)
    if compiler is None:
        help = f"install one of {', '.join(COMPILERS)}, or write an object file with --emit obj"
        raise error("E0608", "no C compiler found to link the library", None, help)
    try:
        with tempfile.TemporaryDirectory(prefix="tvms-") as folder:
            files = {str(Path(folder, f"{name}.o")): image for name, image in objects.items()}
            write_together([(image, path) for path, image in files.items()])
            result = Path(folder, "library.so")
            command = [compiler, "-shared", "-o", str(result), *files, "-pthread", "-lm"]
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
            if done.returncode:
                reason = (done.stderr.strip() or f"{compiler} exited with status {done.returncode}").splitlines()[-1]
                raise error("E0608", f"cannot link the library: {reason}", None)
            return read_file(result, memory_limit())
    except OSError as problem:
        raise error("E0608", f"cannot link the library: {problem.strerror}", None) from None


def _messages(built: Built, target: Target) -> str:
    """Return the LLVM IR of `tvms_message`."""
    module: Any = ir.Module("messages")
    module.triple = target.machine.triple
    function = ir.Function(module, ir.FunctionType(POINTER, [I32]), "tvms_message")
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    null = ir.Constant(POINTER, None)
    after = builder.append_basic_block("none")
    switch = builder.switch(function.args[0], after)
    for status, fault in enumerate(built.emitted.faults, 1):
        text = bytearray(visible(_said(fault)).encode() + b"\0")
        constant = ir.Constant(ir.ArrayType(ir.IntType(8), len(text)), text)
        variable = ir.GlobalVariable(module, constant.type, f"message.{status}")
        variable.linkage, variable.global_constant, variable.initializer = "internal", True, constant
        variable.type = POINTER
        block = builder.append_basic_block(f"is.{status}")
        switch.add_case(I32(status), block)
        with builder.goto_block(block):
            builder.ret(variable)
    builder.position_at_end(after)
    builder.ret(null)
    return str(module)


def _said(fault: Fault) -> str:
    if fault.dimension == POSITION:
        message = f"an element of '{fault.message}' is outside its memory"
    else:
        message = (
            f"an index of '{fault.message}' is outside dimension {fault.dimension}" if fault.rank else fault.message
        )
    if fault.span is None:
        return f"{fault.code}: {message}"
    line = fault.span.source.text.count("\n", 0, fault.span.start) + 1
    return f"{fault.span.source.name}:{line}: {fault.code}: {message}"


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
