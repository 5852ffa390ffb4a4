"""Evaluation of matrix units, with the layouts of `ir.matrix_units`, and of asynchronous copies.

Products of floats are accumulated in float32, in the order of `k`, and rounded once to the dtype of the result; tf32
drops the last 13 bits of its factors; sums of integers wrap around or, if requested, saturate to int32.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Sequence
from typing import Any, TypeAlias

import numpy as np

from .. import matrix_units, tir
from ..base import Node
from ..matrix_units import (
    ROW_BYTES,
    STORE,
    WARP,
    Fragment,
    Product,
    fragment_of,
    matrices_of,
    name_of,
    number,
    product_of,
)
from ..numpy_dtype import numpy_dtype
from .buffers import memory_of
from .calls import intrinsic
from .expressions import Expression, compile_all
from .frame import Frame, fault
from .memory import Array, Pointer, View
from .scalars import Value
from .threads import Exchange, exchange, meet, thread_number

Cell: TypeAlias = tuple[int, int]


# --- Memory that is reached by pointers ------------------------------------------------------------------------


def part_of(call: tir.Call, place: Pointer, dtype: str, offset: int, count: int) -> View:
    """Return `count` elements from `offset` on; E0707 if they exceed the memory."""
    size = numpy_dtype(dtype).itemsize
    place = memory_of(place, call)
    view = View(Pointer(place.memory, place.offset + offset * size), dtype, (count,))
    if count < 0 or view.find(0, count) is None:
        raise fault(
            "E0707", f"T.{name_of(call)} reaches outside of its memory: {count} elements from {offset} on", call
        )
    return view


def read_part(frame: Frame, call: tir.Call, place: Pointer, dtype: str, offset: int, count: int) -> Array:
    view = part_of(call, place, dtype, offset, count)
    frame.world.tell_reach(call, "read", view, frame)
    part = slice(view.base, view.base + count)
    if not view.is_written(part):
        raise fault("E0710", f"T.{name_of(call)} reads uninitialized memory", call)
    return view.flat[part].copy()


def write_part(frame: Frame, call: tir.Call, place: Pointer, dtype: str, offset: int, values: Array) -> None:
    view = part_of(call, place, dtype, offset, len(values))
    frame.world.tell_reach(call, "write", view, frame)
    part = slice(view.base, view.base + len(values))
    frame.world.tell_overwrite(view.flat[part])
    view.flat[part] = values
    if view.written is not None:
        frame.world.tell_overwrite(view.written[part])
        view.written[part] = True


def operands_of(call: tir.Call) -> Expression:
    return compile_all(tuple([arg for arg in call.args if isinstance(arg, tir.PrimExpr)]))


# --- Products -------------------------------------------------------------------------------------------------


def multiplied(a: Array, b: Array, c: Array, ptx_type: str, is_saturating: bool = False) -> Array:
    """Return `a @ b + c` as an array like `c`."""
    if c.dtype == np.int32:
        total = c.astype(np.int64) + a.astype(np.int64) @ b.astype(np.int64)
        return (np.clip(total, -(2**31), 2**31 - 1) if is_saturating else total).astype(np.int32)
    factors = [array.astype(np.float32) for array in (a, b)]
    if ptx_type == "tf32":
        factors = [(factor.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32) for factor in factors]
    total = c.astype(np.float32)
    for k in range(a.shape[1]):
        total = total + factors[0][:, k, None] * factors[1][None, k, :]
    return total.astype(c.dtype)


def _places_of_rows(product: Product) -> Array:
    """Return where the elements of a thread's rows of `a` are in the registers of the four lanes that hold them, one lane after another."""
    places = np.zeros((product.m // 8, product.k), np.intp)
    for t in range(4):
        for place, (row, column) in enumerate(product.a_places(), t * product.a_count):
            places[row // 8, t * product.packed + column] = place
    return places


def _places_of_columns(product: Product) -> Array:
    """Return where the elements of a thread's two columns of `b` are in the registers of the eight lanes that hold them."""
    places = np.zeros((product.k, 2), np.intp)
    for other in range(8):
        for place, row in enumerate(product.b_places(), other * product.b_count):
            places[other % 4 * product.packed + row, other // 4] = place
    return places


@exchange("ptx_mma")
def _mma(call: tir.Call) -> Exchange:
    """Each thread shares the contents of its registers, and computes its own elements: those of two columns, in some rows."""
    product, operands = product_of(call), operands_of(call)
    left, right = _places_of_rows(product), _places_of_columns(product)
    a_dtype, b_dtype, c_dtype = (matrix_units.DTYPES[name] for name in (product.a, product.b, product.c))
    is_saturating = len(call.args) > 12 and bool(number(call, 12))

    def multiply(frame: Frame) -> Generator[Node, None, Value]:
        a, a_at, b, b_at, c, c_at = operands(frame)[6:12]
        own = (
            read_part(frame, call, a, a_dtype, a_at, product.a_count),
            read_part(frame, call, b, b_dtype, b_at, product.b_count),
        )
        lanes, lane = yield from whole_warp(frame, call, own)
        rows = np.concatenate([lanes[lane // 4 * 4 + t][0] for t in range(4)])[left]
        columns = np.concatenate([lanes[lane % 4 * 8 + other][1] for other in range(8)])[right]
        mine = read_part(frame, call, c, c_dtype, c_at, product.c_count)
        total = multiplied(rows, columns, mine.reshape(-1, 2), product.a, is_saturating)
        write_part(frame, call, c, c_dtype, c_at, total.reshape(-1))
        return 0

    return multiply


@exchange("ptx_ldmatrix")
def _ldmatrix(call: tir.Call) -> Exchange:
    """Each thread supplies the address of one row to the threads of its warp."""
    load, operands = matrices_of(call), operands_of(call)
    row_length, size = 8 * load.packed, numpy_dtype(call.dtype).itemsize

    def run(frame: Frame) -> Generator[Node, None, Value]:
        local, local_at, shared, shared_at = operands(frame)[3:7]
        told = Pointer(shared.memory, shared.offset + shared_at * size)
        lanes, lane = yield from whole_warp(frame, call, told)
        _check_rows(call, lanes[: 8 * load.count], row_length)
        for which in range(load.count):
            own, rows = lane // 4, range(8)
            if not load.is_transposed and frame.world.observer is None:
                own, rows = 0, (lane // 4,)  # other threads read the other rows
            read = [read_part(frame, call, lanes[8 * which + row], call.dtype, 0, row_length) for row in rows]
            row = np.stack(read)[:, own] if load.is_transposed else read[own]
            first = lane % 4 * 2 * load.packed
            values = row[first : first + 2 * load.packed]
            write_part(frame, call, local, call.dtype, local_at + which * 2 * load.packed, values)
        return 0

    return run


@exchange(STORE)
def _stmatrix(call: tir.Call) -> Exchange:
    """Each thread supplies the address of one row to the threads of its warp, and stores its own elements."""
    stored, operands = matrices_of(call), operands_of(call)
    size, count = numpy_dtype(call.dtype).itemsize, 2 * stored.packed

    def run(frame: Frame) -> Generator[Node, None, Value]:
        local, local_at, shared, shared_at = operands(frame)[3:7]
        told = Pointer(shared.memory, shared.offset + shared_at * size)
        lanes, lane = yield from whole_warp(frame, call, told)
        _check_rows(call, lanes[: 8 * stored.count], 8 * stored.packed)
        for which in range(stored.count):
            own = read_part(frame, call, local, call.dtype, local_at + which * count, count)
            if not stored.is_transposed:
                write_part(frame, call, lanes[8 * which + lane // 4], call.dtype, lane % 4 * count, own)
                continue
            for at in range(count):
                row = lanes[8 * which + lane % 4 * 2 + at]
                write_part(frame, call, row, call.dtype, lane // 4, own[at : at + 1])
        return 0

    return run


def _check_rows(call: tir.Call, rows: Sequence[Pointer], length: int) -> None:
    """Raise E0707 if a row of a matrix is outside its memory, E0712 if no GPU accesses rows there."""
    for row in rows:
        part_of(call, row, call.dtype, 0, length)
    for row in rows:
        if row.offset % ROW_BYTES:
            reason = f"a row of T.{name_of(call)} starts at byte {row.offset}"
            raise fault("E0712", reason, call, f"start at a multiple of {ROW_BYTES}")


def whole_warp(frame: Frame, call: tir.Call, value: Any) -> Generator[Node, None, tuple[list[Any], int]]:
    """Share `value` within the warp; return the values of its threads, and this thread's lane. E0714 if threads are missing."""
    help = 'bind a loop of 32 iterations to "threadIdx.x", and let all of them run it'
    own = thread_number(frame)
    heard = yield from meet(frame, call, value, WARP, own - own % WARP, f"a warp reach T.{name_of(call)}", help)
    return heard, own % WARP


def _own(frame: Frame, pointer: object, count: int) -> int:
    """Return the offset of this thread's `count` elements if the variable points to memory of the warp; otherwise 0."""
    kind = pointer.type_annotation if isinstance(pointer, tir.Var) else None
    is_of_warp = isinstance(kind, tir.PointerType) and kind.storage_scope == "warp"
    return thread_number(frame) % WARP * count if is_of_warp else 0


@intrinsic("mma_fill")
def _mma_fill(call: tir.Call) -> Expression:
    """`(count, pointer, offset)`: zero the registers of a thread."""
    operands = operands_of(call)

    def fill(frame: Frame) -> Value:
        count, local, offset = operands(frame)
        zeros = np.zeros(max(count, 0), numpy_dtype(call.dtype))
        write_part(frame, call, local, call.dtype, offset + _own(frame, call.args[1], count), zeros)
        return 0

    return fill


@intrinsic("mma_store")
def _mma_store(call: tir.Call) -> Expression:
    """`(m, n, target, source, offset, stride)`: store a thread's part of a tile of 16 × 16, two products side by side."""
    operands = operands_of(call)

    def store(frame: Frame) -> Value:
        _, _, target, source, offset, stride = operands(frame)
        lane = thread_number(frame) % WARP
        for local, value in enumerate(
            read_part(frame, call, source, call.dtype, offset + _own(frame, call.args[3], 8), 8)
        ):
            row, column = lane // 4 + local % 4 // 2 * 8, lane % 4 * 2 + local // 4 * 8 + local % 2
            write_part(frame, call, target, call.dtype, row * stride + column, np.array([value]))
        return 0

    return store


# --- Fragments ------------------------------------------------------------------------------------------------


def _tile(frame: Frame, call: tir.Call, position: int, fragment: Fragment) -> Array:
    """Return a view of the fragment that arguments `position` (its variable) and `position + 1` (its number) of `call` name.

    The fragments of a buffer are its tiles of that size, numbered row by row.
    """
    variable = call.args[position]
    pointer, (rows, columns) = frame[variable], fragment.shape
    views = [frame[key] for key in frame if isinstance(key, tir.Buffer) and key.data is variable]
    pitch = views[0].strides[-2] if views and len(views[0].strides) > 1 else columns
    number = operands_of(call)(frame)[position + 1 if name_of(call) == "tvm_mma_sync" else 4]
    first = number // (pitch // columns) * rows * pitch + number % (pitch // columns) * columns
    view = part_of(call, pointer, fragment.dtype, first, (rows - 1) * pitch + columns)
    if view.written is not None:
        for row in range(rows):
            view.written[view.base + row * pitch : view.base + row * pitch + columns] = True
    size = view.flat.itemsize
    tile = np.lib.stride_tricks.as_strided(view.flat[view.base :], (rows, columns), (pitch * size, size))
    frame.world.tell_overwrite(tile)
    return tile


def _oriented(tile: Array, fragment: Fragment) -> Array:
    return tile.T if fragment.is_column else tile


@intrinsic("tvm_fill_fragment")
def _fill_fragment(call: tir.Call) -> Expression:
    fragment, operands = fragment_of(call), operands_of(call)

    def fill(frame: Frame) -> Value:
        frame[call.args[0]].memory.fragment = fragment
        _tile(frame, call, 0, fragment)[...] = operands(frame)[5]
        return 0

    return fill


@intrinsic("tvm_load_matrix_sync", "tvm_store_matrix_sync")
def _move_fragment(call: tir.Call) -> Expression:
    """`(fragment, m, n, k, index, pointer, stride, layout)`."""
    fragment, operands = fragment_of(call), operands_of(call)
    is_load = name_of(call) == "tvm_load_matrix_sync"
    is_turned = fragment.kind == "accumulator" and matrix_units.texts(call)[-1] == "col_major"

    def move(frame: Frame) -> Value:
        pointer, stride = operands(frame)[5:7]
        tile = _tile(frame, call, 0, fragment)
        lines = tile.T if is_turned else tile
        if is_load:
            frame[call.args[0]].memory.fragment = fragment
        for row, line in enumerate(lines):
            if is_load:
                line[...] = read_part(frame, call, pointer, fragment.dtype, row * stride, len(line))
            else:
                write_part(frame, call, pointer, fragment.dtype, row * stride, line)
        return 0

    return move


@intrinsic("tvm_mma_sync")
def _mma_sync(call: tir.Call) -> Expression:
    """`(d, number, a, number, b, number, c, number)`."""

    def multiply(frame: Frame) -> Value:
        a, b = (frame[call.args[position]].memory.fragment for position in (2, 4))
        if a is None or b is None:
            raise matrix_units.never_loaded(call, call.args[2 if a is None else 4])
        c_dtype = _accumulator_dtype(call.args[6])
        sums = Fragment(a.m, a.n, a.k, "accumulator", c_dtype)
        left, right = _oriented(_tile(frame, call, 2, a), a), _oriented(_tile(frame, call, 4, b), b)
        kind = matrix_units.WMMA_TYPES[a.dtype][2]
        _tile(frame, call, 0, sums)[...] = multiplied(left, right, _tile(frame, call, 6, sums).copy(), kind)
        return 0

    return multiply


def _accumulator_dtype(variable: object) -> str:
    kind = variable.type_annotation if isinstance(variable, tir.Var) else None
    element = kind.element_type if isinstance(kind, tir.PointerType) else None
    return element.dtype if isinstance(element, tir.PrimType) else "float32"


# --- Copies that go on by themselves ----------------------------------------------------------------------------

_Copy: TypeAlias = Callable[[], None]


class _Copies:
    """The copies that the thread of `frame` has issued; their data does not arrive before a wait."""

    def __init__(self, frame: Frame) -> None:
        self.frame = frame
        self.open: list[_Copy] = []
        self.groups: deque[list[_Copy]] = deque()


def _copies_of(frame: Frame) -> _Copies:
    found = frame.get(_Copies)
    if found is None or found.frame is not frame:
        found = frame[_Copies] = _Copies(frame)
    return found


@intrinsic("ptx_cp_async")
def _copy(call: tir.Call) -> Expression:
    """`(target, offset, source, offset, bytes)` and optionally whether to copy or to write zeros."""
    operands, size = operands_of(call), numpy_dtype(call.dtype).itemsize

    def copy(frame: Frame) -> Value:
        target, target_at, source, source_at, length, *rest = operands(frame)
        count = length // size
        values = np.zeros(count, numpy_dtype(call.dtype))
        if not rest or rest[0]:
            values = read_part(frame, call, source, call.dtype, source_at, count)
        frame.world.tell_reach(call, "begin", part_of(call, target, call.dtype, target_at, count), frame)
        _copies_of(frame).open.append(lambda: write_part(frame, call, target, call.dtype, target_at, values))
        return 0

    return copy


@intrinsic("ptx_commit_group")
def _commit(call: tir.Call) -> Expression:
    def commit(frame: Frame) -> Value:
        copies = _copies_of(frame)
        copies.groups.append(copies.open)
        copies.open = []
        return 0

    return commit


@intrinsic("ptx_wait_group")
def _wait(call: tir.Call) -> Expression:
    """Wait until at most the given number of groups are pending."""
    operands = operands_of(call)

    def wait(frame: Frame) -> Value:
        (left,) = operands(frame)
        groups = _copies_of(frame).groups
        while groups and len(groups) > left:
            for arrive in groups.popleft():
                arrive()
        return 0

    return wait
