"""A plan for all memory of a function (TVM: `StorageRewrite`).

    for i in range(8):                                     X = T.allocate([64], "float32")
        X = T.allocate([64], "float32")                    for i in range(8):
        X[…] = A[…]                                            X[…] = A[…]
        Y = T.allocate([64], "float32")             →          X[j] = X[j] * 2
        Y[j] = X[j] * 2                                        B[…] = X[…]
        B[…] = Y[…]                                            …
        Z = T.allocate([128], "int16")                         (X as int16)[…] = …
        Z[…] = …

Allocations move out of loops, up to the threads that use them. Memory whose uses are over serves the next allocation of the same scope
and of a similar size, or that of the same statement if it computes each element from the same element. All memory of a special scope
such as "local.L0A" is one allocation. Memory of registers ("local", "warp"), shared memory of threads, and up to 4 bytes stay apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ...ir import make, tir
from ...ir.analysis.solving import detect_linear_equation
from ...ir.base import Node
from ...ir.dtype import is_vector, parse_dtype
from ...ir.equal import structural_equal
from ...ir.intern import has_effects
from ...ir.visit import distinct, walk
from .rewriter import Rewriter
from .storage import constant_size
from .storage_uses import Home, Memory, MemoryUses, begins_threads

_SIMILAR = 16
"""Memory serves an allocation that is at most this factor larger or smaller."""
_SMALL = 32
_ORDINARY_TAGS = ("", "dyn", "vtcm")


class _Entry(Struct, eq=False):
    """Memory for allocations that are used one after another; `bits` is its size, 0 if it is unknown."""

    owner: Memory
    bits: int
    last: int
    user: Memory
    """The latest user."""
    users: list[Memory]


def plan_storage(func: tir.PrimFunc) -> tir.PrimFunc:
    """Return `func` with its allocations around all statements of their threads, and shared where their uses do not overlap."""
    uses = MemoryUses(func.body)
    entries: list[_Entry] = []
    for memory in uses.memory:
        if memory.first >= 0 and not memory.is_fixed:
            _place(memory, entries)
    return replace(func, body=_Planned(uses, entries, func.body).run(func.body))


def _place(memory: Memory, entries: list[_Entry]) -> None:
    bits = _bits_of(memory)
    entry = next((entry for entry in entries if _is_in_place(entry, memory)), None) or _free(memory, bits, entries)
    if entry is None:
        entries.append(_Entry(memory, bits, memory.last, memory, [memory]))
        return
    entry.bits, entry.last, entry.user = max(entry.bits, bits), memory.last, memory
    entry.users.append(memory)


def _bits_of(memory: Memory) -> int:
    size, dtype = constant_size(memory.allocation), parse_dtype(memory.allocation.dtype)
    return 0 if size is None or dtype.scalable else size * _element_bits(memory.allocation.dtype)


def _element_bits(dtype: str) -> int:
    parsed = parse_dtype(dtype)
    return parsed.bytes * 8 * parsed.lanes


def _free(memory: Memory, bits: int, entries: list[_Entry]) -> _Entry | None:
    """Return the memory that is best for an allocation, the smallest that is large enough or else the largest."""
    if not _may_share(memory, bits):
        return None

    def fits(entry: _Entry) -> bool:
        owner, dtypes = entry.owner, {entry.owner.allocation.dtype, memory.allocation.dtype}
        is_alike = owner.home is memory.home and owner.scope == memory.scope and len(owner.allocation.extents) == 1
        is_same = len(dtypes) == 1 or not dtypes & {"bool", "handle"}
        is_aligned = entry.bits and entry.bits % _element_bits(memory.allocation.dtype) == 0
        is_similar = entry.bits <= bits * _SIMILAR and bits <= entry.bits * _SIMILAR
        return (
            entry.last < memory.first
            and is_alike
            and is_same
            and bool(is_aligned)
            and is_similar
            and _may_share(owner, entry.bits)
        )

    found = [entry for entry in entries if fits(entry)]
    enough = [entry for entry in found if entry.bits >= bits]
    return min(enough, key=_bits) if enough else max(found, key=_bits, default=None)


def _bits(entry: _Entry) -> int:
    return entry.bits


def _may_share(memory: Memory, bits: int) -> bool:
    if len(memory.allocation.extents) != 1 or not bits:
        return False
    if is_special(memory.scope):
        return True
    kind = memory.scope.partition(".")[0]
    return kind not in ("local", "warp") and bits > _SMALL and not (kind == "shared" and memory.is_in_threads)


def is_special(scope: str) -> bool:
    """Return whether `scope` names memory of its own by a tag, as in "local.L0A"."""
    kind, _, tag = scope.partition(".")
    return kind in ("global", "shared", "local", "warp") and tag not in _ORDINARY_TAGS and not tag.startswith("texture")


def _is_in_place(entry: _Entry, memory: Memory) -> bool:
    """Return whether the first statement that uses `memory` may write it in place of what it reads last from `entry`."""
    old, new = entry.user.allocation, memory.allocation
    is_alike = (old.dtype, len(old.extents)) == (new.dtype, len(new.extents)) and entry.owner.home is memory.home
    is_plain = is_alike and entry.owner.scope == memory.scope and entry.owner.allocation.dtype == new.dtype
    if not is_plain or entry.user.last_stmt is None or entry.user.last_stmt is not memory.first_stmt:
        return False
    are_equal = all(structural_equal(a, b, map_free_vars=False) for a, b in zip(old.extents, new.extents, strict=True))
    is_free = entry.last == entry.user.last and not (memory.scope.startswith("shared") and memory.is_in_threads)
    return are_equal and is_free and _is_elementwise(entry.user.last_stmt, old.buffer_var, new.buffer_var)


def _is_elementwise(stmt: tir.Stmt, source: tir.Var, target: tir.Var) -> bool:
    """Return whether `stmt` computes each element of `target` once, and from no other element of `source`."""
    loops: list[tir.For] = []
    whole = stmt
    while not isinstance(stmt, tir.BufferStore):
        if isinstance(stmt, tir.For) and stmt.kind is not tir.ForKind.VECTORIZED:
            loops.append(stmt)
        elif not isinstance(stmt, tir.DeclBuffer) and not (isinstance(stmt, tir.IfThenElse) and stmt.else_case is None):
            return False
        stmt = stmt.then_case if isinstance(stmt, tir.IfThenElse) else stmt.body
    buffer, indices = stmt.buffer, stmt.indices
    if buffer.data is not target or stmt.predicate is not None or not _is_once(indices, loops):
        return False
    reads = [node for node in walk(whole) if isinstance(node, tir.BufferLoad)]
    if any(read.buffer.data is target for read in reads) or any(map(has_effects, (stmt.value, *indices))):
        return False
    own = [read for read in reads if read.buffer.data is source]
    if any(not _is_same_element(read, stmt) for read in own):
        return False
    return not any(_mentions(node, {source, target}) for node in distinct(whole))


def _mentions(node: Node, pointers: set[tir.Var]) -> bool:
    """Return whether `node` uses one of `pointers` in another way than by a buffer."""
    return isinstance(node, tir.Call) and any(arg in pointers or _is_address(node, arg, pointers) for arg in node.args)


def _is_address(call: tir.Call, arg: object, pointers: set[tir.Var]) -> bool:
    is_pointer = call.dtype == "handle" and isinstance(arg, tir.BufferLoad)
    return is_pointer and isinstance(arg, tir.BufferLoad) and arg.buffer.data in pointers


def _is_same_element(load: tir.BufferLoad, store: tir.BufferStore) -> bool:
    one, other = load.buffer, store.buffer
    if load.predicate is not None or len(one.shape) != len(other.shape) or len(load.indices) != len(store.indices):
        return False
    parts = [(one.shape, other.shape), (one.strides, other.strides), (load.indices, store.indices)]
    offsets = (one.elem_offset, other.elem_offset)
    is_plain = offsets == (None, None) and one.dtype == other.dtype and len(one.strides) == len(other.strides)
    return is_plain and all(
        structural_equal(a, b, map_free_vars=False) for left, right in parts for a, b in zip(left, right, strict=True)
    )


def _is_once(indices: Sequence[tir.PrimExpr], loops: Sequence[tir.For]) -> bool:
    """Return whether no two iterations of `loops` have the same `indices`: each loop is one index, or the steps of one index nest."""
    if any(is_vector(index.dtype) for index in indices):
        return False
    variables = [loop.loop_var for loop in loops]
    if set(variables) <= {index for index in indices if isinstance(index, tir.Var)}:
        return True
    if len(indices) != 1:
        return False
    steps = detect_linear_equation(indices[0], variables) or []
    numbers = [number.value for number in steps[:-1] if isinstance(number, tir.IntImm)]
    extents = [loop.extent.value for loop in loops if isinstance(loop.extent, tir.IntImm)]
    if len(numbers) != len(loops) or len(extents) != len(loops):
        return False
    reach = 0
    for step, extent in sorted(pair for pair in zip(numbers, extents, strict=True) if pair[1] > 1):
        if step <= reach:
            return False
        reach += step * (extent - 1)
    return True


class _Planned(Rewriter):
    def __init__(self, uses: MemoryUses, entries: list[_Entry], body: tir.Stmt) -> None:
        super().__init__({
            tir.Allocate: self._allocate, tir.DeclBuffer: self._declare, tir.For: self._threads, tir.AttrStmt: self._threads,
            tir.BufferLoad: self._access, tir.BufferStore: self._access,
        })  # fmt: skip
        self._moved = {memory.var for memory in uses.memory if not memory.is_fixed}
        self._unused = {memory.var for memory in uses.memory if not memory.is_fixed and memory.first < 0}
        self._at: dict[Home, list[tir.Allocate]] = {}
        self._shift: dict[tir.Var, tuple[int, int]] = {}
        """The offset and the size in bits of the allocation that holds the memory of a variable among others."""
        for entry in _merged(entries, body, self._shift):
            owner = entry.owner
            extents = owner.allocation.extents
            if entry.bits and len(extents) == 1:
                size = -(-entry.bits // _element_bits(owner.allocation.dtype))
                extents = (tir.IntImm(extents[0].dtype, size),)
            self._at.setdefault(owner.home, []).append(replace(owner.allocation, extents=extents))
            self.values.update({memory.var: owner.var for memory in entry.users if memory is not owner})

    def run(self, body: tir.Stmt) -> tir.Stmt:
        """Return the rewritten body of the function."""
        return self._around(None, self.rewrite(body))

    def _around(self, home: Home, body: tir.Stmt) -> tir.Stmt:
        for allocation in reversed(self._at.get(home, ())):
            body = replace(allocation, extents=self.rewrite(allocation.extents), body=body)
        return body

    def _threads(self, stmt: tir.For | tir.AttrStmt) -> tir.Stmt:
        rewritten: tir.For | tir.AttrStmt = self.rebuild(stmt)
        if not begins_threads(stmt) or stmt not in self._at:
            return rewritten
        return replace(rewritten, body=self._around(stmt, rewritten.body))

    def _allocate(self, stmt: tir.Allocate) -> tir.Stmt:
        return self.rewrite(stmt.body) if stmt.buffer_var in self._moved else self.rebuild(stmt)

    def _declare(self, stmt: tir.DeclBuffer) -> tir.Stmt:
        return self.rewrite(stmt.body) if stmt.buffer.data in self._unused else self.rebuild(stmt)

    def buffer(self, buffer: tir.Buffer) -> tir.Buffer:
        """Return the buffer in the memory of its entry."""
        if buffer not in self.buffers and buffer.data in self._shift:
            size = self._shift[buffer.data][1] // _element_bits(buffer.dtype)
            changed: tir.Buffer = self.rebuild(buffer)
            self.buffers[buffer] = replace(changed, shape=(tir.IntImm(buffer.shape[0].dtype, size),))
        return super().buffer(buffer)

    def _access(self, access: tir.BufferLoad | tir.BufferStore) -> tir.BufferLoad | tir.BufferStore:
        rewritten: tir.BufferLoad | tir.BufferStore = self.rebuild(access)
        offset = self._shift.get(access.buffer.data, (0, 0))[0] // _element_bits(access.buffer.dtype)
        if not offset:
            return rewritten
        (index,) = rewritten.indices
        if isinstance(index, tir.Ramp):
            moved: tir.PrimExpr = replace(index, base=make.add(index.base, make.const(offset, index.base.dtype)))
        else:
            moved = make.add(index, make.const(offset, index.dtype))
        return replace(rewritten, indices=(moved,))


def _merged(entries: Sequence[_Entry], body: tir.Stmt, shift: dict[tir.Var, tuple[int, int]]) -> list[_Entry]:
    """Return `entries` with one for all memory of a special scope and of one home; `shift` receives the offsets within it."""
    result = list(entries)
    groups: dict[tuple[Any, str], list[_Entry]] = {}
    is_flat = _flat_memory(body)
    for entry in entries:
        special = is_special(entry.owner.scope) and entry.bits
        if special and all(is_flat(memory) and len(memory.allocation.extents) == 1 for memory in entry.users):
            groups.setdefault((entry.owner.home, entry.owner.scope), []).append(entry)
    for group in groups.values():
        if len(group) == 1:
            continue
        place, widest = 0, max(_element_bits(memory.allocation.dtype) for entry in group for memory in entry.users)
        starts: list[int] = []
        for entry in group:
            unit = max(_element_bits(memory.allocation.dtype) for memory in entry.users)
            place = -(-place // unit) * unit
            starts.append(place)
            place += entry.bits
        place = -(-place // widest) * widest
        first, users = group[0], [memory for entry in group for memory in entry.users]
        for entry, start in zip(group, starts, strict=True):
            shift.update({memory.var: (start, place) for memory in entry.users})
            result.remove(entry)
        result.append(_Entry(first.owner, place, first.last, first.user, users))
    return result


def _flat_memory(body: tir.Stmt) -> Callable[[Memory], bool]:
    """Return a predicate for memory that is only accessed by buffers with one dimension from its start."""
    odd: set[tir.Var] = set()
    for node in distinct(body):
        match node:
            case tir.Buffer(data=data):
                is_compact = len(node.shape) == 1 and not node.strides and node.elem_offset is None
                if not is_compact or parse_dtype(node.dtype).scalable:
                    odd.add(data)
            case tir.Call(args=args):
                odd.update(arg for arg in args if isinstance(arg, tir.Var))
            case tir.BufferLoad(indices=(index,)) | tir.BufferStore(indices=(index,)):
                if is_vector(index.dtype) and not isinstance(index, tir.Ramp):
                    odd.add(node.buffer.data)
            case _:
                pass
    return lambda memory: memory.var not in odd
