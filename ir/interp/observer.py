"""Observation of a run: an observer is told each statement before it runs, and each access before it happens.

Runs without an observer have no overhead: functions are compiled with or without calls of the observer.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from .. import tir

if TYPE_CHECKING:
    from .frame import Frame

Access: TypeAlias = tir.BufferLoad | tir.BufferStore


class Observer:
    """Ignores all events; an exception in an override ends the run."""

    def statement(self, stmt: tir.Stmt, frame: Frame) -> None:
        """Handle that `stmt` is about to run, with the values in `frame`."""

    def access(self, access: Access, indices: tuple[int, ...], frame: Frame) -> None:
        """Handle that the element at `indices` of the buffer of `access` is about to be read or written; it is inside."""


class Touched(Struct, frozen=True):
    """An access to an element."""

    access: Access
    indices: tuple[int, ...]

    @property
    def is_write(self) -> bool:
        return isinstance(self.access, tir.BufferStore)


class Recorder(Observer):
    """Records every access, in order."""

    def __init__(self) -> None:
        self.touched: list[Touched] = []

    def access(self, access: Access, indices: tuple[int, ...], frame: Frame) -> None:
        self.touched.append(Touched(access, indices))


_is_observed: ContextVar[bool] = ContextVar("is_observed", default=False)


@contextmanager
def observing(observer: Observer | None) -> Generator[None]:
    """Compile functions inside the `with` so that they call the observer of the run, if there is one."""
    token = _is_observed.set(observer is not None)
    try:
        yield
    finally:
        _is_observed.reset(token)


def is_observed() -> bool:
    """Whether functions are currently compiled to call an observer."""
    return _is_observed.get()
