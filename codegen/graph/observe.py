"""Observation of the calls that graph functions make, for profiles and instruments."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from msgspec import Struct

from ...ir import relax
from ...ir.backend.external import external_functions
from ...ir.base import IRModule
from ...ir.functions import get_global_func
from ...ir.visit import walk
from .compiler import packed
from .entries import Entry, compile_function
from .home import Home

Observe: TypeAlias = Callable[[str, Entry], Entry]
"""Wraps a kernel, or a function of a library or of Python, given its name."""


def observed(module: IRModule, entries: Mapping[str, Entry], observe: Observe, home: Home) -> dict[str, Entry]:
    """Return the functions of a compiled module, whose tensors are at `home`, with the calls of graph functions
    wrapped by `observe`.

    The machine code does not change, nor do the functions in `entries`.
    """
    graphs = {name: func for name, func in module.functions.items() if isinstance(func, relax.Function)}
    nodes = (node for function in graphs.values() for node in walk(function))
    named = {node.global_symbol for node in nodes if isinstance(node, relax.ExternFunc)}
    registered = {name: packed(name) for name in named if get_global_func(name, allow_missing=True)}
    external = registered | external_functions(module)
    seen = {name: observe(name, home.inside(entry)) for name, entry in entries.items() if name not in graphs}
    outside = {name: observe(name, function) for name, function in external.items()}
    for name, function in graphs.items():
        seen[name] = compile_function(name, function, seen, outside, home)
    return {name: home.outside(function) for name, function in seen.items()}


class KernelCalls(Struct, frozen=True):
    """A row of a profile: the number of calls of a kernel, and their total time in seconds."""

    name: str
    count: int
    total: float

    @property
    def mean(self) -> float:
        """Return the seconds per call."""
        return self.total / self.count


class Report(Struct, frozen=True):
    """The profile of a call: its kernels, the slowest first, and the total time in seconds."""

    calls: tuple[KernelCalls, ...]
    total: float

    def table(self) -> str:
        """Return the profile as text: a row for every kernel, one for the time between kernels, and the total."""
        between = self.total - sum(call.total for call in self.calls)
        width = max(map(len, ["(between kernels)", *[call.name for call in self.calls]]))
        rows = [f"{'Name':<{width}}{'Calls':>8}{'Total (us)':>14}{'Mean (us)':>14}{'Share':>9}"]
        for call in self.calls:
            numbers = f"{call.count:>8}{call.total * 1e6:>14.2f}{call.mean * 1e6:>14.2f}"
            rows.append(f"{call.name:<{width}}{numbers}{self._share(call.total)}")
        rows.append(f"{'(between kernels)':<{width}}{'':>8}{between * 1e6:>14.2f}{'':>14}{self._share(between)}")
        rows.append(f"{'Total':<{width}}{'':>8}{self.total * 1e6:>14.2f}{'':>14}{self._share(self.total)}")
        return "\n".join(rows)

    def _share(self, seconds: float) -> str:
        return f"{seconds / self.total:>9.1%}"

    __str__ = table


class Profiler:
    """Accumulates the time of observed calls; `finish` waits for asynchronous work."""

    def __init__(self, finish: Callable[[], None]) -> None:
        self._spent: dict[str, list[float]] = {}
        self._finish = finish

    def observe(self, name: str, entry: Entry) -> Entry:
        """Return `entry` wrapped to record the time of each call."""
        spent = self._spent.setdefault(name, [])

        def timed(*args: Any) -> Any:
            start = time.perf_counter()
            result = entry(*args)
            self._finish()
            spent.append(time.perf_counter() - start)
            return result

        return timed

    def measure(self, function: Entry, *args: Any) -> Report:
        """Call `function` with `args` and return its profile."""
        for spent in self._spent.values():
            spent.clear()
        start = time.perf_counter()
        function(*args)
        total = time.perf_counter() - start
        calls = [KernelCalls(name, len(spent), sum(spent)) for name, spent in self._spent.items() if spent]
        return Report(tuple(sorted(calls, key=lambda call: -call.total)), total)
