"""Fast calls: a small function of machine code checks NumPy arrays and calls the kernel.

It reads each argument through the array interface for C (see `addresses`) and compares rank, dtype,
layout, dimensions and overlap with the declarations. If anything differs, it returns `REFUSED` without
side effects; the checks in Python (`specs`) then report the problem.
"""

from __future__ import annotations

import ctypes
import sysconfig
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ...ir import tir
from ...ir.dtype import int_range
from ...ir.numpy_dtype import numpy_dtype
from ..llvm.api import Builder, Value, ir
from ..llvm.backend import optimize, to_object
from ..llvm.faults import RECORD_WORDS, emit_record
from ..llvm.operators import number
from ..llvm.types import I32, I64, POINTER, register_type
from ..lower.signature import size_variables
from ..target import TARGETS
from .addresses import ARRAY_INTERFACE
from .jit import link_symbols

REFUSED = NotImplemented
"""The result of a fast call that cannot handle the arguments."""
_LAYOUT, _WRITEABLE = 0x1 | 0x100 | 0x200, 0x400
"""NPY_ARRAY_C_CONTIGUOUS, _ALIGNED and _NOTSWAPPED; NPY_ARRAY_WRITEABLE."""
_RANK, _KIND, _ITEM_SIZE, _FLAGS, _SHAPE, _DATA = 1, 2, 3, 4, 5, 7
_ATTRIBUTE = "__array_struct__"
_SYMBOL, _KERNEL = "tvms_quick_call", "tvms_kernel"


def make_quick_call(
    source: tir.PrimFunc,
    kernel: int,
    written: set[tir.Var],
    checks_overlap: bool,
    bound: Mapping[int, int] = {},
    own: Sequence[int] = (),
) -> Callable[..., Any] | None:
    """Return a function of arrays that calls the kernel at an address. It returns None, the bytes of a fault
    record, or `REFUSED`.

    `bound` holds the addresses of constant arrays, by position; these are not passed in a call. The arrays at the positions `own`
    were allocated for the call with the right sizes.

    None if an argument is not a contiguous array of a dtype that NumPy has, or the function returns a value.
    """
    buffers = [source.buffer_map.get(param) for param in source.params]
    if sysconfig.get_config_var("Py_GIL_DISABLED") or not all(
        buffer and _is_plain(buffer, place in own) for place, buffer in enumerate(buffers)
    ):
        return None
    plain = [buffer for buffer in buffers if buffer is not None]
    caller = _Caller(plain, size_variables(source), [buffer.data in written for buffer in plain], bound)
    text = caller.emit(checks_overlap)
    addresses, keep_alive = link_symbols([_image(text)], [_SYMBOL], TARGETS["llvm"], {_KERNEL: kernel})
    function = ctypes.PYFUNCTYPE(ctypes.py_object, *[ctypes.py_object] * (len(plain) - len(bound)))(addresses[_SYMBOL])
    function.keep_alive = keep_alive  # type: ignore[attr-defined]
    return function


@lru_cache(16)
def _image(text: str) -> bytes:
    """Return the object file of a module; kernels with the same parameters share it."""
    target = TARGETS["llvm"]
    return to_object(optimize(text, target, 1), target)


def _is_plain(buffer: tir.Buffer, is_own: bool) -> bool:
    kind = numpy_dtype(buffer.dtype)
    is_simple = kind.kind in "fiub" and kind.isbuiltin == 1 and "x" not in buffer.dtype
    is_at_start = isinstance(buffer.elem_offset, tir.IntImm | None)
    sizes = is_own or all(isinstance(size, tir.IntImm | tir.Var) for size in buffer.shape)
    return is_simple and is_at_start and not buffer.strides and sizes


