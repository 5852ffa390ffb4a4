"""A layout of shared memory in which the elements of a column are in different banks (TVM: `InjectPermutedLayout`).

    with T.block("load"):                                  with T.block("load"):
        T.block_attr({"permuted_layout": 1})                   S[i, (j // 8 ^ i % 8) * 8 + j % 8] = A[i, j]
        S[i, j] = A[i, j]                           →      with T.block("use"):
    with T.block("use"):                                       B[i, j] = S[i, (j // 8 ^ i % 8) * 8 + j % 8]
        T.block_attr({"permuted_layout": 1})
        B[i, j] = S[i, j]

Groups of 8 elements of a row change places: by the row modulo 8 if rows are multiples of 64 elements, otherwise by half of that.
Memory is permuted only if blocks with the annotation contain all its uses: elements, and matrices of 16-bit elements that
`T.ptx_ldmatrix` loads.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from ...ir import make, tir
from ...ir.base import Node, Op
from ...ir.dtype import is_vector, parse_dtype
from ...ir.idioms import is_zero
from ...ir.simplify import simplify
from ...ir.visit import children
from .rewriter import Rewriter

ANNOTATION = "permuted_layout"
_POINTER, _LOAD_MATRIX = Op("tir.tvm_access_ptr"), Op("tir.ptx_ldmatrix")
_GROUP = 8
_AT, _OFFSET = 5, 6
"""The positions of the pointer and of the offset among the arguments of `T.ptx_ldmatrix`."""


def permute_layouts(func: tir.PrimFunc) -> tir.PrimFunc:
    """Return `func` with permuted shared memory, and without the annotations of it."""
    finder = _Finder()
    finder.visit(func.body, is_marked=False)
    buffers = {data: buffer for data, buffer in finder.buffers.items() if data not in finder.declined}
    return replace(func, body=_Permuter(buffers).rewrite(func.body)) if finder.has_marks else func


def _is_marked(block: tir.Block) -> bool:
    value = block.annotations.get(ANNOTATION)
    return bool(value.value) if isinstance(value, tir.IntImm | tir.StringImm) else bool(value)


def _matrix_pointer(node: Node) -> tir.Call | None:
    """Return the pointer from which `node` loads a matrix of shared memory."""
    if not isinstance(node, tir.Call) or node.op != _LOAD_MATRIX or len(node.args) <= _OFFSET:
        return None
    pointer = node.args[_AT]
    return pointer if isinstance(pointer, tir.Call) and pointer.op == _POINTER else None


class _Finder:
    """Finds the shared memory that marked blocks use, and what of it cannot be permuted."""

    def __init__(self) -> None:
        self.buffers: dict[tir.Var, tir.Buffer] = {}
        self.declined: set[tir.Var] = set()
        self.has_marks = False

    def visit(self, node: Node, is_marked: bool) -> None:
        """Visit `node`, which is in a marked block or not."""
        match node:
            case tir.Block():
                is_marked = is_marked or _is_marked(node)
                self.has_marks = self.has_marks or is_marked
                for part in (*node.match_buffers, node.init, node.body):
                    if part is not None:
                        self.visit(part, is_marked)
                return
            case tir.BufferLoad(buffer=buffer, indices=indices) | tir.BufferStore(buffer=buffer, indices=indices):
                is_plain = is_marked and not is_vector(indices[-1].dtype) if indices else False
                self._use(buffer, is_plain and node.predicate is None)
                for part in children(node):
                    if part is not buffer:
                        self.visit(part, is_marked)
                return
            case tir.Var():
                self.declined.add(node)
                return
            case _:
                pass
        pointer = _matrix_pointer(node)
        if pointer is not None and isinstance(node, tir.Call):
            self._matrix(pointer, node, is_marked)
            return
        for part in children(node):
            if not isinstance(part, tir.Buffer) or isinstance(node, tir.MatchBufferRegion | tir.BufferRegion):
                self.visit(part, is_marked)

    def _matrix(self, pointer: tir.Call, call: tir.Call, is_marked: bool) -> None:
        _, data, offset, _, mask = pointer.args
        others = [arg for arg in call.args if arg is not pointer]
        assert isinstance(data, tir.Var)
        buffer, place = self.buffers.get(data), make.add(_expr(offset), _expr(call.args[_OFFSET]))
        is_aligned = is_zero(simplify(make.floormod(place, make.const(_GROUP, place.dtype))))
        is_read = isinstance(mask, tir.IntImm) and mask.value == 1
        if not (is_marked and is_aligned and is_read) or buffer is None or parse_dtype(buffer.dtype).bits != 16:
            self.declined.add(data)
        for part in others:
            self.visit(part, is_marked)

    def _use(self, buffer: tir.Buffer, is_plain: bool) -> None:
        known = self.buffers.setdefault(buffer.data, buffer)
        if known is not buffer or not is_plain or not _has_rows(buffer):
            self.declined.add(buffer.data)


def _expr(value: Any) -> tir.PrimExpr:
    assert isinstance(value, tir.PrimExpr)
    return value


def _has_rows(buffer: tir.Buffer) -> bool:
    """Return whether `buffer` is compact shared memory with rows of a multiple of 32 elements."""
    if not buffer.scope.startswith("shared") or len(buffer.shape) < 2 or buffer.elem_offset is not None:
        return False
    sizes = [size.value for size in buffer.shape if isinstance(size, tir.IntImm)]
    if len(sizes) != len(buffer.shape) or sizes[-1] % 32:
        return False
    steps: list[int] = []
    step = 1
    for size in reversed(sizes):
        steps.append(step)
        step *= size
    given = [stride.value for stride in buffer.strides if isinstance(stride, tir.IntImm)]
    return not buffer.strides or given == steps[::-1]


class _Permuter(Rewriter):
    def __init__(self, memory: Mapping[tir.Var, tir.Buffer]) -> None:
        super().__init__({
            tir.Block: self._block, tir.For: self._for, tir.BufferLoad: self._access, tir.BufferStore: self._access,
            tir.Call: self._call,
        })  # fmt: skip
        self._memory = memory
        self._domains: dict[tir.Var, tir.Range] = {}

    def _for(self, loop: tir.For) -> tir.For:
        self._domains[loop.loop_var] = tir.Range(loop.min, loop.extent)
        return self.rebuild(loop)  # type: ignore[no-any-return]

    def _block(self, block: tir.Block) -> tir.Block:
        rest = {key: value for key, value in block.annotations.items() if key != ANNOTATION}
        parts = {"body": self.rewrite(block.body), "init": block.init and self.rewrite(block.init)}
        return replace(block, annotations=rest, **parts)

    def _access(self, access: tir.BufferLoad | tir.BufferStore) -> tir.BufferLoad | tir.BufferStore:
        rewritten: tir.BufferLoad | tir.BufferStore = self.rebuild(access)
        if access.buffer.data not in self._memory:
            return rewritten
        *others, row, column = rewritten.indices
        return replace(rewritten, indices=(*others, row, self._permuted(row, column, access.buffer)))

    def _permuted(self, row: tir.PrimExpr, column: tir.PrimExpr, buffer: tir.Buffer) -> tir.PrimExpr:
        """Return the column at which the element of `row` and `column` is stored."""
        group, within = self._divided(column, _GROUP)
        _, turn = self._divided(row, 8)
        if int(buffer.shape[-1]) % 64:  # type: ignore[call-overload]
            turn = self._simplified(make.floordiv(turn, make.const(2, turn.dtype)))
        moved = make.mul(make.bitwise_xor(group, make.cast(turn, group.dtype)), make.const(_GROUP, group.dtype))
        return self._simplified(make.add(moved, within))

    def _divided(self, value: tir.PrimExpr, by: int) -> tuple[tir.PrimExpr, tir.PrimExpr]:
        divisor = make.const(by, value.dtype)
        return self._simplified(make.floordiv(value, divisor)), self._simplified(make.floormod(value, divisor))

    def _simplified(self, value: tir.PrimExpr) -> tir.PrimExpr:
        return simplify(value, self._domains)

    def _call(self, call: tir.Call) -> tir.PrimExpr:
        pointer = _matrix_pointer(call)
        if pointer is None or pointer.args[1] not in self._memory:
            return self.rebuild(call)  # type: ignore[no-any-return]
        memory = pointer.args[1]
        assert isinstance(memory, tir.Var)
        buffer = self._memory[memory]
        place = make.add(_expr(pointer.args[2]), _expr(call.args[_OFFSET]))
        length = make.const(int(buffer.shape[-1]), place.dtype)  # type: ignore[call-overload]
        row, column = (self._simplified(part(place, length)) for part in (make.floordiv, make.floormod))
        offset = self._simplified(make.add(make.mul(row, length), self._permuted(row, column, buffer)))
        args = [self.rewrite(arg) for arg in call.args]
        ptype, data, _, *rest = pointer.args
        args[_AT], args[_OFFSET] = replace(pointer, args=(ptype, data, offset, *rest)), make.const(0, place.dtype)
        return replace(call, args=tuple(args))
