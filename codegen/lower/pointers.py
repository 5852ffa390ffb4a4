"""The allocation behind each pointer: its extent and the offset of the pointer in it, as expressions in bytes.

    p: T.handle("int64") = T.address_of(A[i])         p is at offset i * 8 in A's allocation of 32 bytes
    C = T.decl_buffer((4,), "int64", data=p)          C[j] is at bytes i * 8 + j * 8 to i * 8 + j * 8 + 7 of it

Allocations are the buffers of parameters, the allocations of blocks and of `T.allocate`, and constants. A
pointer made from an integer has no allocation.
"""

from __future__ import annotations

from functools import reduce

import numpy as np
from msgspec import Struct

from ...ir import make, tir
from ...ir.base import Node, Op
from ...ir.diagnostics import TvmsError, error
from ...ir.dtype import element_bytes, parse_dtype
from ...ir.fold import wrap
from ...ir.intern import has_effects
from ...ir.visit import rewrite, walk
from .layout import flat_index, strides_of
from .vectors import add, multiply, widen

_ZERO, _ONE = tir.IntImm("int64", 0), tir.IntImm("int64", 1)


class Pointed(Struct, frozen=True):
    """The target of a pointer: `offset` bytes from the start of an allocation of `extent` bytes; both are int64."""

    extent: tir.PrimExpr
    offset: tir.PrimExpr


def count_of(buffer: tir.Buffer) -> tir.PrimExpr:
    """Return the number of elements of an allocation for `buffer`: up to the last one that any index reaches."""
    if not buffer.strides:
        return reduce(_product, map(widen, buffer.shape), _ONE)
    if any(isinstance(extent, tir.IntImm) and extent.value == 0 for extent in buffer.shape):
        return _ZERO
    steps = zip(buffer.shape, strides_of(buffer), strict=True)
    return reduce(add, [multiply(make.sub(widen(extent), _ONE), step) for extent, step in steps], _ONE)


def _product(a: tir.PrimExpr, b: tir.PrimExpr) -> tir.PrimExpr:
    return constant(a.value * b.value) if isinstance(a, tir.IntImm) and isinstance(b, tir.IntImm) else multiply(a, b)


def constant(value: int) -> tir.IntImm:
    """Return an int64 constant; pointers are computed modulo 2 ** 64."""
    return tir.IntImm("int64", wrap(value, "int64"))


def bytes_of(count: tir.PrimExpr, dtype: str) -> tir.PrimExpr:
    """Return the size of `count` elements in bytes."""
    return _product(count, constant(element_bytes(dtype)))


_CHECKS = (Op("tir.checked_index"), Op("tir.checked_position"))


def _without_checks(index: tir.PrimExpr) -> tir.PrimExpr:
    """Return `index` without its checks, which execute where the address is taken."""

    def plain(node: Node) -> Node | None:
        return node.args[0] if isinstance(node, tir.Call) and node.op in _CHECKS else None  # type: ignore[return-value]

    return rewrite(index, plain)


def _with(var: tir.Var, value: tir.PrimExpr, expr: tir.PrimExpr) -> tir.PrimExpr:
    """Return `expr` with `var` bound to `value`, if it occurs."""
    return tir.Let(expr.dtype, var, value, expr) if any(node is var for node in walk(expr)) else expr


def _sum(a: tir.PrimExpr, b: tir.PrimExpr) -> tir.PrimExpr:
    return constant(a.value + b.value) if isinstance(a, tir.IntImm) and isinstance(b, tir.IntImm) else add(a, b)


