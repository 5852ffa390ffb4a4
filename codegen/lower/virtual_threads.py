"""Virtual threads as statements of one thread, each with its own part of the memory that depends on the thread (TVM:
`InjectVirtualThread`).

    with T.launch_thread("vthread", 2) as v:               X = T.allocate([8])
        X = T.allocate([4])                                for j in range(4):
        for j in range(4):                                     X[0 * 4 + j] = A[0 + j]
            X[j] = A[v + j]                        →       B[0] = X[0 * 4 + 3]
        B[v] = X[3]                                        for j in range(4):
                                                               X[1 * 4 + j] = A[1 + j]
                                                           B[1] = X[1 * 4 + 3]

The threads are executed one after another, which is the meaning of virtual threads. Statements without loops are repeated for up
to 15 threads, others become a loop.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ...ir import make, tir
from ...ir.base import Node, Op
from ...ir.intern import has_effects
from ...ir.jumps import BREAK, CONTINUE, RETURN
from ...ir.simplify import simplify
from ...ir.visit import children, distinct, walk
from .rewriter import Rewriter, copy_of, sequence, uses

_ACCESS, _CONTEXT = Op("tir.tvm_access_ptr"), Op("tir.tvm_context_id")
_JUMPS = {BREAK, CONTINUE, RETURN, Op("tir.thread_return")}
_SYNCHRONIZATION = {Op("tir.tvm_storage_sync"), Op("tir.tvm_thread_allreduce")}
_MOST_COPIES = 15
_WRITES = 2
"""The bit of `rw_mask` for writes."""


def inject_virtual_threads(func: tir.PrimFunc) -> tir.PrimFunc:
    """Return `func`, whose buffers are flat, without virtual threads. Those with jumps, or with an unknown number of threads, stay, and so
    do the threads called "cthread" that synchronize.
    """
    return replace(func, body=_Injector().rewrite(func.body))


class _Injector(Rewriter):
    def __init__(self) -> None:
        super().__init__({tir.AttrStmt: self._attribute, tir.For: self._for})

    def _attribute(self, stmt: tir.AttrStmt) -> tir.Stmt:
        rewritten: tir.AttrStmt = self.rebuild(stmt)
        if stmt.attr_key not in ("virtual_thread", "thread_extent") or not isinstance(stmt.node, tir.IterVar):
            return rewritten
        result = _in_order(stmt.node.thread_tag, stmt.node.var, rewritten.value, rewritten.body)
        return rewritten if result is None else result

    def _for(self, stmt: tir.For) -> tir.Stmt:
        rewritten: tir.For = self.rebuild(stmt)
        is_plain = isinstance(stmt.min, tir.IntImm) and stmt.min.value == 0 and not stmt.annotations
        if stmt.thread_binding is None or not is_plain:
            return rewritten
        result = _in_order(stmt.thread_binding.thread_tag, stmt.loop_var, rewritten.extent, rewritten.body)
        return rewritten if result is None else result


def _in_order(tag: str, var: tir.Var, extent: tir.PrimExpr, body: tir.Stmt) -> tir.Stmt | None:
    """Return `body` for each virtual thread in order; None if these cannot be executed one after another here."""
    is_shared = tag.startswith("vthread")
    calls = {node.op for node in distinct(body) if isinstance(node, tir.Call)}
    is_free = not calls & _JUMPS and (is_shared or not calls & _SYNCHRONIZATION)
    if not (is_shared or tag == "cthread") or not isinstance(extent, tir.IntImm) or extent.value < 1 or not is_free:
        return None
    memory, inner = _memory_around(body, var)
    touched = _touched(body, var)
    own = {
        stmt.buffer_var: stmt.extents[0]
        for stmt in memory
        if isinstance(stmt, tir.Allocate) and (stmt.buffer_var in touched or not is_shared) and _is_flat(stmt, body)
    }
    parts = _Parts(var, own, extent, is_context=not is_shared)
    result = _repeated(var, extent, parts.rewrite(inner))
    for stmt in reversed(memory):
        if isinstance(stmt, tir.DeclBuffer):
            result = replace(stmt, buffer=parts.buffer(stmt.buffer), body=result)
        elif stmt.buffer_var in own:
            size = make.mul(stmt.extents[0], make.const(extent.value, stmt.extents[0].dtype))
            result = replace(stmt, extents=(size,), body=result)
        else:
            result = replace(stmt, body=result)
    return result


def _memory_around(body: tir.Stmt, var: tir.Var) -> tuple[list[tir.Allocate | tir.DeclBuffer], tir.Stmt]:
    """Return the allocations around all other statements of `body`, with the declarations of their buffers, and what is in them."""
    memory: list[tir.Allocate | tir.DeclBuffer] = []
    own: set[tir.Var] = set()
    while isinstance(body, tir.Allocate | tir.DeclBuffer):
        if isinstance(body, tir.Allocate):
            sizes = (*body.extents, body.condition)
            if uses(sizes, {var, *own}) or any(map(has_effects, sizes)):
                break
            own.add(body.buffer_var)
        elif body.buffer.data not in own or uses(children(body.buffer), {var}):
            break
        memory.append(body)
        body = body.body
    return memory, body


def _is_flat(memory: tir.Allocate, body: tir.Stmt) -> bool:
    """Return whether all accesses of the memory have one index from its start, or are pointers to known parts."""
    var = memory.buffer_var
    if len(memory.extents) != 1:
        return False
    for node in distinct(body):
        match node:
            case tir.Buffer(data=data) if data is var:
                is_compact = len(node.shape) == 1 and not node.strides and node.elem_offset is None
                if not is_compact or node.dtype != memory.dtype:
                    return False
            case tir.Call(op=op, args=(ptype, *rest)) if op == _ACCESS:
                if var in rest and (not isinstance(ptype, tir.Call) or ptype.dtype != memory.dtype):
                    return False
            case tir.Buffer() | tir.Allocate():
                pass
            case _:
                if var in children(node):
                    return False
    return True


def _repeated(var: tir.Var, extent: tir.IntImm, body: tir.Stmt) -> tir.Stmt:
    if extent.value <= _MOST_COPIES and not any(isinstance(node, tir.For | tir.While) for node in walk(body)):
        return sequence([copy_of(body, {var: make.const(i, var.dtype)}) for i in range(extent.value)])
    index = tir.Var(var.dtype, f"{var.name}.s")
    bounds = (make.const(0, var.dtype), make.const(extent.value, var.dtype))
    return tir.For(index, *bounds, tir.ForKind.SERIAL, copy_of(body, {var: index}))


class _Parts(Rewriter):
    """Moves accesses of the memory in `own` to the part of the thread `var`; `own` maps a pointer to the size of a part."""

    def __init__(self, var: tir.Var, own: dict[tir.Var, tir.PrimExpr], count: tir.IntImm, is_context: bool) -> None:
        super().__init__({tir.BufferLoad: self._access, tir.BufferStore: self._access, tir.Call: self._call})
        self._var, self._own, self._count, self._is_context = var, own, count, is_context

    def buffer(self, buffer: tir.Buffer) -> tir.Buffer:
        """Return the buffer of all parts."""
        if buffer not in self.buffers and buffer.data in self._own:
            (size,) = buffer.shape
            self.buffers[buffer] = replace(buffer, shape=(make.mul(size, make.const(self._count.value, size.dtype)),))
        return super().buffer(buffer)

    def _access(self, access: tir.BufferLoad | tir.BufferStore) -> tir.BufferLoad | tir.BufferStore:
        size = self._own.get(access.buffer.data)
        moved: tir.BufferLoad | tir.BufferStore = self.rebuild(access)
        return moved if size is None else replace(moved, indices=(self._moved(moved.indices[0], size),))

    def _moved(self, index: tir.PrimExpr, size: tir.PrimExpr) -> tir.PrimExpr:
        one = index.base.dtype if isinstance(index, tir.Ramp) else index.dtype
        part = make.mul(make.cast(self._var, one), make.cast(size, one))
        if isinstance(index, tir.Ramp):
            return replace(index, base=simplify(make.add(index.base, part)))
        return simplify(make.add(index, part))

    def _call(self, call: tir.Call) -> tir.PrimExpr:
        if call.op == _CONTEXT and self._is_context:
            return make.cast(self._var, call.dtype)
        rebuilt: tir.Call = self.rebuild(call)
        if call.op != _ACCESS or call.args[1] not in self._own:
            return rebuilt
        ptype, data, offset, *rest = rebuilt.args
        assert isinstance(data, tir.Var)
        assert isinstance(offset, tir.PrimExpr)
        return replace(rebuilt, args=(ptype, data, self._moved(offset, self._own[data]), *rest))


def _touched(body: tir.Stmt, var: tir.Var) -> set[Any]:
    """Return `var` and the variables, including pointers to memory, whose values depend on it."""
    touched: set[Any] = {var}
    while True:
        before = len(touched)
        _touch(body, touched, is_inside=False)
        if len(touched) == before:
            return touched


def _touch(stmt: Node, touched: set[Any], is_inside: bool) -> None:
    """Add what `stmt` defines or writes if that depends on `touched`, or if a condition around it does (`is_inside`)."""
    parts = [part for part in children(stmt) if not isinstance(part, tir.Stmt)]
    depends = is_inside or any(_reads(part, touched) for part in parts)
    match stmt:
        case tir.BufferStore(buffer=buffer) if depends:
            touched.add(buffer.data)
        case tir.LetStmt(var=var) | tir.For(loop_var=var) if depends:
            touched.add(var)
        case tir.Evaluate(value=value) if depends:
            touched.update(_written_by(value))
        case _:
            pass
    for node in parts:
        for inner in walk(node):
            if isinstance(inner, tir.Let) and _reads(inner.value, touched):
                touched.add(inner.var)
    goes_on = isinstance(stmt, tir.For | tir.While | tir.IfThenElse)
    for child in children(stmt):
        if isinstance(child, tir.Stmt):
            _touch(child, touched, depends if goes_on else is_inside)


def _reads(part: Node, touched: set[Any]) -> bool:
    return any(node in touched for node in walk(part) if isinstance(node, tir.Var))


def _written_by(value: tir.PrimExpr) -> set[Any]:
    """Return the pointers through which the calls in `value` may write."""
    read_only: set[int] = set()
    found: set[Any] = set()
    for node in walk(value):
        if isinstance(node, tir.Call) and node.op == _ACCESS:
            mask = node.args[4]
            if isinstance(mask, tir.IntImm) and not mask.value & _WRITES:
                read_only.add(id(node.args[1]))
            else:
                found.add(node.args[1])
        elif isinstance(node, tir.Call | tir.BufferLoad):
            found.update(arg for arg in children(node) if isinstance(arg, tir.Var))
            if isinstance(node, tir.BufferLoad):
                found.add(node.buffer.data)
    return found
