"""Instruments, which observe passes (TVM: `tvm.ir.instrument`)."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from ..base import IRModule
from ..diagnostics import Diagnostic, Note, TvmsError, error
from ..sanitize import write_program

if TYPE_CHECKING:
    from ..tir import PrimFunc


class PassInfo(Struct, frozen=True):
    """Static properties of a pass (TVM: `PassInfo`)."""

    name: str
    opt_level: int = 0
    """A `Sequential` skips it in a context with a lower level."""
    required: tuple[str, ...] = ()
    """Names of passes that a `Sequential` runs right before it."""
    traceable: bool = False


class PassInstrument:
    """Base class of instruments; subclasses override the events of interest (TVM: `PassInstrument`)."""

    def enter_pass_ctx(self) -> None:
        """Handle the entry of a context with this instrument."""

    def exit_pass_ctx(self) -> None:
        """Handle the exit of the context."""

    def should_run(self, mod: IRModule, info: PassInfo) -> bool:
        """Return whether the pass should run; a single instrument can prevent it."""
        return True

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        """Handle the input module of a pass."""

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        """Handle the output module of a pass."""

    def run_stage(self, name: str) -> None:
        """Handle a step of the compiler that is not a pass: lowering of a function, or LLVM."""

    def run_after_step(self, name: str, code: Callable[..., Any], before: PrimFunc, after: PrimFunc) -> None:
        """Handle the result of a step of lowering, which `code` implements."""


def pass_instrument(pi_cls: type | None = None) -> Any:
    """Turn a class with some of the methods of an instrument into an instrument (TVM: `pass_instrument`)."""

    def decorate(given: type) -> type:
        return type(given.__name__, (given, PassInstrument), {"__doc__": given.__doc__})

    return decorate if pi_cls is None else decorate(pi_cls)


class PassTimingInstrument(PassInstrument):
    """Measures the time of passes; those inside a `Sequential` are indented below it (TVM: `PassTimingInstrument`)."""

    def __init__(self) -> None:
        self._running: list[tuple[int, float]] = []
        self._rows: list[tuple[int, str, float]] = []

    def enter_pass_ctx(self) -> None:
        self._rows.clear()

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        self._running.append((len(self._rows), time.perf_counter()))
        self._rows.append((len(self._running) - 1, info.name, 0.0))

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        row, start = self._running.pop()
        self._rows[row] = (*self._rows[row][:2], time.perf_counter() - start)

    def render(self) -> str:
        """Return a line for each pass: its name and its time in milliseconds."""
        return "\n".join(f"{'  ' * depth}{name}: {1e3 * seconds:.3f} ms" for depth, name, seconds in self._rows)


class PrintAfterAll(PassInstrument):
    """Prints the module after every pass, in `dialect` (TVM: `PrintAfterAll`)."""

    def __init__(self, dialect: str = "tvms") -> None:
        self._dialect = dialect

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        write_program(f"# --- after {info.name}\n{mod.script(self._dialect)}\n\n")


class PrintBeforeAll(PassInstrument):
    """Prints the module before every pass (TVM: `PrintBeforeAll`)."""

    def __init__(self, dialect: str = "tvms") -> None:
        self._dialect = dialect

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        write_program(f"# --- before {info.name}\n{mod.script(self._dialect)}\n\n")


class VerifyEach(PassInstrument):
    """Verifies the output module of every pass.

    Raises TvmsError E0904, which names the pass, with the new violations as notes. Violations in the input are ignored.
    """

    def __init__(self) -> None:
        self.broken: tuple[IRModule, PassInfo] | None = None
        """Input module and name of the pass that broke the law."""
        self._before: list[IRModule] = []

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        self._before.append(mod)

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        before = self._before.pop()
        found = breaches(mod) if mod is not before else []
        known = {problem.message for problem in breaches(before)} if found else ()
        broken = [problem for problem in found if problem.message not in known]
        if broken:
            self.broken = before, info
            notes = [Note(f"{problem.code}: {problem.message}", problem.span) for problem in broken]
            help = f"this is a bug in the pass; disable it with disabled_pass=['{info.name}'] and report it"
            raise error("E0904", f"pass '{info.name}' breaks the law of the IR", None, help, *notes)


def breaches(mod: IRModule) -> list[Diagnostic]:
    """Return the errors that the verifier reports for a module."""
    from ..verify import verify

    try:
        return [problem for problem in verify(mod) if problem.severity == "error"]
    except TvmsError as problem:
        return list(problem.diagnostics)
