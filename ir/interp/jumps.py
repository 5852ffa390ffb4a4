"""Ways to leave a statement before its end. They are exceptions, and reach whoever made what they leave."""

from __future__ import annotations

from .scalars import Value


class Return(Exception):
    """A function returns `value` (`T.ret`)."""

    def __init__(self, value: Value) -> None:
        self.value = value


class Break(Exception):
    """The innermost loop ends."""


class Continue(Exception):
    """The innermost loop goes on with its next iteration."""


class Leave(Exception):
    """This thread is done; it no longer takes part in barriers."""
