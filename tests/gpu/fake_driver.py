"""A driver without a GPU: memory is the host's, and a launch simulates the kernel."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec.structs import replace
from tvms.codegen.gpu.emulate import emulate_matrix_units
from tvms.codegen.gpu.kernel import BLOCK_TAGS, Kernel
from tvms.codegen.gpu.launch import parameters
from tvms.codegen.gpu.matrix_units import expand_copies
from tvms.codegen.gpu.simulate import simulate
from tvms.codegen.llvm.backend import optimize, to_object
from tvms.codegen.llvm.faults import RECORD_WORDS
from tvms.codegen.llvm.module import emit_module
from tvms.codegen.names import mangle
from tvms.codegen.runtime.jit import c_type, link
from tvms.codegen.target import get_target
from tvms.ir import tir


class FakeDriver:
    """Runs the kernels that it is shown, and notes what it is asked for."""

    name, arch = "no GPU", "sm_80"

    def __init__(self) -> None:
        self.asked: list[tuple[Any, ...]] = []
        self.kernels: dict[str, Kernel] = {}
        self.faults: dict[str, Any] = {}
        self.memory: dict[int, Any] = {}
        self._made: dict[tuple[Kernel, tuple[int, ...]], Any] = {}

    def show(self, executable: Any) -> None:
        """Let the driver know the kernels of `executable`: it cannot read PTX."""
        for name in executable:
            loaded = getattr(executable[name], "_loaded", None)
            if loaded is not None:
                self.kernels.update({mangle(item): kernel for item, kernel in loaded.program.kernels.items()})
                self.faults.update({mangle(kernel): loaded.program.faults for kernel in loaded.program.kernels})

    def count(self, what: str) -> int:
        """Return how often it was asked for that."""
        return sum(asked[0] == what for asked in self.asked)

    def allocate(self, size: int) -> int:
        memory = np.full(size + 64, 0xCD, np.uint8)
        address = -(-memory.ctypes.data // 64) * 64
        self.memory[address] = memory
        return address

    def free(self, address: int) -> None:
        del self.memory[address]

    def copy_in(self, address: int, source: np.ndarray, stream: Any = None) -> None:
        self.asked.append(("copy in", source.nbytes))
        ctypes.memmove(address, source.ctypes.data, source.nbytes)

    def copy_out(self, target: np.ndarray, address: int, stream: Any = None) -> None:
        self.asked.append(("copy out", target.nbytes))
        ctypes.memmove(target.ctypes.data, address, target.nbytes)

    def load(self, ptx: str) -> Any:
        assert ".entry" in ptx
        self.asked.append(("load",))
        return ptx

    def function(self, module: str, symbol: str, shared: int = 0) -> Any:
        assert f".entry {symbol}(" in module
        self.asked.append(("function", symbol, shared))
        return symbol

    def launch(
        self,
        function: str,
        grid: Sequence[int],
        block: Sequence[int],
        args: Sequence[Any],
        stream: Any = None,
        shared: int = 0,
    ) -> None:
        self.asked.append(("launch", function, tuple(grid), tuple(block), shared))
        call, faults = self._simulated(function, tuple(grid))
        record = (ctypes.c_int64 * RECORD_WORDS)()
        status = call(*(arg.item() for arg in args[:-1]), ctypes.addressof(record))
        if status:
            noted = [(fault.code, fault.span) for fault in self.faults[function]]
            number = noted.index((faults[status - 1].code, faults[status - 1].span)) + 1
            ctypes.c_int32.from_address(int(args[-1])).value = number

    def _simulated(self, function: str, grid: tuple[int, ...]) -> Any:
        """Return the kernel as machine code for so many blocks, and what its status means."""
        kernel = self.kernels[function]
        if (kernel, grid) not in self._made:
            sizes = dict(zip(reversed(BLOCK_TAGS), grid, strict=True))
            axes = tuple(
                replace(axis, extent=tir.IntImm("int64", sizes[axis.tag])) if axis.tag in sizes else axis
                for axis in kernel.axes
            )
            params = parameters(kernel)
            target = get_target("cuda -simulate=random")
            whole = emulate_matrix_units(expand_copies(replace(kernel, axes=axes)))
            plain = tir.PrimFunc(params, simulate(whole, is_ascending=False))
            emitted = emit_module({"kernel": plain}, target)
            library = link([to_object(optimize(emitted.text, target, 1), target)], ["kernel"], target)
            types = [*(c_type(param.dtype) for param in params), ctypes.c_void_p]
            call = ctypes.CFUNCTYPE(ctypes.c_int32, *types)
            self._made[kernel, grid] = call(library.addresses["kernel"]), emitted.faults, library
        return self._made[kernel, grid][:2]

    def synchronize(self, stream: Any = None) -> None:
        self.asked.append(("synchronize", stream))

    def stream(self) -> Any:
        return object()

    def event(self, stream: Any = None) -> Any:
        return len(self.asked)

    def milliseconds(self, start: Any, end: Any) -> float:
        return float(end - start)
