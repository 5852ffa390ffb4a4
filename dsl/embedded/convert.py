"""Converts the definitions of a host to another dialect, in place; every other character of the host stays."""

from __future__ import annotations

import re
from collections.abc import Callable

from ...ir.base import IRModule
from ...ir.diagnostics import Diagnostic, Source, Span, TvmsError
from ..builder.forms import Namespace
from ..edits import Edit
from ..printer import script_with_constants
from . import edited, rewritten, sources_of
from .host import Definition, Host

_HEADER = re.compile(r"(?:# from tvm\.(?:script|tirx\.layout) import [^\n]*\n)*\n*")
"""The imports that the printer writes as comments."""
_FOOTER = re.compile(r"\s*^# Metadata omitted\.[^\n]*\s*\Z", re.MULTILINE)
_LOOP_LEVEL = {"tvm-0.21": "tir", "tvm-0.27": "tirx"}
"""The name of the loop level in `tvm.script`."""
_IMPORT = re.compile(r"^[ \t]*(?:#[ \t]*)?from tvms?\.script(?:\.parser)? import [^\n#;]*?\b(tirx?)\b", re.MULTILINE)
_BARE = re.compile(r"\s+as\b")


def converted(host: Host, dialect: str, read: Callable[[Definition], IRModule]) -> tuple[str, tuple[Diagnostic, ...]]:
    """Return the text of a host with its Python definitions in a dialect of TVM, and what was found.

    `read` returns the module of a definition. Definitions stay as they are if they have errors, or cannot be written
    there (a warning E0816). Imports of the loop level follow its name in the dialect once all definitions are converted.
    """
    found: list[Diagnostic] = []
    texts: dict[Definition, str] = {}
    for definition in host.definitions:
        try:
            text = _text(definition, read(definition), dialect)
        except TvmsError as problem:
            found += problem.diagnostics
            continue
        if isinstance(text, Diagnostic):
            found.append(text)
        else:
            texts[definition] = text
    text = rewritten(host, texts)
    is_whole = len(texts) == len(host.definitions)
    return (with_imports(Source(host.source.name, text), dialect) if is_whole else text), tuple(found)


def _text(definition: Definition, module: IRModule, dialect: str) -> str | Diagnostic:
    """Return the text of a definition in a dialect, or the reason why it has none."""
    reason = None
    renamed = [name for name, value in definition.names.items() if isinstance(value, Namespace) and name != value.name]
    text, constants = script_with_constants(module, dialect, shows_small=True)
    if not definition.is_python:
        reason = "it is not part of a Python program"
    elif [name for name in renamed if name not in ("tir", "tirx", "relax", "ir", "tvm", "script")]:
        reason = f"the program calls the dialect '{renamed[0]}'"
    elif constants:
        reason = f"{dialect} has no text for its tensors"
    if reason is None:
        return without_header(text)
    start = definition.start + len(definition.indentation)
    span = Span(definition.source, start, definition.source.text.find("\n", start))
    message = f"'{definition.name}' is not converted: {reason}"
    return Diagnostic("E0816", message, span, severity="warning")


def without_header(text: str) -> str:
    """Return printed text without the comments that name its imports or omitted metadata, and with a final newline."""
    return _FOOTER.sub("", text[len((_HEADER.match(text) or [""])[0]) :]) + "\n"


def with_imports(source: Source, dialect: str) -> str:
    """Return the text of a file whose imports name the loop level as the dialect does; so do those that the printer writes as comments."""
    new = _LOOP_LEVEL[dialect]
    changes: list[tuple[Source, Edit]] = []
    for part in sources_of(source):
        for found in _IMPORT.finditer(part.text):
            if found[1] != new:
                bound = new if _BARE.match(part.text, found.end()) else f"{new} as {found[1]}"
                changes.append((part, Edit(found.start(1), found.end(1), bound)))
    return edited(Host(source, ()), changes)
