"""The profile of a call as data (TVM: `tvm.runtime.profiling`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ...ir import script

BETWEEN = "(between kernels)"
"""The row of the time that no kernel takes: checks of arguments, allocation, and the executor."""


class KernelCalls(Struct, frozen=True):
    """A row of a profile: the calls of one kernel, or all of one source line, within a call of the function.

    `total` is in seconds; `operations` (floating point) and `bytes` (of arguments) are of all calls, 0 if unknown. `limit` is the
    shortest time in seconds that the machine's measured rates allow for them, 0 if unknown.
    """

    name: str
    count: int
    total: float
    operations: int = 0
    bytes: int = 0
    limit: float = 0.0

    @property
    def mean(self) -> float:
        """Return the seconds per call."""
        return self.total / self.count

    @property
    def flops(self) -> float:
        """Return the floating-point operations per second."""
        return self.operations / self.total if self.total else 0.0

    @property
    def byte_rate(self) -> float:
        """Return the bytes of arguments per second."""
        return self.bytes / self.total if self.total else 0.0

    @property
    def share_of_limit(self) -> float:
        """Return the time that the machine's rates allow as a share of the time taken; 0 if unknown."""
        return self.limit / self.total if self.total else 0.0


class Roofline(Struct, frozen=True):
    """The measured limits of a machine: float32 operations per second, and the rate of reads in bytes per second in a
    buffer of `size` bytes, as pairs (size, rate) with ascending sizes.
    """

    flops: float
    rates: tuple[tuple[int, float], ...]

    def rate(self, size: float) -> float:
        """Return the rate at the largest measured size up to `size`."""
        return next((rate for least, rate in reversed(self.rates) if least <= size), self.rates[0][1])

    def limit(self, operations: int, size: int, count: int = 1) -> float:
        """Return the shortest time in seconds of `count` calls with `operations` and `size` bytes in total."""
        return max(operations / self.flops, size / self.rate(size / count))


class Report(Struct, frozen=True):
    """The profile of a call: kernels and source lines, the slowest first, and the total time in seconds.

    `samples` is the number of measured calls, whose mean this is. `configuration` says what was measured, and `machine` on which
    limits the column "Limit" is based.
    """

    calls: tuple[KernelCalls, ...]
    total: float
    lines: tuple[KernelCalls, ...] = ()
    samples: int = 1
    configuration: dict[str, str] = {}
    machine: Roofline | None = None

    @property
    def between(self) -> float:
        """Return the seconds that no kernel takes."""
        return max(self.total - sum(call.total for call in self.calls), 0.0)

    def bounded(self, machine: Roofline) -> Report:
        """Return the report with the limits of `machine`."""

        def limited(rows: Iterable[KernelCalls]) -> tuple[KernelCalls, ...]:
            return tuple(
                replace(row, limit=machine.limit(row.operations, row.bytes, row.count) if row.bytes else 0.0)
                for row in rows
            )

        return replace(self, calls=limited(self.calls), lines=limited(self.lines), machine=machine)

    def table(self, by_line: bool = False) -> str:
        """Return the profile as text: a row for every kernel, or source line, one for the time between kernels, and the total."""
        return aligned(self.cells(by_line))

    def cells(self, by_line: bool = False) -> list[list[str]]:
        """Return the cells of the table, the headings first."""
        rows = self.lines if by_line else self.calls
        columns = _COLUMNS if any(row.bytes for row in rows) else _COLUMNS[:4]
        found = [[show(row, self.total) for _, show in columns] for row in rows]
        for name, seconds in ((BETWEEN, self.between), ("Total", self.total)):
            summary = KernelCalls(name, 0, seconds)
            found.append([show(summary, self.total) if i in (0, 2, 3) else "" for i, (_, show) in enumerate(columns)])
        return [[heading for heading, _ in columns], *found]

    __str__ = table

    def _repr_html_(self) -> str:
        """Return the tables of kernels and of source lines as HTML, for notebooks."""
        said = [f"{key}: {value}" for key, value in self.configuration.items()]
        said.append(f"mean of {self.samples} calls of {self.total * 1e3:.3f} ms")
        return script.html("; ".join(said), self.cells(), *([self.cells(by_line=True)] if self.lines else []))

    def json(self) -> str:
        """Return the report as JSON, for `from_json`."""
        return msgspec.json.format(msgspec.json.encode(self), indent=2).decode()

    @classmethod
    def from_json(cls, text: str | bytes) -> Report:
        """Return the report in `text`; msgspec.ValidationError if it is not one."""
        return msgspec.json.decode(text, type=cls)

    def csv(self) -> str:
        """Return the kernels as comma-separated values, in seconds, operations and bytes."""
        rows = [
            f"{call.name},{call.count},{call.total!r},{call.operations},{call.bytes},{call.limit!r}"
            for call in self.calls
        ]
        return "\n".join(["Name,Count,Seconds,Operations,Bytes,Limit", *rows, ""])


_COLUMNS: tuple[tuple[str, Callable[[KernelCalls, float], str]], ...] = (
    ("Name", lambda row, total: row.name),
    ("Calls", lambda row, total: str(row.count)),
    ("Duration (us)", lambda row, total: f"{row.total * 1e6:.2f}"),
    ("Share", lambda row, total: f"{row.total / total:.1%}" if total else ""),
    ("Mean (us)", lambda row, total: f"{row.mean * 1e6:.2f}"),
    ("GFLOP/s", lambda row, total: f"{row.flops / 1e9:.1f}" if row.operations else ""),
    ("GB/s", lambda row, total: f"{row.byte_rate / 1e9:.1f}" if row.bytes else ""),
    ("Limit", lambda row, total: f"{row.share_of_limit:.0%}" if row.limit else ""),
)


def compared(before: Report, after: Report) -> str:
    """Return a table of two reports: the times of each kernel, in order of the difference, and those of the whole call."""

    def seconds(report: Report) -> dict[str, float]:
        return {call.name: call.total for call in report.calls}

    first, second = seconds(before), seconds(after)
    names = sorted({**first, **second}, key=lambda name: -abs(second.get(name, 0.0) - first.get(name, 0.0)))
    first |= {BETWEEN: before.between, "Total": before.total}
    second |= {BETWEEN: after.between, "Total": after.total}
    rows = [["Name", "Before (us)", "After (us)", "Difference", "Ratio"]]
    for name in [*names, BETWEEN, "Total"]:
        old, new = first.get(name), second.get(name)
        ratio = f"{new / old:.2f}" if old and new is not None else ""
        shown = ["" if value is None else f"{value * 1e6:.2f}" for value in (old, new)]
        rows.append([name, *shown, f"{((new or 0.0) - (old or 0.0)) * 1e6:+.2f}", ratio])
    return aligned(rows)


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Return rows of cells as text: the first column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(
            cell.rjust(width) if i else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
    return "\n".join(lines)
