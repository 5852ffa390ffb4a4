"""Jumps as exceptions: ways to leave a statement before its end. The executor of the left statement catches them."""

from __future__ import annotations

from .scalars import Value


class Return(Exception):
    """A function returns `value` (`T.ret`)."""

    def __init__(self, value: Value) -> None:
        self.value = value


class Break(Exception):
    """The innermost loop ends."""


class Continue(Exception):
    """The innermost loop continues with its next iteration."""


class Leave(Exception):
    """This thread ends; it no longer takes part in barriers."""
