"""Observation of a run: an `Observer` is told each statement before it runs, and each access before it happens.

Runs without an observer have no overhead: functions are compiled with or without calls of the observer.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

from msgspec import Struct

from .. import tir
from .frame import Access, Frame, Observer


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
