"""Paths to parts of programs, and the paths to the first difference of two (TVM: `tvm_ffi.access_path`, `runtime.ObjectPath`)."""

from __future__ import annotations

from ast import literal_eval
from collections.abc import Mapping, Sequence
from typing import Any, cast

from msgspec import Struct

from ..equal import difference_with_labels
from .program import comparable


class AccessPath(Struct, frozen=True):
    """A path from a root to one of its parts, such as `<root>.body.blocks[0]`; a part that only another program has is missing."""

    steps: tuple[tuple[str, Any], ...] = ()
    """Kinds of steps, "attr", "item" or "missing", each with the name of a field, the index or the key."""

    @classmethod
    def root(cls) -> AccessPath:
        """Return the path to the root."""
        return cls()

    def attr(self, name: str) -> AccessPath:
        """Return the path to the field `name` of this part."""
        return AccessPath((*self.steps, ("attr", name)))

    def array_item(self, index: int) -> AccessPath:
        """Return the path to an element of this sequence."""
        return AccessPath((*self.steps, ("item", index)))

    def map_item(self, key: Any) -> AccessPath:
        """Return the path to the value of a key of this map."""
        return AccessPath((*self.steps, ("item", key)))

    def array_item_missing(self, index: int) -> AccessPath:
        """Return the path to an element that this sequence does not have."""
        return AccessPath((*self.steps, ("missing", index)))

    map_item_missing = array_item_missing
    array_index, map_value = array_item, map_item
    missing_array_element, missing_map_entry = array_item_missing, map_item_missing
    # Names of TVM 0.21.

    @property
    def parent(self) -> AccessPath | None:
        """The path without its last step; None for the root."""
        return AccessPath(self.steps[:-1]) if self.steps else None

    def is_prefix_of(self, other: AccessPath) -> bool:
        """Return whether `other` leads to this part or into it."""
        return other.steps[: len(self.steps)] == self.steps

    def __str__(self) -> str:
        shown = {"attr": ".{}", "item": "[{!r}]", "missing": "[<missing {!r}>]"}
        return "<root>" + "".join([shown[kind].format(value) for kind, value in self.steps])

    __repr__ = __str__


ObjectPath = AccessPath
"""The name in TVM 0.21."""


def get_first_structural_mismatch(
    lhs: Any, rhs: Any, map_free_vars: bool = False
) -> tuple[AccessPath, AccessPath] | None:
    """Return the paths to the first difference in two programs, or None if they are equal up to names."""
    found = difference_with_labels(comparable(lhs), comparable(rhs), map_free_vars, as_tvm=True)
    if found is None:
        return None
    labels, left, right = found
    path = AccessPath()
    for label in labels:
        path = path.map_item(literal_eval(label[1:-1])) if label.startswith("[") else path.attr(label)
    place = _first_alone(left, right)
    return (path, path) if place is None else (_step(path, left, place), _step(path, right, place))


def _first_alone(left: Any, right: Any) -> Any:
    """Return the first index or key that only one of two containers has; None for other values."""
    if isinstance(left, dict) and isinstance(right, dict):
        return next(iter(sorted(cast("dict[Any, Any]", left).keys() ^ cast("dict[Any, Any]", right).keys())), None)
    if isinstance(left, tuple | list) and isinstance(right, tuple | list):
        return min(len(cast("Sequence[Any]", left)), len(cast("Sequence[Any]", right)))
    return None


def _step(path: AccessPath, value: Mapping[Any, Any] | Sequence[Any], place: Any) -> AccessPath:
    has_place = place in value if isinstance(value, Mapping) else place < len(value)
    return path.map_item(place) if has_place else path.map_item_missing(place)
