"""Diagnostics for machines: one line each, JSON, SARIF, and the annotations of GitHub's workflows."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from ..ir.base import Span
from ..ir.codes import CODES
from ..ir.diagnostics import Diagnostic
from .diagnostics import escape, render

SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def position(span: Span, offset: int) -> tuple[int, int]:
    """Return the line and column of an offset, both from 1; columns count code points."""
    text = span.source.text
    return text.count("\n", 0, offset) + 1, offset - (text.rfind("\n", 0, offset) + 1) + 1


def _place(span: Span | None) -> str:
    if span is None:
        return ""
    line, column = position(span, span.start)
    return f"{escape(span.source.name)}:{line}:{column}: "


def concise(diagnostics: Sequence[Diagnostic]) -> str:
    """Return one line for each: `FILE:LINE:COLUMN: error[CODE]: reason`."""
    lines = [f"{_place(d.span)}{d.severity}[{d.code}]: {escape(d.message)}" for d in diagnostics]
    return "\n".join(line.replace("\n", "\\n") for line in lines)


def _location(span: Span | None) -> dict[str, Any] | None:
    if span is None:
        return None
    line, column = position(span, span.start)
    end_line, end_column = position(span, span.end)
    return {
        "file": span.source.name,
        "line": line,
        "column": column,
        "end_line": end_line,
        "end_column": end_column,
    }


def as_json(diagnostics: Sequence[Diagnostic]) -> str:
    """Return a JSON array; positions are null where a diagnostic is about a whole file."""
    rows = [
        {
            "code": d.code,
            "severity": d.severity,
            "message": d.message,
            "location": _location(d.span),
            "help": d.help,
            "notes": [{"message": note.message, "location": _location(note.span)} for note in d.notes],
        }
        for d in diagnostics
    ]
    return json.dumps(rows, indent=2, ensure_ascii=False)


def _sarif_location(span: Span) -> dict[str, Any]:
    line, column = position(span, span.start)
    end_line, end_column = position(span, span.end)
    region = {"startLine": line, "startColumn": column, "endLine": end_line, "endColumn": end_column}
    return {"physicalLocation": {"artifactLocation": {"uri": span.source.name}, "region": region}}


def sarif(diagnostics: Sequence[Diagnostic]) -> str:
    """Return a SARIF 2.1.0 log of one run (OASIS, Static Analysis Results Interchange Format)."""
    codes = sorted({d.code for d in diagnostics})
    results: list[dict[str, Any]] = []
    for d in diagnostics:
        text = d.message + (f"\nhelp: {d.help}" if d.help else "")
        result: dict[str, Any] = {"ruleId": d.code, "level": d.severity, "message": {"text": text}}
        if d.span is not None:
            result["locations"] = [_sarif_location(d.span)]
        results.append(result)
    rules = [{"id": code, "shortDescription": {"text": CODES[code]}} for code in codes]
    driver = {"name": "tvms", "rules": rules}
    runs = [{"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}]
    return json.dumps({"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": runs}, indent=2, ensure_ascii=False)


def _workflow_value(text: str, is_property: bool = False) -> str:
    """Escape what GitHub's workflow commands would read as syntax."""
    pairs = [("%", "%25"), ("\r", "%0D"), ("\n", "%0A")] + ([(":", "%3A"), (",", "%2C")] if is_property else [])
    for old, new in pairs:
        text = text.replace(old, new)
    return text


def github(diagnostics: Sequence[Diagnostic]) -> str:
    """Return one workflow command for each, which GitHub shows beside the line of a pull request."""
    lines: list[str] = []
    for d in diagnostics:
        properties = [f"title={_workflow_value(f'tvms ({d.code})', is_property=True)}"]
        if d.span is not None:
            line, column = position(d.span, d.span.start)
            end_line, _ = position(d.span, d.span.end)
            file = _workflow_value(d.span.source.name, is_property=True)
            properties += [f"file={file}", f"line={line}", f"col={column}", f"endLine={end_line}"]
        text = d.message + (f"\nhelp: {d.help}" if d.help else "")
        lines.append(f"::{d.severity} {','.join(properties)}::{_workflow_value(text)}")
    return "\n".join(lines)


FORMATS: dict[str, Callable[[Sequence[Diagnostic]], str]] = {
    "full": render,
    "concise": concise,
    "json": as_json,
    "sarif": sarif,
    "github": github,
}
"""What `--output-format` offers."""
