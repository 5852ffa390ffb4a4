"""Pictures of profiles: the kernels as bars, and as points under the roofline of the machine.

Source: Williams, Waterman, Patterson, "Roofline: an insightful visual performance model", CACM 52(4), 2009.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil, floor, log10, sqrt

from ...ir.sanitize import markup
from .report import BETWEEN, KernelCalls, Report, Roofline

_BARS = 20
"""Maximum number of kernels with a bar of their own."""
_WIDTH, _LINE, _PLOT = 900, 22, 380
"""Width of the picture, height of a bar, and height of the roofline, in pixels."""
_NAMES, _RIGHT = 330, 230
"""Widths of the names to the left of the bars, and of the numbers to the right."""

_STYLE = """\
svg { background: #ffffff; }
text { font: 12px ui-monospace, monospace; fill: #1f2328; } .dim { fill: #59636e; } .title { font-weight: bold; }
.bar { fill: #54aeff; } .reached { fill: #0969da; } .rest { fill: #d0d7de; }
.roof { stroke: #cf222e; fill: none; stroke-width: 1.5; } .grid { stroke: #eff2f5; } .axis { stroke: #59636e; }
.point { fill: #0969da; fill-opacity: 0.5; stroke: #0969da; }
@media (prefers-color-scheme: dark) {
svg { background: #0d1117; }
text { fill: #e6edf3; } .dim { fill: #9198a1; } .bar { fill: #6cb6ff; } .reached { fill: #2668c5; } .rest { fill: #3d444d; }
.roof { stroke: #f47067; } .grid { stroke: #212830; } .axis { stroke: #9198a1; } .point { fill: #6cb6ff; stroke: #6cb6ff; }
}
"""
_PAGE = """\
<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="color-scheme" content="light dark"><title>{title}</title><style>
body {{ font: 14px system-ui, sans-serif; margin: 2em; color: #1f2328; background: #ffffff; }} table {{ border-collapse: collapse; margin: 1em 0; }}
th, td {{ padding: 2px 10px; border-bottom: 1px solid #d0d7de; text-align: right; }}
th:first-child, td:first-child {{ text-align: left; font-family: ui-monospace, monospace; }}
@media (prefers-color-scheme: dark) {{ body {{ color: #e6edf3; background: #0d1117; }} th, td {{ border-color: #3d444d; }} }}
</style></head><body>
<h1>{title}</h1>
<p>{configuration}</p>
{picture}
<h2>Kernels</h2>
{kernels}
<h2>Source lines</h2>
{lines}
</body></html>
"""


def page(report: Report, title: str) -> str:
    """Return a self-contained HTML page of a profile: picture and tables."""
    said = [f"{key}: {value}" for key, value in report.configuration.items()]
    said.append(f"mean of {report.samples} calls of {report.total * 1e3:.3f} ms")
    return _PAGE.format(
        title=markup(title), configuration=markup("; ".join(said)), picture=picture(report, title),
        kernels=_html_table(report, False), lines=_html_table(report, True),
    )  # fmt: skip


def _html_table(report: Report, by_line: bool) -> str:
    head, *rows = report.cells(by_line)
    body = "".join(f"<tr>{''.join(f'<td>{markup(cell)}</td>' for cell in row)}</tr>\n" for row in rows)
    return f"<table><tr>{''.join(f'<th>{markup(cell)}</th>' for cell in head)}</tr>\n{body}</table>"


def picture(report: Report, title: str) -> str:
    """Return a profile as SVG: a bar for each of the slowest kernels and, if the machine's limits are known, the roofline."""
    heading = f"{title}: {report.total * 1e3:.2f} ms, mean of {report.samples} calls"
    elements, height = [_text(heading, 0, 14, "title")], 30.0
    drawn, used = _bars(report)
    elements.append(_moved(drawn, height))
    height += used
    if report.machine is not None and any(call.operations for call in report.calls):
        elements.append(_moved(_roofline(report.calls, report.machine), height + 20))
        height += _PLOT + 70
    size = f'width="{_WIDTH}" height="{height:g}" viewBox="-8 -8 {_WIDTH + 16} {height + 16:g}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size}>\n<style>{_STYLE}</style>\n'
        + "\n".join(elements)
        + "\n</svg>\n"
    )


def _bars(report: Report) -> tuple[list[str], float]:
    """Return the bars, whose dark part is the time that the machine's limits allow, and their height."""
    rows = list(report.calls[:_BARS])
    others = report.calls[_BARS:]
    if others:
        name = f"({len(others)} other kernels)"
        count, total, limit = (sum(getattr(call, key) for call in others) for key in ("count", "total", "limit"))
        rows.append(KernelCalls(name, count, total, limit=limit))
    rows.append(KernelCalls(BETWEEN, 1, report.between))
    scale = (_WIDTH - _NAMES - _RIGHT) / max(max(row.total for row in rows), 1e-12)
    elements: list[str] = []
    for number, row in enumerate(rows):
        y = number * _LINE
        name = row.name if len(row.name) <= 44 else f"{row.name[:41]}..."
        said = f"{row.total * 1e6:.0f} µs, {row.total / report.total:.1%}"
        said += f", {row.flops / 1e9:.0f} GFLOP/s" if row.operations else ""
        elements += [
            _text(name, 0, y + 14, "dim" if row.name == BETWEEN else ""),
            _box("rest" if row.name == BETWEEN else "bar", _NAMES, y, row.total * scale, _LINE - 5),
            _box("reached", _NAMES, y, min(row.limit, row.total) * scale, _LINE - 5),
            _text(said, _NAMES + row.total * scale + 6, y + 14, "dim"),
        ]
    return elements, len(rows) * _LINE


def _roofline(calls: Iterable[KernelCalls], machine: Roofline) -> list[str]:
    """Return the plot of operations per second over operations per byte, on logarithmic axes."""
    points = [
        (call.operations / call.bytes, call.flops / 1e9, call) for call in calls if call.operations and call.bytes
    ]
    peak, slopes = machine.flops / 1e9, [machine.rates[-1][1] / 1e9, max(rate for _, rate in machine.rates) / 1e9]
    left, right = (
        floor(log10(min([x for x, _, _ in points] + [0.1]))),
        ceil(log10(max([x for x, _, _ in points] + [100]))),
    )
    low, high = floor(log10(min([y for _, y, _ in points] + [1]))), ceil(log10(peak))

    def x_of(value: float) -> float:
        return 40 + (log10(value) - left) / (right - left) * (_WIDTH - 60)

    def y_of(value: float) -> float:
        return _PLOT * (high - log10(max(value, 10.0**low))) / (high - low)

    elements = [
        _text("GFLOP/s", 0, -6, "dim"),
        _text("floating-point operations per byte", _WIDTH - 260, _PLOT + 34, "dim"),
    ]
    for power in range(left, right + 1):
        x = x_of(10.0**power)
        elements += [_line("grid", x, 0, x, _PLOT), _text(f"{10.0**power:g}", x - 8, _PLOT + 16, "dim")]
    for power in range(low, high + 1):
        y = y_of(10.0**power)
        elements += [_line("grid", 40, y, _WIDTH - 20, y), _text(f"{10.0**power:g}", 0, y + 4, "dim")]
    for slope, name in zip(slopes, ("memory", "fastest cache"), strict=True):
        start, corner = max(10.0**left, 10.0**low / slope), peak / slope
        elements += [
            _line("roof", x_of(start), y_of(start * slope), x_of(corner), y_of(peak)),
            _line("roof", x_of(corner), y_of(peak), x_of(10.0**right), y_of(peak)),
            _text(f"{name}: {slope:.0f} GB/s", x_of(start) + 6, y_of(start * slope) - 6, "dim"),
        ]
    elements.append(_text(f"{peak:.0f} GFLOP/s", x_of(10.0**right) - 100, y_of(peak) - 6, "dim"))
    slowest = max((call.total for _, _, call in points), default=1.0)
    for x, y, call in points:
        radius = 3 + 9 * sqrt(call.total / slowest)
        said = f"{call.name}: {y:.1f} GFLOP/s, {call.total * 1e6:.0f} µs"
        center = f'cx="{x_of(x):.1f}" cy="{y_of(y):.1f}"'
        elements.append(f'<circle class="point" {center} r="{radius:.1f}"><title>{markup(said)}</title></circle>')
    return elements


def _text(text: str, x: float, y: float, kind: str = "") -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{markup(text)}</text>'


def _box(kind: str, x: float, y: float, width: float, height: float) -> str:
    return f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:g}"/>'


def _line(kind: str, x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<path class="{kind}" d="M{x1:.1f},{y1:.1f} L{x2:.1f},{y2:.1f}"/>'


def _moved(elements: Iterable[str], y: float) -> str:
    return f'<g transform="translate(0,{y:g})">\n' + "\n".join(elements) + "\n</g>"
