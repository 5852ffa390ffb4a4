"""Diagnostics in the form of the protocol: those found here, and those that `tvms check` prints as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from lsprotocol import converters
from lsprotocol import types as lsp

from ...ir.diagnostics import Diagnostic, Edit, Span
from ..diagnostics import in_order
from ..fixes import range_of
from .document import Document
from .lines import Lines
from .vocabulary import explanation

_CONVERTER = converters.get_converter()
_SEVERITIES = {"error": lsp.DiagnosticSeverity.Error, "warning": lsp.DiagnosticSeverity.Warning}
_UNUSED = ("E0461", "E0462", "E0463", "E0464", "E0467")
"""Lints about code without effect, which clients fade."""


def from_findings(document: Document, found: Iterable[Diagnostic]) -> list[lsp.Diagnostic]:
    """Return what was found in a document."""

    def place(span: Span | None) -> lsp.Range | None:
        return document.range(*document.place(span)) if span is not None else None

    def edit(change: Edit | None) -> tuple[lsp.Range, str] | None:
        if change is None or not document.holds(change.span):
            return None
        start, end = range_of(document.lines.text, *document.place(change.span), change.text)
        return (document.range(start, end), change.text) if start < end else None

    def related(diagnostic: Diagnostic) -> list[tuple[str, lsp.Range | None]]:
        return [(note.message, place(note.span)) for note in diagnostic.notes]

    return [
        _diagnostic(document.uri, d.code, d.severity, d.message, d.help, place(d.span), related(d), edit(d.edit))
        for d in in_order(tuple(found))
    ]


def from_json(uri: str, name: str, lines: Lines, rows: Iterable[Mapping[str, Any]]) -> list[lsp.Diagnostic]:
    """Return what `tvms check --output-format json` printed of a text."""

    def place(location: Mapping[str, Any] | None) -> lsp.Range | None:
        if location is None or location["line"] is None or location["file"] != name:
            return None
        start = _offset(lines, location["line"], location["column"])
        return lines.range(start, _offset(lines, location["end_line"], location["end_column"]))

    def edit(change: Mapping[str, Any] | None) -> tuple[lsp.Range, str] | None:
        at = place(change["location"]) if change is not None else None
        return (at, change["text"]) if change is not None and at is not None else None

    return [
        _diagnostic(
            uri, row["code"], row["severity"], row["message"], row["help"], place(row["location"]),
            [(note["message"], place(note["location"])) for note in row["notes"]], edit(row["edit"]),
        )
        for row in rows
    ]  # fmt: skip


def _offset(lines: Lines, line: int, column: int) -> int:
    return min(lines.starts[min(line, len(lines.starts)) - 1] + column - 1, len(lines.text))


def _diagnostic(
    uri: str,
    code: str,
    severity: str,
    message: str,
    help: str | None,
    place: lsp.Range | None,
    notes: list[tuple[str, lsp.Range | None]],
    edit: tuple[lsp.Range, str] | None,
) -> lsp.Diagnostic:
    """Return a diagnostic whose text is that of `tvms check`: reason, notes without a place, remedy."""
    parts = [message, *(f"note: {text}" for text, span in notes if span is None), *([f"help: {help}"] if help else ())]
    related = [
        lsp.DiagnosticRelatedInformation(lsp.Location(uri, span), text) for text, span in notes if span is not None
    ]
    return lsp.Diagnostic(
        place or lsp.Range(lsp.Position(0, 0), lsp.Position(0, 0)),
        "\n".join(parts),
        _SEVERITIES[severity],
        code,
        source="tvms",
        tags=[lsp.DiagnosticTag.Unnecessary] if code in _UNUSED else None,
        related_information=related or None,
        data={"explanation": explanation(code), "edit": _CONVERTER.unstructure(edit and lsp.TextEdit(*edit))},
    )


def edit_of(diagnostic: lsp.Diagnostic) -> lsp.TextEdit | None:
    """Return the edit that does what the help of a diagnostic says, if that is exact."""
    data: Any = diagnostic.data
    edit = data.get("edit") if isinstance(data, dict) else None  # type: ignore[reportUnknownMemberType]
    return _CONVERTER.structure(edit, lsp.TextEdit) if edit else None
