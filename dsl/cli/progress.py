"""Long steps of commands: shows the pass or stage of a slow compilation in a line of the terminal that disappears at the
end, and machine code that Ctrl-C terminates."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any

from ...ir.passes.instrument import PassInstrument
from ...ir.passes.transform import PassContext
from ...ir.sanitize import visible

if TYPE_CHECKING:
    from ...ir.base import IRModule
    from ...ir.passes.instrument import PassInfo

PATIENCE = 0.5
"""Seconds before progress is shown."""


class _Line(PassInstrument):
    """Shows each pass, and each later stage, once `PATIENCE` has passed."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._status: Any = None

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        self.run_stage(info.name)

    def run_stage(self, name: str) -> None:
        seconds = time.monotonic() - self._start
        if seconds < PATIENCE:
            return
        if self._status is not None:
            from rich.text import Text

            self._status.update(Text(visible(f"{name} ({seconds:.0f} s)")))
            return
        from rich.console import Console
        from rich.text import Text

        self._status = Console(stderr=True).status(Text(visible(name)))
        self._status.start()

    def exit_pass_ctx(self) -> None:
        if self._status is not None:
            self._status.stop()


@contextmanager
def progress() -> Generator[None]:
    """Show, within a `with`, the progress of the compiler if standard error is a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    context = PassContext.current()
    with PassContext(context.opt_level, instruments=(*context.instruments, _Line()), config=context.config):
        yield


def interruptible(call: Callable[..., Any]) -> Callable[..., Any]:
    """Return `call`, which runs machine code, so that Ctrl-C terminates the process during it.

    Python handles signals only between its own instructions, so its handler would wait for the machine code to return.
    """

    @wraps(call)
    def interrupted(*values: Any) -> Any:
        is_main = threading.current_thread() is threading.main_thread()
        if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            return call(*values)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        try:
            return call(*values)
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    return interrupted
