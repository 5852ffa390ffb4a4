"""A module of kernels as LLVM IR.

Every kernel is a function `tvms_<name>.kernel` that returns a 32-bit status: 0, or the number of an entry of
`faults`, counted from 1. Its parameters are those of the lowered function (`codegen.lower.signature`): pointers
for buffers, numbers for scalars and symbolic sizes; a pointer to the result, if it returns one; and a pointer
to the fault record of the call (`faults`). Programs in C call `tvms_<name>`, which has no record.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from ...ir import tir
from ...ir.base import Span
from ...ir.diagnostics import Diagnostic, TvmsError, error
from ..names import kernel_symbol, local_name, mangle
from .api import LLVMType, Value, ir
from .expressions import RECORD_POINTER, ExpressionEmitter
from .faults import Fault, emit_record
from .operators import number
from .pieces import pieces_of
from .statements import ALIGNMENT, StatementEmitter
from .types import I32, POINTER, memory_type, register_type

if TYPE_CHECKING:
    from ..target import Target


class EmittedModule(Struct, frozen=True):
    """LLVM IR as text, the meaning of each non-zero status of its kernels and, for GPUs, the kernels that may report a
    fault.
    """

    text: str
    faults: tuple[Fault, ...]
    noting: frozenset[str] = frozenset()


def emit_module(
    kernels: Mapping[str, tir.PrimFunc], target: Target, threads: int = 0, for_c: bool = True
) -> EmittedModule:
    """Emit lowered functions by name, with entries for C programs if `for_c` is true.

    Parallel loops use `threads` threads (0: the target's number). TvmsError with everything that the target cannot
    do, from all functions.
    """
    emitter = ModuleEmitter(kernels, target, threads)
    problems: list[Diagnostic] = []
    for name, function in kernels.items():
        try:
            kernel = emitter.emit_kernel(name, function)
            if for_c:
                emitter.emit_c_function(name, kernel)
        except TvmsError as problem:
            problems.extend(problem.diagnostics)
    if problems:
        raise TvmsError(problems)
    return EmittedModule(str(emitter.module), tuple(emitter.faults))


def result_type(function: tir.PrimFunc) -> LLVMType | None:
    """Return the memory type of the result of a lowered function; None if it returns nothing."""
    returned = function.ret_type
    if not isinstance(returned, tir.PrimType) or returned.dtype == "void":
        return None
    return memory_type(returned.dtype, function.span)


FAST_MATH_ATTRIBUTE = "tir.fast_math"
_FLAGS = ("fast", "nnan", "ninf", "nsz", "arcp", "contract", "reassoc")


def fast_math_of(function: tir.PrimFunc) -> tuple[str, ...]:
    """Return the flags of the attribute `tir.fast_math` of a function, as in "nnan, contract"; E0606 for unknown
    flags.
    """
    said = function.attrs.get(FAST_MATH_ATTRIBUTE)
    words = str(getattr(said, "value", said) or "").replace(",", " ").split()
    for word in words:
        if word not in _FLAGS:
            reason = f"unknown flag '{word}' in the attribute '{FAST_MATH_ATTRIBUTE}'"
            raise error("E0606", reason, function.span, f"use flags from {', '.join(_FLAGS)}")
    return tuple(words)


class ModuleEmitter:
    """Holds what the kernels of a module share: declarations, constants and faults."""

    def __init__(self, kernels: Mapping[str, tir.PrimFunc], target: Target, threads: int) -> None:
        self.kernels, self.target, self.threads = kernels, target, threads or target.threads
        self.module: Any = ir.Module("tvms")
        self.module.triple, self.module.data_layout = target.machine.triple, str(target.machine.target_data)
        self.propagates_apart = str(self.module.triple).startswith(("x86", "i686"))
        """Whether a maximum that propagates NaN takes several instructions."""
        self.faults: list[Fault] = []
        self._functions: dict[str, Value] = {}

    def declare(self, name: str) -> Value:
        """Return the LLVM function of kernel `name`, declared on first use."""
        if name not in self._functions:
            function = self.kernels[name]
            params = [register_type(param.dtype, param.span) for param in function.params]
            if result_type(function) is not None:
                params.append(POINTER)
            kind = ir.FunctionType(I32, [*params, POINTER])
            self._functions[name] = ir.Function(self.module, kind, kernel_symbol(name))
        return self._functions[name]

    def emit_kernel(self, name: str, function: tir.PrimFunc) -> Value:
        """Emit the body of kernel `name` and return it."""
        llvm_function = self.declare(name)
        llvm_function.attributes.add("nounwind")
        results = llvm_function.args[-2] if result_type(function) is not None else None
        emitter = StatementEmitter(self, llvm_function, results)
        emitter.values[RECORD_POINTER] = llvm_function.args[-1]
        emitter.fast_math = tuple(dict.fromkeys((*self.target.fast_math, *fast_math_of(function))))
        emitter.pieces = pieces_of(function)
        is_alone = bool(function.attrs.get("tir.noalias"))
        for param, value in zip(function.params, llvm_function.args, strict=False):
            value.name = local_name(param.name)
            emitter.values[param] = value
            if is_alone and value.type == POINTER:
                value.add_attribute("noalias")
                emitter.alone.append(value)
        emitter.run(function.body)
        if not emitter.builder.block.is_terminated:
            emitter.leave(number(I32, 0))
        return llvm_function

    def emit_c_function(self, name: str, kernel: Value) -> None:
        """Emit the entry that C programs call: the kernel without a fault record."""
        params = kernel.function_type.args[:-1]
        function = ir.Function(self.module, ir.FunctionType(I32, params), mangle(name))
        function.attributes.add("nounwind")
        builder = ir.IRBuilder(function.append_basic_block("entry"))
        builder.ret(builder.call(kernel, [*function.args, emit_record(builder)], attrs=("noinline",)))

    def fault(self, code: str, message: str, span: Span | None) -> int:
        """Return the status of a new fault."""
        return self.add_fault(Fault(code, message, span))

    def add_fault(self, fault: Fault) -> int:
        """Record `fault` and return its status."""
        self.faults.append(fault)
        return len(self.faults)

    def c_function(self, symbol: str, result: LLVMType, params: list[LLVMType]) -> Value:
        """Return the declaration of a function of the C library."""
        found = self.module.globals.get(symbol)
        return found or ir.Function(self.module, ir.FunctionType(result, params), symbol)

    def call_function(self, emitter: ExpressionEmitter, call: tir.Call, name: str) -> Value:
        """Call another kernel; a fault in it is also a fault of the caller."""
        callee = self.kernels.get(name)
        if callee is None:
            raise error("E0102", f"the module has no loop function '{name}'", call.span)
        args = [arg for arg in call.args if isinstance(arg, tir.PrimExpr)]
        wanted, given = [param.dtype for param in callee.params], [arg.dtype for arg in args]
        if wanted != given:
            reason = f"'{name}' takes ({', '.join(wanted)}), but is called with ({', '.join(given)})"
            raise error("E0606", reason, call.span, "call only functions with static shapes from a loop")
        values = [emitter.emit(arg) for arg in args]
        returned, record = result_type(callee), emitter.values[RECORD_POINTER]
        if returned is None:
            emitter.fail_with(emitter.builder.call(self.declare(name), [*values, record]))
            return number(I32, 0)
        place = emitter.stack_memory(returned, ALIGNMENT)
        emitter.fail_with(emitter.builder.call(self.declare(name), [*values, place, record]))
        return emitter.read(place, call.dtype, 1)
