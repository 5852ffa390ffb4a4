"""Machine-readable diagnostics: one line each, JSON, SARIF, and annotations of GitHub's workflows."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from importlib import metadata
from typing import Any
from urllib.parse import quote

from ..ir.base import Span
from ..ir.codes import CODES
from ..ir.diagnostics import Diagnostic, Edit
from ..ir.sanitize import Safe, fill, joined, json_text, visible, workflow_value
from .diagnostics import render
from .fixes import range_of

SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def position(span: Span, offset: int) -> tuple[int, int]:
    """Return the line and column of an offset, both from 1; columns count code points."""
    text = span.source.text
    return text.count("\n", 0, offset) + 1, offset - (text.rfind("\n", 0, offset) + 1) + 1


def _place(d: Diagnostic) -> str:
    if d.span is None:
        return f"{d.file}: " if d.file else ""
    line, column = position(d.span, d.span.start)
    return f"{d.span.source.name}:{line}:{column}: "


def concise(diagnostics: Sequence[Diagnostic]) -> Safe:
    """Return one line per diagnostic: `FILE:LINE:COLUMN: error[CODE]: reason`."""
    lines = [visible(f"{_place(d)}{d.severity}[{d.code}]: {d.message}", keep="") for d in diagnostics]
    return joined("\n", lines)


def _location(span: Span | None, file: str = "") -> dict[str, Any] | None:
    if span is None:
        nothing = dict.fromkeys(("line", "column", "end_line", "end_column"))
        return {"file": file, **nothing} if file else None
    line, column = position(span, span.start)
    end_line, end_column = position(span, span.end)
    place = {"line": line, "column": column, "end_line": end_line, "end_column": end_column}
    return {"file": span.source.name, **place}


def as_json(diagnostics: Sequence[Diagnostic]) -> Safe:
    """Return a JSON array; positions are null for a diagnostic about a whole file."""
    rows = [
        {
            "code": d.code,
            "severity": d.severity,
            "message": d.message,
            "location": _location(d.span, d.file),
            "help": d.help,
            "edit": _edit(d),
            "notes": [{"message": note.message, "location": _location(note.span)} for note in d.notes],
        }
        for d in diagnostics
    ]
    return json_text(rows, indent=2)


def _edit(d: Diagnostic) -> dict[str, Any] | None:
    """Return the place and the text of the edit of a diagnostic; None if it has none, or if it shares its lines."""
    found = _resolved(d)
    return None if found is None else {"location": _location(found.span), "text": found.text}


def _resolved(d: Diagnostic) -> Edit | None:
    """Return the edit of a diagnostic, with whole lines for a statement that is deleted."""
    if d.edit is None:
        return None
    source = d.edit.span.source
    start, end = range_of(source.text, d.edit.span.start, d.edit.span.end, d.edit.text)
    return Edit(Span(source, start, end), d.edit.text) if start < end else None


def _sarif_location(span: Span | None, file: str = "") -> dict[str, Any]:
    artifact = {"uri": _uri(span.source.name if span else file)}
    if span is None:
        return {"physicalLocation": {"artifactLocation": artifact}}
    line, column = position(span, span.start)
    end_line, end_column = position(span, span.end)
    region = {"startLine": line, "startColumn": column, "endLine": end_line, "endColumn": end_column}
    return {"physicalLocation": {"artifactLocation": artifact, "region": region}}


def _uri(path: str) -> str:
    """Return a path as a URI reference (RFC 3986): absolute paths with a scheme, others relative."""
    quoted = quote(os.fsencode(path) if _is_encodable(path) else path.encode(errors="replace"))
    return f"file://{quoted}" if path.startswith("/") else quoted


def _is_encodable(path: str) -> bool:
    return not any("\ud800" <= character <= "\udc7f" or "\udd00" <= character <= "\udfff" for character in path)


def _sarif_result(d: Diagnostic, rules: Sequence[str]) -> dict[str, Any]:
    text = d.message + (f"\nhelp: {d.help}" if d.help else "")
    unplaced = [note.message for note in d.notes if note.span is None]
    message = {"text": visible("\n".join([text, *(f"note: {note_text}" for note_text in unplaced)]))}
    result: dict[str, Any] = {
        "ruleId": d.code,
        "ruleIndex": rules.index(d.code),
        "level": d.severity,
        "message": message,
    }
    if d.span is not None or d.file:
        result["locations"] = [_sarif_location(d.span, d.file)]
    edit = _resolved(d)
    if edit is not None:
        region = _sarif_location(edit.span)["physicalLocation"]
        replacement = {"deletedRegion": region["region"], "insertedContent": {"text": edit.text}}
        change = {"artifactLocation": region["artifactLocation"], "replacements": [replacement]}
        result["fixes"] = [{"description": {"text": visible(d.help or "")}, "artifactChanges": [change]}]
    related = [note for note in d.notes if note.span is not None]
    if related:
        result["relatedLocations"] = [
            {"id": number, **_sarif_location(note.span), "message": {"text": visible(note.message)}}
            for number, note in enumerate(related)
        ]
    return result


def sarif(diagnostics: Sequence[Diagnostic]) -> Safe:
    """Return a SARIF 2.1.0 log of one run (OASIS, Static Analysis Results Interchange Format)."""
    codes = sorted({d.code for d in diagnostics})
    rules = [{"id": code, "shortDescription": {"text": CODES[code]}} for code in codes]
    driver = {"name": "tvms", **_version(), "rules": rules}
    results = [_sarif_result(d, codes) for d in diagnostics]
    runs = [{"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}]
    return json_text({"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": runs}, indent=2)


def _version() -> dict[str, str]:
    try:
        return {"version": metadata.version("tvms-lang")}
    except metadata.PackageNotFoundError:
        return {}


def github(diagnostics: Sequence[Diagnostic]) -> Safe:
    """Return one workflow command per diagnostic, which GitHub shows beside the line of a pull request."""
    lines: list[Safe] = []
    for d in diagnostics:
        properties = [fill("title={}", workflow_value(f"tvms ({d.code})", is_property=True))]
        name = d.span.source.name if d.span else d.file
        if name:
            properties.append(fill("file={}", workflow_value(name, is_property=True)))
        if d.span is not None:
            line, column = position(d.span, d.span.start)
            end_line, _ = position(d.span, d.span.end)
            properties.append(fill("line={},col={},endLine={}", line, column, end_line))
        text = workflow_value(d.message + (f"\nhelp: {d.help}" if d.help else ""))
        lines.append(fill("::{} {}::{}", visible(d.severity), joined(",", properties), text))
    return joined("\n", lines)


FORMATS: dict[str, Callable[[Sequence[Diagnostic]], Safe]] = {
    "full": render,
    "concise": concise,
    "json": as_json,
    "sarif": sarif,
    "github": github,
}
"""Formats of `--output-format`."""
