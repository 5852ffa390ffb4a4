"""The collector of diagnostics, and helpers for messages."""

from __future__ import annotations

from ..base import Node, Span
from ..diagnostics import Diagnostic, Note
from ..tir import StringImm


def written(node: Node, text: str) -> Node:
    """Return a node at the string literal `text` in the source of `node`; `node` itself if its source has no such literal."""
    span = node.span
    if span is None:
        return node
    source = span.source.text
    for quote in "\"'":
        start = source.find(f"{quote}{text}{quote}", span.start, span.end)
        if start >= 0:
            return StringImm("handle", text, span=Span(span.source, start, start + len(text) + 2))
    return node


class Report:
    """The diagnostics of one function; `function` gives the position of nodes without one."""

    def __init__(self, function: Node) -> None:
        self.function = function
        self.found: list[Diagnostic] = []

    def add(self, code: str, message: str, node: Node | None, help: str | None = None, *notes: Note) -> None:
        """Add an error at `node`."""
        shown = tuple([note for note in notes if note.span is not None])
        self.found.append(Diagnostic(code, message, self.place(node), help, shown))

    def warn(self, code: str, message: str, node: Node | None, help: str, *notes: Note) -> None:
        """Add a warning: valid, but probably not intended."""
        shown = tuple([note for note in notes if note.span is not None])
        self.found.append(Diagnostic(code, message, self.place(node), help, shown, severity="warning"))

    @property
    def has_errors(self) -> bool:
        """Whether an error was found."""
        return any(diagnostic.severity == "error" for diagnostic in self.found)

    def place(self, *nodes: Node | None) -> Span | None:
        """Return the span of the first node that has one."""
        for node in (*nodes, self.function):
            if node is not None and node.span is not None:
                return node.span
        return None
