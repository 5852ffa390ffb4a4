"""The law of allocations: elements of views and pointers are inside the underlying memory.

E0414: an element that is certainly outside its allocation · E0420 (strict, warning): one that is not proven to be inside.
Constant extents, offsets and strides are tracked; a view with the shape of its allocation is inside.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from msgspec import Struct

from .. import make, tir
from ..base import Op
from ..dtype import element_bytes
from ..equal import structural_equal
from .affine import any_of
from .place import AccessSite
from .subject import Subject, is_write

_HELP = "check the shape, strides and elem_offset that the buffer was declared with"


_DEFINING = {tir.Block, tir.Allocate, tir.AllocateConst, tir.LetStmt, tir.Let}
"""The nodes that define pointers."""


class _Pointed(Struct, frozen=True):
    """An allocation of `extent` bytes, and the offset of a pointer in it in bytes; None if not constant.

    `owner` is the buffer that was allocated there, if the pointer points to its start.
    """

    extent: int | None
    offset: int | None
    owner: tir.Buffer | None = None


def check_views(subject: Subject) -> None:
    """Check the accesses of buffers that are not their own allocation."""
    memory = _Memory(subject)
    inside: dict[tir.Buffer, bool] = {}
    for site in subject.flow.sites:
        buffer = site.node.buffer
        if buffer not in inside:
            inside[buffer] = memory.holds(buffer)
        if not inside[buffer]:
            _check_access(subject, site, memory.of(buffer.data))
    for site in subject.flow.addresses if subject.strict else ():
        buffer = site.node.buffer
        if not memory.holds(buffer):
            message = f"the element of '{buffer.name}' whose address is taken is not proven to be inside its memory"
            subject.report.warn("E0420", message, site.node, _HELP)


class _Memory:
    """The allocations that the pointers of a function point into."""

    def __init__(self, subject: Subject) -> None:
        self._pointed: dict[tir.Var, _Pointed] = {}
        self._own: set[tir.Buffer] = set(subject.function.buffer_map.values())
        for buffer in self._own:
            self._pointed[buffer.data] = _Pointed(_span(buffer), 0, buffer)
        for node in subject.nodes if _DEFINING & subject.nodes_by_kind.keys() else ():
            if type(node) not in _DEFINING:
                continue
            match node:
                case tir.Block(alloc_buffers=buffers, match_buffers=matches):
                    for buffer in buffers:
                        self._own.add(buffer)
                        self._pointed[buffer.data] = _Pointed(_span(buffer), 0, buffer)
                    self._own.update(match.buffer for match in matches if self.holds(match.source.buffer))
                    for match in matches:
                        self._pointed[match.buffer.data] = self.of(match.source.buffer.data)
                case tir.Allocate() | tir.AllocateConst():
                    made = tir.Buffer(node.buffer_var, node.dtype, tuple(node.extents), node.buffer_var.name)
                    self._pointed[node.buffer_var] = _Pointed(_bytes(node.extents, node.dtype), 0, made)
                case tir.LetStmt(var=var, value=value) | tir.Let(var=var, value=value) if var.dtype == "handle":
                    self._pointed[var] = self._value(value)
                case _:
                    pass

    def of(self, var: tir.Var) -> _Pointed:
        return self._pointed.get(var, _Pointed(None, None))

    def _value(self, value: tir.PrimExpr) -> _Pointed:
        match value:
            case tir.Var():
                return self.of(value)
            case tir.Call(
                op=Op(name="tir.handle_add_byte_offset"), args=(tir.PrimExpr() as base, tir.PrimExpr() as count)
            ):
                return self._moved(self._value(base), count, 1)
            case tir.Call(op=Op(name="tir.address_of"), args=(tir.BufferLoad(buffer=buffer, indices=indices),)):
                base, strides = self.of(buffer.data), _strides(buffer)
                if strides is None:
                    return _Pointed(base.extent, None)
                count = _constant([_offset(buffer), *indices])
                place = None if count is None else count[0] + sum(map(int.__mul__, count[1:], strides))
                size = element_bytes(buffer.dtype)
                known = place is not None and base.offset is not None
                return _Pointed(base.extent, base.offset + place * size if known else None)  # type: ignore[operator]
            case _:
                return _Pointed(None, None)

    def _moved(self, base: _Pointed, count: tir.PrimExpr, size: int) -> _Pointed:
        known = _constant([count])
        offset = base.offset + known[0] * size if known is not None and base.offset is not None else None
        return _Pointed(base.extent, offset)

    def holds(self, buffer: tir.Buffer) -> bool:
        """Whether every element of `buffer` is inside its allocation."""
        if buffer in self._own:
            return True
        pointed, strides, shape = self.of(buffer.data), _strides(buffer), _constant(buffer.shape)
        first = _constant([_offset(buffer)])
        if strides is not None and shape is not None and first is not None:
            if pointed.extent is None or pointed.offset is None:
                return False
            ends = [(extent - 1) * step for extent, step in zip(shape, strides, strict=True)]
            low, high = (pointed.offset + (first[0] + sum(pick(0, end) for end in ends)) * element_bytes(buffer.dtype)
                         for pick in (min, max))  # fmt: skip
            return 0 in shape or (low >= 0 and high + element_bytes(buffer.dtype) <= pointed.extent)
        owner = pointed.owner
        is_whole = owner is not None and first == [0] and not buffer.strides and not owner.strides
        return is_whole and owner is not None and _is_as_large(owner, buffer)


def _is_as_large(owner: tir.Buffer, buffer: tir.Buffer) -> bool:
    """Whether two buffers are known to have the same number of bytes."""
    if structural_equal(owner.shape, buffer.shape) and owner.dtype == buffer.dtype:
        return True
    mine, its = (make.const(1, "int64"), make.const(1, "int64"))
    for extent in owner.shape:
        mine = make.mul(mine, make.cast(extent, "int64"))
    for extent in buffer.shape:
        its = make.mul(its, make.cast(extent, "int64"))
    return owner.dtype == buffer.dtype and structural_equal(mine, its)


def _check_access(subject: Subject, site: AccessSite, pointed: _Pointed) -> None:
    buffer, facts = site.node.buffer, site.place.facts
    strides, first = _strides(buffer), _constant([_offset(buffer)])
    is_known = strides is not None and first is not None and pointed.extent is not None and pointed.offset is not None
    scalar = all("x" not in index.dtype for index in site.node.indices)
    if (
        is_known
        and scalar
        and strides is not None
        and first is not None
        and max(map(abs, [*strides, *first, 0])) < 2**31
    ):
        size = element_bytes(buffer.dtype)
        place: tir.PrimExpr = make.const(first[0], "int64")
        for index, step in zip(site.node.indices, strides, strict=False):
            place = make.add(
                place, make.mul(make.cast(subject.flow.resolve(index), "int64"), make.const(step, "int64"))
            )
        start = (pointed.offset or 0) % size
        low = -((pointed.offset or 0) // size)
        held = ((pointed.extent or 0) - start) // size + low
        bad = any_of([make.less(place, make.const(low, "int64")), make.greater_equal(place, make.const(held, "int64"))])
        answer = subject.solver.ask(bad, facts, subject.solver.sizes)
        if answer.is_safe:
            return
        if answer.values is not None:
            shown = subject.show(site.node.indices, answer.values) or "this"
            verb, found = "writes" if is_write(site) else "reads", subject.value(place, answer.values)
            message = f"{shown} {verb} element {found} of '{buffer.name}', outside its memory, which holds {max(held, 0)} elements"
            subject.report.add("E0414", message, site.node, _HELP)
            return
    if subject.strict:
        subject.report.warn("E0420", f"'{buffer.name}' is not proven to be inside its memory", site.node, _HELP)


def _offset(buffer: tir.Buffer) -> tir.PrimExpr:
    return tir.IntImm("int64", 0) if buffer.elem_offset is None else buffer.elem_offset


def _strides(buffer: tir.Buffer) -> list[int] | None:
    if buffer.strides:
        return _constant(buffer.strides) if len(buffer.strides) == len(buffer.shape) else None
    inner = _constant(buffer.shape[1:])
    return None if inner is None else [prod(inner[axis:]) for axis in range(len(buffer.shape))]


def _constant(values: Sequence[tir.PrimExpr]) -> list[int] | None:
    numbers = [value.value for value in values if isinstance(value, tir.IntImm)]
    return numbers if len(numbers) == len(values) else None


def _span(buffer: tir.Buffer) -> int | None:
    """Return the number of bytes from the first to the last element of a buffer; None if it is unknown."""
    sizes, strides = _constant(buffer.shape), _strides(buffer)
    if sizes is None or strides is None or any(stride < 0 for stride in strides):
        return None
    last = sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True))
    return (last + 1) * element_bytes(buffer.dtype) if all(sizes) else 0


def _bytes(shape: Sequence[tir.PrimExpr], dtype: str) -> int | None:
    numbers = _constant(shape)
    return None if numbers is None else prod(numbers) * element_bytes(dtype)
