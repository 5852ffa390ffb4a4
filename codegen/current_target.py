"""Targets as values of a program (TVM: `tvm.target.Target`)."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar, Token
from typing import Any

from .device import CPU, Device
from .target import TargetLike, get_target

_current: ContextVar[Target | None] = ContextVar("target", default=None)


class Target(str):
    """What to compile for, as the text that says so: `Target("cuda -arch=sm_80")` stands wherever a target is asked for.

    Inside `with target:` it is the target of whatever is given none. TvmsError E0601 where there is no such target.
    """

    __slots__ = ("_tokens",)
    _tokens: list[Token[Target | None]]

    def __new__(cls, target: TargetLike, host: TargetLike | None = None) -> Target:
        """Code of the host is always for the processor: `host` is checked, and not needed."""
        if host is not None:
            get_target(host)
        made = super().__new__(cls, get_target(target).text)
        made._tokens = []
        return made

    @property
    def kind(self) -> str:
        """The name of the target without its options."""
        return self.partition(" ")[0]

    @property
    def attrs(self) -> Mapping[str, Any]:
        """The options of the target by name."""
        return get_target(str(self)).options

    @staticmethod
    def current(allow_none: bool = True) -> Target | None:
        """Return the innermost target around the call; None where there is none, or ValueError unless `allow_none`."""
        found = _current.get()
        if found is None and not allow_none:
            raise ValueError("there is no current target: call inside 'with tvms.target.Target(…):'")
        return found

    @staticmethod
    def from_device(device: str | Device) -> Target:
        """Return the target whose code runs on a device."""
        if isinstance(device, Device):
            return Target("llvm" if device.device_type == CPU else "cuda")
        return Target("llvm" if device.startswith("cpu") else device.partition("(")[0])

    def __enter__(self) -> Target:
        self._tokens.append(_current.set(self))
        return self

    def __exit__(self, *_: object) -> None:
        _current.reset(self._tokens.pop())


def default_target(target: TargetLike | None) -> TargetLike:
    """Return `target`, or the current one where it is None, or the processor."""
    return target or _current.get() or "llvm"
