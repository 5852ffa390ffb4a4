"""Unroll loops that index local memory, so that the indices are constant and the memory can be promoted to
registers.

for i in range(4):                           T.ptx_mma(…, C.data, 0)
    T.ptx_mma(…, C.data, i * 4)      →       T.ptx_mma(…, C.data, 4)    …
"""

from __future__ import annotations

from math import prod

from msgspec.structs import replace

from ...ir import tir
from ...ir.matrix_units import is_fragment_scope, name_of
from ...ir.tensor_memory import calls_in
from ...ir.visit import walk
from ...ir.warpgroups import warpgroup_calls
from ..lower.rewriter import Rewriter
from ..lower.unroll import LIMIT, unroll_up_to
from .kernel import Kernel, scope_of

_MOST_STATEMENTS = 1024
"""Maximum number of statements of an unrolled loop."""
_MOST_ELEMENTS = 256
"""Maximum number of elements that are kept in registers."""


def keep_in_registers(kernel: Kernel) -> Kernel:
    """Return a lowered kernel with those loops unrolled whose variables index small local memory."""
    marked = _Marker(kernel).rewrite(kernel.body)
    limit = _MOST_ELEMENTS if warpgroup_calls(kernel.body) or calls_in(kernel.body) else LIMIT
    return replace(kernel, body=unroll_up_to(tir.PrimFunc((), marked), limit).body)


class _Marker(Rewriter):
    def __init__(self, kernel: Kernel) -> None:
        super().__init__({tir.For: self._for, tir.Buffer: lambda buffer: buffer})
        self._private = {
            stmt.buffer_var for stmt in walk(kernel.body) if isinstance(stmt, tir.Allocate) and _fits_registers(stmt)
        }

    def _for(self, stmt: tir.For) -> tir.Stmt:
        loop: tir.For = self.rebuild(stmt)
        is_known = isinstance(loop.extent, tir.IntImm) and loop.kind is tir.ForKind.SERIAL
        if is_known and _statements(loop) <= _MOST_STATEMENTS and self._is_index(loop):
            return replace(loop, kind=tir.ForKind.UNROLLED)
        return loop

    def _is_index(self, loop: tir.For) -> bool:
        """Return whether the variable of `loop` occurs in an index of local memory."""
        for node in walk(loop.body):
            places: tuple[object, ...] = ()
            if isinstance(node, tir.BufferLoad | tir.BufferStore) and node.buffer.data in self._private:
                places = node.indices
            elif isinstance(node, tir.Call):
                places = self._offsets(node)
            if any(
                part is loop.loop_var for place in places if isinstance(place, tir.PrimExpr) for part in walk(place)
            ):
                return True
        return False

    def _offsets(self, call: tir.Call) -> tuple[object, ...]:
        """Return the arguments of a call that may be positions in local memory: in the operators of PTX, they follow its pointer."""
        places = [at for at, arg in enumerate(call.args) if arg in self._private]
        if places and name_of(call).startswith(("ptx_", "mma_")):
            return tuple([call.args[at + 1] for at in places if at + 1 < len(call.args)])
        return call.args if places else ()


def _fits_registers(stmt: tir.Allocate) -> bool:
    scope = scope_of(stmt.buffer_var)
    if is_fragment_scope(scope):
        return True
    sizes = [extent.value for extent in stmt.extents if isinstance(extent, tir.IntImm)]
    return scope == "local" and len(sizes) == len(stmt.extents) and prod(sizes) <= _MOST_ELEMENTS


def _statements(stmt: tir.Stmt) -> int:
    """Return the number of statements after unrolling the loops of constant extent in `stmt`."""
    match stmt:
        case tir.For(extent=tir.IntImm(value=extent)):
            return extent * _statements(stmt.body)
        case tir.SeqStmt():
            return sum(map(_statements, stmt.seq))
        case tir.IfThenElse():
            return _statements(stmt.then_case) + (_statements(stmt.else_case) if stmt.else_case else 0)
        case tir.For() | tir.LetStmt() | tir.AttrStmt() | tir.Allocate() | tir.DeclBuffer() | tir.While():
            return _statements(stmt.body)
        case _:
            return 1
