"""Targets as values (TVM: `tvm.target.Target`)."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar, Token
from typing import Any

from .device import CPU, Device
from .target import TargetLike, get_target

_current: ContextVar[Target | None] = ContextVar("target", default=None)


class Target(str):
    """A target in text form: `Target("cuda -arch=sm_80")` is accepted wherever a target is expected.

    Inside `with target:` it is the default target. TvmsError E0601 for an unknown target.
    """

    __slots__ = ("_tokens",)
    _tokens: list[Token[Target | None]]

    def __new__(cls, target: TargetLike, host: TargetLike | None = None) -> Target:
        """Parse a target; `host` is only checked, since host code is always for the processor."""
        if host is not None:
            get_target(host)
        made = super().__new__(cls, get_target(target).text)
        made._tokens = []
        return made

    @property
    def kind(self) -> str:
        """Return the name of the target without its options."""
        return self.partition(" ")[0]

    @property
    def attrs(self) -> Mapping[str, Any]:
        """Return the options of the target by name."""
        return get_target(str(self)).options

    @staticmethod
    def current(allow_none: bool = True) -> Target | None:
        """Return the innermost enclosing target; if there is none, None, or ValueError unless `allow_none`."""
        found = _current.get()
        if found is None and not allow_none:
            raise ValueError("no current target: call inside 'with tvms.target.Target(…):'")
        return found

    @staticmethod
    def from_device(device: str | Device) -> Target:
        """Return the target for a device."""
        if isinstance(device, Device):
            return Target("llvm" if device.device_type == CPU else "cuda")
        return Target("llvm" if device.startswith("cpu") else device.partition("(")[0])

    def __enter__(self) -> Target:
        self._tokens.append(_current.set(self))
        return self

    def __exit__(self, *_: object) -> None:
        _current.reset(self._tokens.pop())


def default_target(target: TargetLike | None) -> TargetLike:
    """Return `target` or, if it is None, the current target or the processor."""
    return target or _current.get() or "llvm"
