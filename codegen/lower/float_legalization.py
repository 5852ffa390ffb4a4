"""Small floats for targets without instructions for them, as two passes of TVM: first of values, then of memory.

- The first computes in a wide float, and memory that the function allocates holds wide floats too. Each operation still rounds once,
  so results are those of the original program. Reductions across threads round only their result. (TVM: `BF16ComputeLegalize`,
  `FP8ComputeLegalize`, which do not round between operations.)
- The second keeps the bits of small floats in memory of unsigned integers. (TVM: `BF16StorageLegalize`, `FP8StorageLegalize`.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from msgspec.structs import replace

from ...ir import make, tir
from ...ir.base import Node, Op
from ...ir.dtype import parse_dtype, with_lanes
from ...ir.ops.tir import get
from ...ir.visit import children, walk
from .rewriter import Rewriter
from .small_floats import Computer, is_bfloat

_REDUCTION = Op("tir.tvm_thread_allreduce")
_REINTERPRET = Op("tir.reinterpret")
_DESTINATION = 3
"""The position of the result among the arguments of a reduction of one value across threads."""

IsSmall = Callable[[str], bool]


def compute_in_wide_floats(func: tir.PrimFunc, is_small: IsSmall, wide: str) -> tir.PrimFunc:
    """Return `func`, which has no blocks, with operations on small floats computed in the dtype `wide`, and its own memory of small
    floats turned into memory of wide ones. Conversions between bfloat16 and float32 become operations on bits.
    """
    return replace(func, body=_Wide(func, is_small, wide).rewrite(func.body))


def store_as_integers(func: tir.PrimFunc, is_small: IsSmall) -> tir.PrimFunc:
    """Return `func`, which has no blocks, with its own memory of small floats as memory of unsigned integers, which hold their bits.

    Parameters, constants, and memory that calls access directly stay as they are.
    """
    rewriter = _Bits(func, is_small)
    params = tuple([rewriter.pointer(param) for param in func.params])
    return replace(func, params=params, body=rewriter.rewrite(func.body))


class _Wide(Computer):
    def __init__(self, func: tir.PrimFunc, is_small: IsSmall, wide: str) -> None:
        super().__init__(is_small, wide, with_half=False)
        self._reduced = {target.buffer.data for target in _results_of_reductions(func.body)}
        self._wide = _own_memory(func.body, is_small)
        """The pointers to memory that becomes wide."""
        self._rounded: set[tir.Var] = set()
        """The new pointers to wide memory whose elements are small floats."""

    def more_rules(self) -> dict[type[Any], Callable[[Any], Any]]:
        """Return the rules for memory, conversions and reducers."""
        return {
            tir.Allocate: self._allocate, tir.BufferLoad: self._load, tir.BufferStore: self._store, tir.Cast: self._cast,
            tir.AttrStmt: self._reducer,
        }  # fmt: skip

    def widen(self, value: tir.PrimExpr) -> tir.PrimExpr:
        """Return `value` as a wide float; the loaded element if wide memory holds a rounded one."""
        load = value.value if isinstance(value, tir.Cast) else None
        if (
            isinstance(load, tir.BufferLoad)
            and load.buffer.data in self._rounded
            and load.dtype == self.widened(value.dtype)
        ):
            return load
        if is_bfloat(value.dtype) and self.wide == "float32":
            bits = make.cast(_reinterpret("uint16", value), with_lanes("uint32", parse_dtype(value.dtype).lanes))
            return _reinterpret("float32", make.left_shift(bits, _like(16, bits)))
        return super().widen(value)

    def round(self, dtype: str, value: tir.PrimExpr) -> tir.PrimExpr:
        """Return `value` rounded to the nearest small float, to even if two are as near; NaN stays NaN."""
        if not is_bfloat(dtype) or self.wide != "float32":
            return super().round(dtype, value)
        name = tir.Var(value.dtype, "wide")
        bits = _reinterpret("uint32", name)
        upper = make.right_shift(bits, _like(16, bits))
        nearest = make.right_shift(
            bits + (make.bitwise_and(upper, _like(1, bits)) + _like(0x7FFF, bits)), _like(16, bits)
        )
        quiet = make.bitwise_or(upper, _like(0x40, bits))
        chosen = make.select(make.not_equal(name, name), quiet, nearest)
        short = make.cast(chosen, with_lanes("uint16", parse_dtype(dtype).lanes))
        return tir.Let(dtype, name, value, _reinterpret("bfloat16", short))

    def buffer(self, buffer: tir.Buffer) -> tir.Buffer:
        """Return the buffer of wide elements of wide memory."""
        if buffer not in self.buffers and buffer.data in self._wide:
            self.buffers[buffer] = replace(self.rebuild(buffer), dtype=self.widened(buffer.dtype))
        return super().buffer(buffer)

    def _allocate(self, stmt: tir.Allocate) -> tir.Stmt:
        if stmt.buffer_var not in self._wide:
            return self.rebuild(stmt)
        dtype = self.widened(stmt.dtype)
        self.values[stmt.buffer_var] = pointer = _pointer_to(stmt.buffer_var, dtype)
        if stmt.buffer_var not in self._reduced:
            self._rounded.add(pointer)
        return replace(self.rebuild(stmt), dtype=dtype)

    def _load(self, load: tir.BufferLoad) -> tir.PrimExpr:
        if load.buffer.data not in self._wide:
            return self.rebuild(load)
        return tir.Cast(load.dtype, replace(self.rebuild(load), dtype=self.widened(load.dtype)))

    def _store(self, store: tir.BufferStore) -> tir.Stmt:
        rewritten: tir.BufferStore = self.rebuild(store)
        is_wide = store.buffer.data in self._wide
        return replace(rewritten, value=self.widen(rewritten.value)) if is_wide else rewritten

    def _cast(self, cast: tir.Cast) -> tir.PrimExpr:
        value = self.rewrite(cast.value)
        if self.is_emulated(value.dtype) and cast.dtype == self.widened(value.dtype):
            return self.widen(value)
        if self.is_emulated(cast.dtype) and value.dtype == self.widened(cast.dtype):
            return self.round(cast.dtype, value)
        return replace(cast, value=value)

    def call(self, node: tir.Call) -> tir.PrimExpr:
        """Reduce in wide floats across threads if the result is in wide memory."""
        if node.op != _REDUCTION or not self._is_wide_reduction(node):
            return super().call(node)
        count, value, condition, target, *threads = node.args
        assert isinstance(target, tir.BufferLoad)
        into: tir.BufferLoad = replace(self.rebuild(target), dtype=self.widened(target.dtype))
        wide = self.widen(self.rewrite(value))
        return replace(node, args=(count, wide, self.rewrite(condition), into, *map(self.rewrite, threads)))

    def _is_wide_reduction(self, call: tir.Call) -> bool:
        target = call.args[_DESTINATION]
        return isinstance(target, tir.BufferLoad) and target.buffer.data in self._wide

    def _reducer(self, stmt: tir.AttrStmt) -> tir.Stmt:
        reducer = stmt.node
        if not isinstance(reducer, tir.CommReducer) or not any(
            target.buffer.data in self._wide for target in _results_of_reductions(stmt.body)
        ):
            return self.rebuild(stmt)
        pairs = {var: tir.Var(self.widened(var.dtype), var.name) for var in (*reducer.lhs, *reducer.rhs)}
        in_wide = replace(
            reducer, lhs=tuple([pairs[var] for var in reducer.lhs]), rhs=tuple([pairs[var] for var in reducer.rhs]),
            result=tuple([_Retyped(self, pairs).rewrite(value) for value in reducer.result]),
            identity_element=tuple([_Retyped(self, pairs).rewrite(value) for value in reducer.identity_element]),
        )  # fmt: skip
        return replace(stmt, node=in_wide, value=self.rewrite(stmt.value), body=self.rewrite(stmt.body))


class _Retyped(Rewriter):
    """Gives the expressions of a reducer the wide dtype."""

    def __init__(self, wide: _Wide, pairs: dict[tir.Var, tir.Var]) -> None:
        super().__init__({})
        self.values.update(pairs)
        self._of = wide

    def rewrite(self, node: Any) -> Any:
        rewritten = super().rewrite(node)
        is_narrow = isinstance(rewritten, tir.PrimExpr) and self._of.is_emulated(rewritten.dtype)
        return replace(rewritten, dtype=self._of.widened(rewritten.dtype)) if is_narrow else rewritten


def _results_of_reductions(body: Node) -> Iterator[tir.BufferLoad]:
    """Yield the elements that receive the results of reductions across threads."""
    for node in walk(body):
        if isinstance(node, tir.Call) and node.op == _REDUCTION:
            yield from (arg for arg in node.args[_DESTINATION:] if isinstance(arg, tir.BufferLoad))


def _own_memory(body: tir.Stmt, is_small: IsSmall) -> set[tir.Var]:
    """Return the pointers to allocations of small floats whose elements are accessed as such, and in no other way."""
    own = {node.buffer_var for node in walk(body) if isinstance(node, tir.Allocate) and is_small(node.dtype)}
    own = {var for var in own if isinstance(var.type_annotation, tir.PointerType)}
    for node in walk(body):
        match node:
            case tir.Buffer():
                if not is_small(node.dtype) or parse_dtype(node.dtype).lanes != 1:
                    own.discard(node.data)
            case tir.Call(op=op):
                whole = op == _REDUCTION and len(node.args) > _DESTINATION + 1 and _is_one(node.args[0])
                for arg in node.args if isinstance(op, Op) and _takes_elements(op) and not whole else ():
                    if isinstance(arg, tir.BufferLoad):
                        own.discard(arg.buffer.data)
                own.difference_update(arg for arg in node.args if isinstance(arg, tir.Var))
            case tir.Allocate(dtype=dtype, buffer_var=var) if parse_dtype(dtype).lanes != 1:
                own.discard(var)
            case tir.Allocate() | tir.DeclBuffer() | tir.BufferLoad() | tir.BufferStore():
                pass
            case _:
                own.difference_update(part for part in children(node) if isinstance(part, tir.Var))
    return own


def _is_one(value: object) -> bool:
    return isinstance(value, tir.IntImm) and value.value == 1


_BY_VALUE = ("tir.reinterpret", "tir.if_then_else", "tir.likely", "tir.ret")


def _takes_elements(op: Op) -> bool:
    """Return whether a call may access the element that is its argument, not only use its value."""
    found = get(op.name)
    return op.name not in _BY_VALUE and (found is None or not found.is_pure or op.name == "tir.address_of")


class _Bits(Rewriter):
    def __init__(self, func: tir.PrimFunc, is_small: IsSmall) -> None:
        super().__init__({
            tir.Allocate: self._allocate, tir.BufferLoad: self._load, tir.BufferStore: self._store, tir.Call: self._call,
            tir.LetStmt: self._let,
        })  # fmt: skip
        self._is_small = is_small
        self._kept = {buffer.data for buffer in func.buffer_map.values()}
        for node in walk(func.body):
            if isinstance(node, tir.AllocateConst):
                self._kept.add(node.buffer_var)
            elif isinstance(node, tir.Call) and isinstance(node.op, Op) and _takes_elements(node.op):
                self._kept.update(arg.buffer.data for arg in node.args if isinstance(arg, tir.BufferLoad))

    def pointer(self, var: tir.Var) -> tir.Var:
        """Return the variable for a pointer to small floats that will point to integers."""
        kind = var.type_annotation
        if (
            var in self._kept
            or not isinstance(kind, tir.PointerType)
            or not isinstance(kind.element_type, tir.PrimType)
        ):
            return var
        dtype = kind.element_type.dtype
        if not self._is_small(dtype):
            return var
        self.values[var] = new = _pointer_to(var, _unsigned(dtype))
        return new

    def buffer(self, buffer: tir.Buffer) -> tir.Buffer:
        """Return the buffer of integers in the same memory."""
        if buffer not in self.buffers and self._changes(buffer):
            self.buffers[buffer] = replace(self.rebuild(buffer), dtype=_unsigned(buffer.dtype))
        return super().buffer(buffer)

    def _changes(self, buffer: tir.Buffer) -> bool:
        return self._is_small(buffer.dtype) and buffer.data not in self._kept

    def _let(self, stmt: tir.LetStmt) -> tir.Stmt:
        self.pointer(stmt.var)
        return self.rebuild(stmt)

    def _allocate(self, stmt: tir.Allocate) -> tir.Stmt:
        if not self._is_small(stmt.dtype) or stmt.buffer_var in self._kept:
            return self.rebuild(stmt)
        self.pointer(stmt.buffer_var)
        return replace(self.rebuild(stmt), dtype=_unsigned(stmt.dtype))

    def _load(self, load: tir.BufferLoad) -> tir.PrimExpr:
        if not self._changes(load.buffer):
            return self.rebuild(load)
        return _reinterpret(load.dtype, replace(self.rebuild(load), dtype=_unsigned(load.dtype)))

    def _store(self, store: tir.BufferStore) -> tir.Stmt:
        rewritten: tir.BufferStore = self.rebuild(store)
        if not self._changes(store.buffer):
            return rewritten
        return replace(rewritten, value=_reinterpret(_unsigned(rewritten.value.dtype), rewritten.value))

    def _call(self, call: tir.Call) -> tir.PrimExpr:
        rebuilt: tir.Call = self.rebuild(call)
        return _reinterpret(call.dtype, rebuilt.args[0]) if call.op == _REINTERPRET and rebuilt is not call else rebuilt


def _unsigned(dtype: str) -> str:
    parsed = parse_dtype(dtype)
    return with_lanes(f"uint{parsed.bits}", parsed.lanes)


def _pointer_to(var: tir.Var, dtype: str) -> tir.Var:
    kind = var.type_annotation
    scope = kind.storage_scope if isinstance(kind, tir.PointerType) else "global"
    return replace(var, type_annotation=tir.PointerType(tir.PrimType(dtype), scope))


def _reinterpret(dtype: str, value: Any) -> tir.PrimExpr:
    """Reinterpret the bits of `value`, which may be a reinterpretation itself; `dtype` has the lanes of `value`."""
    dtype = with_lanes(dtype, parse_dtype(value.dtype).lanes) if parse_dtype(dtype).lanes == 1 else dtype
    if isinstance(value, tir.Call) and value.op == _REINTERPRET and isinstance(value.args[0], tir.PrimExpr):
        source = value.args[0]
        if source.dtype == dtype:
            return source
    return make.reinterpret(dtype, value)


def _like(value: int, other: tir.PrimExpr) -> tir.PrimExpr:
    return make.const(value, other.dtype)
