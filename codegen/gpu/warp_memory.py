"""Warp memory: in registers if each thread accesses a part of its own, otherwise a part of the block's shared
memory.

    W = T.alloc_buffer((4, 32, 8), scope="warp")        L = T.alloc_buffer((4, 8), scope="local")
    W[k, threadIdx.x, i]                            →   L[k, i]

(TVM: `LowerWarpMemory`, which uses shuffles for elements of other threads.)
"""

from __future__ import annotations

from functools import reduce
from typing import Any

from msgspec.structs import replace

from ...ir import make, tir
from ...ir.analysis.const_bounds import const_bounds
from ...ir.intern import Nodes
from ...ir.linear import linear
from ...ir.matrix_units import STORE, name_of
from ...ir.simplify import simplify
from ...ir.sums import Sum, render
from ...ir.visit import walk
from ..lower.rewriter import Rewriter
from ..lower.vectors import add, multiply, widen
from .architectures import WARP
from .kernel import Kernel, scope_of, size_of
from .places import domains_of, wide

_POINTERS = {"ptx_mma": (6, 8, 10), "ptx_ldmatrix": (3,), STORE: (3,)}
"""Positions of pointers to the elements of a thread in the arguments of operators; an offset follows each of
them.
"""


def place_warp_memory(kernel: Kernel) -> Kernel:
    """Return `kernel`, whose buffers are flat, without memory of scope "warp"."""
    return replace(kernel, body=_WarpMemory(kernel).rewrite(kernel.body))


def thread_number(kernel: Kernel) -> tir.PrimExpr:
    """Return the index of a thread in its block, as int64; the last axis varies fastest."""
    number: tir.PrimExpr = tir.IntImm("int64", 0)
    for axis in kernel.threads:
        number = make.add(make.mul(number, tir.IntImm("int64", size_of(axis))), make.cast(axis.var, "int64"))
    return number


def lane_number(kernel: Kernel) -> tir.PrimExpr:
    """Return the index of a thread in its warp, as int64."""
    lane = kernel.axes[-1]
    if lane.tag == "threadIdx.x" and size_of(lane) == WARP:
        return make.cast(lane.var, "int64")
    return make.floormod(thread_number(kernel), tir.IntImm("int64", WARP))


class _Owned:
    """The elements of each thread: `length` consecutive ones of every `WARP * length`."""

    def __init__(self, kernel: Kernel) -> None:
        self._lane, self._domains = lane_number(kernel), domains_of(kernel)

    def split(self, index: tir.PrimExpr) -> tuple[int, tir.PrimExpr] | None:
        """Return the elements per thread and the index among them of an access to `index`; None if it may belong to
        another thread.
        """
        nodes = Nodes()
        total = linear(simplify(wide(index), self._domains), nodes)
        lane = nodes.intern_all(self._lane)
        length = total.terms.get(lane, 0)
        if length <= 0:
            return None
        group = WARP * length
        whole: dict[tir.PrimExpr, int] = {}
        inner: dict[tir.PrimExpr, int] = {}
        for term, factor in total.terms.items():
            if term is not lane:
                (inner if factor % group else whole)[term] = factor
        rest = render(Sum(inner, total.constant % group), "int64", nodes.intern)
        start = render(Sum(whole, total.constant - total.constant % group), "int64", nodes.intern)
        if rest is None or start is None:
            return None
        bounds = const_bounds(rest, self._domains)
        if bounds.min < 0 or bounds.max >= length:
            return None
        own = make.floordiv(start, tir.IntImm("int64", WARP))
        return length, simplify(make.add(own, rest), self._domains)


class _WarpMemory(Rewriter):
    def __init__(self, kernel: Kernel) -> None:
        super().__init__({
            tir.Allocate: self._allocate, tir.BufferLoad: self._access, tir.BufferStore: self._access, tir.Call: self._call,
        })  # fmt: skip
        self._owned = _Owned(kernel)
        self._warps = -(-kernel.thread_count // WARP)
        self._warp = make.floordiv(thread_number(kernel), tir.IntImm("int64", WARP))
        self._offsets: dict[tir.Var, tir.PrimExpr] = {}
        self._own: set[tir.Var] = set()

    def _allocate(self, stmt: tir.Allocate) -> tir.Stmt:
        if scope_of(stmt.buffer_var) != "warp":
            return self.rebuild(stmt)
        size = reduce(multiply, map(widen, stmt.extents))
        if isinstance(size, tir.IntImm) and size.value % WARP == 0 and self._is_own(stmt):
            self._own.add(stmt.buffer_var)
            return self._moved(stmt, "local", tir.IntImm("int64", size.value // WARP))
        self._offsets[stmt.buffer_var] = make.mul(self._warp, size)
        return self._moved(stmt, "shared", make.mul(size, tir.IntImm("int64", self._warps)))

    def _moved(self, stmt: tir.Allocate, scope: str, size: tir.PrimExpr) -> tir.Stmt:
        memory = tir.Var("handle", stmt.buffer_var.name, tir.PointerType(tir.PrimType(stmt.dtype), scope))
        self.values[stmt.buffer_var] = memory
        return replace(stmt, buffer_var=memory, extents=(size,), body=self.rewrite(stmt.body))

    def _is_own(self, stmt: tir.Allocate) -> bool:
        """Return whether each thread accesses a part of its own, with the same length everywhere."""
        indices: list[tir.PrimExpr] = []
        for node in walk(stmt.body):
            if isinstance(node, tir.BufferLoad | tir.BufferStore) and node.buffer.data is stmt.buffer_var:
                indices.append(node.indices[0])
            if not isinstance(node, tir.Call) or stmt.buffer_var not in node.args:
                continue
            places: tuple[Any, ...] = _POINTERS.get(name_of(node), ())
            if sum(node.args[at] is stmt.buffer_var for at in places) < node.args.count(stmt.buffer_var):
                return False
            indices += [node.args[at + 1] for at in places if node.args[at] is stmt.buffer_var]  # type: ignore[misc]
        found = [self._owned.split(index) if index.dtype in ("int32", "int64") else None for index in indices]
        return None not in found and len({part[0] for part in found if part is not None}) == 1

    def _access(self, access: tir.BufferLoad | tir.BufferStore) -> tir.BufferLoad | tir.BufferStore:
        data, rebuilt = access.buffer.data, self.rebuild(access)
        if data in self._own:
            return replace(rebuilt, indices=(self._of_thread(access.indices[0]),))
        offset = self._offsets.get(data)
        return rebuilt if offset is None else replace(rebuilt, indices=(add(widen(rebuilt.indices[0]), offset),))

    def _call(self, call: tir.Call) -> tir.PrimExpr:
        args = list(self.rebuild(call).args)
        for at in _POINTERS.get(name_of(call), ()):
            variable, offset = call.args[at], call.args[at + 1]
            if variable in self._own:
                args[at + 1] = self._of_thread(offset)
            elif variable in self._offsets:
                args[at + 1] = make.add(make.cast(args[at + 1], "int64"), self._offsets[variable])  # type: ignore[arg-type, index]
        return replace(call, args=tuple(args))

    def _of_thread(self, index: Any) -> tir.PrimExpr:
        part = self._owned.split(index)
        assert part is not None
        return part[1]
