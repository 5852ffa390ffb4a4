"""Tensor core operators: their checks, and those that are plain loads and stores of elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from math import prod
from typing import Any

from msgspec.structs import replace

from ...ir import make, tir
from ...ir.analysis.modular_set import modular_set
from ...ir.diagnostics import error
from ...ir.dtype import element_bytes
from ...ir.idioms import NOTHING
from ...ir.matrix_units import (
    STORE,
    WARP,
    WHOLE_WARP,
    is_fragment_scope,
    name_of,
    number,
)  # fmt: skip
from ...ir.visit import walk
from ..lower.rewriter import Rewriter, sequence
from .kernel import Kernel, scope_of, size_of
from .warp_memory import lane_number, thread_number

TRUE, ZERO = tir.IntImm("bool", 1), tir.IntImm("int64", 0)
_BY_WARPS = ("ptx_mma", "ptx_ldmatrix", STORE, *WHOLE_WARP)
_LIES = {"ptx_cp_async": ((0, "shared"), (2, "global")), "ptx_ldmatrix": ((5, "shared"),), STORE: ((5, "shared"),)}
"""Required scope of the memory that an argument points to, by operator and position."""


def check_matrix_units(kernel: Kernel) -> None:
    """Check tensor core operators and asynchronous copies in a lowered kernel: E0611 if a block does not consist
    of whole warps, E0606 if elements of a fragment are accessed or memory has the wrong scope.
    """
    calls = [node for node in walk(kernel.body) if isinstance(node, tir.Call)]
    along_x = [size_of(axis) for axis in kernel.threads if axis.tag == "threadIdx.x"]
    for call in calls:
        _check_scopes(call)
        if name_of(call) not in _BY_WARPS:
            continue
        is_whole = name_of(call) in WHOLE_WARP
        count = prod(along_x) if is_whole else kernel.thread_count
        if count % WARP:
            reason = f"T.{name_of(call)} needs whole warps, but {'threadIdx.x' if is_whole else 'a block'} has {count} threads"
            raise error("E0611", reason, call.span, "bind a loop of 32 iterations to 'threadIdx.x'")
    for access in walk(kernel.body):
        if isinstance(access, tir.BufferLoad | tir.BufferStore) and is_fragment_scope(scope_of(access.buffer.data)):
            reason = (
                f"an element of the fragment '{access.buffer.name}' is accessed; the layout of fragments is unspecified"
            )
            raise error(
                "E0606", reason, access.span, "load, fill and store whole fragments, for example by S.tensorize"
            )


def _check_scopes(call: tir.Call) -> None:
    for at, scope in _LIES.get(name_of(call), ()):
        buffer = place_of(call.args[at], call.args[at + 1], call.dtype).buffer
        if not buffer.scope.startswith(scope):
            reason = f"T.{name_of(call)} needs memory of scope '{scope}', but '{buffer.name}' is in '{buffer.scope}'"
            raise error("E0606", reason, call.span, f"pass {scope} memory")
    if name_of(call) == "ptx_wait_group" and number(call, 0) < 0:
        raise error(
            "E0606",
            f"cannot wait for {number(call, 0)} pending groups",
            call.span,
            "give a number of groups that is not negative",
        )


def expand_plain(kernel: Kernel) -> Kernel:
    """Return `kernel`, whose buffers are flat, with `T.mma_fill` and `T.mma_store` expanded to the accesses of
    each thread.
    """
    return replace(kernel, body=_Expander(kernel).rewrite(kernel.body))


def expand_copies(kernel: Kernel) -> Kernel:
    """Return `kernel` with asynchronous copies replaced by synchronous ones."""
    return replace(kernel, body=_Copier(kernel).rewrite(kernel.body))


_TF32_BITS = 0xFFFFE000 - (1 << 32)
"""Mask of the bits of a float32 that tf32 keeps, as an int32."""


def rounded_factor(value: tir.PrimExpr, kind: str) -> tir.PrimExpr:
    """Return a factor of PTX type `kind` as matrix units read it."""
    if kind != "tf32":
        return value
    bits = make.bitwise_and(make.reinterpret("int32", value), tir.IntImm("int32", _TF32_BITS))
    return make.reinterpret("float32", bits)


# --- Memory, by pointers ----------------------------------------------------------------------------------------


class MemoryRange:
    """Elements of `dtype` in the memory of `data`, starting at element `start`."""

    def __init__(self, data: tir.Var, dtype: str, start: tir.PrimExpr) -> None:
        self.buffer = tir.Buffer(data, dtype, (tir.IntImm("int64", 1),), data.name, scope=scope_of(data))
        self._start = make.cast(start, "int64")

    def load(self, index: tir.PrimExpr | int) -> tir.PrimExpr:
        return tir.BufferLoad(self.buffer.dtype, self.buffer, (self.at(index),))

    def store(self, index: tir.PrimExpr | int, value: tir.PrimExpr) -> tir.Stmt:
        return tir.BufferStore(self.buffer, make.cast(value, self.buffer.dtype), (self.at(index),))

    def at(self, index: tir.PrimExpr | int) -> tir.PrimExpr:
        """Return the position of element `index` in the memory, as int64."""
        return make.add(
            self._start, tir.IntImm("int64", index) if isinstance(index, int) else make.cast(index, "int64")
        )


def place_of(pointer: Any, offset: Any, dtype: str) -> MemoryRange:
    """Return the elements from `offset` after `pointer`, where `offset` counts elements of `dtype`; E0606 if the pointer does
    not point into a buffer, or points into an element.
    """
    start = make.cast(offset, "int64")
    if isinstance(pointer, tir.Var):
        return MemoryRange(pointer, dtype, start)
    if isinstance(pointer, tir.Call) and name_of(pointer) == "tvm_access_ptr":
        kind, data, first, *_ = pointer.args
        return MemoryRange(data, dtype, make.add(_elements(first, kind.dtype, dtype), start))  # type: ignore[arg-type]
    if isinstance(pointer, tir.Call) and name_of(pointer) == "address_of":
        load: Any = pointer.args[0]
        return MemoryRange(
            load.buffer.data, dtype, make.add(_elements(load.indices[0], load.buffer.dtype, dtype), start)
        )
    raise error(
        "E0606", "cannot determine the buffer of this pointer", getattr(pointer, "span", None), "use A.access_ptr"
    )


def _elements(index: tir.PrimExpr, dtype: str, wanted: str) -> tir.PrimExpr:
    """Return the number of elements of dtype `wanted` before element `index` of dtype `dtype`; E0606 if it is not an integer."""
    size, other = element_bytes(dtype), element_bytes(wanted)
    if size % other == 0:
        return times(make.cast(index, "int64"), size // other)
    before = make.mul(make.cast(index, "int64"), tir.IntImm("int64", size))
    if modular_set(before).coeff % other or modular_set(before).base % other:
        reason = f"this pointer counts elements of {dtype}, and is not proven to point to an element of {wanted}"
        raise error("E0606", reason, index.span, "use a pointer to a buffer of the operator's dtype")
    return over(before, other)


def loop(count: int, body: Callable[[tir.PrimExpr], tir.Stmt | Sequence[tir.Stmt]]) -> tir.Stmt:
    index = tir.Var("int64", "i")
    made = body(index)
    whole = made if isinstance(made, tir.Stmt) else sequence(made)
    return tir.For(index, ZERO, tir.IntImm("int64", count), tir.ForKind.SERIAL, whole)


def plus(*parts: tir.PrimExpr | int) -> tir.PrimExpr:
    return reduce(make.add, [tir.IntImm("int64", part) if isinstance(part, int) else part for part in parts])


def times(a: tir.PrimExpr, b: int) -> tir.PrimExpr:
    return make.mul(a, tir.IntImm("int64", b))


def over(a: tir.PrimExpr, b: int) -> tir.PrimExpr:
    return make.floordiv(a, tir.IntImm("int64", b))


def rest(a: tir.PrimExpr, b: int) -> tir.PrimExpr:
    return make.floormod(a, tir.IntImm("int64", b))


class Calls(Rewriter):
    """Rewrites call statements by name."""

    def __init__(self, kernel: Kernel, rules: dict[str, Callable[[tir.Call], tir.Stmt]]) -> None:
        super().__init__({tir.Evaluate: self._evaluate, tir.Buffer: self.buffer})
        self._kernel, self._calls = kernel, rules
        self._thread = thread_number(kernel)
        self._lane = lane_number(kernel)

    def _evaluate(self, stmt: tir.Evaluate) -> tir.Stmt:
        rule = self._calls.get(name_of(stmt.value)) if isinstance(stmt.value, tir.Call) else None
        if rule is None:
            return self.rebuild(stmt)
        return rule(self.rewrite(stmt.value))


class _Expander(Calls):
    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel, {"mma_fill": self._fill, "mma_store": self._store})

    def _fill(self, call: tir.Call) -> tir.Stmt:
        """Expand `mma_fill(count, pointer, offset)`."""
        count = number(call, 0)
        place = self._own(call, 1, count)
        return sequence([place.store(i, make.const(0, call.dtype)) for i in range(count)])

    def _own(self, call: tir.Call, at: int, count: int) -> MemoryRange:
        """Return the elements of a thread at a pointer and an offset; in warp memory, each thread has `count`
        elements.
        """
        pointer, offset = call.args[at], make.cast(call.args[at + 1], "int64")  # type: ignore[arg-type]
        if isinstance(pointer, tir.Var) and scope_of(pointer) == "warp":
            offset = plus(offset, times(self._lane, count))
        return place_of(pointer, offset, call.dtype)

    def _store(self, call: tir.Call) -> tir.Stmt:
        """Expand `mma_store(m, n, target, source, offset, stride)`: two adjacent products of 8 columns."""
        if (number(call, 0), number(call, 1)) != (16, 16):
            raise error("E0606", "T.mma_store stores only tiles of 16 × 16", call.span, "store elements of the buffer")
        source, target = self._own(call, 3, 8), place_of(call.args[2], ZERO, call.dtype)
        stride: Any = make.cast(call.args[5], "int64")  # type: ignore[arg-type]
        stores: list[tir.Stmt] = []
        for i in range(8):
            row = plus(over(self._lane, 4), i % 4 // 2 * 8)
            column = plus(times(rest(self._lane, 4), 2), i // 4 * 8 + i % 2)
            stores.append(target.store(make.add(make.mul(row, stride), column), source.load(i)))
        return sequence(stores)


class _Copier(Calls):
    def __init__(self, kernel: Kernel) -> None:
        rules = {"ptx_cp_async": self._copy, "ptx_commit_group": self._nothing, "ptx_wait_group": self._nothing}
        super().__init__(kernel, rules)

    def _nothing(self, call: tir.Call) -> tir.Stmt:
        return NOTHING

    def _copy(self, call: tir.Call) -> tir.Stmt:
        """Copy `(target, offset, source, offset, bytes)`; an optional last argument says whether to copy or to write
        zeros.
        """
        target, source = (place_of(call.args[at], call.args[at + 1], call.dtype) for at in (0, 2))
        count = copied_bytes(call) // element_bytes(call.dtype)
        copy = loop(count, lambda i: target.store(i, source.load(i)))
        if len(call.args) < 6:
            return copy
        zeros = loop(count, lambda i: target.store(i, make.const(0, call.dtype)))
        return tir.IfThenElse(call.args[5], copy, zeros, span=call.span)  # type: ignore[arg-type]


def copied_bytes(call: tir.Call) -> int:
    """Return the size of a `T.ptx_cp_async` in bytes; E0606 if no GPU has copies of that size."""
    size = number(call, 4)
    if size not in (4, 8, 16):
        raise error(
            "E0606", f"an asynchronous copy of {size} bytes is not supported", call.span, "copy 4, 8 or 16 bytes"
        )
    return size
