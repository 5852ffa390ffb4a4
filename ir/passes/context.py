"""The context in which passes run, and what its instruments learn of them (TVM: `PassContext`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar, Token
from typing import Any

from ..tir import PrimFunc
from .instrument import PassInfo, PassInstrument


class PassContext:
    """Context of passes, active in a `with` statement (TVM: `PassContext`).

    `Sequential` skips passes of a higher level than `opt_level`, unless they are in `required_pass`, and those in
    `disabled_pass`. `instruments` observe the input and output of every pass. `config` holds options by name.
    """

    def __init__(
        self,
        opt_level: int = 2,
        required_pass: Iterable[str] = (),
        disabled_pass: Iterable[str] = (),
        instruments: Iterable[PassInstrument] = (),
        config: Mapping[str, Any] | None = None,
    ) -> None:
        self.opt_level = opt_level
        self.required_pass, self.disabled_pass = frozenset(required_pass), frozenset(disabled_pass)
        self.instruments, self.config = tuple(instruments), dict(config or {})
        self._tokens: list[Token[PassContext | None]] = []

    @staticmethod
    def current() -> PassContext:
        """Return the innermost active context, or one with the defaults."""
        return _current.get() or PassContext()

    def pass_enabled(self, info: PassInfo) -> bool:
        """Return whether a `Sequential` runs the pass in this context."""
        if info.name in self.disabled_pass:
            return False
        return info.name in self.required_pass or info.opt_level <= self.opt_level

    def __enter__(self) -> PassContext:
        self._tokens.append(_current.set(self))
        for instrument in self.instruments:
            instrument.enter_pass_ctx()
        return self

    def __exit__(self, *_: object) -> None:
        for instrument in self.instruments:
            instrument.exit_pass_ctx()
        _current.reset(self._tokens.pop())


_current: ContextVar[PassContext | None] = ContextVar("pass context", default=None)


def announce(stage: str) -> None:
    """Notify the instruments of the current context of the next step of the compiler."""
    for instrument in PassContext.current().instruments:
        instrument.run_stage(stage)


def observed(name: str, code: Callable[..., Any], before: PrimFunc, after: PrimFunc) -> PrimFunc:
    """Notify the instruments of the current context that step `name` turned `before` into `after`; return `after`."""
    for instrument in PassContext.current().instruments:
        instrument.run_after_step(name, code, before, after)
    return after
