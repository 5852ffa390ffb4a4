"""What the functions of an LLVM module share: declarations, faults, and the target with its intrinsics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from ...ir import tir
from ...ir.base import Source, Span
from ..names import kernel_symbol
from ..target import Target
from .api import LLVMType, Value, ir
from .debug_lines import DebugLines
from .faults import Fault
from .types import I32, POINTER, memory_type, register_type

Emitters: TypeAlias = Mapping[str, Callable[..., Value]]
"""The emitters of intrinsics by name, `intrinsic_kinds.Table`: functions of the emitter of a function and a call."""


def result_type(function: tir.PrimFunc) -> LLVMType | None:
    """Return the memory type of the result of a lowered function; None if it returns nothing."""
    returned = function.ret_type
    if not isinstance(returned, tir.PrimType) or returned.dtype == "void":
        return None
    return memory_type(returned.dtype, function.span)


class LLVMModule:
    """An LLVM module whose functions are `kernels`."""

    def __init__(
        self,
        kernels: Mapping[str, tir.PrimFunc],
        target: Target,
        threads: int,
        intrinsics: Emitters,
        faults: list[Fault] | None = None,
        source: Source | None = None,
    ) -> None:
        """`faults` are those of other modules with the same numbering of statuses; new ones are appended to them. With `source`,
        instructions have the lines of statements in it.
        """
        self.kernels, self.target, self.threads = kernels, target, threads or target.threads
        self.intrinsics = intrinsics
        self.module: Any = ir.Module("tvms")
        self.module.triple, self.module.data_layout = target.layout
        self.propagates_apart = str(self.module.triple).startswith(("x86", "i686"))
        """Whether a maximum that propagates NaN takes several instructions."""
        self.faults: list[Fault] = [] if faults is None else faults
        self.lines = None if source is None else DebugLines(self.module, source)
        self.exchanged: frozenset[tir.BufferLoad] = frozenset()
        """The loads of the current function that LLVM must not move (`masks`)."""
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

    def instruction_count(self) -> int:
        """Return the number of LLVM instructions of all functions."""
        functions = self.module.functions
        return sum(len(block.instructions) for function in functions for block in function.blocks)

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
