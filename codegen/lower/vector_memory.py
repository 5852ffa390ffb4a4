"""Memory of vectors for memory that is accessed by aligned vectors (TVM: `PointerValueTypeRewrite`, `StorageRewrite`).

    X = T.allocate([16], "float32")                        X = T.allocate([4], "float32x4")
    for i in range(4):                              →      for i in range(4):
        X[i * 4:i * 4 + 4] = A[i * 4:i * 4 + 4]                X[T.Div(i * 4, 4)] = A[T.Div(i * 4, 4)]

All stores, and all loads but those of single elements, must be of vectors with one number of lanes that begin at a multiple of it. A
single element at a known position in its vector is a `T.Shuffle` of it.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ...ir import make, tir
from ...ir.base import Op
from ...ir.dtype import is_vector, lanes_of, parse_dtype, with_lanes
from ...ir.ops.tir import get
from ...ir.simplify import simplify
from ...ir.visit import children, distinct
from .rewriter import Rewriter

_ADDRESS = Op("tir.address_of")


class _Accesses(Struct):
    """The numbers of lanes of the loads and stores of a memory, 0 for others than aligned vectors and single elements."""

    loads: set[int] = set()
    stores: set[int] = set()
    is_known: bool = True
    elements: list[tir.PrimExpr] = []
    """The indices of single elements."""


def use_vector_memory(func: tir.PrimFunc, with_params: bool = False, with_elements: bool = False) -> tir.PrimFunc:
    """Return `func`, whose buffers are flat, with memory of vectors; `with_params` also for its parameters, whose shapes change, and
    `with_elements` also if single elements are loaded.
    """
    lanes = _lanes(func, with_params, with_elements)
    if not lanes:
        return func
    rewriter = _Vectors(lanes)
    buffers = {param: rewriter.buffer(buffer) for param, buffer in func.buffer_map.items()}
    params = tuple([rewriter.pointer(param) for param in func.params])
    keys = dict(zip(func.params, params, strict=True))
    buffers = {keys.get(param, param): buffer for param, buffer in buffers.items()}
    return replace(func, params=params, buffer_map=buffers, body=rewriter.rewrite(func.body))


def _lanes(func: tir.PrimFunc, with_params: bool, with_elements: bool) -> dict[tir.Var, int]:
    """Return the number of lanes of each memory that can hold vectors."""
    found: dict[tir.Var, _Accesses] = {}
    own: dict[tir.Var, tuple[tir.PrimExpr, ...]] = {}
    if with_params:
        own.update({buffer.data: () for buffer in func.buffer_map.values()})
        own.update({param: () for param in func.params if isinstance(param.type_annotation, tir.PointerType)})
    sizes: dict[tir.Var, list[tir.PrimExpr]] = {}
    for node in (*func.buffer_map.values(), *distinct(func.body)):
        if isinstance(node, tir.Buffer):
            sizes.setdefault(node.data, []).extend(node.shape)
        match node:
            case tir.Allocate(buffer_var=var, extents=extents):
                own[var] = extents
                if is_vector(node.dtype) or len(extents) != 1:
                    _of(found, var).is_known = False
            case tir.LetStmt(var=var) if isinstance(var.type_annotation, tir.PointerType):
                own[var] = ()
            case _:
                pass
        _record(node, found)
    result: dict[tir.Var, int] = {}
    for var, extents in own.items():
        accesses = found.get(var, _Accesses())
        lanes = accesses.loads | accesses.stores
        is_mixed = with_elements and accesses.stores and 1 not in accesses.stores
        wide = lanes - {1} if is_mixed else lanes
        if not accesses.is_known or len(wide) != 1 or (count := max(wide)) < 2:
            continue
        if 1 in lanes and any(_position(index, count) is None for index in accesses.elements):
            continue
        all_sizes = (*extents, *sizes.get(var, ()))
        if all(isinstance(size, tir.IntImm) and size.value % count == 0 for size in all_sizes):
            result[var] = count
    return result


def _of(found: dict[tir.Var, _Accesses], var: tir.Var) -> _Accesses:
    return found.setdefault(var, _Accesses(set(), set(), elements=[]))


def _record(node: Any, found: dict[tir.Var, _Accesses]) -> None:
    """Record what one node does with memory."""
    match node:
        case tir.BufferLoad(buffer=buffer, indices=indices) | tir.BufferStore(buffer=buffer, indices=indices):
            accesses, lanes = _of(found, buffer.data), _lanes_of_access(node)
            (accesses.loads if isinstance(node, tir.BufferLoad) else accesses.stores).add(lanes)
            accesses.is_known = accesses.is_known and lanes > 0
            if lanes == 1:
                accesses.elements.append(indices[0])
        case tir.Buffer(data=data):
            is_plain = len(node.shape) == 1 and not node.strides and node.elem_offset is None
            if (
                not is_plain
                or is_vector(node.dtype)
                or node.dtype in ("bool", "handle")
                or _element(data) not in ("", node.dtype)
            ):
                _of(found, data).is_known = False
        case tir.Call(op=op, args=args):
            for arg in args:
                if isinstance(arg, tir.Var):
                    _of(found, arg).is_known = False
                elif isinstance(arg, tir.BufferLoad) and _takes_element(op):
                    _of(found, arg.buffer.data).is_known = False
        case tir.Allocate() | tir.DeclBuffer() | tir.LetStmt():
            if isinstance(node, tir.LetStmt) and isinstance(node.value, tir.Var):
                _of(found, node.value).is_known = False
        case _:
            for child in children(node):
                if isinstance(child, tir.Var) and isinstance(child.type_annotation, tir.PointerType):
                    _of(found, child).is_known = False


def _takes_element(op: Any) -> bool:
    return not isinstance(op, Op) or op == _ADDRESS or not _is_pure(op)


def _is_pure(op: Op) -> bool:
    found = get(op.name)
    return found is not None and found.is_pure


def _element(var: tir.Var) -> str:
    kind = var.type_annotation
    return (
        kind.element_type.dtype
        if isinstance(kind, tir.PointerType) and isinstance(kind.element_type, tir.PrimType)
        else ""
    )


def _lanes_of_access(access: tir.BufferLoad | tir.BufferStore) -> int:
    """Return the lanes of an access of consecutive elements from a multiple of them, 1 for an element; 0 for another access."""
    if len(access.indices) != 1 or access.predicate is not None:
        return 0
    (index,) = access.indices
    if not is_vector(index.dtype):
        return 1
    if not isinstance(index, tir.Ramp) or parse_dtype(index.dtype).scalable:
        return 0
    lanes = lanes_of(index.dtype)
    is_dense = isinstance(index.stride, tir.IntImm) and index.stride.value == 1
    return lanes if is_dense and _position(index.base, lanes) == 0 else 0


def _position(index: tir.PrimExpr, lanes: int) -> int | None:
    """Return the position of an element in its vector; None if it is not constant."""
    found = simplify(make.floormod(index, make.const(lanes, index.dtype)))
    return found.value if isinstance(found, tir.IntImm) else None


class _Vectors(Rewriter):
    def __init__(self, lanes: dict[tir.Var, int]) -> None:
        super().__init__({
            tir.Allocate: self._allocate, tir.LetStmt: self._let, tir.BufferLoad: self._load, tir.BufferStore: self._store,
        })  # fmt: skip
        self._lanes = lanes

    def pointer(self, var: tir.Var) -> tir.Var:
        """Return the pointer to vectors for `var`."""
        kind = var.type_annotation
        if var not in self._lanes or not isinstance(kind, tir.PointerType) or not _element(var):
            return self.values.get(var, var)  # type: ignore[return-value]
        if var not in self.values:
            vector = tir.PrimType(with_lanes(_element(var), self._lanes[var]))
            self.values[var] = replace(var, type_annotation=tir.PointerType(vector, kind.storage_scope))
        return self.values[var]  # type: ignore[return-value]

    def buffer(self, buffer: tir.Buffer) -> tir.Buffer:
        """Return the buffer of vectors."""
        if buffer not in self.buffers and buffer.data in self._lanes:
            lanes = self._lanes[buffer.data]
            self.pointer(buffer.data)
            dtype, shape = with_lanes(buffer.dtype, lanes), tuple([_part(size, lanes) for size in buffer.shape])
            self.buffers[buffer] = replace(self.rebuild(buffer), dtype=dtype, shape=shape)
        return super().buffer(buffer)

    def _let(self, stmt: tir.LetStmt) -> tir.Stmt:
        self.pointer(stmt.var)
        return self.rebuild(stmt)

    def _allocate(self, stmt: tir.Allocate) -> tir.Stmt:
        lanes = self._lanes.get(stmt.buffer_var)
        if lanes is None:
            return self.rebuild(stmt)
        self.pointer(stmt.buffer_var)
        extents = tuple([_part(extent, lanes) for extent in stmt.extents])
        return replace(self.rebuild(stmt), dtype=with_lanes(stmt.dtype, lanes), extents=extents)

    def _load(self, load: tir.BufferLoad) -> tir.PrimExpr:
        lanes = self._lanes.get(load.buffer.data)
        rewritten: tir.BufferLoad = self.rebuild(load)
        if lanes is None:
            return rewritten
        whole = replace(rewritten, dtype=with_lanes(load.dtype, lanes), indices=(_number(rewritten.indices[0], lanes),))
        if is_vector(load.dtype):
            return whole
        position = _position(load.indices[0], lanes) or 0
        return tir.Shuffle(load.dtype, (whole,), (tir.IntImm("int32", position),))

    def _store(self, store: tir.BufferStore) -> tir.Stmt:
        lanes = self._lanes.get(store.buffer.data)
        rewritten: tir.BufferStore = self.rebuild(store)
        return rewritten if lanes is None else replace(rewritten, indices=(_number(rewritten.indices[0], lanes),))


def _part(size: tir.PrimExpr, lanes: int) -> tir.PrimExpr:
    return tir.IntImm(size.dtype, size.value // lanes) if isinstance(size, tir.IntImm) else size


def _number(index: tir.PrimExpr, lanes: int) -> tir.PrimExpr:
    """Return the number of the vector that contains the element at `index`."""
    first = index.base if isinstance(index, tir.Ramp) else index
    return make.truncdiv(first, make.const(lanes, first.dtype))
