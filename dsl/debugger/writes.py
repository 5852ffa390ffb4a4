"""The elements that a step has written, by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct

from ...ir import relax, tir
from .breakpoints import Watch
from .expressions import view_of
from .places import Place
from .timeline import Step

if TYPE_CHECKING:
    from ...ir.interp.memory import Array, View


class Write(Struct, frozen=True):
    """A write to an element of a buffer."""

    name: str
    indices: tuple[int, ...]
    before: Any
    after: Any

    def __str__(self) -> str:
        return f"{self.name}[{', '.join(map(str, self.indices))}]: {self.before} -> {self.after}"

    def is_of(self, watch: Watch) -> bool:
        """Return whether a watch is for this element."""
        return watch.name == self.name and watch.indices in (None, self.indices)

    @property
    def makes_nan(self) -> bool:
        """Whether the write replaces a number with NaN."""
        return self.after != self.after and self.before == self.before


def watchable(places: Iterable[Place]) -> set[str]:
    """Return the names of the buffers and tensors that are visible at some of `places`."""
    names = {name for place in places for name in place.names}
    buffers = {name.name for name in names if isinstance(name, tir.Buffer)}
    return buffers | {name.name_hint for name in names if isinstance(name, relax.Var)}


def writes_of(step: Step) -> Iterator[Write]:
    """Yield the writes of the step that has just run to buffers and tensors that it names."""
    views = list(_views(step))
    for target, before in step.writes:
        start = target.__array_interface__["data"][0]
        for name, view in views:
            yield from _elements(name, view, target, before, start)


def _views(step: Step) -> Iterator[tuple[str, View]]:
    import numpy as np

    from ...ir.interp.memory import View

    for name, value in zip(step.place.names, step.values, strict=True):
        if isinstance(name, tir.Buffer) and isinstance(value, View):
            yield name.name, value
        elif isinstance(name, relax.Var) and isinstance(value, np.ndarray):
            yield name.name_hint, view_of(cast("Array", value))


def _elements(name: str, view: View, target: Array, before: Array, start: int) -> Iterator[Write]:
    """Yield the elements of `view` among those of `target`."""
    if target.dtype != view.flat.dtype or target.ndim != 1:
        return
    size = view.flat.itemsize
    origin = view.flat.__array_interface__["data"][0] + (view.base + view.offset * view.lanes) * size
    for position in range(len(target)):
        place, rest = divmod(start + position * target.strides[0] - origin, size * view.lanes)
        indices = _indices(view, place) if rest % size == 0 else None
        if indices is not None:
            lane = (rest // size,) if view.lanes > 1 else ()
            yield Write(name, (*indices, *lane), before[position], target[position])


def _indices(view: View, place: int) -> tuple[int, ...] | None:
    """Return the indices of the element at `place`; None if the view does not hold it, or its strides are not in order."""
    found: list[int] = []
    for extent, stride in view.axes:
        index, place = divmod(place, stride) if stride > 0 else (0, place)
        if not 0 <= index < extent:
            return None
        found.append(index)
    return tuple(found) if place == 0 else None
