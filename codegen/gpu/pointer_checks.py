"""Bounds checks of the memory that matrix units and asynchronous copies reach through pointers.

Before each operator, `T.checked_position` stops the function with E0707 if an element that the operator reaches
is outside of its allocation; an access that is linear in the row and in the column is inside if its corners are:

    T.ptx_mma(…, a, n, …)   →   T.checked_position(n, "a", 2, 64, 0, n)        the first of 8 elements
                                T.checked_position(n, "a", 2, 64, 0, n + 7)    the last one
                                T.ptx_mma(…, a, n, …)

The pass runs on kernels whose buffers are flat, because only they have the final extents and offsets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from msgspec.structs import replace

from ...ir import make, tir
from ...ir.analysis.const_bounds import const_bounds
from ...ir.base import Node
from ...ir.dtype import element_bytes, int_range
from ...ir.matrix_units import (
    DTYPES,
    STORE,
    WHOLE_WARP,
    fragments_in,
    matrices_of,
    name_of,
    never_loaded,
    number,
    product_of,
    texts,
)
from ...ir.tensor_copies import COPIES, tensor_map_of
from ...ir.tensor_memory import LANES, LOAD, columns_in, loaded_columns, tensor_memory_of, tensor_product_of
from ...ir.tensor_memory import PRODUCT as TENSOR_PRODUCT
from ...ir.visit import walk
from ...ir.warpgroups import PRODUCT, Tile, warpgroup_product_of
from ..lower.bounds import CHECKED_POSITION, Bounds, Safety
from ..lower.pointers import Pointers, constant
from ..lower.rewriter import Rewriter, sequence
from .kernel import Kernel, scope_of
from .matrix_units import ZERO, MemoryRange, over, place_of, plus, rest, times
from .places import domains_of
from .warp_memory import lane_number

_OPERATORS = (
    "ptx_cp_async",
    "ptx_mma",
    "ptx_ldmatrix",
    STORE,
    "mma_fill",
    "mma_store",
    PRODUCT,
    TENSOR_PRODUCT,
    LOAD,
    *COPIES,
    *WHOLE_WARP,
)
_Corner: TypeAlias = (
    tuple[MemoryRange, tir.PrimExpr, int, tir.PrimExpr]
    | tuple[MemoryRange, tir.PrimExpr, int, tir.PrimExpr, tir.PrimExpr]
)
"""An element that an operator reaches: element `index + row * stride` of a place."""


def check_pointers(kernel: Kernel, host: tir.PrimFunc, bounds: Bounds) -> tuple[Kernel, Safety]:
    """Return `kernel`, which `host` launches, with checks of what its operators on pointers reach, and how many of these
    elements were proven to be inside of their allocation.

    Raises TvmsError E0619 if the allocation behind a pointer is unknown.
    """
    if bounds == "trust":
        return kernel, Safety(0, 0)
    checker = _Checker(kernel, host, bounds == "prove")
    body = checker.rewrite(kernel.body)
    return replace(kernel, body=body), Safety(checker.proven, checker.checked, frozenset(checker.places))


def has_pointer_accesses(node: Node) -> bool:
    """Return whether matrix units or asynchronous copies reach memory through pointers in `node`."""
    return any(isinstance(inner, tir.Call) and name_of(inner) in _OPERATORS for inner in walk(node))


class _Checker(Rewriter):
    def __init__(self, kernel: Kernel, host: tir.PrimFunc, is_proving: bool) -> None:
        super().__init__({
            tir.Evaluate: self._evaluate, tir.Allocate: self._allocate, tir.LetStmt: self._let,
            tir.Buffer: lambda buffer: buffer,
        })  # fmt: skip
        self._pointers, self._is_proving = Pointers(host), is_proving
        self.proven, self.checked, self.places = 0, 0, set[tuple[str, int]]()
        for node in walk(host.body):
            if isinstance(node, tir.Allocate | tir.AllocateConst):
                self._pointers.allocate(node)
        self._domains, self._lane = domains_of(kernel), lane_number(kernel)
        self._fragments, self._columns = fragments_in(kernel.body), columns_in(kernel.body)
        self._reached: dict[str, Callable[[tir.Call], Iterator[_Corner]]] = {
            "ptx_cp_async": self._copy, "ptx_mma": self._mma, "ptx_ldmatrix": self._matrices, STORE: self._matrices, "mma_fill": self._mma_fill,
            "mma_store": self._mma_store, "tvm_fill_fragment": self._fill, "tvm_load_matrix_sync": self._move,
            "tvm_store_matrix_sync": self._move, "tvm_mma_sync": self._mma_sync,
            PRODUCT: self._of_warpgroup, TENSOR_PRODUCT: self._of_tensor_memory, LOAD: self._from_tensor_memory,
            **dict.fromkeys(COPIES, self._box),
        }  # fmt: skip

    def _allocate(self, stmt: tir.Allocate) -> tir.Stmt:
        self._pointers.allocate(stmt)
        return self.rebuild(stmt)

    def _let(self, stmt: tir.LetStmt) -> tir.Stmt:
        if stmt.var.dtype != "handle":
            return self.rebuild(stmt)
        bound = self._pointers.bind(stmt.var, stmt.value)
        result: tir.Stmt = self.rebuild(stmt)
        for var, value in reversed(bound):
            result = tir.LetStmt(var, value, result)
        return result

    def _evaluate(self, stmt: tir.Evaluate) -> tir.Stmt:
        call = stmt.value
        if not isinstance(call, tir.Call) or name_of(call) not in self._reached:
            return stmt
        named: dict[tir.Var, tir.PrimExpr] = {}
        call = replace(call, args=tuple([_stable(arg, named) for arg in call.args]))
        checks = [self._check(call, corner) for corner in self._reached[name_of(call)](call)]
        parts = [*(check for check in checks if check is not None), replace(stmt, value=call)]
        result: tir.Stmt = sequence(parts)
        for var, value in reversed(named.items()):
            result = tir.LetStmt(var, value, result)
        return result

    def _check(self, call: tir.Call, corner: _Corner) -> tir.Stmt | None:
        """Return the check of an element, which is reached under a condition; None if it is proven to be inside."""
        place, index, row, stride, *conditions = corner
        condition = conditions[0] if conditions else None
        data, size = place.buffer.data, element_bytes(place.buffer.dtype)
        pointed = self._pointers.of_pointer(data, call)
        start, extent, offset = place.at(index), pointed.extent, pointed.offset
        if self._is_proving and isinstance(extent, tir.IntImm) and isinstance(offset, tir.IntImm):
            reached = start if condition is None else make.if_then_else(condition, start, place.at(ZERO))
            bytes_before = times(make.add(reached, times(stride, row)), size)
            if self._is_within(make.add(offset, bytes_before), extent.value - size):
                self.proven += 1
                return None
        self.checked += 1
        self.places.add((data.name, -1))
        args = (start, tir.StringImm("handle", data.name), constant(size), extent, offset, start, stride, constant(row))
        check = tir.Evaluate(tir.Call("int64", CHECKED_POSITION, args, span=call.span), span=call.span)
        return check if condition is None else tir.IfThenElse(condition, check)

    def _is_within(self, expr: tir.PrimExpr, most: int) -> bool:
        """Return whether `expr` is from 0 to `most`, and no part of it overflows: bounds end at the limits of the dtype
        if the value may exceed them.
        """
        for part in walk(expr):
            if isinstance(part, tir.PrimExpr) and part.dtype in ("int32", "int64"):
                bounds, (low, high) = const_bounds(part, self._domains), int_range(part.dtype)
                if bounds.min <= low or bounds.max >= high:
                    return False
        bounds = const_bounds(expr, self._domains)
        return bounds.min >= 0 and bounds.max <= most

    # --- What operators reach

    def _row(self, place: MemoryRange, count: int) -> Iterator[_Corner]:
        """Yield the ends of `count` elements."""
        for at in {0, count - 1} if count > 0 else ():
            yield place, tir.IntImm("int64", at), 0, ZERO

    def _own(self, call: tir.Call, at: int, count: int) -> Iterator[_Corner]:
        """Yield the ends of the `count` elements of a thread at a pointer and an offset."""
        pointer, offset = call.args[at], make.cast(_expression(call.args[at + 1]), "int64")
        if isinstance(pointer, tir.Var) and scope_of(pointer) == "warp":
            offset = plus(offset, times(self._lane, count))
        return self._row(place_of(pointer, offset, call.dtype), count)

    def _copy(self, call: tir.Call) -> Iterator[_Corner]:
        """Yield the ends of both sides of an asynchronous copy; if its predicate is false, it writes zeros and reads nothing."""
        target, target_at, source, source_at, size, *predicate = map(_expression, call.args)
        if not isinstance(size, tir.IntImm):
            return  # this call cannot be compiled
        count = max(size.value // element_bytes(call.dtype), 1)
        yield from self._row(place_of(target, target_at, call.dtype), count)
        for ahead in {0, count - 1}:
            corner = place_of(source, ZERO, call.dtype), plus(make.cast(source_at, "int64"), ahead), 0, ZERO
            yield (*corner, make.cast(predicate[0], "bool")) if predicate else corner

    def _mma(self, call: tir.Call) -> Iterator[_Corner]:
        product = product_of(call)
        operands = (6, product.a, product.a_count), (8, product.b, product.b_count), (10, product.c, product.c_count)
        for at, kind, count in operands:
            yield from self._row(place_of(call.args[at], call.args[at + 1], DTYPES[kind]), count)

    def _of_warpgroup(self, call: tir.Call) -> Iterator[_Corner]:
        """Yield the ends of the accumulator, and of the rows of 128 bytes in which the factors start and end."""
        product = warpgroup_product_of(call)
        yield from self._row(place_of(call.args[10], call.args[11], "float32"), product.count)
        yield from self._factors(call, product.dtypes, product.a, product.b)

    def _factors(self, call: tir.Call, dtypes: tuple[str, str], a: Tile, b: Tile) -> Iterator[_Corner]:
        for at, dtype, tile in zip((6, 8), dtypes, (a, b), strict=True):
            start, row = place_of(call.args[at], call.args[at + 1], dtype), tile.row
            whole = MemoryRange(start.buffer.data, dtype, ZERO)
            yield whole, times(over(start.at(0), row), row), 0, ZERO
            yield whole, plus(times(over(start.at(tile.end), row), row), row - 1), 0, ZERO

    def _of_tensor_memory(self, call: tir.Call) -> Iterator[_Corner]:
        product = tensor_product_of(call)
        yield from self._factors(call, (product.dtype, product.dtype), product.a, product.b)
        yield from self._cells(call, 11, product.n)

    def _from_tensor_memory(self, call: tir.Call) -> Iterator[_Corner]:
        yield from self._row(place_of(call.args[0], call.args[1], "float32"), loaded_columns(call))
        yield from self._cells(call, 4, loaded_columns(call))

    def _cells(self, call: tir.Call, at: int, count: int) -> Iterator[_Corner]:
        """Yield the first of `count` columns in the first lane, and the last one in the last lane."""
        memory, column = tensor_memory_of(call), make.cast(_expression(call.args[at]), "int64")
        whole = place_of(memory, ZERO, "float32")
        yield whole, column, 0, ZERO
        yield whole, plus(column, (LANES - 1) * self._columns[memory] + count - 1), 0, ZERO

    def _box(self, call: tir.Call) -> Iterator[_Corner]:
        """Yield the ends of the box in shared memory, and of the whole matrix."""
        tensor = tensor_map_of(call)
        yield from self._row(place_of(call.args[0], call.args[1], call.dtype), tensor.box_rows * tensor.columns)
        rows, columns, stride = (make.cast(size, "int64") for size in tensor.sizes)
        has_elements = make.logical_and(make.not_equal(rows, ZERO), make.not_equal(columns, ZERO))
        last = plus(make.mul(plus(rows, -1), stride), columns, -1)
        yield place_of(tensor.data, ZERO, call.dtype), last, 0, ZERO, has_elements

    def _matrices(self, call: tir.Call) -> Iterator[_Corner]:
        """Yield the ends of the elements of a thread and of the row that it addresses, which only the first
        `8 * count` threads do.
        """
        load = matrices_of(call)
        yield from self._row(place_of(call.args[3], call.args[4], call.dtype), 2 * load.packed * load.count)
        start = make.cast(_expression(call.args[6]), "int64")
        if load.count < 4:
            start = make.if_then_else(make.less(self._lane, tir.IntImm("int64", 8 * load.count)), start, ZERO)
        yield from self._row(place_of(call.args[5], start, call.dtype), 8 * load.packed)

    def _mma_fill(self, call: tir.Call) -> Iterator[_Corner]:
        return self._own(call, 1, number(call, 0))

    def _mma_store(self, call: tir.Call) -> Iterator[_Corner]:
        """Yield the corners of what a thread stores: rows `lane // 4` and 8 below, columns `lane % 4 * 2` to 9 right."""
        yield from self._own(call, 3, 8)
        target, stride = place_of(call.args[2], ZERO, call.dtype), make.cast(_expression(call.args[5]), "int64")
        first = make.add(make.mul(over(self._lane, 4), stride), times(rest(self._lane, 4), 2))
        for row in (0, 8):
            for column in (0, 9):
                yield target, plus(first, column), row, stride

    def _tile(self, call: tir.Call, at: int, which: int) -> Iterator[_Corner]:
        """Yield the ends of fragment number `which` of a variable."""
        variable = call.args[at]
        fragment = self._fragments.get(variable) if isinstance(variable, tir.Var) else None
        if fragment is None:
            raise never_loaded(call, variable)
        place, index = place_of(variable, ZERO, fragment.dtype), make.cast(_expression(call.args[which]), "int64")
        for end in (0, fragment.size - 1):
            yield place, tir.IntImm("int64", end), fragment.size, index

    def _fill(self, call: tir.Call) -> Iterator[_Corner]:
        return self._tile(call, 0, 4)

    def _move(self, call: tir.Call) -> Iterator[_Corner]:
        """Yield the ends of a fragment and the corners of its tile in memory."""
        yield from self._tile(call, 0, 4)
        fragment = self._fragments[call.args[0]]  # type: ignore[index]
        memory, stride = place_of(call.args[5], ZERO, fragment.dtype), make.cast(_expression(call.args[6]), "int64")
        rows, columns = fragment.shape
        if fragment.kind == "accumulator" and texts(call)[-1] == "col_major":
            rows, columns = columns, rows
        for row in (0, rows - 1):
            for column in (0, columns - 1):
                yield memory, tir.IntImm("int64", column), row, stride

    def _mma_sync(self, call: tir.Call) -> Iterator[_Corner]:
        for at in (0, 2, 4, 6):
            yield from self._tile(call, at, at + 1)


def _expression(arg: object) -> tir.PrimExpr:
    assert isinstance(arg, tir.PrimExpr)
    return arg


def _stable(arg: Any, named: dict[tir.Var, tir.PrimExpr]) -> Any:
    """Return an operand whose value does not change between the check and the access: integers that depend on memory
    or calls become variables in `named`.
    """
    if isinstance(arg, tir.Call) and name_of(arg) == "tvm_access_ptr":
        kind, data, first, *others = arg.args
        return replace(arg, args=(kind, data, _stable(first, named), *others))
    if isinstance(arg, tir.Call) and name_of(arg) == "address_of" and isinstance(arg.args[0], tir.BufferLoad):
        load = arg.args[0]
        return replace(arg, args=(replace(load, indices=tuple([_stable(index, named) for index in load.indices])),))
    if getattr(arg, "dtype", "") not in ("int32", "int64"):
        return arg
    if not any(isinstance(node, tir.Call | tir.BufferLoad) for node in walk(arg)):
        return arg
    var = tir.Var(arg.dtype, "offset")
    named[var] = arg
    return var