class Pointers:
    """The targets of the pointer variables of a function."""

    def __init__(self, func: tir.PrimFunc) -> None:
        self._pointed: dict[tir.Var, Pointed] = {}
        for buffer in func.buffer_map.values():
            self._pointed[buffer.data] = Pointed(bytes_of(count_of(buffer), buffer.dtype), _ZERO)

    def allocate(self, stmt: tir.Allocate | tir.AllocateConst) -> None:
        """Record the target of the variable of an allocation."""
        if isinstance(stmt, tir.AllocateConst) and stmt.data is not None:
            extent: tir.PrimExpr = constant(np.asarray(stmt.data).nbytes)
        else:
            extent = bytes_of(reduce(_product, map(widen, stmt.extents), _ONE), stmt.dtype)
        self._pointed[stmt.buffer_var] = Pointed(extent, _ZERO)

    def bind(self, var: tir.Var, value: tir.PrimExpr) -> list[tuple[tir.Var, tir.PrimExpr]]:
        """Record the target of `var`, which is bound to the pointer `value`; return the variables to bind after it."""
        try:
            pointed = self.find(value)
        except _Unknown:
            return []
        if has_effects(pointed.extent) or has_effects(pointed.offset):
            raise unknown(value, "the computation of this address has side effects")
        bound: list[tuple[tir.Var, tir.PrimExpr]] = []

        def named(expr: tir.PrimExpr, what: str) -> tir.PrimExpr:
            if isinstance(expr, tir.IntImm | tir.Var):
                return expr
            bound.append((tir.Var("int64", f"{var.name}_{what}"), expr))
            return bound[-1][0]

        self._pointed[var] = Pointed(named(pointed.extent, "extent"), named(pointed.offset, "offset"))
        return bound

    def bind_expression(self, var: tir.Var, value: tir.PrimExpr) -> None:
        """Record the target of `var`, which an expression binds to the pointer `value`."""
        try:
            self._pointed[var] = self.find(value)
        except _Unknown:
            return

    def of_buffer(self, buffer: tir.Buffer, node: Node) -> Pointed:
        """Return the target of the data pointer of `buffer`, which `node` accesses; E0619 if it is unknown."""
        try:
            return self.find(buffer.data)
        except _Unknown:
            raise unknown(node, f"the memory of '{buffer.name}' is unknown") from None

    def of_pointer(self, pointer: tir.PrimExpr, node: Node) -> Pointed:
        """Return the target of `pointer`, which `node` accesses; E0619 if it is unknown."""
        try:
            return self.find(pointer)
        except _Unknown:
            raise unknown(node, "the memory behind this pointer is unknown") from None

    def find(self, pointer: tir.PrimExpr) -> Pointed:
        """Return the target of `pointer`; raise `_Unknown`, or E0619 for a pointer made from an integer."""
        match pointer:
            case tir.Var() if pointer in self._pointed:
                return self._pointed[pointer]
            case tir.IntImm():
                return Pointed(_ZERO, _ZERO)
            case tir.Cast(value=value) | tir.Call(op=Op(name="tir.reinterpret"), args=(*_, tir.PrimExpr() as value)):
                if parse_dtype(value.dtype).code != "handle":
                    raise unknown(pointer, "an integer cannot become a pointer")
                return self.find(value)
            case tir.Select(condition=condition, true_value=yes, false_value=no):
                return self._choice(condition, yes, no)
            case tir.Call(op=Op(name="tir.if_then_else"), args=(tir.PrimExpr() as condition, yes, no)):
                return self._choice(condition, yes, no)
            case tir.Let(var=var, value=value, body=body) if parse_dtype(var.dtype).code == "handle":
                self._pointed[var] = self.find(value)
                return self.find(body)
            case tir.Let(var=var, value=value, body=body):
                pointed, value = self.find(body), _without_checks(value)
                extent, offset = (_with(var, value, expr) for expr in (pointed.extent, pointed.offset))
                return Pointed(extent, offset)
            case tir.Call(op=Op(name="tir.address_of"), args=(tir.BufferLoad(buffer=buffer, indices=indices),)):
                index = _without_checks(flat_index(buffer, indices))
                return self._moved(self.find(buffer.data), index, buffer.dtype)
            case tir.Call(op=Op(name="tir.handle_add_byte_offset"), args=(tir.PrimExpr() as base, offset)):
                return self._moved(self.find(base), offset, "int8")
            case tir.Call(
                op=Op(name="tir.tvm_access_ptr"), args=(tir.PrimExpr() as kind, tir.PrimExpr() as base, offset, *_)
            ):
                return self._moved(self.find(base), offset, kind.dtype)
            case _:
                raise _Unknown

    def _moved(self, base: Pointed, count: Node, dtype: str) -> Pointed:
        assert isinstance(count, tir.PrimExpr)
        return Pointed(base.extent, _sum(base.offset, bytes_of(widen(count), dtype)))

    def _choice(self, condition: tir.PrimExpr, yes: Node, no: Node) -> Pointed:
        assert isinstance(yes, tir.PrimExpr)
        assert isinstance(no, tir.PrimExpr)
        a, b = self.find(yes), self.find(no)
        extent, offset = (make.if_then_else(condition, *pair) for pair in ((a.extent, b.extent), (a.offset, b.offset)))
        return Pointed(extent, offset)

    # --- Buffers

    def is_inside(self, buffer: tir.Buffer, pointed: Pointed) -> bool:
        """Return whether all elements of `buffer` are inside the allocation: by constants, or because it covers the
        allocation exactly.
        """
        offset = _ZERO if buffer.elem_offset is None else buffer.elem_offset
        known = (pointed.extent, pointed.offset, offset, *buffer.shape, *strides_of(buffer))
        numbers = [term.value for term in known if isinstance(term, tir.IntImm)]
        if len(numbers) < len(known):
            return self._is_whole(buffer, pointed)
        extent, start, first, *_ = numbers
        shape, strides = numbers[3 : 3 + len(buffer.shape)], numbers[3 + len(buffer.shape) :]
        if 0 in shape:
            return True
        ends = [(size - 1) * step for size, step in zip(shape, strides, strict=True)]
        size = element_bytes(buffer.dtype)
        low, high = (start + (first + sum(pick(0, end) for end in ends)) * size for pick in (min, max))
        return all(extent > 0 for extent in shape) and low >= 0 and high + size <= extent

    def _is_whole(self, buffer: tir.Buffer, pointed: Pointed) -> bool:
        """Return whether `buffer` starts at its allocation and has the same size in bytes."""
        from ...ir.equal import structural_equal
        from ...ir.simplify import simplify

        is_at_start = isinstance(pointed.offset, tir.IntImm) and pointed.offset.value == 0
        offset = buffer.elem_offset
        is_at_start = is_at_start and (offset is None or (isinstance(offset, tir.IntImm) and offset.value == 0))
        if not is_at_start or any(isinstance(node, tir.BufferLoad) for node in walk(pointed.extent)):
            return False
        wanted = bytes_of(count_of(buffer), buffer.dtype)
        return structural_equal(wanted, pointed.extent) or structural_equal(simplify(wanted), simplify(pointed.extent))


class _Unknown(Exception):
    """The target of a pointer is unknown."""


def unknown(node: Node, reason: str) -> TvmsError:
    """Return the error for an access to an unknown allocation."""
    help = "take the address of an element of a buffer, or compile with --bounds trust"
    return error("E0619", reason, node.span, help)