class _Caller:
    """Emits the function for the declarations of buffers."""

    def __init__(
        self,
        buffers: Sequence[tir.Buffer],
        sizes: Sequence[tir.Var],
        written: Sequence[bool],
        bound: Mapping[int, int],
    ) -> None:
        self.buffers, self.sizes, self.written, self.bound = buffers, sizes, written, bound
        self.module: Any = ir.Module("quick_call")
        self.module.triple = TARGETS["llvm"].machine.triple
        kind = ir.FunctionType(POINTER, [POINTER] * (len(buffers) - len(bound)))
        self.function = ir.Function(self.module, kind, _SYMBOL)
        self.builder: Builder = ir.IRBuilder(self.function.append_basic_block("entry"))
        self._bound: dict[tir.Var, Value] = {}

    def _c(self, name: str, result: object, *args: Value) -> Value:
        found = self.module.globals.get(name)
        function = found or ir.Function(self.module, ir.FunctionType(result, [arg.type for arg in args]), name)
        return self.builder.call(function, args)

    def _address(self, value: int) -> Value:
        return self.builder.inttoptr(number(I64, value), POINTER)

    def _require(self, condition: Value) -> None:
        """Refuse the call if `condition` does not hold."""
        with self.builder.if_then(self.builder.not_(condition), likely=False):
            self._return_object(REFUSED)

    def _return_object(self, value: object) -> None:
        """Return a new reference to an object that is never freed."""
        address = self._address(id(value))
        self._c("Py_IncRef", ir.VoidType(), address)
        self.builder.ret(address)

    def emit(self, checks_overlap: bool) -> str:
        """Return the module as text."""
        builder = self.builder
        given = [position for position in range(len(self.buffers)) if position not in self.bound]
        parts = {
            position: self._array(argument, self.buffers[position], self.written[position])
            for position, argument in zip(given, self.function.args, strict=True)
        }
        if checks_overlap:
            self._check_overlaps(parts)
        starts = {position: start for position, (start, _) in parts.items()}
        starts |= {position: self._address(address) for position, address in self.bound.items()}
        sizes = [builder.trunc(self._bound[var], register_type(var.dtype)) if var.dtype != "int64" else self._bound[var]
                 for var in self.sizes]  # fmt: skip
        arguments = [starts[position] for position in range(len(self.buffers))] + sizes
        state = self._c("PyEval_SaveThread", POINTER)
        record = emit_record(builder)
        status = self._c(_KERNEL, I32, *arguments, record)
        self._c("PyEval_RestoreThread", ir.VoidType(), state)
        with builder.if_then(builder.icmp_unsigned("!=", status, number(I32, 0)), likely=False):
            place = builder.gep(record, [number(I64, 1)], source_etype=I64)
            is_noted = builder.icmp_unsigned("!=", builder.load(record, typ=I64), number(I64, 0))
            noted = builder.select(is_noted, builder.load(place, typ=I64), builder.zext(status, I64))
            builder.store(noted, place)
            builder.ret(self._c("PyBytes_FromStringAndSize", POINTER, record, number(I64, 8 * RECORD_WORDS)))
        self._return_object(None)
        return str(self.module)

    def _array(self, argument: Value, buffer: tir.Buffer, is_written: bool) -> tuple[Value, Value]:
        """Check one argument; return the addresses of the start and the end of its elements."""
        builder, kind = self.builder, numpy_dtype(buffer.dtype)
        class_of = builder.load(builder.gep(argument, [number(I64, 8)], source_etype=ir.IntType(8)), typ=POINTER)
        self._require(builder.icmp_unsigned("==", builder.ptrtoint(class_of, I64), number(I64, id(np.ndarray))))
        capsule = self._c("PyObject_GetAttr", POINTER, argument, self._address(id(_ATTRIBUTE)))
        null = ir.Constant(POINTER, None)
        with builder.if_then(builder.icmp_unsigned("==", capsule, null), likely=False):
            self._c("PyErr_Clear", ir.VoidType())
            self._return_object(REFUSED)
        interface = self._c("PyCapsule_GetPointer", POINTER, capsule, null)

        def field(position: int, llvm_type: object) -> Value:
            place = builder.gep(interface, [I32(0), I32(position)], source_etype=ARRAY_INTERFACE)
            return builder.load(place, typ=llvm_type)

        wanted = _LAYOUT | (_WRITEABLE if is_written else 0)
        checks = [
            builder.icmp_unsigned("==", field(_RANK, I32), number(I32, len(buffer.shape))),
            builder.icmp_unsigned("==", field(_KIND, ir.IntType(8)), number(ir.IntType(8), ord(kind.kind))),
            builder.icmp_unsigned("==", field(_ITEM_SIZE, I32), number(I32, kind.itemsize)),
            builder.icmp_unsigned("==", builder.and_(field(_FLAGS, I32), number(I32, wanted)), number(I32, wanted)),
        ]
        data, shape = field(_DATA, POINTER), field(_SHAPE, POINTER)
        is_right = checks[0]
        for check in checks[1:]:
            is_right = builder.and_(is_right, check)
        bytes_of = number(I64, kind.itemsize)
        dimensions: list[Value] = []
        with builder.if_then(builder.not_(is_right), likely=False):
            self._c("Py_DecRef", ir.VoidType(), capsule)
            self._return_object(REFUSED)
        for axis in range(len(buffer.shape)):
            place = builder.gep(shape, [number(I64, axis)], source_etype=I64)
            dimensions.append(builder.load(place, typ=I64))
            bytes_of = builder.mul(bytes_of, dimensions[-1])
        self._c("Py_DecRef", ir.VoidType(), capsule)
        for declared, actual in zip(buffer.shape, dimensions, strict=True):
            self._check_dimension(declared, actual)
        return data, builder.gep(data, [bytes_of], source_etype=ir.IntType(8))

    def _check_dimension(self, declared: tir.PrimExpr, actual: Value) -> None:
        if isinstance(declared, tir.IntImm):
            self._require(self.builder.icmp_signed("==", actual, number(I64, declared.value)))
        elif isinstance(declared, tir.Var) and declared in self._bound:
            self._require(self.builder.icmp_signed("==", actual, self._bound[declared]))
        elif isinstance(declared, tir.Var):
            if declared.dtype != "int64":
                most = number(I64, int_range(declared.dtype)[1])
                self._require(self.builder.icmp_signed("<=", actual, most))
            self._bound[declared] = actual

    def _check_overlaps(self, parts: Mapping[int, tuple[Value, Value]]) -> None:
        builder = self.builder
        for first, (start, end) in parts.items():
            for second, (other_start, other_end) in parts.items():
                if not self.written[first] or second == first or (self.written[second] and second < first):
                    continue
                before = builder.icmp_unsigned(">=", other_start, end)
                after = builder.icmp_unsigned(">=", start, other_end)
                self._require(builder.or_(before, after))
