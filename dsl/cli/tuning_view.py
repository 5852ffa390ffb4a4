"""The progress of `tvms tune`: a table that is updated in place on a terminal, a line for each tenth of the trials otherwise; and its
curves, which `--plot FILE` draws with matplotlib (extra `tune`).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from io import BytesIO
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from ...ir.diagnostics import error
from ...ir.files import write_whole
from ...ir.sanitize import say, visible
from .reporting import UsageError

if TYPE_CHECKING:
    from ...codegen.tuner.tuning import TaskState

ESTIMATED = "estimated: "
"""What precedes times that are not measured."""
_FORMATS = (".svg", ".png")
_MOST = 10
"""Number of curves that have a name in the legend."""


def rounded(value: float) -> float:
    """Return a number with four significant digits."""
    return float(f"{value:.4g}")


def duration(seconds: float) -> str:
    """Return a time with a suitable unit, and three digits."""
    for unit, factor in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= factor:
            return f"{seconds / factor:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def described(state: TaskState) -> str:
    """Return the time of a function before and after tuning."""
    if not state.baseline:
        return "not estimated" if state.is_estimated else "not measured"
    before = f"{ESTIMATED if state.is_estimated else ''}{duration(state.baseline)}"
    if state.best >= 1:
        return f"{before}, no faster schedule"
    return f"{before} to {duration(state.time)}, {1 / state.best:.2f} times as fast"


class TuningView:
    """Shows the states of all tasks while a search runs."""

    def __init__(self, trials: int) -> None:
        self._trials, self._start = trials, time.monotonic()
        self._live: Any = None
        self._told = 0

    def __enter__(self) -> TuningView:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.live import Live

            self._live = Live(console=Console(stderr=True), refresh_per_second=4, transient=True)
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, states: Sequence[TaskState]) -> None:
        """Show the states."""
        done = sum(state.trials for state in states)
        if self._live is not None:
            self._live.update(self._table(states, done))
        elif done * 10 // self._trials > self._told:
            self._told = done * 10 // self._trials
            told = "; ".join(f"{state.task.name}: {described(state)}" for state in states[:4])
            say(f"{done} of {self._trials} trials, {time.monotonic() - self._start:.0f} s: {told}", sys.stderr)

    def _table(self, states: Sequence[TaskState], done: int) -> Any:
        from rich import box
        from rich.table import Table
        from rich.text import Text

        seconds = time.monotonic() - self._start
        left = seconds * (self._trials - done) / done if done else 0.0
        is_estimated = any(state.is_estimated for state in states)
        title = f"{'estimates, nothing is measured: ' if is_estimated else ''}{done} of {self._trials} trials, {seconds:.0f} s, about {left:.0f} s left"
        table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", pad_edge=False)
        for heading in ("function", "before", "best", "gain", "trials", "failed", ""):
            table.add_column(heading, no_wrap=True)
        for state in states:
            failed = state.trials - state.outcomes["ok"]
            cells = (
                state.task.name, duration(state.baseline), duration(state.time), f"{1 / state.best:.2f} ×",
                str(state.trials), str(failed), state.stopped,
            )  # fmt: skip
            table.add_row(*[Text(visible(cell)) for cell in cells])
        return table


# --- Curves ---------------------------------------------------------------------------------------------------------


def check_plot(path: str) -> None:
    """Raise UsageError if the name of a plot does not end in .svg or .png, E0812 if matplotlib is not installed."""
    if PurePath(path).suffix not in _FORMATS:
        raise UsageError(
            f"--plot {path}: expected a name that ends in {' or '.join(_FORMATS)}", help="name it curves.svg"
        )
    if find_spec("matplotlib") is None:
        help = "pip install 'tvms-lang[tune]'"
        raise error("E0812", "tvms tune --plot needs matplotlib, which is not installed", None, help)


def write_plot(states: Sequence[TaskState], path: str) -> None:
    """Write the curves of all functions with trials to a file, as SVG or PNG."""
    figure: Any = import_module("matplotlib.figure").Figure(figsize=(9, 4), layout="constrained")
    by_trial, by_time = figure.subplots(1, 2, sharey=True)
    searched = sorted((state for state in states if state.curve), key=lambda state: state.best)
    for number, state in enumerate(searched):
        name = _label(state) if number < _MOST else None
        speedups = [1.0, *[1 / best for best in state.curve]]
        by_trial.step(range(len(speedups)), speedups, where="post", label=name)
        by_time.step([0.0, *state.moments], speedups, where="post")
    kind = "estimated speed" if any(state.is_estimated for state in states) else "speed"
    by_trial.set(xlabel="trials of the function", ylabel=f"{kind} relative to the baseline")
    by_time.set(xlabel="seconds of the run")
    for axes in (by_trial, by_time):
        axes.grid(alpha=0.3)
    if searched:
        by_trial.legend(fontsize="small")
    data, suffix = BytesIO(), PurePath(path).suffix
    with import_module("matplotlib").rc_context({"svg.hashsalt": "tvms"}):
        figure.savefig(data, format=suffix[1:], **({"metadata": {"Date": None}} if suffix == ".svg" else {}))
    write_whole(data.getvalue(), path)


def _label(state: TaskState) -> str:
    """Return the name of a task for a legend, which takes dollars as formulas, and leaves names with a leading underscore out."""
    others = len(state.task.names) - 1
    return state.task.name.replace("$", r"\$").lstrip("_") + (f" and {others} more" if others else "")
