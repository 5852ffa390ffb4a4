"""Graph functions as machine code: the calls of kernels become one loop function, the driver (`driver`).

No Python runs between the kernels. Calls of other graph functions become part of the driver, and so do branches. Intermediate
tensors are in a workspace and in results that are not written yet. Places of tensors with constant sizes are planned once, at
compile time; for others, the driver computes them from the sizes of its arguments. If passes have planned memory (`R.memory.*`,
`R.vm.*`), their storages are kept and placed in the same way.

The executor in `compiler` runs functions that need more: sizes that depend on data, recursion, functions in Python. It also runs
a call of machine code if the sizes of its arguments violate a condition in `NativeFunction.needs`, and reports the error.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from ...ir import relax, tir
from ...ir.base import GlobalVar, IRModule, Span
from ...ir.numpy_dtype import numpy_dtype
from ...ir.ops import dims as d
from ...ir.visit import walk
from ..lower.signature import size_variables
from ..runtime.dlpack import Array
from .driver import PlacedRoom, write_driver
from .plan import ALIGNMENT, Lifetime, Plan, make_plan, share_rooms
from .tensors import Known, NeedsExecutor, Storage, Tensor, driver_buffer
from .tracer import Tracer

Returned: TypeAlias = "int | tuple[Returned, ...]"
"""The value of a call: positions of arguments of the driver, nested in tuples as the function returns them."""


class Needs(Struct, frozen=True):
    """What a call needs, as expressions over the sizes of its arguments.

    The driver computes what the program says if no size in `shapes` is negative, and all `conditions` hold. `rooms` are the bytes of
    workspace after those of the constant part.
    """

    shapes: tuple[tuple[tuple[tir.PrimExpr, ...], int], ...] = ()
    """The sizes of tensors, and the bytes of their elements."""
    conditions: tuple[tir.PrimExpr, ...] = ()
    rooms: tuple[tir.PrimExpr, ...] = ()


class NativeFunction(Struct, frozen=True, eq=False):
    """The machine code of a graph function.

    `driver` takes `inputs` arguments, then the `constants`, the workspace if there is one, and the results. Its calls of
    kernels have the spans of the calls in the graph. `plan` is that of the tensors with constant sizes.
    """

    driver: tir.PrimFunc
    inputs: int
    constants: tuple[Array, ...]
    plan: Plan
    needs: Needs
    results: tuple[Tensor, ...]
    returned: Returned

    @property
    def calls(self) -> tuple[tir.Call, ...]:
        """Return the calls of kernels, in order; those of both branches if there are branches."""
        nodes = walk(self.driver.body)
        return tuple(node for node in nodes if isinstance(node, tir.Call) and isinstance(node.op, GlobalVar))

    @property
    def has_constant_sizes(self) -> bool:
        return not size_variables(self.driver)

    @property
    def has_workspace(self) -> bool:
        return bool(self.plan.size or self.needs.rooms)

    @property
    def written(self) -> tuple[int, ...]:
        """Return the positions of the arguments that the driver writes."""
        return tuple(range(self.inputs + len(self.constants), len(self.driver.params)))


def native_functions(module: IRModule) -> dict[str, NativeFunction]:
    """Return the graph functions of a prepared module that can become machine code."""
    found: dict[str, NativeFunction] = {}
    for name, function in module.functions.items():
        if isinstance(function, relax.Function):
            with suppress(NeedsExecutor):
                found[name] = _native(module, function)
    return found


def why_not_native(module: IRModule, name: str) -> tuple[str, Span | None]:
    """Return why graph function `name` of a prepared module cannot become machine code, and where."""
    function = module.functions[name]
    assert isinstance(function, relax.Function)
    try:
        _native(module, function)
    except NeedsExecutor as problem:
        return str(problem), problem.span
    return "machine code for whole graphs is off", None


def _native(module: IRModule, function: relax.Function) -> NativeFunction:
    """Return `function` as a driver; NeedsExecutor if that is not possible."""
    tracer = Tracer(module)
    returned = tracer.trace(function)
    inside = [storage for storage in _used(tracer.tensors) if storage.buffer is None]
    constant = [storage for storage in inside if d.value_of(storage.size) is not None]
    plan = _constant_plan(constant, tracer)
    rooms, room_of = _symbolic_rooms([storage for storage in inside if storage not in constant], plan.size)
    size = tir.Var("int64", "workspace_bytes") if rooms else d.dim(plan.size)
    workspace = driver_buffer("workspace", (size,), "uint8")
    buffers = [*map(_bytes_of, _constant_results(tracer)), workspace]
    places = {
        storage: (buffers[room], d.dim(offset))
        for storage, room, offset in zip(constant, plan.rooms, plan.offsets, strict=True)
    }
    places |= {storage: (workspace, room.offset) for storage, room in room_of.items()}
    results = [result.storage.buffer for result in tracer.results]
    params = [
        *(tensor.storage.buffer for tensor in tracer.given),
        *([workspace] if plan.size or rooms else ()),
        *results,
    ]
    given = [buffer for buffer in params if buffer is not None]
    driver = write_driver(given, tracer.steps, places, workspace, rooms)
    needs = Needs(
        _symbolic_shapes(tracer.tensors), tuple(tracer.sizes.conditions.values()), tuple(room.size for room in rooms)
    )
    back = _positions(returned, {buffer: position for position, buffer in enumerate(given)})
    return NativeFunction(
        driver, len(function.params), tuple(tracer.constants), plan, needs, tuple(tracer.results), back
    )


def _used(tensors: Iterable[Tensor]) -> list[Storage]:
    """Return the storages that a step accesses, in the order of their first access."""
    storages = dict.fromkeys(tensor.storage for tensor in tensors)
    return sorted((storage for storage in storages if storage.steps), key=lambda storage: min(storage.steps))


def _constant_results(tracer: Tracer) -> list[Tensor]:
    return [result for result in tracer.results if d.value_of(result.size) is not None]


def _constant_plan(storages: Iterable[Storage], tracer: Tracer) -> Plan:
    """Return the plan of storages of constant sizes, which also uses results before they are written."""
    results = [result.storage for result in _constant_results(tracer)]
    lifetimes = [Lifetime(_constant_size(storage), min(storage.steps), max(storage.steps)) for storage in storages]
    own = [Lifetime(_constant_size(storage), min(storage.steps, default=0), tracer.clock) for storage in results]
    return make_plan(lifetimes, own)


def _constant_size(storage: Storage) -> int:
    size = d.value_of(storage.size)
    assert size is not None
    return size


def _symbolic_rooms(storages: list[Storage], start: int) -> tuple[list[PlacedRoom], dict[Storage, PlacedRoom]]:
    """Return the rooms for storages of symbolic sizes after byte `start` of the workspace, and the room of each."""
    places, rooms = share_rooms([(storage.size, min(storage.steps), max(storage.steps)) for storage in storages])
    placed: list[PlacedRoom] = []
    for number, room in enumerate(rooms):
        first = d.add(placed[-1].offset, placed[-1].size) if placed else d.dim(-(-start // ALIGNMENT) * ALIGNMENT)
        placed.append(PlacedRoom(tir.Var("int64", f"room_{number}"), first, room.size))
    return placed, {storage: placed[place] for storage, place in zip(storages, places, strict=True)}


def _symbolic_shapes(tensors: Iterable[Tensor]) -> tuple[tuple[tuple[tir.PrimExpr, ...], int], ...]:
    """Return the shapes that are not constant, once each, and the largest size of an element."""
    found: dict[object, tuple[tuple[tir.PrimExpr, ...], int]] = {}
    for tensor in tensors:
        if not all(isinstance(size, tir.IntImm) for size in tensor.shape):
            key = tuple(map(d.key_of, tensor.shape))
            _, known = found.get(key, ((), 0))
            found[key] = tensor.shape, max(known, numpy_dtype(tensor.dtype).itemsize)
    return tuple(found.values())


def _bytes_of(result: Tensor) -> tir.Buffer:
    """Return the memory of a result of constant size as bytes."""
    buffer = result.storage.buffer
    assert buffer is not None
    return replace(driver_buffer(buffer.name, (result.size,), "uint8"), data=buffer.data)


def _positions(value: Known, positions: Mapping[tir.Buffer, int]) -> Returned:
    if isinstance(value, tuple):
        return tuple(_positions(field, positions) for field in value)
    assert isinstance(value, Tensor)
    assert value.storage.buffer is not None
    return positions[value.storage.buffer]
