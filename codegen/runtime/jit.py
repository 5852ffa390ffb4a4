"""Linking of object code in this process."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from msgspec import Struct

from ...ir.dtype import parse_dtype
from ..gpu.orders import PATTERN
from ..llvm.api import binding
from ..llvm.backend import optimize, to_object
from ..llvm.parallel import PARALLEL
from ..names import kernel_symbol
from ..target import TARGETS, Target
from .pool import THREADS, pool_text
from .threads import thread_count

_CTYPES: dict[str, Any] = {
    "handle": ctypes.c_void_p, "bool": ctypes.c_bool, "float32": ctypes.c_float, "float64": ctypes.c_double,
    **{f"int{bits}": getattr(ctypes, f"c_int{bits}") for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": getattr(ctypes, f"c_uint{bits}") for bits in (8, 16, 32, 64)},
}  # fmt: skip


def c_type(dtype: str) -> Any | None:
    """Return the ctypes type that passes a scalar of `dtype`; None if there is none."""
    return _CTYPES.get(parse_dtype(dtype).name) if parse_dtype(dtype).lanes == 1 else None


class Library(Struct, frozen=True):
    """Linked kernels: the address of each, valid while this object is alive."""

    addresses: dict[str, int]
    keep_alive: Any
    pattern: int | None = None
    """Address of the two numbers that determine the order of simulated threads."""


def link(objects: Sequence[bytes], names: Iterable[str], target: Target) -> Library:
    """Link object files of kernels in memory."""
    symbols = {name: kernel_symbol(name) for name in names}
    runtime = {PARALLEL: _parallel_entry()} if _mention(objects, PARALLEL) else {}
    states = [PATTERN] if _mention(objects, PATTERN) else []
    addresses, keep_alive = link_symbols(objects, [*symbols.values(), *states], target, runtime)
    kernels = {name: addresses[symbol] for name, symbol in symbols.items()}
    return Library(kernels, keep_alive, addresses.get(PATTERN))


def _mention(objects: Sequence[bytes], symbol: str) -> bool:
    """Return whether an object file defines or uses `symbol`."""
    return any(symbol.encode() in image for image in objects)


def link_symbols(
    objects: Sequence[bytes], symbols: Sequence[str], target: Target, given: Mapping[str, int] = {}
) -> tuple[dict[str, int], Any]:
    """Return the addresses of `symbols` in object files, and an object that must be kept alive while they are used.

    Undefined symbols are resolved from `given`, by address, and from this process: the C library.
    """
    jit = binding.create_lljit_compiler(target.machine)
    builder = binding.JITLibraryBuilder().add_current_process()
    for image in objects:
        builder.add_object_img(image)
    for symbol in symbols:
        builder.export_symbol(symbol)
    for symbol, address in given.items():
        builder.import_symbol(symbol, address)
    tracker = builder.link(jit, "kernels")
    return {symbol: tracker[symbol] for symbol in symbols}, (jit, tracker)


@cache
def _parallel_entry() -> int:
    """Return the address of the thread pool of this process."""
    target = TARGETS["llvm"]
    image = to_object(optimize(pool_text(target.layout[0]), target), target)
    addresses, code = link_symbols([image], [PARALLEL, THREADS], target)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(code))  # never freed, not even at exit: workers execute it
    ctypes.c_int32.from_address(addresses[THREADS]).value = thread_count()
    return addresses[PARALLEL]


def make_callable(library: Library, name: str, arguments: Sequence[Any]) -> Any:
    """Return the C function of a kernel, which returns its status; `arguments` are ctypes types."""
    return ctypes.CFUNCTYPE(ctypes.c_int32, *arguments)(library.addresses[name])
