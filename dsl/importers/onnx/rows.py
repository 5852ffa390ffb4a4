"""Rows of the table of converters: an operator, the first version that the row converts, and the converter."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias, TypeVar

from msgspec import Struct

from .signatures import Signature

Convert: TypeAlias = Callable[[Any, Any], Any]
"""A function of the converter and the inputs and attributes by name, which returns a value, or a tuple of values for several
outputs."""
_Convert = TypeVar("_Convert", bound=Convert)

LEARNING = "ai.onnx.ml"
"""The domain of operators of classical machine learning."""
TRAINING = "ai.onnx.preview.training"
"""The domain of optimizers."""


class Row(Struct, frozen=True):
    """The converter of an operator from version `since` of its domain on, up to the next row of the operator."""

    operator: str
    domain: str
    since: int
    convert: Convert
    signature: Signature | None = None
    """For operators that the standard does not declare."""
    takes_objects: bool = False
    """Whether inputs may be sequences, optional values, texts, and tensors of unknown rank."""


class Family:
    """The rows of one file."""

    def __init__(self) -> None:
        self._rows: list[Row] = []

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

    def row(
        self,
        *operators: str,
        since: int = 1,
        domain: str = "",
        signature: Signature | None = None,
        takes_objects: bool = False,
    ) -> Callable[[_Convert], _Convert]:
        """Make the decorated function the converter of `operators`, from version `since` of the domain on."""

        def register(convert: _Convert) -> _Convert:
            self._rows += [Row(operator, domain, since, convert, signature, takes_objects) for operator in operators]
            return convert

        return register

    def add(self, rows: Mapping[str, Convert], since: int = 1, domain: str = "") -> None:
        """Add a row for each operator in `rows`, from version `since` of the domain on."""
        for operator, convert in rows.items():
            self.row(operator, since=since, domain=domain)(convert)


class Table:
    """All rows, by domain and operator."""

    def __init__(self, families: Iterable[Family]) -> None:
        self._rows: dict[tuple[str, str], list[Row]] = {}
        for row in (row for family in families for row in family):
            same = self._rows.setdefault((row.domain, row.operator), [])
            if any(other.since == row.since for other in same):
                raise ValueError(f"{row.operator} has two rows from version {row.since} on")
            same.append(row)
            same.sort(key=lambda row: row.since)

    def find(self, operator: str, domain: str, version: int) -> Row | None:
        """Return the row for an operator in a version of its domain, or None."""
        fitting = [row for row in self._rows.get((domain, operator), ()) if row.since <= version]
        return fitting[-1] if fitting else None

    def __iter__(self) -> Iterator[Row]:
        return (row for rows in self._rows.values() for row in rows)
