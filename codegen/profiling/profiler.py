"""Measurement of profiles: kernels of native functions by their ticks, other calls of the executor by observation."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from msgspec import Struct

from ...ir import relax, tir
from ...ir.base import Span
from ..graph.home import HOST, Home
from ..graph.native_entry import NativeEntry
from ..graph.observe import observed
from ..lower.signature import size_variables
from ..peak import peak_flops, read_rate
from ..runtime.dlpack import Array
from ..runtime.executable import Entry, Executable
from ..runtime.timing import warm_up
from .report import KernelCalls, Report, Roofline
from .ticks import TickedFunction, seconds_of_calls, ticked_function
from .work import Work, sizes_of, work_of


class _Record(Struct, frozen=True):
    """One call of a kernel."""

    name: str
    span: Span | None
    seconds: float
    work: Work


class Profiler:
    """Profiles the functions of a compiled module; `finish` waits for asynchronous work."""

    def __init__(self, executable: Executable, home: Home = HOST, finish: Callable[[], None] = lambda: None) -> None:
        """`home` is the memory of the tensors."""
        self._functions, self._finish = executable.module.functions, finish
        self._records: list[_Record] = []
        self._ticks: list[tuple[TickedFunction, Array, list[Any]]] = []
        """Times of native functions and the shapes of their arguments, evaluated after the call, so that this does not count."""
        self._span: Span | None = None
        self._work: dict[tuple[str, Any], Work] = {}
        entries = {name: executable[name] for name in executable}
        executed = observed(executable.module, entries, self._timed, home, {}, self._at)
        ticked = {name: self._counted(function) for name, function in _ticked_functions(executable, executed).items()}
        self.entries: Mapping[str, Entry] = observed(executable.module, entries, self._timed, home, ticked, self._at)
        """The functions of the module, which record their calls."""

    def measure(self, function: Entry, args: Sequence[Any], seconds: float = 0.0) -> Report:
        """Call an entry with `args` for `seconds`, at least once, and return the mean profile of a call.

        Before, it is called until one-time work is done. Of five or more calls, the slowest and the fastest tenth do not count.
        """
        warm_up(function, args)
        samples: list[tuple[float, list[_Record]]] = []
        end = time.perf_counter() + seconds
        while not samples or time.perf_counter() < end:
            self._taken()
            self._span = None
            start = time.perf_counter()
            function(*args)
            total = time.perf_counter() - start
            samples.append((total, self._taken()))
        samples.sort(key=lambda sample: sample[0])
        cut = -(-len(samples) // 10) if len(samples) >= 5 else 0
        kept = samples[cut : len(samples) - cut]
        return _report([total for total, _ in kept], [record for _, records in kept for record in records])

    def _at(self, span: Span | None) -> None:
        """Take note of the binding that is executed."""
        self._span = span

    def _timed(self, name: str, entry: Entry) -> Entry:
        """Return `entry`, a kernel or a function outside of the module, such that calls are recorded."""

        def timed(*args: Any) -> Any:
            span, start = self._span or getattr(self._functions.get(name), "span", None), time.perf_counter()
            result = entry(*args)
            self._finish()
            taken = time.perf_counter() - start
            function = self._functions.get(name)
            sizes = sizes_of(function, args) if isinstance(function, tir.PrimFunc) else {}
            self._records.append(_Record(name, span, taken, self._work_of(name, sizes)))
            return result

        return timed

    def _counted(self, ticked: TickedFunction) -> Entry:
        """Return a native function such that the calls of its kernels are recorded."""

        def counted(*args: Any) -> Any:
            ticked.times[:] = 0
            result = ticked.entry(*args)
            self._ticks.append((ticked, ticked.times.copy(), [np.shape(arg) for arg in args]))
            return result

        return counted

    def _taken(self) -> list[_Record]:
        """Return the records of a call, and forget them."""
        records, self._records = self._records, []
        for ticked, times, shapes in self._ticks:
            value_of = ticked.sizes(shapes)
            for call, taken in zip(ticked.calls, seconds_of_calls(times), strict=True):
                if taken is not None:
                    name = getattr(call.op, "name_hint", "")
                    records.append(
                        _Record(name, call.span, taken, self._work_of(name, self._sizes_of(name, call, value_of)))
                    )
        self._ticks = []
        return records

    def _sizes_of(self, name: str, call: tir.Call, value_of: Callable[[tir.PrimExpr], int]) -> dict[str, int]:
        """Return the symbolic sizes that a driver passes to a kernel after its tensors, by name."""
        function = self._functions.get(name)
        if not isinstance(function, tir.PrimFunc):
            return {}
        numbers = [param for param in function.params if param not in function.buffer_map] + size_variables(function)
        given = call.args[len(call.args) - len(numbers) :]
        return {
            number.name: value_of(arg)
            for number, arg in zip(numbers, given, strict=True)
            if isinstance(arg, tir.PrimExpr)
        }

    def _work_of(self, name: str, sizes: Mapping[str, int]) -> Work:
        key = name, tuple(sizes.items())
        if key not in self._work:
            function = self._functions.get(name)
            self._work[key] = work_of(function, sizes) if isinstance(function, tir.PrimFunc) else Work()
        return self._work[key]


def _ticked_functions(executable: Executable, executed: Mapping[str, Entry]) -> dict[str, TickedFunction]:
    """Return the native functions of a module with drivers that note times; `executed` are their executors."""
    built, target = executable.built, executable.target
    entries = {name: executable[name] for name in built.natives}
    if target.is_device or not all(isinstance(entry, NativeEntry) for entry in entries.values()):
        return {}  # simulated threads execute each call several times
    signatures, faults = built.signatures, built.emitted.faults
    return {
        name: ticked_function(
            name,
            built.natives[name],
            source,
            signatures,
            entry.addresses,
            faults,
            target,
            partial(executed.__getitem__, name),
        )
        for name, entry in entries.items()
        if isinstance(entry, NativeEntry) and isinstance(source := executable.module[name], relax.Function)
    }


def _report(totals: Sequence[float], records: Iterable[_Record]) -> Report:
    """Return the mean profile of several calls."""
    kernels: dict[str, list[_Record]] = {}
    lines: dict[str, list[_Record]] = {}
    for record in records:
        kernels.setdefault(record.name, []).append(record)
        lines.setdefault(_place(record.span), []).append(record)
    return Report(_rows(kernels, len(totals)), sum(totals) / len(totals), _rows(lines, len(totals)), len(totals))


def _rows(groups: Mapping[str, list[_Record]], samples: int) -> tuple[KernelCalls, ...]:
    rows = [
        KernelCalls(
            name, len(found) // samples, sum(record.seconds for record in found) / samples,
            sum(record.work.operations for record in found) // samples, sum(record.work.bytes for record in found) // samples,
        )
        for name, found in groups.items()
    ]  # fmt: skip
    return tuple(sorted(rows, key=lambda row: -row.total))


_MOST_LETTERS = 60
"""Maximum number of letters of a source line in a profile."""


def _place(span: Span | None) -> str:
    """Return the file and line of a span, and the text of that line."""
    if span is None:
        return "(no source line)"
    text = span.source.text
    start = text.rfind("\n", 0, span.start) + 1
    end = text.find("\n", start)
    line = text[start : len(text) if end < 0 else end].strip()
    shown = line if len(line) <= _MOST_LETTERS else f"{line[: _MOST_LETTERS - 3]}..."
    return f"{span.source.name}:{text.count(chr(10), 0, span.start) + 1}: {shown}"


_SIZES = tuple(1 << power for power in range(15, 28, 2))
"""Bytes at which the rate of reads is measured: 32 KiB to 128 MiB."""


def measured_roofline(threads: int = 0, target: str = "llvm") -> Roofline:
    """Measure the machine's limits for code of `target` on `threads` cores (0: the default number of threads)."""
    return Roofline(peak_flops(threads, target), tuple((size, read_rate(size, threads, target)) for size in _SIZES))
