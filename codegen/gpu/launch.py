"""Launches of kernels, and their arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from struct import Struct as Format
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from ...ir import tir
from ...ir.base import Span
from ...ir.dtype import element_bytes
from ...ir.numpy_dtype import numpy_dtype
from ...ir.visit import walk
from .kernel import Kernel
from .tensor_maps import MAP_ALIGNMENT, MAP_BYTES, Matrix

_FORMATS = {"int32": "i", "int64": "q", "uint64": "Q"}
"""The formats of integers in `struct`."""


class Function(Struct, frozen=True, eq=False):
    """A loaded kernel: `name` and `span` are those of its program."""

    handle: Any
    name: str
    span: Span | None = None
    shared: int = 0


class KernelCall(Struct, frozen=True, eq=False):
    """A launch: its numbers of blocks and threads, the values of parameters, the matrices of tensor maps, and the address of the status."""

    function: Function
    grid: tuple[int, ...]
    block: tuple[int, ...]
    packer: ParameterPacker
    values: Sequence[Any]
    matrices: Sequence[Matrix]
    status: int

    def packed(self, encode: Callable[[Matrix, Function], bytes]) -> bytes:
        """Return the bytes of all parameters; `encode` returns those of a tensor map."""
        maps = [encode(matrix, self.function) for matrix in self.matrices]
        return self.packer.pack([*self.values, *maps, self.status])

    def addresses(self) -> list[int]:
        """Return the addresses among the values and matrices."""
        return [*(self.values[at] for at in self.packer.addresses), *(matrix.address for matrix in self.matrices)]

    def at(self, addresses: Sequence[int]) -> KernelCall:
        """Return the launch with other addresses, which are in the order of `addresses`."""
        values = list(self.values)
        for at, address in zip(self.packer.addresses, addresses, strict=False):
            values[at] = address
        places = addresses[len(self.packer.addresses) :]
        matrices = [replace(matrix, address=place) for matrix, place in zip(self.matrices, places, strict=True)]
        return replace(self, values=values, matrices=matrices)


def parameters(kernel: Kernel) -> tuple[tir.Var, ...]:
    """Return the free variables of `kernel`: pointers, sizes, and variables of enclosing loops."""
    defined: set[tir.Var] = {axis.var for axis in kernel.axes}
    used: dict[tir.Var, None] = {}
    for node in walk(kernel.body):
        match node:
            case tir.For():
                defined.add(node.loop_var)
            case tir.LetStmt() | tir.Let():
                defined.add(node.var)
            case tir.Allocate() | tir.AllocateConst():
                defined.add(node.buffer_var)
            case tir.Var():
                used[node] = None
            case _:
                pass
    return tuple(var for var in used if var not in defined)


def parameter_bytes(params: Sequence[tir.Var], maps: int = 0) -> int:
    """Return the total size of `params` in bytes, each aligned to its size, followed by tensor maps and the address of the status."""
    return _ends(_sizes(params, maps))[-1]


class ParameterPacker:
    """Writes the parameters of a kernel, tensor maps, and the address of the status, as the bytes that a launch passes."""

    def __init__(self, params: Sequence[tir.Var], maps: int = 0) -> None:
        sizes = _sizes(params, maps)
        ends = _ends(sizes)
        starts = [end - size for end, size in zip(ends, sizes, strict=True)]
        self._gaps = [bytes(start - before) for start, before in zip(starts, [0, *ends], strict=False)]
        self.addresses = tuple([at for at, var in enumerate(params) if var.dtype == "handle"])
        """The positions of values that are addresses."""
        dtypes = [*("uint64" if var.dtype == "handle" else var.dtype for var in params), *[""] * maps, "uint64"]
        self._types = [numpy_dtype(dtype).type if dtype else np.void for dtype in dtypes]
        gaps = [f"{len(gap)}x" * bool(gap) for gap in self._gaps]
        formats = [_FORMATS.get(dtype, "") for dtype in dtypes]
        self._whole = Format("<" + "".join(map("".join, zip(gaps, formats, strict=True)))) if all(formats) else None
        """Packs all values at once, if each is an integer."""

    def pack(self, values: Sequence[Any]) -> bytes:
        """Return the bytes of `values`, which are in the order of the parameters."""
        if self._whole is not None:
            return self._whole.pack(*values)
        parts = zip(self._gaps, self._types, values, strict=True)
        return b"".join([gap + kind(value).tobytes() for gap, kind, value in parts])


def _sizes(params: Sequence[tir.Var], maps: int) -> list[int]:
    sizes = [8 if param.dtype == "handle" else element_bytes(param.dtype) for param in params]
    return [*sizes, *[MAP_BYTES] * maps, 8]


def _ends(sizes: Sequence[int]) -> list[int]:
    """Return the offsets behind consecutive values that are aligned to their sizes, up to that of tensor maps."""
    ends = [0]
    for size in sizes:
        part = min(size, MAP_ALIGNMENT)
        ends.append(-(-ends[-1] // part) * part + size)
    return ends[1:]
