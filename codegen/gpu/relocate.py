"""The launches of a trace with places instead of addresses, so that they can be repeated with other memory."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Container, Sequence
from typing import Any, TypeAlias, cast

from msgspec import Struct

from ..graph.plan import Lifetime, make_plan
from .arrays import DeviceArray
from .launch import KernelCall
from .trace import Trace

ALIGNMENT = 256
"""Alignment of tensors in the workspace in bytes, which is that of CUDA's allocations."""
FIXED, WORKSPACE = -2, -1

Arrays: TypeAlias = Sequence[DeviceArray]
Place: TypeAlias = tuple[int, int]
"""The number of an argument or, after these, of a result, and an offset in it; `WORKSPACE` and an offset; or `FIXED` and an address."""
Value: TypeAlias = Callable[[Arrays, Arrays], Any]
"""Returns a value of the function, given its arguments and the memory of its results."""


class Launch(Struct, frozen=True, eq=False):
    """A launch, and the places of its addresses."""

    call: KernelCall
    places: tuple[Place, ...]

    def at(self, bases: Sequence[int], workspace: int) -> KernelCall:
        """Return the launch for these addresses of arguments and results, and of the workspace."""
        found = {FIXED: 0, WORKSPACE: workspace}
        return self.call.at(
            [offset + (bases[source] if source >= 0 else found[source]) for source, offset in self.places]
        )


class Relocated(Struct, frozen=True, eq=False):
    """The launches of a call, the size of its workspace and of the memory of each result in bytes, and its value."""

    launches: tuple[Launch, ...]
    workspace: int
    results: tuple[int, ...]
    value: Value


class NotRepeatable(Exception):
    """The reason why launches cannot be repeated for other memory."""


def relocate(trace: Trace, args: Arrays, value: Any) -> Relocated:
    """Return the launches of a call with `args`, which do not overlap, that returned `value`; NotRepeatable if they cannot be repeated.

    Memory that the call allocated is a result if `value` refers to it. The other tensors share a workspace.
    """
    if trace.obstacle:
        raise NotRepeatable(trace.obstacle)
    allocated, given = _Ranges(), _Ranges()
    for number, arg in enumerate(args):
        if arg.nbytes:  # no kernel accesses elements of the others
            given.add(number, arg.address, arg.nbytes)
    origins = _origins(trace, allocated, given)
    results: dict[int, int] = {}
    made = _value_of(value, args, allocated, results)
    offsets, size = _planned(trace, origins, allocated, results)

    def place(origin: _Origin) -> Place:
        ranges, number, offset = origin
        if ranges is None:
            return FIXED, offset
        if ranges is given:
            return number, offset
        return (len(args) + results[number], offset) if number in results else (WORKSPACE, offsets[number] + offset)

    launches = [Launch(call, tuple(map(place, found))) for call, found in zip(trace.calls, origins, strict=True)]
    return Relocated(tuple(launches), size, tuple([trace.allocations[number].size for number in results]), made)


def _origins(trace: Trace, allocated: _Ranges, given: _Ranges) -> list[list[_Origin]]:
    """Return what the addresses of each launch belong to, and add the allocations to `allocated`."""
    waiting, found = deque(enumerate(trace.allocations)), list[list[_Origin]]()
    for time in range(len(trace.calls) + 1):
        while waiting and waiting[0][1].time <= time:
            number, allocation = waiting.popleft()
            allocated.add(number, allocation.address, allocation.size)
        if time < len(trace.calls):
            found.append([_origin(address, allocated, given) for address in trace.calls[time].addresses()])
    return found


def _planned(
    trace: Trace, origins: list[list[_Origin]], allocated: _Ranges, results: Container[int]
) -> tuple[dict[int, int], int]:
    """Return the offsets in the workspace of all allocations but results, by number, and its size in bytes."""
    lives: dict[int, tuple[int, int]] = {}
    for time, found in enumerate(origins):
        for ranges, number, _ in found:
            if ranges is allocated and number not in results:
                lives[number] = lives.get(number, (time, time))[0], time
    sizes = [-(-trace.allocations[number].size // ALIGNMENT) * ALIGNMENT for number in lives]
    plan = make_plan([Lifetime(size, *life) for size, life in zip(sizes, lives.values(), strict=True)])
    return dict(zip(lives, plan.offsets, strict=True)), plan.size


class _Ranges:
    """Numbered ranges of addresses. A new one replaces those that it overlaps."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._rest: list[tuple[int, int]] = []
        """The end and the number of each range."""

    def add(self, number: int, start: int, size: int) -> None:
        """Add a range of at least one byte."""
        end = start + max(size, 1)
        first, last = bisect_right(self._starts, start), bisect_left(self._starts, end)
        if first and self._rest[first - 1][0] > start:
            first -= 1
        self._starts[first:last], self._rest[first:last] = [start], [(end, number)]

    def find(self, address: int) -> tuple[int, int] | None:
        """Return the number of the range with an address, and the offset of the address in it."""
        at = bisect_right(self._starts, address) - 1
        if at < 0 or address >= self._rest[at][0]:
            return None
        return self._rest[at][1], address - self._starts[at]


_Origin: TypeAlias = tuple[_Ranges | None, int, int]
"""The ranges that an address belongs to, the number of the range, and the offset in it; without ranges, the address itself."""


def _origin(address: int, allocated: _Ranges, given: _Ranges) -> _Origin:
    for ranges in (allocated, given):
        found = ranges.find(address)
        if found is not None:
            return ranges, *found
    return None, 0, address


def _value_of(value: Any, args: Arrays, allocated: _Ranges, results: dict[int, int]) -> Value:
    """Return how a value is made from arguments and results. The allocations that it refers to are numbered in `results`."""
    if type(value) is tuple:
        fields = [_value_of(field, args, allocated, results) for field in cast("tuple[Any, ...]", value)]
        return lambda args, made: tuple([field(args, made) for field in fields])
    if not isinstance(value, DeviceArray):
        if callable(value):
            raise NotRepeatable("it returns a function")
        return lambda args, made: value
    shape, dtype, root = value.shape, value.dtype, value
    while root.base is not None and all(root is not arg for arg in args):
        root = root.base
    start = value.address - root.address
    for number, arg in enumerate(args):
        if root is arg:
            return lambda args, made: args[number] if root is value else args[number].part(start, shape, dtype)
    found = allocated.find(root.address)
    if found is None:
        return lambda args, made: value
    number = results.setdefault(found[0], len(results))
    return lambda args, made: made[number].part(start, shape, dtype)
