"""What may be told of a run while it goes on: each statement before it runs, each element before it is touched.

A run that nobody observes pays nothing: whether there is an observer is known when its functions are compiled.
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
    """Does nothing with what it is told; what it raises ends the run."""

    def statement(self, stmt: tir.Stmt, frame: Frame) -> None:
        """`stmt` is about to run, with the values in `frame`."""

    def access(self, access: Access, indices: tuple[int, ...], frame: Frame) -> None:
        """The element at `indices` of the buffer of `access` is about to be read or written; it lies inside it."""


class Touched(Struct, frozen=True):
    """An element that was read or written."""

    access: Access
    indices: tuple[int, ...]

    @property
    def is_write(self) -> bool:
        return isinstance(self.access, tir.BufferStore)


class Recorder(Observer):
    """Keeps every access, in order."""

    def __init__(self) -> None:
        self.touched: list[Touched] = []

    def access(self, access: Access, indices: tuple[int, ...], frame: Frame) -> None:
        self.touched.append(Touched(access, indices))


_is_observed: ContextVar[bool] = ContextVar("is_observed", default=False)


@contextmanager
def observing(observer: Observer | None) -> Generator[None]:
    """Compile what is compiled inside so that it tells its run's observer, if there is one."""
    token = _is_observed.set(observer is not None)
    try:
        yield
    finally:
        _is_observed.reset(token)


def is_observed() -> bool:
    """Whether what is compiled now is to tell an observer."""
    return _is_observed.get()
