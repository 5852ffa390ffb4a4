"""Libraries for programs in C: the entries of a built module, their header, and the linker.

A loop function becomes `int32_t tvms_NAME(…)`, with pointers for buffers, numbers for scalars, then the symbolic sizes of the
buffers, and a pointer to its result if it returns one. A graph function takes a pointer for each parameter and, after these, one
for each tensor that it returns. Both return 0, or a number for which `tvms_message` has a text. Arguments are not checked. The
constants of graph functions, such as bound weights, are data of the library; its workspace is allocated at each call.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Any

from msgspec import Struct

from ..ir import relax, tir
from ..ir.base import IRModule
from ..ir.deep import deep
from ..ir.diagnostics import Diagnostic, TvmsError, error
from ..ir.dtype import parse_dtype
from ..ir.files import memory_limit, read_file, write_together
from ..ir.numpy_dtype import numpy_dtype
from ..ir.sanitize import c_comment, symbol, visible
from .build import Built
from .graph.native import NativeFunction, Returned, why_not_native
from .llvm.api import Value, ir
from .llvm.backend import objects_in, optimize, to_object
from .llvm.faults import POSITION, Fault, emit_record
from .llvm.operators import number
from .llvm.types import I32, I64, POINTER, register_type
from .lower.signature import size_variables
from .names import kernel_symbol, mangle
from .runtime.pool import pool_text
from .runtime.signature import Signature
from .runtime.sizes import size_text
from .target import Target

COMPILERS = ("cc", "gcc", "clang")
"""Compilers that can link a library; the first one that is installed is used."""
_C_TYPES = {
    "bool": "bool", "float16": "uint16_t", "bfloat16": "uint16_t", "float32": "float", "float64": "double",
    **{f"{sign}int{bits}": f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)},
}  # fmt: skip
_CONSTANTS = "tvms_constants"
"""The symbol of the constants of all graph functions; each starts at a multiple of `_ALIGNMENT` bytes."""
_ALIGNMENT = 64
_NO_MEMORY = "E0717: out of memory"


class Parameter(Struct, frozen=True):
    """A parameter of a C function; `shape` is None for a number."""

    name: str
    dtype: str
    shape: str | None = None
    is_read_only: bool = False


class CFunction(Struct, frozen=True):
    """A function of a library: `source` is the loop function, or the native function of a graph."""

    name: str
    parameters: tuple[Parameter, ...]
    source: tir.PrimFunc | NativeFunction


class Exports(Struct, frozen=True):
    """The functions of a library: those that C can call, and a diagnostic E0620 for each graph function that needs Python."""

    functions: tuple[CFunction, ...]
    problems: tuple[Diagnostic, ...]

    def check(self) -> None:
        """Raise TvmsError E0620 if a graph function needs Python."""
        if self.problems:
            raise TvmsError(list(self.problems))


def exports(module: IRModule, natives: Mapping[str, NativeFunction]) -> Exports:
    """Return what the library of a prepared module exports: its public functions, or all if none is a graph function."""
    has_graphs = any(isinstance(function, relax.Function) for function in module.functions.values())
    found: list[CFunction] = []
    problems: list[Diagnostic] = []
    for name, function in module.functions.items():
        if has_graphs and "global_symbol" not in function.attrs:
            continue
        if isinstance(function, tir.PrimFunc):
            found.append(CFunction(name, _loop_parameters(function), function))
        elif name in natives and natives[name].has_constant_sizes:
            found.append(CFunction(name, _graph_parameters(natives[name]), natives[name]))
        elif isinstance(function, relax.Function):
            is_native = name in natives
            reason, span = ("it has symbolic sizes", None) if is_native else why_not_native(module, name)
            help = (
                "make all sizes constant and all calls kernels, or save it for Python under a name such as model.tvmsc"
            )
            message = f"graph function '{name}' cannot be part of a library for C: {reason}"
            problems.append(Diagnostic("E0620", message, span or function.span, help))
    return Exports(tuple(found), tuple(problems))


def _loop_parameters(function: tir.PrimFunc) -> tuple[Parameter, ...]:
    found: list[Parameter] = []
    for param in function.params:
        buffer = function.buffer_map.get(param)
        if buffer is None:
            found.append(Parameter(param.name, param.dtype))
        else:
            found.append(Parameter(buffer.name, buffer.dtype, ", ".join(map(size_text, buffer.shape))))
    found += [Parameter(var.name, var.dtype) for var in size_variables(function)]
    if isinstance(function.ret_type, tir.PrimType) and function.ret_type.dtype != "void":
        found.append(Parameter("result", function.ret_type.dtype, ""))
    return tuple(found)


def _graph_parameters(native: NativeFunction) -> tuple[Parameter, ...]:
    buffers = [native.driver.buffer_map[param] for param in native.driver.params]
    inputs = [_parameter(buffer, buffer.name, True) for buffer in buffers[: native.inputs]]
    places = list(_leaves(native.returned))
    results = [_parameter(buffers[place], f"result_{number}") for number, place in enumerate(places)]
    return (*inputs, *results)


def _parameter(buffer: tir.Buffer, name: str, is_read_only: bool = False) -> Parameter:
    return Parameter(name, buffer.dtype, ", ".join(map(size_text, buffer.shape)), is_read_only)


def _leaves(returned: Returned) -> Iterator[int]:
    if isinstance(returned, tuple):
        for field in returned:
            yield from _leaves(field)
    else:
        yield returned


# --- The header


def header_text(exported: Exports) -> str:
    """Return the C header of a library; a comment names each function that only `tvms.runtime.load_module` gives."""
    missing = [f"/* {c_comment(problem.message)} */" for problem in exported.problems]
    return _HEADER.format(declared="\n\n".join([*map(_declaration, exported.functions), *missing]))


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


def _declaration(function: CFunction) -> str:
    params: list[str] = []
    said: list[str] = []
    for parameter in function.parameters:
        kind, name = _c_type(parameter.dtype), _c_name(parameter.name)
        if parameter.shape is None:
            params.append(f"{kind} {name}")
        else:
            params.append(f"{'const ' if parameter.is_read_only else ''}{kind} *{name}")
            said.append(f"{name}: ({parameter.shape}) of {parameter.dtype}")
    comment = f"/* {c_comment('; '.join(said))} */\n" if said else ""
    return f"{comment}int32_t {mangle(function.name)}({', '.join(params) or 'void'});"


def _c_type(dtype: str) -> str:
    return _C_TYPES.get(parse_dtype(dtype).name, "uint8_t" if parse_dtype(dtype).bits == 8 else "void")


def _c_name(name: str) -> str:
    """Return a name that is valid in C: neither a keyword nor a macro."""
    return symbol(name, lambda character: "_") + "_"


# --- The library


@deep
def link_library(built: Built, image: bytes, target: Target) -> bytes:
    """Return the shared library of a built module with the object files `image`, without the functions that need Python.

    Raises TvmsError E0608 if it cannot be linked.
    """
    if target.is_device:
        raise error("E0608", f"a library for C runs on the processor, not on '{target.name}'", None, "compile for llvm")
    functions = exports(built.module, built.natives).functions
    places, constants = _placed_constants(functions)
    faults = built.emitted.faults
    entries = _entries(functions, built.signatures, places, len(faults) + 1, target)
    texts = {"entries": entries, "messages": _messages(faults, target), "pool": pool_text(target.layout[0])}
    objects = {f"kernels{number}": part for number, part in enumerate(objects_in(image))}
    objects |= {name: to_object(optimize(text, target), target) for name, text in texts.items()}
    return _link(objects, constants)


def _placed_constants(functions: Sequence[CFunction]) -> tuple[dict[int, int], bytes]:
    """Return the offset of each constant, by the identity of its array, and the bytes of all."""
    offsets: dict[int, int] = {}
    data = bytearray()
    for function in functions:
        for constant in function.source.constants if isinstance(function.source, NativeFunction) else ():
            if id(constant) not in offsets:
                offsets[id(constant)] = len(data)
                data += constant.tobytes()
                data += bytes(-len(data) % _ALIGNMENT)
    return offsets, bytes(data)


def _entries(
    functions: Sequence[CFunction],
    signatures: Mapping[str, Signature],
    offsets: Mapping[int, int],
    no_memory: int,
    target: Target,
) -> str:
    """Return the LLVM IR of the functions that C calls; `no_memory` is the status if there is no memory for a workspace."""
    module: Any = ir.Module("entries")
    module.triple, module.data_layout = target.layout
    for function in functions:
        signature = signatures[function.name]
        params = [register_type(dtype) for dtype in signature.params] + [POINTER] * (signature.result is not None)
        kernel = ir.Function(module, ir.FunctionType(I32, [*params, POINTER]), kernel_symbol(function.name))
        kinds = [POINTER] * len(function.parameters) if isinstance(function.source, NativeFunction) else params
        entry = ir.Function(module, ir.FunctionType(I32, kinds), mangle(function.name))
        builder = ir.IRBuilder(entry.append_basic_block("entry"))
        if isinstance(function.source, NativeFunction):
            _emit_graph_call(builder, kernel, function.source, list(entry.args), offsets, no_memory)
        else:
            builder.ret(builder.call(kernel, [*entry.args, emit_record(builder)]))
    return str(module)


def _emit_graph_call(
    builder: Any, kernel: Value, native: NativeFunction, args: list[Value], offsets: Mapping[int, int], no_memory: int
) -> None:
    """Emit the call of a driver: with constants and a workspace, and copies of results that are inputs or constants."""
    module = builder.module
    inputs, outputs = args[: native.inputs], args[native.inputs :]
    constants = [_constant(builder, offsets[id(constant)]) for constant in native.constants]
    memory = None
    if native.plan.size:
        allocate = _function(module, "malloc", POINTER, [I64])
        memory = builder.call(allocate, [number(I64, native.plan.size + _ALIGNMENT)])
        with builder.if_then(builder.icmp_unsigned("==", memory, ir.Constant(POINTER, None))):
            builder.ret(I32(no_memory))
        raised = builder.add(builder.ptrtoint(memory, I64), number(I64, _ALIGNMENT - 1))
        aligned = builder.inttoptr(builder.and_(raised, number(I64, -_ALIGNMENT)), POINTER)
        constants.append(aligned)
    first_result = len(native.driver.params) - len(native.results)
    places = list(_leaves(native.returned))
    results = [outputs[places.index(first_result + index)] for index in range(len(native.results))]
    passed = [*inputs, *constants, *results]
    status = builder.call(kernel, [*passed, emit_record(builder)])
    copy = _function(module, "memcpy", POINTER, [POINTER, POINTER, I64])
    for output, place in zip(outputs, places, strict=True):
        if passed[place] is not output:
            buffer = native.driver.buffer_map[native.driver.params[place]]
            builder.call(copy, [output, passed[place], number(I64, _byte_count(buffer))])
    if memory is not None:
        builder.call(_function(module, "free", ir.VoidType(), [POINTER]), [memory])
    builder.ret(status)


def _byte_count(buffer: tir.Buffer) -> int:
    """Return the bytes of a buffer with constant sizes."""
    sizes = [size.value for size in buffer.shape if isinstance(size, tir.IntImm)]
    return prod(sizes) * numpy_dtype(buffer.dtype).itemsize


def _constant(builder: Any, offset: int) -> Value:
    """Emit the address of a constant."""
    blob = builder.module.globals.get(_CONSTANTS)
    if blob is None:
        blob = ir.GlobalVariable(builder.module, ir.IntType(8), _CONSTANTS)
        blob.global_constant, blob.type = True, POINTER
    return builder.gep(blob, [number(I64, offset)], source_etype=ir.IntType(8))


def _function(module: Any, name: str, result: Any, params: list[Any]) -> Value:
    return module.globals.get(name) or ir.Function(module, ir.FunctionType(result, params), name)


_DATA = """\
.section .rodata
.globl {symbol}
.hidden {symbol}
.balign {alignment}
{symbol}:
.incbin "constants.bin"
.section .note.GNU-stack,"",%progbits
"""
"""The constants as assembly: the assembler copies their file, which is faster than any text of them."""


def _link(objects: Mapping[str, bytes], constants: bytes) -> bytes:
    compiler = next((path for path in map(shutil.which, COMPILERS) if path), None)
    if compiler is None:
        help = f"install one of {', '.join(COMPILERS)}, or write an object file with --emit obj"
        raise error("E0608", "no C compiler found to link the library", None, help)
    files: dict[str, bytes | str] = {f"{name}.o": image for name, image in objects.items()}
    if constants:
        files |= {"data.s": _DATA.format(symbol=_CONSTANTS, alignment=_ALIGNMENT), "constants.bin": constants}
    try:
        with tempfile.TemporaryDirectory(prefix="tvms-") as folder:
            write_together([(data, str(Path(folder, name))) for name, data in files.items()])
            inputs = [name for name in files if not name.endswith(".bin")]
            command = [compiler, "-shared", "-o", "library.so", *inputs, "-pthread", "-lm"]
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", check=False)
            if done.returncode:
                reason = (done.stderr.strip() or f"{compiler} exited with status {done.returncode}").splitlines()[-1]
                raise error("E0608", f"cannot link the library: {reason}", None)
            return read_file(Path(folder, "library.so"), memory_limit())
    except OSError as problem:
        raise error("E0608", f"cannot link the library: {problem.strerror}", None) from None


def _messages(faults: Sequence[Fault], target: Target) -> str:
    """Return the LLVM IR of `tvms_message`."""
    module: Any = ir.Module("messages")
    module.triple = target.machine.triple
    function = ir.Function(module, ir.FunctionType(POINTER, [I32]), "tvms_message")
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    null = ir.Constant(POINTER, None)
    after = builder.append_basic_block("none")
    switch = builder.switch(function.args[0], after)
    for status, said in enumerate([*map(_said, faults), _NO_MEMORY], 1):
        text = bytearray(visible(said).encode() + b"\0")
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
