"""Lowering of reductions across threads to shuffles and shared memory.

`T.tvm_thread_allreduce` in the "reduce_scope" of its reducer becomes a butterfly of shuffles if the threads
that reduce together are consecutive in a warp and their number is a power of two. If all threads of several
warps reduce together, each warp does a butterfly, stores its result to shared memory, and a second
butterfly combines the results. Otherwise the threads reduce by a tree in shared memory, with barriers.
(TVM: `LowerThreadAllreduce`.)
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from msgspec import Struct
from msgspec.structs import replace

from ...ir import make, tir
from ...ir.base import Op
from ...ir.diagnostics import error
from ...ir.idioms import is_one
from ...ir.visit import substitute
from ..lower.rewriter import Rewriter, sequence
from .architectures import WARP
from .kernel import ALLREDUCE, SYNC, Kernel, size_of

_TRUE, _ZERO = tir.IntImm("bool", 1), tir.IntImm("int64", 0)
_SHUFFLE = Op("tir.tvm_warp_shuffle_xor")
_SHUFFLED = ("int32", "uint32", "float32", "float16", "int64", "uint64", "float64")


def lower_allreduce(kernel: Kernel) -> Kernel:
    """Return `kernel` with reductions across threads lowered to exchanges."""
    return replace(kernel, body=_Lowerer(kernel).rewrite(kernel.body))


def barrier(span: object = None, scope: str = "shared") -> tir.Stmt:
    """Return a barrier for all threads of a block."""
    call = tir.Call("int32", SYNC, (tir.StringImm("handle", scope),), span=span)  # type: ignore[arg-type]
    return tir.Evaluate(call, span=span)  # type: ignore[arg-type]


class _Group(Struct, frozen=True):
    """The threads that reduce together: `size` threads, of which `member` is the index of one. Their elements are `step` apart,
    from position `first`, in an array with an element for each thread of the block.
    """

    size: int
    member: tir.PrimExpr
    first: tir.PrimExpr
    step: int
    is_in_warp: bool


class _Lowerer(Rewriter):
    def __init__(self, kernel: Kernel) -> None:
        super().__init__({tir.AttrStmt: self._attribute, tir.Evaluate: self._evaluate})
        self._kernel = kernel
        self._reducer: tir.CommReducer | None = None

    def _attribute(self, stmt: tir.AttrStmt) -> tir.Stmt:
        if stmt.attr_key != "reduce_scope":
            return replace(stmt, body=self.rewrite(stmt.body))
        outer, self._reducer = self._reducer, stmt.node if isinstance(stmt.node, tir.CommReducer) else None
        body = self.rewrite(stmt.body)
        self._reducer = outer
        return body

    def _evaluate(self, stmt: tir.Evaluate) -> tir.Stmt:
        call = stmt.value
        if not (isinstance(call, tir.Call) and call.op == ALLREDUCE):
            return self.rebuild(stmt)
        size, *rest = call.args
        count = size.value if isinstance(size, tir.IntImm) else 1
        values = [part for part in rest if isinstance(part, tir.PrimExpr)]
        targets = [part for part in rest[count + 1 : 2 * count + 1] if isinstance(part, tir.BufferLoad)]
        if self._reducer is None or len(targets) != count or len(self._reducer.lhs) != count:
            help = 'store its results to elements of buffers, inside T.attr(T.comm_reducer(...), "reduce_scope", ...)'
            raise error("E0606", "a reduction across threads needs a reducer and result buffers", call.span, help)
        group = self._group(rest[2 * count + 1 :])
        identity = self._reducer.identity_element
        own = [
            value if is_one(values[count]) else make.if_then_else(values[count], value, neutral)
            for value, neutral in zip(values, identity, strict=False)
        ]
        if all(value.dtype in _SHUFFLED for value in own):
            if group.is_in_warp:
                return self._by_shuffles(call, own, targets, group.size)
            if group.size == self._kernel.thread_count and group.size % WARP == 0 and _is_power(group.size // WARP):
                return self._by_warps(call, own, targets, group)
        return self._in_shared_memory(call, own, targets, group)

    def _group(self, variables: Sequence[object]) -> _Group:
        """Return the group of a thread: threads that differ only in `variables` reduce together."""
        used = {part for variable in variables for part in _variables(variable)}
        member: tir.PrimExpr = _ZERO
        number: tir.PrimExpr = _ZERO
        for axis in self._kernel.threads:
            index, extent = make.cast(axis.var, "int64"), tir.IntImm("int64", size_of(axis))
            if axis.var in used:
                member = make.add(make.mul(member, extent), index)
            else:
                number = make.add(make.mul(number, extent), index)
        mine = [axis for axis in self._kernel.threads if axis.var in used]
        size = prod(size_of(axis) for axis in mine)
        is_fastest = mine == list(self._kernel.threads[len(self._kernel.threads) - len(mine) :])
        is_in_warp = is_fastest and size <= WARP and _is_power(size)
        if self._kernel.threads and self._kernel.threads[-1] in mine:
            return _Group(size, member, make.mul(number, tir.IntImm("int64", size)), 1, is_in_warp)
        return _Group(size, member, number, self._kernel.thread_count // size, is_in_warp)

    def _combined(self, a: Sequence[tir.PrimExpr], b: Sequence[tir.PrimExpr]) -> list[tir.PrimExpr]:
        reducer = self._reducer
        assert reducer is not None
        values = dict(zip((*reducer.lhs, *reducer.rhs), (*a, *b), strict=True))
        return [substitute(result, values) for result in reducer.result]

    def _by_shuffles(
        self, call: tir.Call, own: Sequence[tir.PrimExpr], targets: Sequence[tir.BufferLoad], size: int
    ) -> tir.Stmt:
        """Emit a butterfly: in each step a thread combines its value with that of the thread whose index differs in
        one bit.
        """
        pairs = zip(targets, own, strict=True)
        steps: list[tir.Stmt] = [tir.BufferStore(t.buffer, value, t.indices, span=call.span) for t, value in pairs]
        distance = 1
        every = tir.IntImm("uint32", 0xFFFFFFFF)
        while distance < size:
            numbers = (tir.IntImm("int32", distance), tir.IntImm("int32", WARP), tir.IntImm("int32", WARP))
            others = [tir.Var(target.dtype, f"other{i}") for i, target in enumerate(targets)]
            results = [tir.Var(target.dtype, f"both{i}") for i, target in enumerate(targets)]
            stores = [tir.BufferStore(t.buffer, r, t.indices) for t, r in zip(targets, results, strict=True)]
            step: tir.Stmt = sequence(stores)
            for result, value in reversed(list(zip(results, self._combined(targets, others), strict=True))):
                step = tir.LetStmt(result, value, step)
            for other, target in reversed(list(zip(others, targets, strict=True))):
                shuffled = tir.Call(target.dtype, _SHUFFLE, (every, target, *numbers), span=call.span)
                step = tir.LetStmt(other, shuffled, step, span=call.span)
            steps.append(step)
            distance *= 2
        return sequence(steps)

    def _by_warps(
        self, call: tir.Call, own: Sequence[tir.PrimExpr], targets: Sequence[tir.BufferLoad], group: _Group
    ) -> tir.Stmt:
        """Reduce each warp by shuffles; then let each warp reduce the results of all warps."""
        count = group.size // WARP
        rooms = [_room(f"reduce{i}", value.dtype, tir.IntImm("int64", count)) for i, value in enumerate(own)]
        warp, lane = (f(group.member, tir.IntImm("int64", WARP)) for f in (make.floordiv, make.floormod))
        put = [tir.BufferStore(r, t, (warp,), span=call.span) for r, t in zip(rooms, targets, strict=True)]
        place = make.floormod(lane, tir.IntImm("int64", count))
        found = [tir.BufferLoad(room.dtype, room, (place,), span=call.span) for room in rooms]
        steps = [
            self._by_shuffles(call, own, targets, WARP),
            tir.IfThenElse(make.equal(lane, _ZERO), sequence(put)),
            barrier(call.span),
            self._by_shuffles(call, found, targets, count),
            barrier(call.span),
        ]
        return _with_rooms(rooms, sequence(steps))

    def _in_shared_memory(
        self, call: tir.Call, own: Sequence[tir.PrimExpr], targets: Sequence[tir.BufferLoad], group: _Group
    ) -> tir.Stmt:
        """Emit a tree: in each step the first half of the threads combines its values with those of the second half."""
        count = self._kernel.thread_count
        size = tir.IntImm("int64", count)
        rooms = [_room(f"reduce{i}", value.dtype, size) for i, value in enumerate(own)]

        def place(member: tir.PrimExpr) -> tir.PrimExpr:
            return make.add(group.first, make.mul(member, tir.IntImm("int64", group.step)))

        def element(room: tir.Buffer, member: tir.PrimExpr) -> tir.BufferLoad:
            return tir.BufferLoad(room.dtype, room, (place(member),), span=call.span)

        def store(values: Sequence[tir.PrimExpr], member: tir.PrimExpr) -> tir.Stmt:
            results = [tir.Var(value.dtype, f"both{i}") for i, value in enumerate(values)]
            pairs = zip(rooms, results, strict=True)
            step = sequence([tir.BufferStore(room, r, (place(member),), span=call.span) for room, r in pairs])
            for result, value in reversed(list(zip(results, values, strict=True))):
                step = tir.LetStmt(result, value, step)
            return step

        steps = [store(own, group.member), barrier(call.span)]
        left = group.size
        while left > 1:
            half = (left + 1) // 2
            other = make.add(group.member, tir.IntImm("int64", half))
            has_other = make.less(other, tir.IntImm("int64", left))
            mine = [element(room, group.member) for room in rooms]
            both = self._combined(mine, [element(room, other) for room in rooms])
            steps += [tir.IfThenElse(has_other, store(both, group.member)), barrier(call.span)]
            left = half
        for target, room in zip(targets, rooms, strict=True):
            steps.append(tir.BufferStore(target.buffer, element(room, _ZERO), target.indices, span=call.span))
        return _with_rooms(rooms, sequence([*steps, barrier(call.span)]))


def _variables(expr: object) -> list[tir.Var]:
    from ...ir.visit import walk

    return [node for node in walk(expr) if isinstance(node, tir.Var)] if isinstance(expr, tir.PrimExpr) else []


def _is_power(number: int) -> bool:
    return number & (number - 1) == 0


def _room(name: str, dtype: str, size: tir.PrimExpr) -> tir.Buffer:
    data = tir.Var("handle", name, tir.PointerType(tir.PrimType(dtype), "shared"))
    return tir.Buffer(data, dtype, (size,), name, scope="shared")


def _with_rooms(rooms: Sequence[tir.Buffer], body: tir.Stmt) -> tir.Stmt:
    for room in rooms:
        body = tir.Allocate(room.data, room.dtype, room.shape, _TRUE, body)
    return body
