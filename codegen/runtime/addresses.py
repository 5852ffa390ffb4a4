"""Fast access to the addresses of NumPy arrays.

`array.ctypes.data` takes microseconds. `__array_struct__`, the array interface for C, takes a tenth of
one, but returns a capsule that only C can read. A small compiled function reads it: from the capsule to
the structure to its field `data` (https://numpy.org/doc/stable/reference/arrays.interface.html).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

from ..llvm.api import ir
from ..llvm.backend import optimize, to_object
from ..llvm.types import I32, I64, POINTER
from ..target import TARGETS
from .jit import link_symbols

_BYTE = ir.IntType(8)
ARRAY_INTERFACE = ir.LiteralStructType([I32, I32, _BYTE, I32, I32, POINTER, POINTER, POINTER])
"""`PyArrayInterface`: two, nd, typekind, itemsize, flags, shape, strides, data."""
_DATA = 7


@cache
def address_reader() -> Callable[[Any], int]:
    """Return a function that reads the address of the first element from an `__array_struct__`."""
    target = TARGETS["llvm"]
    module: Any = ir.Module("addresses")
    module.triple = target.machine.triple
    unwrap = ir.Function(module, ir.FunctionType(POINTER, [POINTER, POINTER]), "PyCapsule_GetPointer")
    function = ir.Function(module, ir.FunctionType(I64, [POINTER]), "tvms_address")
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    interface = builder.call(unwrap, [function.args[0], ir.Constant(POINTER, None)])
    field = builder.gep(interface, [I32(0), I32(_DATA)], source_etype=ARRAY_INTERFACE)
    builder.ret(builder.ptrtoint(builder.load(field, typ=POINTER), I64))
    image = to_object(optimize(str(module), target), target)
    addresses, keep_alive = link_symbols([image], ["tvms_address"], target)
    reader = ctypes.PYFUNCTYPE(ctypes.c_size_t, ctypes.py_object)(addresses["tvms_address"])
    reader.keep_alive = keep_alive  # type: ignore[attr-defined]
    return reader
