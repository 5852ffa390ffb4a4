"""Heads of functions, decorated or not."""

from __future__ import annotations

from ...ir.base import Trivia
from .printer import Frame, Printer


def header(printer: Printer) -> list[str]:
    """Return the comments for the namespaces used so far, and the empty line after them."""
    if printer.dialect.native:
        return []
    lines = [f"# {line}" for room, line in printer.dialect.header if room in printer.used]
    return [*lines, ""] if lines else []


def add_function(
    printer: Printer,
    head: str,
    keywords: dict[str, str],
    name: str,
    params: list[str],
    returns: str,
    trivia: Trivia | None,
    body: Frame,
) -> None:
    """Add a function and the empty line after it to the innermost frame."""
    frame = printer.frames[-1]
    trivia = trivia or Trivia()
    if keywords:
        head += f"({', '.join([f'{key}={value}' for key, value in keywords.items()])})"
    signature = f"{name}({', '.join(params)}){f' -> {returns}' if returns else ''}:"
    if printer.dialect.native:
        printer.add(f"{head} {signature}", trivia, body)
    else:
        frame.lines.extend([frame.indent + comment for comment in trivia.before])
        frame.line(f"@{head}")
        if not body.lines:
            body.line("pass")
        printer.add(f"def {signature}", Trivia(after=trivia.after, end=trivia.end, parts=trivia.parts), body)
    frame.lines.append("")
