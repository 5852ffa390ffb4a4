"""A module of kernels as LLVM IR.

Every kernel is a function `tvms_<name>.kernel` that returns a 32-bit status: 0, or the number of an entry of
`faults`, counted from 1. Its parameters are those of the lowered function (`codegen.lower.signature`): pointers
for buffers, numbers for scalars and symbolic sizes; a pointer to the result, if it returns one; and a pointer
to the fault record of the call (`faults`). Programs in C call `tvms_<name>`, which has no record.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct

from ...ir import tir
from ...ir.base import Source
from ...ir.diagnostics import Diagnostic, TvmsError, error
from ..names import local_name, mangle
from ..target import Target
from .api import Value, ir
from .casts import HALF_CONVERSIONS
from .expressions import RECORD_POINTER
from .faults import Fault, emit_record
from .intrinsics import CPU
from .masks import exchanged_loads
from .nvptx_intrinsics import SIMULATED
from .operators import number
from .parallel import KernelEmitter
from .pieces import pieces_of
from .shared import LLVMModule, result_type
from .types import I32, POINTER


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
    """Emit lowered functions by name as one module, with entries for C programs if `for_c` is true.

    Parallel loops use `threads` threads (0: the target's number). TvmsError with everything that the target cannot
    do, from all functions.
    """
    emitter = ModuleEmitter(kernels, target, threads, for_c)
    for name in kernels:
        emitter.add(name)
    return emitter.finish()


class ModuleEmitter:
    """Emits lowered functions one by one.

    With `take`, the result is several LLVM modules of about `_PART` instructions each. Each is passed to `take` as soon
    as it is complete, so that LLVM can work on it while other functions are lowered and emitted. Without `take`, it is
    one module.
    """

    def __init__(
        self,
        kernels: Mapping[str, tir.PrimFunc],
        target: Target,
        threads: int = 0,
        for_c: bool = True,
        take: Callable[[str], None] | None = None,
        source: Source | None = None,
    ) -> None:
        """`kernels` are the lowered functions by name; they may be added to it until they are emitted or called. With `source`,
        instructions have the lines of statements in it.
        """
        self._source = source
        self._kernels, self._target, self._threads, self._for_c, self._take = kernels, target, threads, for_c, take
        self._faults: list[Fault] = []
        self._problems: list[Diagnostic] = []
        self._module = self._new_module()

    def add(self, name: str) -> None:
        """Emit kernel `name`, whose callees are known. `finish` reports what the target does not support."""
        if self._take is not None and self._module.instruction_count() > _PART:
            if not self._problems:
                self._take(self._text())
            self._module = self._new_module()
        try:
            kernel = emit_kernel(self._module, name, self._kernels[name])
            if self._for_c:
                _emit_c_function(self._module, name, kernel)
        except TvmsError as problem:
            self._problems.extend(problem.diagnostics)

    def finish(self) -> EmittedModule:
        """Return the module, or the part that was not passed on; TvmsError with what the target cannot do."""
        if self._problems:
            raise TvmsError(self._problems)
        return EmittedModule(self._text(), tuple(self._faults))

    def _text(self) -> str:
        text = str(self._module.module)
        return text + HALF_CONVERSIONS if "half" in text and not self._target.processor.has_half_conversions else text

    def _new_module(self) -> LLVMModule:
        intrinsics = {**CPU, **SIMULATED} if self._target.order else CPU
        return LLVMModule(self._kernels, self._target, self._threads, intrinsics, self._faults, self._source)


_PART = 2_000
"""Instructions after which a part of a module is complete: LLVM optimizes that many in about 0.1 s."""


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


def emit_kernel(module: LLVMModule, name: str, function: tir.PrimFunc) -> Value:
    """Emit the body of kernel `name` and return it."""
    llvm_function = module.declare(name)
    llvm_function.attributes.add("nounwind")
    returned = result_type(function)
    results = llvm_function.args[-2] if returned is not None else None
    emitter = KernelEmitter(module, llvm_function, results)
    emitter.locate(function)
    emitter.values[RECORD_POINTER] = llvm_function.args[-1]
    emitter.fast_math = tuple(dict.fromkeys((*module.target.fast_math, *fast_math_of(function))))
    emitter.pieces = pieces_of(function)
    is_alone = bool(function.attrs.get("tir.noalias"))
    for param, value in zip(function.params, llvm_function.args, strict=False):
        value.name = local_name(param.name)
        emitter.values[param] = value
        if is_alone and value.type == POINTER:
            value.add_attribute("noalias")
            emitter.alone.append(value)
    module.exchanged = exchanged_loads(function.body)
    emitter.run(function.body)
    if not emitter.builder.block.is_terminated:
        if results is not None:  # a path without T.ret
            emitter.builder.store(ir.Constant(returned, None), results, align=1)
        emitter.leave(number(I32, 0))
    return llvm_function


def _emit_c_function(module: LLVMModule, name: str, kernel: Value) -> None:
    """Emit the entry that C programs call: the kernel without a fault record."""
    params = kernel.function_type.args[:-1]
    function = ir.Function(module.module, ir.FunctionType(I32, params), mangle(name))
    function.attributes.add("nounwind")
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    builder.ret(builder.call(kernel, [*function.args, emit_record(builder)], attrs=("noinline",)))
